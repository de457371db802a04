/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into tmpirun by nodes.py: makes one call of the module nodes.so to libc fail, the one
 * that NODES_FAIL names (stand_in.h). Calls of others are handed on. mltp_unlock() does not fail:
 * the module's own thread loses its CPU there for LATE_SECONDS. mltp_version() tells another one.
 * A thread that has sent the other nodes the reason of an end, and then sleeps for long, is
 * reported.
 */
#include <dlfcn.h>
#include <errno.h>
#include <ifaddrs.h>
#include <mltp/mltp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "stand_in.h"

/* Beside the calls of this library. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);

static bool is_of(const char *file, const void *caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0) return false;
  const char *slash = strrchr(info.dli_fname, '/');
  return slash != NULL && strcmp(slash + 1, file) == 0;
}

static bool is_of_nodes(const void *caller) { return is_of("nodes.so", caller); }

static bool fails(const char *call, const void *caller) {
  static __thread bool inside;
  if (inside) return false;
  inside = true;
  bool is = is_of_nodes(caller) && stand_in_fails(call);
  inside = false;
  if (is) errno = ENOMEM;
  return is;
}

#define HERE __builtin_return_address(0)

/* type, name, parameters, arguments, and what a failed call returns */
#define CALL(type, name, parameters, arguments, failed)                                            \
  type name parameters {                                                                           \
    static type(*real) parameters;                                                                 \
    if (fails(#name, HERE)) return failed;                                                         \
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, #name);                                   \
    return real arguments;                                                                         \
  }

CALL(int, socket, (int domain, int kind, int protocol), (domain, kind, protocol), -1)
CALL(int, bind, (int fd, const struct sockaddr *name, socklen_t size), (fd, name, size), -1)
CALL(int, listen, (int fd, int backlog), (fd, backlog), -1)
CALL(int, getsockname, (int fd, struct sockaddr *name, socklen_t *size), (fd, name, size), -1)
CALL(int, getifaddrs, (struct ifaddrs * *list), (list), -1)
CALL(ssize_t, getrandom, (void *to, size_t size, unsigned flags), (to, size, flags), -1)
CALL(int, setsockopt, (int fd, int level, int option, const void *value, socklen_t size),
     (fd, level, option, value, size), -1)
CALL(int, connect, (int fd, const struct sockaddr *name, socklen_t size), (fd, name, size), -1)
CALL(int, accept4, (int fd, struct sockaddr *name, socklen_t *size, int flags),
     (fd, name, size, flags), -1)
CALL(int, socketpair, (int domain, int kind, int protocol, int ends[2]),
     (domain, kind, protocol, ends), -1)

static __thread bool has_warned;

ssize_t send(int fd, const void *data, size_t size, int flags) {
  static ssize_t (*real)(int, const void *, size_t, int);
  const void *caller = HERE;
  if (fails("send", caller)) return -1;
  if (is_of_nodes(caller)) has_warned = true;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "send");
  return real(fd, data, size, flags);
}

enum { LONG_SECONDS = 10 }; /* it waits for answers and for the launcher in short naps */

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                    struct timespec *left) {
  static int (*real)(clockid_t, int, const struct timespec *, struct timespec *);
  if (has_warned && time->tv_sec >= LONG_SECONDS && is_of_nodes(HERE))
    fprintf(stderr, "a thread that ends the job sleeps for %ld s\n", time->tv_sec);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "clock_nanosleep");
  return real(clock, flags, time, left);
}

#pragma GCC diagnostic ignored "-Wframe-address" /* tmpirun has frame pointers */
/* tmpirun has a pthread_create() of its own, which is found first. It ends in a jump to this one,
 * or, if it is not optimized, in a call. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
                   void *argument) {
  static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  const void *caller = HERE;
  if (is_of("tmpirun", caller)) caller = __builtin_return_address(1);
  if (fails("pthread_create", caller)) return EAGAIN;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
  return real(thread, attr, body, argument);
}

extern int tm_rank_number(void) __attribute__((weak)); /* a shell is not linked with it */

/* NODES_OFFERS: a rank that tests has offered its CPU. The module may end in a jump to this one,
 * which then returns to its caller. */
int sched_yield(void) {
  static int (*real)(void);
  static bool reported;
  const void *caller = HERE;
  if (getenv("NODES_OFFERS") != NULL && (is_of_nodes(caller) || is_of("libmpi_abi.so.1", caller)) &&
      tm_rank_number() >= 0 && !__atomic_exchange_n(&reported, true, __ATOMIC_RELAXED))
    fprintf(stderr, "a CPU is offered\n");
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "sched_yield");
  return real();
}

enum { LATE_SECONDS = 5, TELLS_LATE_SECONDS = 2 };

/* NODES_LATE: what tells that a node is gone comes later. */
ssize_t recv(int fd, void *to, size_t size, int flags) {
  static ssize_t (*real)(int, void *, size_t, int);
  const void *caller = HERE;
  if (fails("recv", caller)) return -1;
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "recv");
  ssize_t got = real(fd, to, size, flags);
  if (got <= 0 && is_of_nodes(caller) && stand_in_late_fence() != 0) sleep(TELLS_LATE_SECONDS);
  return got;
}

extern int mltp_vp(void) __attribute__((weak)); /* a shell is not linked with it */

int mltp_unlock(mltp_lock_t *lock) {
  static int (*real)(mltp_lock_t *);
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "mltp_unlock");
  if (is_of_nodes(HERE) && mltp_vp() < 0 && stand_in_fails("mltp_unlock")) sleep(LATE_SECONDS);
  return real(lock);
}

const char *mltp_version(void) {
  static const char *(*real)(void);
  if (stand_in_fails("mltp_version")) return "0.0";
  if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "mltp_version");
  return real();
}

void *malloc(size_t size) { return fails("malloc", HERE) ? NULL : __libc_malloc(size); }

void *calloc(size_t number, size_t size) {
  return fails("calloc", HERE) ? NULL : __libc_calloc(number, size);
}
