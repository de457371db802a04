/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The child of fork(). It has one kernel thread, a copy of the one that called fork(), and
 * a copy of our memory as the others were changing it: internal locks held, lists half linked.
 * So it repairs nothing and takes no lock. The child forgets the runtime, and mltp_init()
 * makes a new one. The parent notices nothing, and takes no lock before it forks.
 *
 * Old stacks, descriptors and VPs stay mapped. The child may be running on such a stack, what
 * its program made before may point to others', and locks name their holders; a page costs
 * nothing until one of the two writes to it.
 *
 * Handlers stay as well: a dump signal that is under way must not kill the child.
 *
 * Rejected: taking every internal lock before fork() and releasing it after, so that the child
 * could continue. Its other threads would be parked forever on kernel threads that do not exist.
 *
 * Relaxed: the child has one kernel thread.
 */
#include "core/life/fork.h"

#include <string.h>

#include "base/single_threaded.h"
#include "coord/client.h"
#include "core/life/initialise.h"
#include "core/life/outside.h"
#include "core/memory/descriptor.h"
#include "core/memory/pack.h"
#include "core/memory/stack.h"
#include "core/sched/monitor.h"
#include "core/sched/stack_wait.h"
#include "core/thread/key.h"
#include "core/vp/poller.h"
#include "core/wait/await.h"
#include "instrument/sanitizer.h"

/* The stack that this process runs on outside the runtime: it was forked by a thread of ours, not
 * by main. */
static struct {
  char *low;
  size_t size;
} inherited;

/* Its VPs, so that leak checkers find them: it is no time to call free(). */
static struct mt_vp *forgotten;

static void in_child(void) {
  mt_pack_child(); /* before all: pages of any stack may be missing */
  mt_sanitizer_child_begin();
  mt_bias_forget(); /* first: its owner, or a revoker, may not exist here */
  struct mltp_thread *self = mt_current();
  if (self != NULL && self->stack != NULL) {
    inherited.low = self->stack->low;
    inherited.size = mt_stack_size(self->stack);
    self->stack->check = MT_STACK_CHILD;
  } else if (self != NULL && self->kind == MT_BOUND && self != mt_rt.main) {
    inherited.low = (char *)(uintptr_t)self->stack_low;
    inherited.size = self->stack_size;
  }
  mt_outside_forget(self);
  mt_set_current(NULL);
  for (uint32_t i = 0; i < MT_VPS_MAX && mt_rt.vps[i] != NULL; i++) {
    mt_rt.vps[i]->sleep.next = forgotten;
    forgotten = mt_rt.vps[i];
  }
  mt_descriptors_forget();
  mt_stacks_forget();
  mt_stack_wait_forget();
  mt_keys_forked();
  mt_await_forget();
  mt_initialise_forget();
  mt_client_forget();
  mt_monitor_forget();
  if (mt_poller() != NULL) mt_poller()->forget();
  bool was_running = mt_load_relaxed(&mt_rt.running);
  memset(&mt_rt, 0, sizeof mt_rt);
  mt_rt.forked = was_running;
  mt_sanitizer_child_end();
}

int mt_fork_init(void) {
  static bool done;
  int error = done ? 0 : os_fork_hook(in_child);
  done = error == 0;
  return error;
}

void mt_fork_stack(char **low, size_t *size) {
  uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  if (here - (uintptr_t)inherited.low < inherited.size) {
    *low = inherited.low;
    *size = inherited.size;
  } else {
    os_thread_stack(low, size);
  }
}

bool mt_fork_is_inherited(const char *low) { return low != NULL && low == inherited.low; }
