/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that oneTBB divides among its threads. Its templates call these functions of libtbb.so.12
 * wherever a thread waits for such work. Its limit of threads is an object of the program's,
 * tbb::global_control; ours is one more of them, and the least limit holds. So a program's own
 * limit is kept. A limit counts for work that is under way, too, so inner work may set it.
 *
 * An exception of the program's may pass through these functions: this file is compiled with
 * -fexceptions, and the end of a team is a cleanup.
 *
 * Relaxed: a limit that changes under the lock; a thread that reads the one before looks again
 * under the lock.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/ilock.h"
#include "teams/teams.h"

/* tbb::detail::d1::global_control, as the library's binary interface has it. */
struct control {
  size_t value;
  intptr_t reserved;
  int parameter; /* 0: the most threads that work at a time */
};

typedef void control_function(struct control *);

static struct {
  mt_ilock lock;
  struct control controls[2]; /* [lock] the limit in force, and the one that takes its place */
  unsigned limit;             /* [atomic] in force; 0: none. Changes under the lock */
  unsigned current;           /* [lock] which control is in force */
} state;

/* The new limit is made before the old one goes, so that none is missing in between. */
static void set_limit(unsigned limit, const void *caller) {
  static control_function *create, *destroy;
  mt_ilock_lock(&state.lock);
  if (create == NULL) {
    *(void **)&create = mt_team_find("_ZN3tbb6detail2r16createERNS0_2d114global_controlE", caller);
    *(void **)&destroy =
        mt_team_find("_ZN3tbb6detail2r17destroyERNS0_2d114global_controlE", caller);
  }
  unsigned old = state.limit, last = state.current;
  if (limit != old) {
    if (limit != 0) {
      state.current = 1 - last;
      state.controls[state.current] = (struct control){.value = limit};
      create(&state.controls[state.current]);
    }
    mt_store_relaxed(&state.limit, limit);
    if (old != 0) destroy(&state.controls[last]);
  }
  mt_ilock_unlock(&state.lock);
}

static int begin(const void *caller) {
  mt_team_begin();
  unsigned grant = mt_team_grant();
  unsigned limit = grant < mt_team_most() ? grant : 0;
  if (limit != mt_load_relaxed(&state.limit)) set_limit(limit, caller);
  return 0;
}

static void end(const int *team) {
  (void)team;
  mt_team_end();
}

/* A team begins; it ends with the block, also when an exception leaves it. */
#define TEAM(caller) __attribute__((cleanup(end), unused)) const int team = begin(caller)

/* tbb::detail::r1::execute_and_wait(), of loops, reductions, sorts and parallel_invoke(). */
EXPORT void
_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
    void *task, void *task_context, void *work, void *work_context) {
  static void (*next)(void *, void *, void *, void *);
  if (next == NULL)
    *(void **)&next = mt_team_find(
        "_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_"
        "contextERNS2_12wait_contextES6_",
        CALLER);
  TEAM(CALLER);
  next(task, task_context, work, work_context);
}

/* tbb::detail::r1::wait(), of groups of tasks and flow graphs. */
EXPORT void _ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(
    void *work, void *context) {
  static void (*next)(void *, void *);
  if (next == NULL)
    *(void **)&next = mt_team_find(
        "_ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE", CALLER);
  TEAM(CALLER);
  next(work, context);
}

/* tbb::detail::r1::parallel_pipeline() */
EXPORT void _ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE(
    void *context, size_t tokens, const void *filters) {
  static void (*next)(void *, size_t, const void *);
  if (next == NULL)
    *(void **)&next = mt_team_find(
        "_ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE",
        CALLER);
  TEAM(CALLER);
  next(context, tokens, filters);
}
