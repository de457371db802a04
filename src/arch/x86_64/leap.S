/* SPDX-License-Identifier: Apache-2.0 */
/* void mt_arch_leap(void **from, void *to): arch.h says what it does.
 *
 *   high | return address |
 *        | rbp            |
 *        | rbx, r12 - r15 | <- *from, and to
 *
 * It goes back by a jump, not by a return: the processor predicts a return by the calls it has
 * seen, which were those of another stack. */

	.text
	.globl	mt_arch_leap
	.hidden	mt_arch_leap
	.type	mt_arch_leap, @function
mt_arch_leap:
	.cfi_startproc
#if defined(__CET__) && (__CET__ & 1)
	endbr64
#endif
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbp, 0
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r12, 0
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r13, 0
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r14, 0
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset r15, 0
	movq	%rsp, (%rdi)
	movq	%rsi, %rsp
	popq	%r15
	.cfi_adjust_cfa_offset -8
	.cfi_restore r15
	popq	%r14
	.cfi_adjust_cfa_offset -8
	.cfi_restore r14
	popq	%r13
	.cfi_adjust_cfa_offset -8
	.cfi_restore r13
	popq	%r12
	.cfi_adjust_cfa_offset -8
	.cfi_restore r12
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbx
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore rbp
	popq	%rcx
	.cfi_adjust_cfa_offset -8
	.cfi_register rip, rcx
	notrack jmp *%rcx		/* where a call returns to there is no endbr64 */
	.cfi_endproc
	.size	mt_arch_leap, . - mt_arch_leap

#if defined(__CET__) && (__CET__ & 1)
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long	4			/* as in entry.S */
	.long	16
	.long	5
	.asciz	"GNU"
	.long	0xc0000002
	.long	4
	.long	1
	.long	0
#endif

	.section .note.GNU-stack, "", @progbits
