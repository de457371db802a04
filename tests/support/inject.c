/* SPDX-License-Identifier: Apache-2.0 */
/* The wrappers behind inject.h: each asks whether it is to fail. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"

const struct inject_call inject_calls[CALLS] = {
    [CALL_MALLOC] = {"malloc", {ENOMEM}},
    [CALL_ALIGNED_ALLOC] = {"aligned_alloc", {ENOMEM}},
    [CALL_CPU_ALLOC] = {"CPU_ALLOC", {ENOMEM}},
    [CALL_MMAP] = {"mmap", {ENOMEM, EPERM}},
    [CALL_MUNMAP] = {"munmap", {ENOMEM}},
    [CALL_MPROTECT] = {"mprotect", {ENOMEM, EACCES}},
    [CALL_MADVISE] = {"madvise", {EINVAL, ENOMEM, EPERM}},
    [CALL_FUTEX_WAIT] = {"futex wait", {EINTR, EAGAIN, ENOSYS}},
    [CALL_FUTEX_WAKE] = {"futex wake", {EPERM}},
    [CALL_MEMBARRIER_REGISTER] = {"membarrier register", {ENOSYS, EPERM, EINVAL}},
    [CALL_MEMBARRIER] = {"membarrier", {ENOMEM, EPERM}},
    [CALL_PEEK] = {"process_vm_readv", {EFAULT, EPERM, ENOSYS}},
    [CALL_SIGACTION] = {"sigaction", {EINVAL, EPERM}},
    [CALL_SIGALTSTACK] = {"sigaltstack", {ENOMEM, EPERM}},
    [CALL_SIGMASK] = {"pthread_sigmask", {EINVAL}},
    [CALL_WRITE] = {"write", {EINTR, EPIPE, ENOSPC, EBADF}},
    [CALL_FOPEN] = {"fopen", {ENOMEM, EMFILE, EACCES}},
    [CALL_FSCANF] = {"fscanf", {EIO}},
    [CALL_GETLINE] = {"getline", {ENOMEM}},
    [CALL_NANOSLEEP] = {"clock_nanosleep", {EINTR}},
    [CALL_GETCPU] = {"sched_getcpu", {ENOSYS}},
    [CALL_GETAFFINITY] = {"sched_getaffinity", {EINVAL, EPERM}},
    [CALL_SETAFFINITY] = {"sched_setaffinity", {EINVAL, EPERM}},
    [CALL_THREAD_CREATE] = {"pthread_create", {EAGAIN, EPERM}},
    [CALL_ATTR_INIT] = {"pthread_attr_init", {ENOMEM}},
    [CALL_ATTR_STACKSIZE] = {"pthread_attr_setstacksize", {EINVAL}},
    [CALL_ATTR_AFFINITY] = {"pthread_attr_setaffinity_np", {ENOMEM}},
    [CALL_GETATTR] = {"pthread_getattr_np", {ENOMEM, ENOENT}},
    [CALL_ATFORK] = {"pthread_atfork", {ENOMEM}},
    [CALL_KEY_CREATE] = {"pthread_key_create", {EAGAIN}},
    [CALL_SETSPECIFIC] = {"pthread_setspecific", {ENOMEM}},
    [CALL_EPOLL_CREATE] = {"epoll_create1", {EMFILE, ENOMEM}},
    [CALL_EPOLL_CTL] = {"epoll_ctl", {ENOMEM, ENOSPC}},
    [CALL_EPOLL_WAIT] = {"epoll_wait", {EINTR}},
    [CALL_EPOLL_PWAIT2] = {"epoll_pwait2", {ENOSYS, EINTR}},
    [CALL_EVENTFD] = {"eventfd", {EMFILE, ENOMEM}},
    [CALL_READ] = {"read", {EINTR}},
    [CALL_ACCEPT] = {"accept4", {EINTR, ECONNABORTED, EMFILE}},
};

/* Kernel threads of bound threads, on their last steps when mltp_finalize() has returned, may ask
 * while inject_stop() runs. */
static struct {
  struct inject_counts *_Atomic counts; /* counting only */
  enum call call;
  unsigned nth;
  bool onward;
  atomic_int error; /* 0: nothing fails */
  atomic_uint seen;
} plan;

static __thread bool spared;

void inject_count(struct inject_counts *counts) { plan.counts = counts; }

void inject(enum call call, unsigned nth, bool onward, int error) {
  plan.call = call;
  plan.nth = nth;
  plan.onward = onward;
  plan.error = error;
}

void inject_stop(void) {
  plan.error = 0;
  plan.counts = NULL;
}

void inject_spare_me(bool spare) { spared = spare; }

long __real_syscall(long number, ...);
extern const char __executable_start[], etext[];

/* A frame may be libc's, whose word for the next one is no address: so the kernel reads it. */
static bool read_frame(uintptr_t at, uintptr_t frame[2]) {
  struct iovec own = {frame, 2 * sizeof frame[0]}, other = {(void *)at, 2 * sizeof frame[0]};
  return __real_syscall(SYS_process_vm_readv, (long)getpid(), &own, 1L, &other, 1L, 0L) ==
         (long)(2 * sizeof frame[0]);
}

