/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch_switch.h
 * x86-64: a saved context, and the switch. Apart from the rest because the programs specc makes
 * switch themselves (src/sim/sim_switch.h): it includes no other header of ours.
 */
#ifndef MT_ARCH_X86_64_ARCH_SWITCH_H
#define MT_ARCH_X86_64_ARCH_SWITCH_H

/** The registers of a thread that does not run. All others are clobbered by the
 * switch, so the compiler saves around it just those it has in use. */
struct arch_context {
  void *sp; /**< offset 0 */
  void *bp; /**< offset 8: also the start of the frame-pointer chain */
  void *bx; /**< offset 16: a clobber may not name it where it is the base pointer */
  void *ip; /**< offset 24 */
};

/** A switch that has been prepared, and is to be done at once: mt_arch_switch(from, to). */
struct arch_switch_pair {
  struct arch_context *from;
  const struct arch_context *to; /**< NULL: it has been done already, or is not to be done */
};

#if defined(__CET__) && (__CET__ & 1)
#define MT_ARCH_LANDING "endbr64\n"
#else
#define MT_ARCH_LANDING ""
#endif

/** For functions that contain a switch and are left soon after it: their `ret` becomes a jump,
 * since the processor's stack of return addresses has those of the thread that ran before, and each
 * wrong one costs more than the switch itself; jumps are predicted by their history. (With CET the
 * jump would need a landing.) */
#if defined(__CET__)
#define MT_ARCH_RETURN_BY_JUMP
#else
#define MT_ARCH_RETURN_BY_JUMP __attribute__((function_return("thunk-extern")))
#endif

#if defined(__AVX512F__)
#define MT_ARCH_CLOBBER_AVX512                                                                     \
  , "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25",      \
      "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k1", "k2", "k3", "k4", "k5", "k6",    \
      "k7"
#else
#define MT_ARCH_CLOBBER_AVX512
#endif

/**
 * Saves the running context in *from and resumes *to. Returns when something
 * resumes *from, possibly on another kernel thread: values read from thread-local
 * storage before are stale.
 *
 * It writes nothing to the stack, so the red zone needs no care: it lies below
 * the saved sp, and no other thread touches a suspended stack. The jump is indirect, not
 * a return: a ret to an address the return-stack predictor did not push costs a
 * misprediction each time. FP control (mxcsr, x87) stays as it is; threads that have their
 * own exchange it before.
 */
__attribute__((always_inline)) static inline void mt_arch_switch(struct arch_context *from,
                                                                 const struct arch_context *to) {
  __asm__ volatile(
      "leaq 1f(%%rip), %%rax\n"
      "movq %%rsp, 0(%0)\n"
      "movq %%rbp, 8(%0)\n"
      "movq %%rbx, 16(%0)\n"
      "movq %%rax, 24(%0)\n"
      "movq 0(%1), %%rsp\n"
      "movq 8(%1), %%rbp\n"
      "movq 16(%1), %%rbx\n"
      "jmpq *24(%1)\n"
      "1:\n" MT_ARCH_LANDING
      : "+D"(from), "+S"(to)
      :
      : "rax", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12",
        "xmm13", "xmm14", "xmm15", "mm0", "mm1", "mm2", "mm3", "mm4", "mm5", "mm6", "mm7", "st",
        "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc",
        "memory" MT_ARCH_CLOBBER_AVX512);
}

#endif
