/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/quick.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include "gate/layout.h"
#include "gate/next.h"

static bool is_of_libc(void *function) {
  Dl_info libc, other;
  return dladdr((void *)(uintptr_t)gnu_get_libc_version, &libc) != 0 &&
         dladdr(function, &other) != 0 && libc.dli_fbase == other.dli_fbase;
}

static bool all_of_libc(void) {
  return is_of_libc((void *)(uintptr_t)gt_next.mutex_trylock) &&
         is_of_libc((void *)(uintptr_t)gt_next.mutex_unlock) &&
         is_of_libc((void *)(uintptr_t)gt_next.sem_trywait) &&
         is_of_libc((void *)(uintptr_t)gt_next.sem_post);
}

static bool is_free(const pthread_mutex_t *m) {
  return m->__data.__lock == 0 && m->__data.__owner == 0 && m->__data.__nusers == 0 &&
         m->__data.__count == 0;
}

static bool is_locked(const pthread_mutex_t *m, pid_t tid) {
  return m->__data.__lock == 1 && m->__data.__owner == tid && m->__data.__nusers == 1 &&
         m->__data.__count == gt_quick_kind(m);
}

/* Locked by libc and unlocked here, and the reverse. A libc that elides locks changes the kind. */
static bool mutex_holds(const pthread_mutexattr_t *attr, unsigned kind, pid_t tid) {
  pthread_mutex_t m;
  pthread_mutex_init(&m, attr);
  return is_free(&m) && gt_next.mutex_trylock(&m) == 0 && is_locked(&m, tid) &&
         gt_quick_kind(&m) == kind && gt_quick_unlock(tid, &m) == GT_UNLOCKED && is_free(&m) &&
         gt_quick_lock(tid, &m) && is_locked(&m, tid) && !gt_quick_lock(tid, &m) &&
         gt_next.mutex_unlock(&m) == 0 && is_free(&m);
}

static bool mutexes_hold(pid_t tid) {
  pthread_mutexattr_t normal, recursive;
  pthread_mutexattr_init(&normal);
  pthread_mutexattr_settype(&normal, PTHREAD_MUTEX_NORMAL);
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  return mutex_holds(NULL, 0, tid) && mutex_holds(&normal, 0, tid) &&
         mutex_holds(&recursive, 1, tid);
}

static bool sem_holds(void) {
  sem_t s;
  sem_init(&s, 0, 1);
  return gt_word(&s, 0) == 1 && gt_quick_sem_wait(&s) && !gt_quick_sem_wait(&s) &&
         gt_next.sem_post(&s) == 0 && gt_quick_sem_post(&s) && gt_word(&s, 0) == 2 &&
         gt_word(&s, 1) == 0 && gt_next.sem_trywait(&s) == 0 && gt_next.sem_trywait(&s) == 0 &&
         gt_word(&s, 0) == 0;
}

/* No function of libc returns it without a system call, but libc writes it to mutexes. */
pid_t gt_quick_tid(void) {
  pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
  if (gt_gate.quick == 0 || gt_next.mutex_trylock(&m) != 0) return gettid();
  return gt_mutex_owner(&m);
}

void gt_quick_start(pid_t tid) {
  gt_gate.quick = GT_QUICK_KINDS;
  if (!all_of_libc() || !mutexes_hold(tid) || !sem_holds()) gt_gate.quick = 0;
}
