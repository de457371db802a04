/* SPDX-License-Identifier: Apache-2.0 */
/* What the compiler jumps to in the place of a ret: MT_ARCH_RETURN_BY_JUMP. The name is the compiler's. With
 * CET there is none: the jump would need a landing. */
#if !defined(__CET__)
	.text
	.globl	__x86_return_thunk
	.hidden	__x86_return_thunk
	.type	__x86_return_thunk, @function
__x86_return_thunk:
	.cfi_startproc
	popq	%r11
	.cfi_def_cfa_offset 0
	.cfi_register rip, r11
	jmpq	*%r11
	.cfi_endproc
	.size	__x86_return_thunk, . - __x86_return_thunk
#endif

	.section .note.GNU-stack, "", @progbits