/* @return a number for the functions of the library and the test that led to the call, as far as
 * FRAMES; if nothing can be read, one that no other call has. */
__attribute__((noinline)) static uint32_t place_of_caller(unsigned nth) {
  enum { FRAMES = 7 };
  uintptr_t at = (uintptr_t)__builtin_frame_address(0), frame[2];
  uint32_t place = 0;
  for (int i = 0; i < FRAMES && read_frame(at, frame); i++) {
    if (frame[1] < (uintptr_t)__executable_start || frame[1] >= (uintptr_t)etext) break;
    place = place * 31 + (uint32_t)(frame[1] - (uintptr_t)__executable_start);
    at = frame[0];
  }
  return place != 0 ? place : UINT32_MAX - nth;
}

static void count(struct inject_counts *of) {
  unsigned nth = __atomic_fetch_add(&of->count, 1, __ATOMIC_RELAXED);
  if (nth < INJECT_NOTED) of->places[nth] = place_of_caller(nth);
}

/* @return 0, or the error with which this call has to fail; errno is set to it. */
static int fails(enum call call) {
  if (spared) return 0;
  struct inject_counts *counts = plan.counts;
  int error = plan.error;
  if (counts != NULL) count(&counts[call]);
  if (error == 0 || plan.call != call) return 0;
  unsigned now = atomic_fetch_add(&plan.seen, 1);
  if (now < plan.nth || (now > plan.nth && !plan.onward)) return 0;
  errno = error;
  return error;
}

/* ------------------------------------------------------------------ memory */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) { return fails(CALL_MALLOC) ? NULL : __real_malloc(size); }

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size) {
  return fails(CALL_ALIGNED_ALLOC) ? NULL : __real_aligned_alloc(alignment, size);
}

cpu_set_t *__real___sched_cpualloc(size_t count);
cpu_set_t *__wrap___sched_cpualloc(size_t count);
cpu_set_t *__wrap___sched_cpualloc(size_t count) {
  return fails(CALL_CPU_ALLOC) ? NULL : __real___sched_cpualloc(count);
}

void *__real_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
  if (fails(CALL_MMAP)) return MAP_FAILED;
  return __real_mmap(address, size, protection, flags, fd, offset);
}

int __real_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size);
int __wrap_munmap(void *address, size_t size) {
  return fails(CALL_MUNMAP) ? -1 : __real_munmap(address, size);
}

int __real_mprotect(void *address, size_t size, int protection);
int __wrap_mprotect(void *address, size_t size, int protection);
int __wrap_mprotect(void *address, size_t size, int protection) {
  return fails(CALL_MPROTECT) ? -1 : __real_mprotect(address, size, protection);
}

int __real_madvise(void *address, size_t size, int advice);
int __wrap_madvise(void *address, size_t size, int advice);
int __wrap_madvise(void *address, size_t size, int advice) {
  return fails(CALL_MADVISE) ? -1 : __real_madvise(address, size, advice);
}

/* ------------------------------------------------------------- system calls */

/* Which one it is; CALLS: none of ours. */
static enum call call_of(long number, long a1) {
  if (number == SYS_futex) {
    int operation = (int)a1 & FUTEX_CMD_MASK;
    return operation == FUTEX_WAKE ? CALL_FUTEX_WAKE : CALL_FUTEX_WAIT;
  }
  if (number == SYS_process_vm_readv) return CALL_PEEK;
  if (number == SYS_epoll_pwait2) return CALL_EPOLL_PWAIT2;
  if (number != SYS_membarrier) return CALLS;
  return a1 == MEMBARRIER_CMD_PRIVATE_EXPEDITED ? CALL_MEMBARRIER : CALL_MEMBARRIER_REGISTER;
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...) {
  long a[6];
  va_list list;
  va_start(list, number);
  for (int i = 0; i < 6; i++) a[i] = va_arg(list, long);
  va_end(list);
  /* membarrier's command is its first argument, futex's operation its second */
  enum call call = call_of(number, number == SYS_futex ? a[1] : a[0]);
  if (call != CALLS && fails(call)) return -1;
  return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

ssize_t __real_write(int fd, const void *text, size_t length);
ssize_t __wrap_write(int fd, const void *text, size_t length);
ssize_t __wrap_write(int fd, const void *text, size_t length) {
  return fails(CALL_WRITE) ? -1 : __real_write(fd, text, length);
}

ssize_t __real_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size);
ssize_t __wrap_read(int fd, void *to, size_t size) {
  return fails(CALL_READ) ? -1 : __real_read(fd, to, size);
}

int __real_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
int __wrap_accept4(int fd, struct sockaddr *address, socklen_t *length, int flags) {
  return fails(CALL_ACCEPT) ? -1 : __real_accept4(fd, address, length, flags);
}

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __wrap_epoll_create1(int flags) {
  return fails(CALL_EPOLL_CREATE) ? -1 : __real_epoll_create1(flags);
}

