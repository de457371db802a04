/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch_impl.h
 * AArch64 (AAPCS64, Linux): saved context, switch, pause, argument capture.
 */
#ifndef MT_ARCH_AARCH64_ARCH_IMPL_H
#define MT_ARCH_AARCH64_ARCH_IMPL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/** The registers of a thread that does not run. All others are clobbered by the
 * switch, so the compiler saves around it just those it has in use. */
struct arch_context {
  void *sp; /**< offset 0 */
  void *bp; /**< offset 8: x29, the start of the frame-pointer chain */
  void *bx; /**< offset 16: x19, which some compilers keep as the base pointer */
  void *ip; /**< offset 24 */
};

/** What a context holds, for debuggers: a row for each register with gdb's name of it,
 * its offset, and its DWARF number. The first is the stack pointer, the last is where the
 * thread goes on. */
#define MT_ARCH_REGISTERS                                                                          \
  {"register.sp", offsetof(struct arch_context, sp), 31},                                          \
      {"register.x29", offsetof(struct arch_context, bp), 29},                                     \
      {"register.x19", offsetof(struct arch_context, bx), 19},                                     \
      {"register.pc", offsetof(struct arch_context, ip), 32}

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

extern void mt_arch_entry(void);

/** Makes *context start at mt_arch_entry() on the stack that ends at top. */
static inline void mt_arch_context_init(struct arch_context *context, void *top) {
  context->sp = (void *)((uintptr_t)top & ~(uintptr_t)15);
  context->bp = NULL; /* ends the frame-pointer chain */
  context->bx = NULL;
  context->ip = (void *)(uintptr_t)mt_arch_entry;
}

/** @return the stack pointer for mt_arch_leap() to start at mt_arch_entry() on the stack that ends
 * at top: x29, x30, and 18 more registers. */
static inline void *mt_arch_leap_init(void *top) {
  void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15) - 20;
  for (int i = 0; i < 20; i++) sp[i] = NULL;
  sp[1] = (void *)(uintptr_t)mt_arch_entry;
  return sp;
}

/** Floating-point control: rounding mode, and which exceptions trap. The exceptions' flags,
 * in fpsr, stay with the kernel thread. */
struct arch_fp {
  uint64_t fpcr;
};

static inline void mt_arch_fp_save(struct arch_fp *fp) {
  __asm__ volatile("mrs %0, fpcr" : "=r"(fp->fpcr));
}

/** @return whether control is the same. */
static inline int mt_arch_fp_same(const struct arch_fp *a, const struct arch_fp *b) {
  return a->fpcr == b->fpcr;
}

static inline void mt_arch_fp_load(const struct arch_fp *fp) {
  __asm__ volatile("msr fpcr, %0" : : "r"(fp->fpcr));
}

/** @return where a context that libc or a signal saved goes on. */
static inline const void *mt_arch_ucontext_ip(const ucontext_t *context) {
  return (const void *)context->uc_mcontext.pc;
}

/** @return its stack pointer. */
static inline const char *mt_arch_ucontext_sp(const ucontext_t *context) {
  return (const char *)context->uc_mcontext.sp;
}

/** @return its frame pointer. */
static inline unsigned long long *mt_arch_ucontext_frame(ucontext_t *context) {
  return &context->uc_mcontext.regs[29];
}

/** Tells the processor that this is a spin loop. `yield` is meant for that, but does
 * nothing on nearly every core; `isb` holds up for tens of cycles, as x86-64's pause
 * does, and the loops here are made for that. */
static inline void mt_arch_pause(void) { __asm__ volatile("isb" ::: "memory"); }

/** @return the stack pointer now. */
static inline char *mt_arch_sp(void) {
  char *sp;
  __asm__("mov %0, sp" : "=r"(sp));
  return sp;
}

/**
 * Reads a thread-local pointer afresh. The compiler may cache the address of a
 * thread-local variable across a call, and a switch may have moved the caller to
 * another kernel thread meanwhile; a volatile asm is neither cached nor moved.
 */
#define MT_ARCH_TLS_READ(variable)                                                                 \
  ({                                                                                               \
    void *value_, *base_;                                                                          \
    __asm__ volatile("adrp %0, :gottprel:" #variable                                               \
                     "\n"                                                                          \
                     "ldr %0, [%0, #:gottprel_lo12:" #variable                                     \
                     "]\n"                                                                         \
                     "mrs %1, tpidr_el0\n"                                                         \
                     "ldr %0, [%1, %0]"                                                            \
                     : "=&r"(value_), "=&r"(base_));                                               \
    value_;                                                                                        \
  })

/** Writes a thread-local pointer, with the same care. */
#define MT_ARCH_TLS_WRITE(variable, pointer)                                                       \
  ({                                                                                               \
    void *offset_, *base_;                                                                         \
    __asm__ volatile("adrp %0, :gottprel:" #variable                                               \
                     "\n"                                                                          \
                     "ldr %0, [%0, #:gottprel_lo12:" #variable                                     \
                     "]\n"                                                                         \
                     "mrs %1, tpidr_el0\n"                                                         \
                     "str %2, [%1, %0]"                                                            \
                     : "=&r"(offset_), "=&r"(base_)                                                \
                     : "r"(pointer)                                                                \
                     : "memory");                                                                  \
  })

/** Arguments of mltp_vcreate(), as the ABI passes them: integers and the first
 * floating-point values in registers, the rest in memory order. Field offsets are
 * known to entry.S. */
struct arch_vargs {
  uint64_t gp[8];     /**< offset 0 */
  uint64_t fp[8][2];  /**< offset 64: q0 to q7 */
  uint64_t count;     /**< offset 192: words of stack[] */
  uint64_t stack[32]; /**< offset 200: arguments that do not fit in registers */
};

/** The AAPCS64 va_list, field by field (appendix B of the ABI). */
struct arch_va_list {
  uint64_t *overflow;
  char *gp_top;
  char *fp_top;
  int32_t gp_offset; /**< from gp_top to the next one: 0 or less */
  int32_t fp_offset;
};

/**
 * Captures what a variadic function was given after two named integer arguments.
 * The types are unknown, so all register arguments are taken, and as many words
 * from memory as can belong to nbytes of arguments; the first two of those move
 * into registers, since the thread's function has no two named ones before them.
 */
/* AddressSanitizer minds that it reads more than there may be: into the caller's frame. */
__attribute__((no_sanitize_address)) static inline void mt_arch_capture(struct arch_vargs *args,
                                                                        va_list list, int nbytes) {
  struct arch_va_list va;
  memcpy(&va, &list, sizeof va);
  uint64_t words = ((uint64_t)nbytes + 7) / 8;
  uint64_t in_registers = (uint64_t)(-va.gp_offset) / 8;
  uint64_t in_memory = words > in_registers ? words - in_registers : 0;
  memset(args, 0, sizeof *args);
  memcpy(args->gp, va.gp_top + va.gp_offset, in_registers * 8);
  memcpy(args->fp, va.fp_top + va.fp_offset, (size_t)-va.fp_offset);
  for (uint64_t i = 0; i < in_memory; i++) {
    uint64_t slot = in_registers + i;
    if (slot < 8)
      args->gp[slot] = va.overflow[i];
    else
      args->stack[args->count++] = va.overflow[i];
  }
}

#endif
