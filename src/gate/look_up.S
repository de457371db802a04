/* SPDX-License-Identifier: Apache-2.0 */
/* dlsym() and dlvsym(): look_up.h says why. libc's answers depend on where their caller is, which
 * the return address tells. So these are not functions of C, which would call libc's from here.
 * gt_answer() or gt_answer_version() returns the function that answers, and these jump to it with
 * the caller's arguments and return address. Both get that address as a fourth argument. */

#if defined(__x86_64__)

	.macro	JUMP_TO_ANSWER name, chooser
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
#if defined(__CET__) && (__CET__ & 1)
	endbr64
#endif
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdx			/* the stack is aligned now */
	.cfi_adjust_cfa_offset 8
	movq	24(%rsp), %rcx		/* the return address */
	call	\chooser
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	*%rax
	.cfi_endproc
	.size	\name, . - \name
	.endm

#elif defined(__aarch64__)

	.macro	JUMP_TO_ANSWER name, chooser
	.globl	\name
	.type	\name, %function
\name:
	.cfi_startproc
#if defined(__ARM_FEATURE_BTI_DEFAULT)
	hint	#34			/* bti c */
#endif
	stp	x29, x30, [sp, #-48]!
	.cfi_def_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	mov	x29, sp
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	mov	x3, x30			/* the return address */
	bl	\chooser
	mov	x16, x0			/* a branch by x16 may end at a "bti c" */
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	br	x16
	.cfi_endproc
	.size	\name, . - \name
	.endm

#endif

	.text
	.hidden	gt_answer
	.hidden	gt_answer_version
	JUMP_TO_ANSWER dlsym, gt_answer
	JUMP_TO_ANSWER dlvsym, gt_answer_version

#if defined(__CET__) && (__CET__ & 1)
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long	4			/* as in arch/x86_64/entry.S */
	.long	16
	.long	5
	.asciz	"GNU"
	.long	0xc0000002
	.long	4
	.long	1
	.long	0
#elif defined(__ARM_FEATURE_BTI_DEFAULT)
	.section .note.gnu.property, "a", %note
	.p2align 3
	.word	4			/* as in arch/aarch64/leap.S */
	.word	16
	.word	5
	.asciz	"GNU"
	.word	0xc0000000
	.word	4
	.word	1
	.word	0
#endif

	.section .note.GNU-stack, "", %progbits
