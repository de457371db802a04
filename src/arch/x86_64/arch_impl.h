/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file arch_impl.h
 * x86-64 (System V ABI): saved context, switch, pause, argument capture.
 */
#ifndef MT_ARCH_X86_64_ARCH_IMPL_H
#define MT_ARCH_X86_64_ARCH_IMPL_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "arch/x86_64/arch_switch.h"

/** What a context holds, for debuggers: a row for each register with gdb's name of it,
 * its offset, and its DWARF number. The stack pointer comes first, then the frame
 * pointer; the last is where the thread continues. */
#define MT_ARCH_REGISTERS                                                                          \
  {"register.rsp", offsetof(struct arch_context, sp), 7},                                          \
      {"register.rbp", offsetof(struct arch_context, bp), 6},                                      \
      {"register.rbx", offsetof(struct arch_context, bx), 3},                                      \
      {"register.rip", offsetof(struct arch_context, ip), 16}

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
 * lie on its stack, below the red zone. */
static inline void mt_arch_call_first(struct arch_context *context, void (*function)(void)) {
  enum { RED_ZONE = 128 };
  uintptr_t below = ((uintptr_t)context->sp - RED_ZONE) & ~(uintptr_t)15;
  void **frame = (void **)below - 3; /* so that the stack is aligned for the call */
  frame[0] = (void *)(uintptr_t)function;
  frame[1] = context->sp;
  frame[2] = context->ip;
  context->sp = frame;
  context->ip = (void *)(uintptr_t)mt_arch_detour;
}

/** @return the stack pointer for mt_arch_leap() to start at mt_arch_entry() on the stack that ends
 * at top: six registers and a return address. */
static inline void *mt_arch_leap_init(void *top) {
  void **sp = (void **)((uintptr_t)top & ~(uintptr_t)15) - 7;
  for (int i = 0; i < 6; i++) sp[i] = NULL;
  sp[6] = (void *)(uintptr_t)mt_arch_entry;
  return sp;
}

/** Floating-point control: rounding mode, exception masks. mxcsr holds SSE's exception flags, too,
 * so these follow the thread; x87's are cleared when a thread with control of its own comes or
 * goes. */
struct arch_fp {
  uint32_t mxcsr;
  uint16_t x87;
};

static inline void mt_arch_fp_save(struct arch_fp *fp) {
  __asm__ volatile("stmxcsr %0" : "=m"(fp->mxcsr));
  __asm__ volatile("fnstcw %0" : "=m"(fp->x87));
}

/** @return whether control is the same; flags do not count. */
static inline int mt_arch_fp_same(const struct arch_fp *a, const struct arch_fp *b) {
  const uint32_t flags = 0x3f;
  return ((a->mxcsr ^ b->mxcsr) & ~flags) == 0 && a->x87 == b->x87;
}

/* Or a thread would be hit by what another flagged, once it unmasks it. */
static inline void mt_arch_x87_clear(void) {
  enum { X87_FLAGS = 0x7f };
  uint16_t status;
  __asm__ volatile("fnstsw %0" : "=a"(status));
  if ((status & X87_FLAGS) != 0) __asm__ volatile("fnclex");
}

static inline void mt_arch_fp_load(const struct arch_fp *fp) {
  mt_arch_x87_clear();
  __asm__ volatile("fldcw %0" : : "m"(fp->x87));
  __asm__ volatile("ldmxcsr %0" : : "m"(fp->mxcsr));
}

/** What a process starts with, or the same with the flag that nearly all arithmetic raises. */
static inline struct arch_fp mt_arch_fp_usual(enum mt_arch_fp_form form) {
  struct arch_fp fp = {form == MT_ARCH_FP_INEXACT ? 0x1fa0u : 0x1f80u, 0x37f};
  return fp;
}

static inline enum mt_arch_fp_form mt_arch_fp_form_of(const struct arch_fp *fp) {
  const struct arch_fp usual = mt_arch_fp_usual(MT_ARCH_FP_USUAL);
  const struct arch_fp inexact = mt_arch_fp_usual(MT_ARCH_FP_INEXACT);
  if (fp->x87 != usual.x87) return MT_ARCH_FP_RECORDED;
  if (fp->mxcsr == inexact.mxcsr) return MT_ARCH_FP_INEXACT;
  return fp->mxcsr == usual.mxcsr ? MT_ARCH_FP_USUAL : MT_ARCH_FP_RECORDED;
}

/** Saves one thread's control and flags and loads another's. @return the form of what was saved;
 * *from is written if that is MT_ARCH_FP_RECORDED, and *to is read if to_form is. */
static inline enum mt_arch_fp_form mt_arch_fp_exchange(struct arch_fp *from,
                                                       const struct arch_fp *to,
                                                       enum mt_arch_fp_form to_form) {
  struct arch_fp now;
  mt_arch_fp_save(&now);
  mt_arch_x87_clear();
  enum mt_arch_fp_form form = mt_arch_fp_form_of(&now);
  if (form == MT_ARCH_FP_RECORDED)
    *from = now;
  else if (form == to_form)
    return form;
  struct arch_fp wanted = to_form == MT_ARCH_FP_RECORDED ? *to : mt_arch_fp_usual(to_form);
  if (now.x87 != wanted.x87) __asm__ volatile("fldcw %0" : : "m"(wanted.x87));
  __asm__ volatile("ldmxcsr %0" : : "m"(wanted.mxcsr));
  return form;
}

