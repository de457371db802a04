/* SPDX-License-Identifier: Apache-2.0 */
/* void mt_arch_leap(void **from, void *to): arch.h says what it does.
 *
 *   high | d8 - d15    |
 *        | x19 - x28   |
 *        | x29, x30    | <- *from, and to
 *
 * It goes back by ret, though the processor predicts that by the calls of another stack: a plain
 * branch may not go where a call returns to, with BTI. */

	.text
	.globl	mt_arch_leap
	.hidden	mt_arch_leap
	.type	mt_arch_leap, %function
mt_arch_leap:
	.cfi_startproc
#if defined(__ARM_FEATURE_BTI_DEFAULT)
	hint	#34		/* bti c */
#endif
	stp	x29, x30, [sp, #-160]!
	.cfi_def_cfa_offset 160
	.cfi_offset x29, -160
	.cfi_offset x30, -152
	stp	x19, x20, [sp, #16]
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	mov	x2, sp
	str	x2, [x0]
	mov	sp, x1
	ldp	x19, x20, [sp, #16]
	ldp	x21, x22, [sp, #32]
	ldp	x23, x24, [sp, #48]
	ldp	x25, x26, [sp, #64]
	ldp	x27, x28, [sp, #80]
	ldp	d8, d9, [sp, #96]
	ldp	d10, d11, [sp, #112]
	ldp	d12, d13, [sp, #128]
	ldp	d14, d15, [sp, #144]
	ldp	x29, x30, [sp], #160
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
	ret
	.cfi_endproc
	.size	mt_arch_leap, . - mt_arch_leap

#if defined(__ARM_FEATURE_BTI_DEFAULT)
	.section .note.gnu.property, "a", %note
	.p2align 3
	.word	4			/* as in entry.S, without PAC: x30 lies unsigned on the stack */
	.word	16
	.word	5
	.asciz	"GNU"
	.word	0xc0000000
	.word	4
	.word	1
	.word	0
#endif

	.section .note.GNU-stack, "", %progbits
