/* SPDX-License-Identifier: Apache-2.0 */
/* SIGTRAP stays unblocked in a program whose threads step (step.h): the kernel ends a process that
 * traps while it blocks the signal. A program that blocks all signals means those from outside. */
#include "gate/gate.h"
#include "gate/handlers.h"
#include "gate/next.h"
#include "gate/step.h"

/* @return *set without SIGTRAP, in *room; or set where nothing is to be left out. */
static const sigset_t *without_trap(const sigset_t *set, sigset_t *room) {
  if (set == NULL || !gt_step_is_on() || sigismember(set, SIGTRAP) != 1) return set;
  *room = *set;
  sigdelset(room, SIGTRAP);
  return room;
}

GT_EXPORT int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
  sigset_t room;
  if (gt_next.create == NULL) gt_next_find();
  return gt_next.set_mask(how, how == SIG_UNBLOCK ? set : without_trap(set, &room), old);
}

GT_EXPORT int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old) {
  sigset_t room;
  if (gt_next.create == NULL) gt_next_find();
  return gt_next.set_first_mask(how, how == SIG_UNBLOCK ? set : without_trap(set, &room), old);
}

/* What a handler blocks besides. */
GT_EXPORT int sigaction(int signo, const struct sigaction *restrict action,
                        struct sigaction *restrict old) {
  struct sigaction changed;
  sigset_t room;
  if (gt_next.create == NULL) gt_next_find();
  if (action == NULL || without_trap(&action->sa_mask, &room) == &action->sa_mask)
    return gt_handlers_set(signo, action, old);
  changed = *action;
  changed.sa_mask = room;
  return gt_handlers_set(signo, &changed, old);
}
