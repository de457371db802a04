/* SPDX-License-Identifier: Apache-2.0 */
/* The portable switch. */
#include <stdalign.h>
#include <string.h>
#include <ucontext.h>

#include "arch/arch.h"

/* FP control of the thread that is about to run, as the scheduler has set it. swapcontext()
 * would restore the value from when that context was saved. The accesses are calls, since
 * a compiler would keep the variable's address across the switch. */
static __thread struct arch_fp wanted;

static __attribute__((noinline)) void note_fp(void) { mt_arch_fp_save(&wanted); }

static __attribute__((noinline)) void restore_fp(void) { mt_arch_fp_load(&wanted); }

static void begin(void) {
  restore_fp();
  mt_thread_start();
}

void mt_ucontext_init(struct arch_context *context, char *low, char *top) {
  uintptr_t at = ((uintptr_t)top - sizeof(ucontext_t)) & ~(uintptr_t)(alignof(ucontext_t) - 1);
  ucontext_t *fresh = (ucontext_t *)at;
  getcontext(fresh);                  /* fails nowhere: it has nothing to refuse */
  *mt_arch_ucontext_frame(fresh) = 0; /* ends the frame-pointer chain */
  fresh->uc_stack = (stack_t){.ss_sp = low, .ss_size = at - (uintptr_t)low};
  fresh->uc_link = NULL;
  makecontext(fresh, begin, 0);
  context->sp = fresh;
  context->bp = NULL;
  context->ip = (void *)(uintptr_t)begin;
}

void mt_ucontext_switch(struct arch_context *from, const struct arch_context *to) {
  ucontext_t here;
  memset(&here.uc_stack, 0, sizeof here.uc_stack); /* AddressSanitizer reads it */
  void *const *frame = __builtin_frame_address(0);
  from->sp = &here;
  from->bp = frame[0]; /* the caller's, where it continues */
  from->ip = __builtin_return_address(0);
  note_fp();
  swapcontext(&here, to->sp);
  restore_fp();
}
