/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch_switch.h
 * AArch64: a saved context, and the switch. Apart from the rest because the programs specc makes
 * switch themselves (src/sim/sim_switch.h): it stands for itself.
 */
#ifndef MT_ARCH_AARCH64_ARCH_SWITCH_H
#define MT_ARCH_AARCH64_ARCH_SWITCH_H

/** The registers of a thread that does not run. All others are clobbered by the
 * switch, so the compiler saves around it just those it has in use. */
struct arch_context {
  void *sp; /**< offset 0 */
  void *bp; /**< offset 8: x29, the start of the frame-pointer chain */
  void *bx; /**< offset 16: x19, which some compilers keep as the base pointer */
  void *ip; /**< offset 24 */
};

/** A switch that has been prepared, and is to be done at once: mt_arch_switch(from, to). */
struct arch_switch_pair {
  struct arch_context *from;
  const struct arch_context *to; /**< NULL: it has been done already, or is not to be done */
};

/* Where an indirect jump may land when the program was built for BTI; a hint, so
 * that older assemblers and processors take it, too. */
#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define MT_ARCH_LANDING "hint #36\n" /* bti j */
#else
#define MT_ARCH_LANDING ""
#endif

/** For functions that contain a switch; x86_64's says what for. */
#define MT_ARCH_RETURN_BY_JUMP

#if defined(__ARM_FEATURE_SVE)
#define MT_ARCH_CLOBBER_SVE                                                                        \
  , "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", \
      "p15", "ffr"
#else
#define MT_ARCH_CLOBBER_SVE
#endif

/**
 * Saves the running context in *from and resumes *to. Returns when something
 * resumes *from, possibly on another kernel thread: whatever was read from
 * thread-local storage before is stale.
 *
 * d8 to d15 and x20 to x28 are clobbered like the rest: the compiler saves them in
 * the frame of the function that switches, which is no more than a switch of its
 * own would have to. x18, the platform's register, Linux leaves to the compiler.
 * The jump goes by x16, from which a `bti c` may be reached, too. A saved ip
 * is not signed: like a return address in a jmp_buf of old it is as safe as the
 * descriptor it lies in. FPCR stays as it is.
 */
__attribute__((always_inline)) static inline void mt_arch_switch(struct arch_context *from,
                                                                 const struct arch_context *to) {
  register struct arch_context *x0 __asm__("x0") = from;
  register const struct arch_context *x1 __asm__("x1") = to;
  __asm__ volatile(
      "adr x2, 1f\n"
      "mov x3, sp\n"
      "stp x3, x29, [x0, #0]\n"
      "stp x19, x2, [x0, #16]\n"
      "ldp x3, x29, [x1, #0]\n"
      "ldp x19, x16, [x1, #16]\n"
      "mov sp, x3\n"
      "br x16\n"
      "1:\n" MT_ARCH_LANDING
      : "+r"(x0), "+r"(x1)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
        "x16", "x17", "x18", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30",
        "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13",
        "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
        "v27", "v28", "v29", "v30", "v31", "cc", "memory" MT_ARCH_CLOBBER_SVE);
}

#endif
