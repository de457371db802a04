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

#include "arch/aarch64/arch_switch.h"

/** What a context holds, for debuggers: a row for each register with gdb's name of it,
 * its offset, and its DWARF number. The first is the stack pointer, the last is where the
 * thread continues. */
#define MT_ARCH_REGISTERS                                                                          \
  {"register.sp", offsetof(struct arch_context, sp), 31},                                          \
      {"register.x29", offsetof(struct arch_context, bp), 29},                                     \
      {"register.x19", offsetof(struct arch_context, bx), 19},                                     \
      {"register.pc", offsetof(struct arch_context, ip), 32}

extern void mt_arch_entry(void);
extern void mt_arch_detour(void);

/** Makes *context start at mt_arch_entry() on the stack that ends at top. */
static inline void mt_arch_context_init(struct arch_context *context, void *top) {
  context->sp = (void *)((uintptr_t)top & ~(uintptr_t)15);
  context->bp = NULL; /* ends the frame-pointer chain */
  context->bx = NULL;
  context->ip = (void *)(uintptr_t)mt_arch_entry;
}

/** Makes the context's thread call a function before it continues where it was. Of several
 * functions the last one given is called first. It may leave by longjmp(). The saved registers
 * lie on its stack. */
static inline void mt_arch_call_first(struct arch_context *context, void (*function)(void)) {
  void **frame = (void **)context->sp - 4;
  frame[0] = (void *)(uintptr_t)function;
  frame[1] = context->sp;
  frame[2] = context->ip;
  context->sp = frame;
  context->ip = (void *)(uintptr_t)mt_arch_detour;
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

/** Saves one thread's control and loads another's if it differs: to load takes longer than to look.
 * @return the form of what was saved; *from is written if that is MT_ARCH_FP_RECORDED, and *to is
 * read if to_form is. A process starts with 0. */
static inline enum mt_arch_fp_form mt_arch_fp_exchange(struct arch_fp *from,
                                                       const struct arch_fp *to,
                                                       enum mt_arch_fp_form to_form) {
  const struct arch_fp usual = {0};
  struct arch_fp now;
  mt_arch_fp_save(&now);
  enum mt_arch_fp_form form = now.fpcr == usual.fpcr ? MT_ARCH_FP_USUAL : MT_ARCH_FP_RECORDED;
  if (form == MT_ARCH_FP_RECORDED) *from = now;
  if (to_form != MT_ARCH_FP_RECORDED) to = &usual;
  if (now.fpcr != to->fpcr) mt_arch_fp_load(to);
  return form;
}

/** @return a return address that lay in a frame, without the signature that functions built for
 * pointer authentication give it. Processors without that ignore the instruction (xpaclri). */
static inline const void *mt_arch_plain_return(const void *address) {
  register const void *signed_one __asm__("x30") = address;
  __asm__("hint #7" : "+r"(signed_one));
  return signed_one;
}

/** @return where a context that libc or a signal saved continues. */
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

/** @return where a thread-local variable lies from the kernel thread's own block: the same on all
 * kernel threads, so the compiler may keep it across a switch. */
#define MT_ARCH_TLS_OFFSET(variable)                                                               \
  ({                                                                                               \
    uintptr_t offset_;                                                                             \
    __asm__("adrp %0, :gottprel:" #variable                                                        \
            "\n"                                                                                   \
            "ldr %0, [%0, #:gottprel_lo12:" #variable "]"                                          \
            : "=r"(offset_));                                                                      \
    offset_;                                                                                       \
  })

/** @return a byte of the kernel thread's own block: read afresh, as by MT_ARCH_TLS_READ(). */
static inline char *mt_arch_tls_at(uintptr_t offset) {
  char *base;
  __asm__ volatile("mrs %0, tpidr_el0" : "=r"(base));
  return base + offset;
}

/** Stores 1 in the first of two thread-local bytes, then reads the second. The compiler keeps the
 * order; for the processor the caller needs a fence. @return the second byte less 1: only the sign
 * counts. */
static inline int mt_arch_tls_enter(uintptr_t offset) {
  char *bytes = mt_arch_tls_at(offset);
  __atomic_store_n(&bytes[0], 1, __ATOMIC_RELAXED); /* relaxed: the caller's fence orders it */
  __asm__ volatile("" ::: "memory");
  return __atomic_load_n(&bytes[1], __ATOMIC_RELAXED) - 1; /* relaxed: as above */
}

/** The same, for a second byte that is mostly above 1. */
static inline int mt_arch_tls_enter_above(uintptr_t offset) { return mt_arch_tls_enter(offset); }

/** Stores 0 in a thread-local byte: a release. */
static inline void mt_arch_tls_leave(uintptr_t offset) {
  __asm__ volatile("stlrb wzr, [%0]" : : "r"(mt_arch_tls_at(offset)) : "memory");
}

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