/** @return a return address that lay in a frame: as it is. */
static inline const void *mt_arch_plain_return(const void *address) { return address; }

/** @return where a context that libc or a signal saved continues. */
static inline const void *mt_arch_ucontext_ip(const ucontext_t *context) {
  return (const void *)context->uc_mcontext.gregs[REG_RIP];
}

/** @return its stack pointer. */
static inline const char *mt_arch_ucontext_sp(const ucontext_t *context) {
  return (const char *)context->uc_mcontext.gregs[REG_RSP];
}

/** @return its frame pointer. */
static inline greg_t *mt_arch_ucontext_frame(ucontext_t *context) {
  return &context->uc_mcontext.gregs[REG_RBP];
}

/** Tells the processor that this is a spin loop. */
static inline void mt_arch_pause(void) { __asm__ volatile("pause" ::: "memory"); }

/** @return the stack pointer now. */
static inline char *mt_arch_sp(void) {
  char *sp;
  __asm__("movq %%rsp, %0" : "=r"(sp));
  return sp;
}

/**
 * Reads a thread-local pointer afresh. The compiler may cache the address of a
 * thread-local variable across a call, and a switch may have moved the caller to
 * another kernel thread meanwhile; a volatile asm is neither cached nor moved.
 */
#define MT_ARCH_TLS_READ(variable)                                                                 \
  ({                                                                                               \
    void *value_;                                                                                  \
    __asm__ volatile("movq " #variable                                                             \
                     "@gottpoff(%%rip), %0\n"                                                      \
                     "movq %%fs:(%0), %0"                                                          \
                     : "=r"(value_));                                                              \
    value_;                                                                                        \
  })

/** Writes a thread-local pointer, with the same care. */
#define MT_ARCH_TLS_WRITE(variable, pointer)                                                       \
  ({                                                                                               \
    void *offset_;                                                                                 \
    __asm__ volatile("movq " #variable                                                             \
                     "@gottpoff(%%rip), %0\n"                                                      \
                     "movq %1, %%fs:(%0)"                                                          \
                     : "=&r"(offset_)                                                              \
                     : "r"(pointer)                                                                \
                     : "memory");                                                                  \
  })

/** @return where a thread-local variable lies from the kernel thread's own block: the same on all
 * kernel threads, so the compiler may keep it across a switch. */
#define MT_ARCH_TLS_OFFSET(variable)                                                               \
  ({                                                                                               \
    uintptr_t offset_;                                                                             \
    __asm__("movq " #variable "@gottpoff(%%rip), %0" : "=r"(offset_));                             \
    offset_;                                                                                       \
  })

/** Stores 1 in the first of two thread-local bytes, then reads the second. The compiler keeps the
 * order; for the processor the caller needs a fence. @return the second byte less 1: only the sign
 * counts. */
static inline int mt_arch_tls_enter(uintptr_t offset) {
  __asm__ goto(
      "movb $1, %%fs:(%0)\n"
      "cmpb $1, %%fs:1(%0)\n"
      "ja %l[above]\n"
      "jb %l[below]"
      :
      : "r"(offset)
      : "cc", "memory"
      : above, below);
  return 0;
above:
  return 1;
below:
  return -1;
}

/** The same, with one jump that is not taken where the second byte is above 1. A byte of 1 or less
 * does not change until the caller has left. */
static inline int mt_arch_tls_enter_above(uintptr_t offset) {
  __asm__ goto(
      "movb $1, %%fs:(%0)\n"
      "cmpb $1, %%fs:1(%0)\n"
      "jbe %l[other]"
      :
      : "r"(offset)
      : "cc", "memory"
      : other);
  return 1;
other:
  __asm__ goto(
      "cmpb $0, %%fs:1(%0)\n"
      "je %l[below]"
      :
      : "r"(offset)
      : "cc", "memory"
      : below);
  return 0;
below:
  return -1;
}

/** Stores 0 in a thread-local byte: a release. */
static inline void mt_arch_tls_leave(uintptr_t offset) {
  __asm__ volatile("movb $0, %%fs:(%0)" : : "r"(offset) : "memory");
}

/** Arguments of mltp_vcreate(), as the ABI passes them: integers and the first
 * doubles in registers, the rest in memory order. Field offsets are known to
 * entry.S. */
struct arch_vargs {
  uint64_t gp[6];     /**< offset 0 */
  double fp[8];       /**< offset 48 */
  uint64_t count;     /**< offset 112: words of stack[] */
  uint64_t stack[32]; /**< offset 120: arguments that do not fit in registers */
};

/** The System V va_list, field by field (ABI 3.5.7). */
struct arch_va_list {
  uint32_t gp_offset;
  uint32_t fp_offset;
  uint64_t *overflow;
  char *registers;
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
  memcpy(&va, list, sizeof va);
  uint64_t words = ((uint64_t)nbytes + 7) / 8;
  uint64_t in_registers = (48 - va.gp_offset) / 8;
  uint64_t in_memory = words > in_registers ? words - in_registers : 0;
  memset(args, 0, sizeof *args);
  memcpy(args->gp, va.registers + va.gp_offset, in_registers * 8);
  for (int i = 0; i < 8; i++) memcpy(&args->fp[i], va.registers + 48 + 16 * i, 8);
  for (uint64_t i = 0; i < in_memory; i++) {
    uint64_t slot = in_registers + i;
    if (slot < 6)
      args->gp[slot] = va.overflow[i];
    else
      args->stack[args->count++] = va.overflow[i];
  }
}

#endif
