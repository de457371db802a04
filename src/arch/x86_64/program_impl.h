/* SPDX-License-Identifier: Apache-2.0 */
/** @file program_impl.h x86-64: see arch/program.h. */
#ifndef MT_ARCH_X86_64_PROGRAM_IMPL_H
#define MT_ARCH_X86_64_PROGRAM_IMPL_H

#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

enum { MT_ARCH_ELF_MACHINE = EM_X86_64 };
#define MT_ARCH_ELF_NAME "x86-64"

/* How ld.so(8) finds libraries: the kind of an entry in the cache of ldconfig(8), $LIB, $PLATFORM,
 * and the folders of this processor. */
enum { MT_ARCH_CACHE_KIND = 0x303 };
#define MT_ARCH_LIB "lib/x86_64-linux-gnu"
#define MT_ARCH_PLATFORM "x86_64"
#define MT_ARCH_SYSTEM_FOLDERS                                                                     \
  "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"

static inline enum mt_arch_reloc mt_arch_reloc(uint32_t type) {
  switch (type) {
    case R_X86_64_NONE: return MT_RELOC_NONE;
    case R_X86_64_RELATIVE: return MT_RELOC_RELATIVE;
    case R_X86_64_64:
    case R_X86_64_GLOB_DAT:
    case R_X86_64_JUMP_SLOT: return MT_RELOC_SYMBOL;
    case R_X86_64_COPY: return MT_RELOC_COPY;
    case R_X86_64_IRELATIVE: return MT_RELOC_INDIRECT;
    case R_X86_64_DTPMOD64: return MT_RELOC_TLS_MODULE;
    case R_X86_64_DTPOFF64: return MT_RELOC_TLS_OFFSET;
    case R_X86_64_TPOFF64: return MT_RELOC_TLS_STATIC;
    case R_X86_64_TLSDESC: return MT_RELOC_TLS_DESCRIPTOR;
    default: return MT_RELOC_UNKNOWN;
  }
}

/** @return where a signal interrupted the program. */
static inline const void *mt_arch_instruction(const void *context) {
  const ucontext_t *interrupted = context;
  return (const void *)interrupted->uc_mcontext.gregs[REG_RIP];
}

/** @return the frame pointer there. */
static inline const void *mt_arch_interrupted_frame(const void *context) {
  const ucontext_t *interrupted = context;
  return (const void *)interrupted->uc_mcontext.gregs[REG_RBP];
}

/** @return the stack pointer there. */
static inline const void *mt_arch_interrupted_stack(const void *context) {
  const ucontext_t *interrupted = context;
  return (const void *)interrupted->uc_mcontext.gregs[REG_RSP];
}

/**
 * Tells whether the kernel, when a signal's handler returns, makes a system call again that the
 * signal has interrupted. The instruction of such a call has put its end and the flags into rcx and
 * r11. Before a first call these hold other values.
 * @param call gets its number and its first two arguments
 */
static inline bool mt_arch_repeats_call(const void *context, long call[3]) {
  enum { LENGTH = 2, DEBUGGED = 0x10100 /* flags that a debugger sets: TF and RF */ };
  static const unsigned char instruction[LENGTH] = {0x0f, 0x05};
  const greg_t *at = ((const ucontext_t *)context)->uc_mcontext.gregs;
  if (at[REG_RCX] != at[REG_RIP] + LENGTH) return false;
  if (((at[REG_R11] ^ at[REG_EFL]) & ~(greg_t)DEBUGGED) != 0) return false;
  if (memcmp((const void *)at[REG_RIP], instruction, LENGTH) != 0) return false;
  call[0] = at[REG_RAX];
  call[1] = at[REG_RDI];
  call[2] = at[REG_RSI];
  return true;
}

/** Has such a call return an error of the kernel's. */
static inline void mt_arch_fail_call(void *context, int error) {
  greg_t *at = ((ucontext_t *)context)->uc_mcontext.gregs;
  at[REG_RIP] = at[REG_RCX];
  at[REG_RAX] = -(greg_t)error;
}

/** Enters a program at its first instruction. The kernel would have left argc at the stack
 * pointer, and in rdx a function for atexit(): none. */
__attribute__((noreturn)) static inline void mt_arch_enter_program(const void *entry, void *sp) {
  __asm__ volatile(
      "mov %[sp], %%rsp\n"
      "xor %%edx, %%edx\n"
      "xor %%ebp, %%ebp\n"
      "jmp *%[entry]\n"
      :
      : [sp] "r"(sp), [entry] "r"(entry)
      : "rdx", "memory");
  __builtin_unreachable();
}

#endif
