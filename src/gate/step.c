/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/step.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "gate/seed.h"
#include "os/os.h"

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100, BREAKPOINT = 0xcc };

/* The program's instructions: where they are, and how they were. */
static struct {
  uintptr_t low, size; /* [const] size 0: off */
  uint8_t *original;   /* [const] */
} text;

/* The calling thread's breakpoint that is out for one step. */
static __thread uint8_t *out;

static bool is_ours(uintptr_t at) { return at - text.low < text.size; }

static void restore(uint8_t *at) { *at = text.original[(uintptr_t)at - text.low]; }

/* Only behind an instruction that calls: what lies on the stack may be no return address. */
static bool is_behind_call(uintptr_t at) {
  const uint8_t *code = text.original + (at - text.low);
  uintptr_t before = at - text.low;
  return (before >= 5 && code[-5] == 0xe8) ||
         (before >= 2 && code[-2] == 0xff && (code[-1] & 0x38) == 0x10) ||
         (before >= 3 && code[-3] == 0xff && (code[-2] & 0x38) == 0x10) ||
         (before >= 6 && code[-6] == 0xff && (code[-5] & 0x38) == 0x10);
}

/* A step that ended outside of the program: a call, whose return is awaited at full speed. */
static void leave_text(greg_t *registers) {
  uintptr_t back = *(uintptr_t *)registers[REG_RSP];
  registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
  if (is_ours(back) && is_behind_call(back)) *(uint8_t *)back = BREAKPOINT;
}

static void offer_point(uintptr_t at) {
  /* relaxed: the thread's own, or as gt_enter() */
  if ((mt_load_relaxed(&gt_me.open) != 0 || gt_is_back(&gt_me)) &&
      gt_step_is_shared(text.original + (at - text.low)))
    gt_point(&gt_me, "access");
}

static void on_trap(int signo, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  uintptr_t at = (uintptr_t)registers[REG_RIP];
  int saved = errno;
  (void)signo;
  if (out != NULL) *out = BREAKPOINT;
  out = NULL;
  if (info->si_code != TRAP_TRACE && is_ours(at - 1) &&
      text.original[at - 1 - text.low] != BREAKPOINT) {
    offer_point(at - 1); /* while the breakpoint is in: another thread may come here */
    out = (uint8_t *)(at - 1);
    restore(out);
    registers[REG_RIP] = (greg_t)(at - 1);
    registers[REG_EFL] |= TRAP_FLAG;
  } else if (!is_ours(at)) {
    leave_text(registers);
  } else {
    offer_point(at);
  }
  errno = saved;
}

/* The first object is the program. */
static int find_text(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size;
  (void)unused;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *part = &info->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || (part->p_flags & PF_X) == 0) continue;
    text.low = info->dlpi_addr + part->p_vaddr;
    text.size = part->p_memsz;
  }
  return 1;
}

int gt_step_start(void) {
  struct sigaction old;
  dl_iterate_phdr(find_text, NULL);
  uintptr_t page = os_page_size(), first = text.low & ~(page - 1);
  uintptr_t length = (text.low + text.size - first + page - 1) & ~(page - 1), size = text.size;
  text.size = 0;
  text.original = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (text.original == MAP_FAILED) return ENOMEM;
  memcpy(text.original, (const void *)text.low, size);
  if (mprotect((void *)first, length, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return errno;
  int error = os_signal_install(SIGTRAP, on_trap, &old);
  if (error == 0) text.size = size;
  return error;
}

bool gt_step_is_on(void) { return text.size != 0; }

void gt_step_at(uintptr_t function) {
  if (is_ours(function)) *(uint8_t *)function = BREAKPOINT;
}

#else

int gt_step_start(void) { return ENOTSUP; }

bool gt_step_is_on(void) { return false; }

void gt_step_at(uintptr_t function) { (void)function; }

#endif
