/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/next.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct gt_next gt_next;

static const struct {
  const char *name;
  size_t offset;
} names[] = {
    {"pthread_create", offsetof(struct gt_next, create)},
    {"thrd_create", offsetof(struct gt_next, create_c11)},
    {"pthread_key_create", offsetof(struct gt_next, key_create)},
    {"tss_create", offsetof(struct gt_next, key_create_c11)},
    {"pthread_join", offsetof(struct gt_next, join)},
    {"pthread_tryjoin_np", offsetof(struct gt_next, tryjoin)},
    {"pthread_timedjoin_np", offsetof(struct gt_next, timedjoin)},
    {"pthread_clockjoin_np", offsetof(struct gt_next, clockjoin)},
    {"pthread_cancel", offsetof(struct gt_next, cancel)},
    {"pthread_sigmask", offsetof(struct gt_next, set_mask)},
    {"sigprocmask", offsetof(struct gt_next, set_first_mask)},
    {"sigaction", offsetof(struct gt_next, set_action)},
    {"signal", offsetof(struct gt_next, signal)},
    {"pthread_mutex_lock", offsetof(struct gt_next, mutex_lock)},
    {"pthread_mutex_trylock", offsetof(struct gt_next, mutex_trylock)},
    {"pthread_mutex_timedlock", offsetof(struct gt_next, mutex_timedlock)},
    {"pthread_mutex_clocklock", offsetof(struct gt_next, mutex_clocklock)},
    {"pthread_mutex_unlock", offsetof(struct gt_next, mutex_unlock)},
    {"pthread_cond_wait", offsetof(struct gt_next, cond_wait)},
    {"pthread_cond_timedwait", offsetof(struct gt_next, cond_timedwait)},
    {"pthread_cond_clockwait", offsetof(struct gt_next, cond_clockwait)},
    {"pthread_cond_signal", offsetof(struct gt_next, cond_signal)},
    {"pthread_cond_broadcast", offsetof(struct gt_next, cond_broadcast)},
    {"_pthread_cleanup_push", offsetof(struct gt_next, cleanup_push)},
    {"_pthread_cleanup_pop", offsetof(struct gt_next, cleanup_pop)},
    {"pthread_rwlock_rdlock", offsetof(struct gt_next, rdlock)},
    {"pthread_rwlock_tryrdlock", offsetof(struct gt_next, tryrdlock)},
    {"pthread_rwlock_timedrdlock", offsetof(struct gt_next, timedrdlock)},
    {"pthread_rwlock_clockrdlock", offsetof(struct gt_next, clockrdlock)},
    {"pthread_rwlock_wrlock", offsetof(struct gt_next, wrlock)},
    {"pthread_rwlock_trywrlock", offsetof(struct gt_next, trywrlock)},
    {"pthread_rwlock_timedwrlock", offsetof(struct gt_next, timedwrlock)},
    {"pthread_rwlock_clockwrlock", offsetof(struct gt_next, clockwrlock)},
    {"pthread_rwlock_unlock", offsetof(struct gt_next, rwlock_unlock)},
    {"pthread_barrier_wait", offsetof(struct gt_next, barrier_wait)},
    {"pthread_spin_lock", offsetof(struct gt_next, spin_lock)},
    {"pthread_spin_trylock", offsetof(struct gt_next, spin_trylock)},
    {"pthread_spin_unlock", offsetof(struct gt_next, spin_unlock)},
    {"pthread_once", offsetof(struct gt_next, once)},
    {"sem_wait", offsetof(struct gt_next, sem_wait)},
    {"sem_trywait", offsetof(struct gt_next, sem_trywait)},
    {"sem_timedwait", offsetof(struct gt_next, sem_timedwait)},
    {"sem_clockwait", offsetof(struct gt_next, sem_clockwait)},
    {"sem_post", offsetof(struct gt_next, sem_post)},
    {"nanosleep", offsetof(struct gt_next, nanosleep)},
    {"clock_nanosleep", offsetof(struct gt_next, clock_nanosleep)},
    {"sleep", offsetof(struct gt_next, sleep)},
    {"sched_yield", offsetof(struct gt_next, sched_yield)},
    {"sigwait", offsetof(struct gt_next, sigwait)},
    {"sigwaitinfo", offsetof(struct gt_next, sigwaitinfo)},
    {"sigtimedwait", offsetof(struct gt_next, sigtimedwait)},
    {"poll", offsetof(struct gt_next, poll)},
    {"ppoll", offsetof(struct gt_next, ppoll)},
    {"epoll_wait", offsetof(struct gt_next, epoll_wait)},
    {"epoll_pwait", offsetof(struct gt_next, epoll_pwait)},
    {"select", offsetof(struct gt_next, select)},
    {"pselect", offsetof(struct gt_next, pselect)},
    {"read", offsetof(struct gt_next, read)},
    {"readv", offsetof(struct gt_next, readv)},
    {"recv", offsetof(struct gt_next, recv)},
    {"recvfrom", offsetof(struct gt_next, recvfrom)},
    {"recvmsg", offsetof(struct gt_next, recvmsg)},
    {"accept", offsetof(struct gt_next, accept)},
    {"accept4", offsetof(struct gt_next, accept4)},
    {"waitpid", offsetof(struct gt_next, waitpid)},
    {"syscall", offsetof(struct gt_next, syscall)},
    {"sched_setscheduler", offsetof(struct gt_next, set_policy)},
    {"sched_setparam", offsetof(struct gt_next, set_parameters)},
    {"pthread_setschedparam", offsetof(struct gt_next, set_thread_policy)},
    {"pthread_setschedprio", offsetof(struct gt_next, set_thread_priority)},
    {"pthread_setattr_default_np", offsetof(struct gt_next, set_defaults)},
    {"__libc_start_main", offsetof(struct gt_next, start_main)},
    {"clock_gettime", offsetof(struct gt_next, clock_gettime)},
    {"gettimeofday", offsetof(struct gt_next, gettimeofday)},
    {"time", offsetof(struct gt_next, time)},
};

/* A second version that libc keeps for old programs must not be found: conditions changed. A search
 * that finds nothing allocates a message, and an allocator that starts may call the gate with its
 * lock held. */
void *gt_next_function(const char *name) {
  void *found = NULL;
#if defined(__x86_64__)
  bool changed =
      strncmp(name, "pthread_cond_", 13) == 0 && strcmp(name, "pthread_cond_clockwait") != 0;
  if (changed) found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");
#endif
  return found != NULL ? found : dlsym(RTLD_NEXT, name);
}

/* Two threads may do it at once: both store the same. The last entry is stored last. dlsym()
 * allocates, and an allocator that starts then asks for the time: it comes here again. */
void gt_next_find(void) {
  static __thread bool finding;
  if (finding) return;
  finding = true;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    *(void **)((char *)&gt_next + names[i].offset) = gt_next_function(names[i].name);
  finding = false;
}
