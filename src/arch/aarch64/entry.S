/* SPDX-License-Identifier: Apache-2.0 */
/* The two places where a stack begins or is rebuilt by hand; ../README.md draws them. */

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define LANDING hint #34	/* bti c */
#else
#define LANDING
#endif

	.text

/* void mt_arch_entry(void): the first instruction on a fresh stack; sp is the
 * 16-byte aligned top, x29 is 0. The undefined return address tells unwinders
 * that this is the outermost frame. */
	.globl	mt_arch_entry
	.hidden	mt_arch_entry
	.type	mt_arch_entry, %function
	.p2align 2
mt_arch_entry:
	.cfi_startproc
	.cfi_undefined x30
	LANDING
	stp	xzr, xzr, [sp, #-16]!	/* a frame record of zeros: a return address of 0, */
	mov	x29, sp			/* and a frame pointer of 0 */
	bl	mt_thread_start
	brk	#0			/* mt_thread_start does not return */
	.cfi_endproc
	.size	mt_arch_entry, . - mt_arch_entry

/* A context of mt_arch_call_first() continues here; sp: the function, and the sp and pc from before. All
 * other registers than x29 and x19 are free here, as after every switch. */
	.globl	mt_arch_detour
	.hidden	mt_arch_detour
	.type	mt_arch_detour, %function
	.p2align 2
mt_arch_detour:
	.cfi_startproc
	.cfi_undefined x30
	LANDING
	ldr	x9, [sp, #0]
	blr	x9
	ldp	x9, x16, [sp, #8]
	mov	sp, x9
	br	x16
	.cfi_endproc
	.size	mt_arch_detour, . - mt_arch_detour

/* void *mt_arch_vcall(void *(*func)(int, ...), const struct arch_vargs *args):
 * copies args->stack, loads the argument registers, calls func. */
	.globl	mt_arch_vcall
	.hidden	mt_arch_vcall
	.type	mt_arch_vcall, %function
	.p2align 2
mt_arch_vcall:
	.cfi_startproc
#if defined(__ARM_FEATURE_PAC_DEFAULT)
	hint	#25			/* paciasp: a landing for calls, too */
	.cfi_negate_ra_state
#else
	LANDING
#endif
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	mov	x9, x0			/* func */
	mov	x10, x1			/* args */
	ldr	x11, [x10, #192]	/* words in memory */
	add	x12, x11, #1
	and	x12, x12, #~1		/* an even number keeps sp aligned to 16 */
	sub	sp, sp, x12, lsl #3
	mov	x13, sp
	add	x14, x10, #200
1:	cbz	x11, 2f
	ldr	x15, [x14], #8
	str	x15, [x13], #8
	sub	x11, x11, #1
	b	1b
2:	ldp	q0, q1, [x10, #64]
	ldp	q2, q3, [x10, #96]
	ldp	q4, q5, [x10, #128]
	ldp	q6, q7, [x10, #160]
	ldp	x0, x1, [x10, #0]
	ldp	x2, x3, [x10, #16]
	ldp	x4, x5, [x10, #32]
	ldp	x6, x7, [x10, #48]
	blr	x9
	mov	sp, x29
	.cfi_def_cfa_register sp
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore x29
	.cfi_restore x30
#if defined(__ARM_FEATURE_PAC_DEFAULT)
	hint	#29			/* autiasp */
	.cfi_negate_ra_state
#endif
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
	.type	mt_arch_call_on, %function
	.p2align 2
mt_arch_call_on:
	.cfi_startproc
	LANDING
	mov	x9, sp			/* the caller's sp, x29, x19, and where it continues */
	stp	x9, x29, [x3, #0]
	stp	x19, x30, [x3, #16]
#if defined(__ARM_FEATURE_PAC_DEFAULT)
	hint	#25			/* paciasp */
	.cfi_negate_ra_state
#endif
	stp	x29, x30, [sp, #-160]!
	.cfi_def_cfa_offset 160
	.cfi_offset x29, -160
	.cfi_offset x30, -152
	stp	x19, x20, [sp, #16]
	.cfi_offset x19, -144
	.cfi_offset x20, -136
	stp	x21, x22, [sp, #32]
	stp	x23, x24, [sp, #48]
	stp	x25, x26, [sp, #64]
	stp	x27, x28, [sp, #80]
	stp	d8, d9, [sp, #96]
	stp	d10, d11, [sp, #112]
	stp	d12, d13, [sp, #128]
	stp	d14, d15, [sp, #144]
	.cfi_remember_state
	mov	x9, sp
	str	x9, [x0, #-8]
	sub	x0, x0, #16
	mov	sp, x0
	.cfi_undefined x30
	mov	x29, xzr		/* ends the frame-pointer chain */
	mov	x0, x2
	blr	x1
	ldr	x9, [sp, #8]
.Lback:
	mov	sp, x9
	.cfi_restore_state
	ldp	d14, d15, [sp, #144]
	ldp	d12, d13, [sp, #128]
	ldp	d10, d11, [sp, #112]
	ldp	d8, d9, [sp, #96]
	ldp	x27, x28, [sp, #80]
	ldp	x25, x26, [sp, #64]
	ldp	x23, x24, [sp, #48]
	ldp	x21, x22, [sp, #32]
	ldp	x19, x20, [sp, #16]
	ldp	x29, x30, [sp], #160
	.cfi_def_cfa_offset 0
	.cfi_restore x19
	.cfi_restore x20
	.cfi_restore x29
	.cfi_restore x30
#if defined(__ARM_FEATURE_PAC_DEFAULT)
	hint	#29			/* autiasp */
	.cfi_negate_ra_state
#endif
	ret
	.cfi_endproc
	.size	mt_arch_call_on, . - mt_arch_call_on

/* void mt_arch_call_leave(void *top, void *result): from anywhere inside func, makes
 * mt_arch_call_on() return result. */
	.globl	mt_arch_call_leave
	.hidden	mt_arch_call_leave
	.type	mt_arch_call_leave, %function
	.p2align 2
mt_arch_call_leave:
	.cfi_startproc
	LANDING
	.cfi_undefined x30
	ldr	x9, [x0, #-8]
	mov	x0, x1
	b	.Lback
	.cfi_endproc
	.size	mt_arch_call_leave, . - mt_arch_call_leave

/* What this file keeps to, for the linker: it marks a program or a library only if
 * all objects say so. */
#if defined(__ARM_FEATURE_BTI_DEFAULT) || defined(__ARM_FEATURE_PAC_DEFAULT)
#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define FEATURE_BTI 1
#else
#define FEATURE_BTI 0
#endif
#if defined(__ARM_FEATURE_PAC_DEFAULT)
#define FEATURE_PAC 2
#else
#define FEATURE_PAC 0
#endif
	.section .note.gnu.property, "a", %note
	.p2align 3
	.word	4			/* length of "GNU\0" */
	.word	16			/* length of what follows it */
	.word	5			/* NT_GNU_PROPERTY_TYPE_0 */
	.asciz	"GNU"
	.word	0xc0000000		/* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
	.word	4
	.word	FEATURE_BTI | FEATURE_PAC
	.word	0
#endif

	.section .note.GNU-stack, "", %progbits
