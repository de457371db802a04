/* SPDX-License-Identifier: Apache-2.0 */
/** @file next.h libc's functions of the names that this library has, too. */
#ifndef MT_GATE_NEXT_H
#define MT_GATE_NEXT_H

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

struct gt_next {
  __typeof__(pthread_create) *create;
  __typeof__(thrd_create) *create_c11;
  __typeof__(pthread_key_create) *key_create;
  __typeof__(tss_create) *key_create_c11;
  __typeof__(pthread_join) *join;
  __typeof__(pthread_tryjoin_np) *tryjoin;
  __typeof__(pthread_timedjoin_np) *timedjoin;
  __typeof__(pthread_clockjoin_np) *clockjoin;
  __typeof__(pthread_cancel) *cancel;
  __typeof__(pthread_sigmask) *set_mask;
  __typeof__(sigprocmask) *set_first_mask;
  __typeof__(sigaction) *set_action;
  __typeof__(signal) *signal;
  __typeof__(pthread_mutex_lock) *mutex_lock;
  __typeof__(pthread_mutex_trylock) *mutex_trylock;
  __typeof__(pthread_mutex_timedlock) *mutex_timedlock;
  __typeof__(pthread_mutex_clocklock) *mutex_clocklock;
  __typeof__(pthread_mutex_unlock) *mutex_unlock;
  __typeof__(pthread_cond_wait) *cond_wait;
  __typeof__(pthread_cond_timedwait) *cond_timedwait;
  __typeof__(pthread_cond_clockwait) *cond_clockwait;
  __typeof__(pthread_cond_signal) *cond_signal;
  __typeof__(pthread_cond_broadcast) *cond_broadcast;
  /* of macros that libc had for C; siglongjmp() calls what it leaves */
  void (*cleanup_push)(struct _pthread_cleanup_buffer *buffer, void (*routine)(void *), void *arg);
  void (*cleanup_pop)(struct _pthread_cleanup_buffer *buffer, int executes);
  __typeof__(pthread_rwlock_rdlock) *rdlock;
  __typeof__(pthread_rwlock_tryrdlock) *tryrdlock;
  __typeof__(pthread_rwlock_timedrdlock) *timedrdlock;
  __typeof__(pthread_rwlock_clockrdlock) *clockrdlock;
  __typeof__(pthread_rwlock_wrlock) *wrlock;
  __typeof__(pthread_rwlock_trywrlock) *trywrlock;
  __typeof__(pthread_rwlock_timedwrlock) *timedwrlock;
  __typeof__(pthread_rwlock_clockwrlock) *clockwrlock;
  __typeof__(pthread_rwlock_unlock) *rwlock_unlock;
  __typeof__(pthread_barrier_wait) *barrier_wait;
  __typeof__(pthread_spin_lock) *spin_lock;
  __typeof__(pthread_spin_trylock) *spin_trylock;
  __typeof__(pthread_spin_unlock) *spin_unlock;
  __typeof__(pthread_once) *once;
  __typeof__(sem_wait) *sem_wait;
  __typeof__(sem_trywait) *sem_trywait;
  __typeof__(sem_timedwait) *sem_timedwait;
  __typeof__(sem_clockwait) *sem_clockwait;
  __typeof__(sem_post) *sem_post;
  __typeof__(nanosleep) *nanosleep;
  __typeof__(clock_nanosleep) *clock_nanosleep;
  __typeof__(sleep) *sleep;
  __typeof__(sched_yield) *sched_yield;
  __typeof__(sigwait) *sigwait;
  __typeof__(sigwaitinfo) *sigwaitinfo;
  __typeof__(sigtimedwait) *sigtimedwait;
  __typeof__(poll) *poll;
  __typeof__(ppoll) *ppoll;
  __typeof__(epoll_wait) *epoll_wait;
  __typeof__(epoll_pwait) *epoll_pwait;
  __typeof__(select) *select;
  __typeof__(pselect) *pselect;
  __typeof__(read) *read;
  __typeof__(readv) *readv;
  __typeof__(recv) *recv;
  __typeof__(recvfrom) *recvfrom;
  __typeof__(recvmsg) *recvmsg;
  __typeof__(accept) *accept;
  __typeof__(accept4) *accept4;
  __typeof__(waitpid) *waitpid;
  __typeof__(syscall) *syscall;
  __typeof__(sched_setscheduler) *set_policy;
  __typeof__(sched_setparam) *set_parameters;
  __typeof__(pthread_setschedparam) *set_thread_policy;
  __typeof__(pthread_setschedprio) *set_thread_priority;
  __typeof__(pthread_setattr_default_np) *set_defaults;
  int (*start_main)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void),
                    void (*)(void), void *);
  __typeof__(clock_gettime) *clock_gettime;
  __typeof__(gettimeofday) *gettimeofday;
  __typeof__(time) *time;
};

/** [const after gt_next_find()] */
extern struct gt_next gt_next;

/** Fills in the table, once. Called before the first use by any thread. */
void gt_next_find(void);

/** @return the function of this name that the gate's own stands before; NULL: there is none. */
void *gt_next_function(const char *name);

#endif