int __real_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epoll, int operation, int fd, struct epoll_event *event) {
  return fails(CALL_EPOLL_CTL) ? -1 : __real_epoll_ctl(epoll, operation, fd, event);
}

int __real_epoll_wait(int epoll, struct epoll_event *events, int most, int ms);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int ms);
int __wrap_epoll_wait(int epoll, struct epoll_event *events, int most, int ms) {
  return fails(CALL_EPOLL_WAIT) ? -1 : __real_epoll_wait(epoll, events, most, ms);
}

int __real_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags);
int __wrap_eventfd(unsigned value, int flags) {
  return fails(CALL_EVENTFD) ? -1 : __real_eventfd(value, flags);
}

int __real_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *rest);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *rest);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *rest) {
  int error = fails(CALL_NANOSLEEP);
  return error != 0 ? error : __real_clock_nanosleep(clock, flags, time, rest);
}

/* ------------------------------------------------------------------ signals */

int __real_sigaction(int signo, const struct sigaction *action, struct sigaction *old);
int __wrap_sigaction(int signo, const struct sigaction *action, struct sigaction *old);
int __wrap_sigaction(int signo, const struct sigaction *action, struct sigaction *old) {
  return fails(CALL_SIGACTION) ? -1 : __real_sigaction(signo, action, old);
}

int __real_sigaltstack(const stack_t *stack, stack_t *old);
int __wrap_sigaltstack(const stack_t *stack, stack_t *old);
int __wrap_sigaltstack(const stack_t *stack, stack_t *old) {
  return fails(CALL_SIGALTSTACK) ? -1 : __real_sigaltstack(stack, old);
}

int __real_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old) {
  int error = fails(CALL_SIGMASK);
  return error != 0 ? error : __real_pthread_sigmask(how, set, old);
}

/* -------------------------------------------------------------------- files */

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode) {
  return fails(CALL_FOPEN) ? NULL : __real_fopen(path, mode);
}

int __wrap___isoc99_fscanf(FILE *file, const char *format, ...);
int __wrap___isoc99_fscanf(FILE *file, const char *format, ...) {
  if (fails(CALL_FSCANF)) return EOF;
  va_list list;
  va_start(list, format);
  int fields = vfscanf(file, format, list);
  va_end(list);
  return fields;
}

ssize_t __real___getdelim(char **line, size_t *capacity, int delimiter, FILE *file);
ssize_t __wrap___getdelim(char **line, size_t *capacity, int delimiter, FILE *file);
ssize_t __wrap___getdelim(char **line, size_t *capacity, int delimiter, FILE *file) {
  return fails(CALL_GETLINE) ? -1 : __real___getdelim(line, capacity, delimiter, file);
}

/* --------------------------------------------------------------- processors */

int __real_sched_getcpu(void);
int __wrap_sched_getcpu(void);
int __wrap_sched_getcpu(void) { return fails(CALL_GETCPU) ? -1 : __real_sched_getcpu(); }

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
  return fails(CALL_GETAFFINITY) ? -1 : __real_sched_getaffinity(pid, size, set);
}

int __real_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
  return fails(CALL_SETAFFINITY) ? -1 : __real_sched_setaffinity(pid, size, set);
}

/* ------------------------------------------------------------ libc's threads */

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *),
                          void *arg) {
  int error = fails(CALL_THREAD_CREATE);
  return error != 0 ? error : __real_pthread_create(thread, attr, func, arg);
}

int __real_pthread_attr_init(pthread_attr_t *attr);
int __wrap_pthread_attr_init(pthread_attr_t *attr);
int __wrap_pthread_attr_init(pthread_attr_t *attr) {
  int error = fails(CALL_ATTR_INIT);
  return error != 0 ? error : __real_pthread_attr_init(attr);
}

int __real_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size);
int __wrap_pthread_attr_setstacksize(pthread_attr_t *attr, size_t size) {
  int error = fails(CALL_ATTR_STACKSIZE);
  return error != 0 ? error : __real_pthread_attr_setstacksize(attr, size);
}

int __real_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *set);
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *set);
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *set) {
  int error = fails(CALL_ATTR_AFFINITY);
  return error != 0 ? error : __real_pthread_attr_setaffinity_np(attr, size, set);
}

int __real_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr);
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr);
int __wrap_pthread_getattr_np(pthread_t thread, pthread_attr_t *attr) {
  int error = fails(CALL_GETATTR);
  return error != 0 ? error : __real_pthread_getattr_np(thread, attr);
}

int __real_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*destructor)(void *)) {
  int error = fails(CALL_KEY_CREATE);
  return error != 0 ? error : __real_pthread_key_create(key, destructor);
}

int __real_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void)) {
  int error = fails(CALL_ATFORK);
  return error != 0 ? error : __real_pthread_atfork(before, parent, child);
}

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
  int error = fails(CALL_SETSPECIFIC);
  return error != 0 ? error : __real_pthread_setspecific(key, value);
}
