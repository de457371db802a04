/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real-time priorities, by which waiters are woken. A thread keeps what the kernel said of it,
 * which spares each wait a system call. It asks again after any thread of the program has set the
 * priority of another, and after some waits, since other processes may set one. A new thread need
 * not ask if it inherits its creator's policy, and that is the usual one.
 *
 * Relaxed: a program that sets another thread's priority orders what the thread does then itself.
 */
#include "gate/priority.h"

#include <sched.h>

#include "gate/next.h"
#include "os/os.h"

enum { ASK_AGAIN = 256 /* waits */ };

static uint32_t changes;  /* [atomic] calls that have set a priority */
static bool defaults_set; /* [atomic] a thread created without attributes may get a priority */

void gt_priority_refresh(struct gt_thread *me) {
  uint32_t seen = mt_load_relaxed(&changes);
  bool known = me->asked_for != 0 && me->asked_for <= ASK_AGAIN && me->priority_seen == seen;
  if (known) {
    me->asked_for++;
    return;
  }
  me->priority = gt_seeded ? 0 : os_priority();
  me->priority_seen = seen;
  me->asked_for = 1;
}

/* SCHED_RESET_ON_FORK may take a real-time priority away, but none is always passed on. */
struct gt_inherited gt_priority_inherited(struct gt_thread *me, const pthread_attr_t *attr) {
  int from = PTHREAD_EXPLICIT_SCHED;
  gt_priority_refresh(me);
  if (attr == NULL)
    from = mt_load_relaxed(&defaults_set) ? PTHREAD_EXPLICIT_SCHED : PTHREAD_INHERIT_SCHED;
  else
    pthread_attr_getinheritsched(attr, &from);
  bool has_none = me->priority == 0 && from == PTHREAD_INHERIT_SCHED;
  return (struct gt_inherited){.seen = me->priority_seen, .has_none = has_none};
}

bool gt_priority_inherit(struct gt_thread *me, const struct gt_inherited *inherited) {
  if (!inherited->has_none) return false;
  me->priority = 0;
  me->priority_seen = inherited->seen;
  me->asked_for = 1;
  return true;
}

/* result: 0, or the call failed and nothing has changed. */
static int changed(int result) {
  if (result == 0) mt_add_relaxed(&changes, 1);
  return result;
}

/* @return whether the policy says which priority the caller has now, and no other thread need ask
 * for its own. */
static bool is_known(int policy, const struct sched_param *parameters) {
  bool usual = policy == SCHED_OTHER, real_time = policy == SCHED_FIFO || policy == SCHED_RR;
  if (real_time) gt_me.priority = parameters->sched_priority;
  if (usual) gt_me.priority = 0;
  return real_time || usual;
}

GT_EXPORT int sched_setscheduler(pid_t tid, int policy, const struct sched_param *parameters) {
  if (gt_next.create == NULL) gt_next_find();
  return changed(gt_next.set_policy(tid, policy, parameters));
}

GT_EXPORT int sched_setparam(pid_t tid, const struct sched_param *parameters) {
  if (gt_next.create == NULL) gt_next_find();
  return changed(gt_next.set_parameters(tid, parameters));
}

GT_EXPORT int pthread_setschedparam(pthread_t thread, int policy,
                                    const struct sched_param *parameters) {
  if (gt_next.create == NULL) gt_next_find();
  int error = gt_next.set_thread_policy(thread, policy, parameters);
  if (error == 0 && !gt_seeded && pthread_equal(thread, pthread_self()) &&
      is_known(policy, parameters))
    return 0;
  return changed(error);
}

GT_EXPORT int pthread_setschedprio(pthread_t thread, int priority) {
  if (gt_next.create == NULL) gt_next_find();
  return changed(gt_next.set_thread_priority(thread, priority));
}

GT_EXPORT int pthread_setattr_default_np(const pthread_attr_t *attr) {
  if (gt_next.create == NULL) gt_next_find();
  mt_store_relaxed(&defaults_set, true);
  return gt_next.set_defaults(attr);
}
