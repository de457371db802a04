/* SPDX-License-Identifier: Apache-2.0 */
/* The two places where a stack begins or is rebuilt by hand; README.md draws them. */

	.text

/* void mt_arch_entry(void): the first instruction on a fresh stack; rsp is the
 * 16-byte aligned top, rbp is 0. The undefined return address tells unwinders
 * that this is the outermost frame. */
	.globl	mt_arch_entry
	.hidden	mt_arch_entry
	.type	mt_arch_entry, @function
mt_arch_entry:
	.cfi_startproc
	.cfi_undefined rip
#if defined(__CET__) && (__CET__ & 1)
	endbr64
#endif
	pushq	$0		/* a return address of 0, and a frame pointer of 0 */
	pushq	$0
	movq	%rsp, %rbp
	call	mt_thread_start
	ud2			/* mt_thread_start does not return */
	.cfi_endproc
	.size	mt_arch_entry, . - mt_arch_entry

/* A context of mt_arch_call_first() continues here; sp: the function, and the sp and ip from before. All
 * other registers than rbp and rbx are free here, as after every switch. */
	.globl	mt_arch_detour
	.hidden	mt_arch_detour
	.type	mt_arch_detour, @function
mt_arch_detour:
	.cfi_startproc
	.cfi_undefined rip
#if defined(__CET__) && (__CET__ & 1)
	endbr64
#endif
	popq	%rax
	callq	*%rax
	movq	8(%rsp), %r11
	movq	(%rsp), %rsp
	jmpq	*%r11
	.cfi_endproc
	.size	mt_arch_detour, . - mt_arch_detour

/* void *mt_arch_vcall(void *(*func)(int, ...), const struct arch_vargs *args):
 * pushes args->stack, loads the argument registers, calls func. */
	.globl	mt_arch_vcall
	.hidden	mt_arch_vcall
	.type	mt_arch_vcall, @function
mt_arch_vcall:
	.cfi_startproc
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	movq	%rdi, %rax	/* func */
	movq	%rsi, %r10	/* args */
	movq	112(%r10), %rcx	/* words in memory */
	leaq	1(%rcx), %rdx
	andq	$-2, %rdx	/* an even number keeps rsp aligned to 16 */
	shlq	$3, %rdx
	subq	%rdx, %rsp
	movq	%rsp, %rdi
	leaq	120(%r10), %rsi
	rep movsq
	movsd	48(%r10), %xmm0
	movsd	56(%r10), %xmm1
	movsd	64(%r10), %xmm2
	movsd	72(%r10), %xmm3
	movsd	80(%r10), %xmm4
	movsd	88(%r10), %xmm5
	movsd	96(%r10), %xmm6
	movsd	104(%r10), %xmm7
	movq	%rax, %r11
	movq	0(%r10), %rdi
	movq	8(%r10), %rsi
	movq	16(%r10), %rdx
	movq	24(%r10), %rcx
	movq	32(%r10), %r8
	movq	40(%r10), %r9
	movl	$8, %eax	/* vector registers in use, for a variadic func */
	call	*%r11
	leave
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	mt_arch_vcall, . - mt_arch_vcall

/* void *mt_arch_call_on(void *top, void *(*func)(void *), void *arg,
 *                       struct arch_context *caller): calls func on the stack that
 * ends at top, which is aligned to 16. What to come back to lies in the topmost word
 * there. To unwinders func is the outermost frame: no exception
 * may pass into the frames of another thread. */
	.globl	mt_arch_call_on
	.hidden	mt_arch_call_on
	.type	mt_arch_call_on, @function
mt_arch_call_on:
	.cfi_startproc
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
	.cfi_remember_state
	leaq	56(%rsp), %rax	/* the caller's rsp, rbp, rbx, rip */
	movq	%rax, 0(%rcx)
	movq	%rbp, 8(%rcx)
	movq	%rbx, 16(%rcx)
	movq	48(%rsp), %rax
	movq	%rax, 24(%rcx)
	movq	%rsp, -8(%rdi)
	leaq	-16(%rdi), %rsp
	.cfi_undefined rip
	xorl	%ebp, %ebp	/* ends the frame-pointer chain */
	movq	%rdx, %rdi
	call	*%rsi
	movq	8(%rsp), %rsp
	.cfi_restore_state
.Lback:
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
	ret
	.cfi_endproc
	.size	mt_arch_call_on, . - mt_arch_call_on

/* void mt_arch_call_leave(void *top, void *result): from anywhere inside func, makes
 * mt_arch_call_on() return result. */
	.globl	mt_arch_call_leave
	.hidden	mt_arch_call_leave
	.type	mt_arch_call_leave, @function
mt_arch_call_leave:
	.cfi_startproc
	movq	%rsi, %rax
	movq	-8(%rdi), %rsp
	.cfi_undefined rip
	jmp	.Lback
	.cfi_endproc
	.size	mt_arch_call_leave, . - mt_arch_call_leave

/* What this file keeps to, for the linker: landings for indirect jumps, if the rest
 * has them, but not shadow stacks (../README.md). A program or a library is marked
 * with what all its objects say, so none with this one in it claims SHSTK. */
#if defined(__CET__) && (__CET__ & 1)
	.section .note.gnu.property, "a", @note
	.p2align 3
	.long	4			/* length of "GNU\0" */
	.long	16			/* length of what follows it */
	.long	5			/* NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.long	0xc0000002		/* GNU_PROPERTY_X86_FEATURE_1_AND */
	.long	4
	.long	1			/* IBT */
	.long	0
#endif

	.section .note.GNU-stack, "", @progbits
