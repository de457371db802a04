/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Teams of OpenMP that libomp starts, of programs that clang compiled (and of Intel's compilers,
 * whose library has the same functions). A clause num_threads() is a call before that of the
 * region; without one we make that call, with the grant.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "teams/teams.h"

/* The region is a function of the variables that it shares; the library passes their addresses. */
typedef void region(int *, int *, ...);

enum { ADDRESSES_MAX = 128 };

static __thread bool asked; /* the program has given a size for the next team of this thread */

static void push(void *location, int thread, int threads, const void *caller) {
  static void (*next)(void *, int, int);
  if (next == NULL) *(void **)&next = mt_team_find("__kmpc_push_num_threads", caller);
  next(location, thread, threads);
}

EXPORT void __kmpc_push_num_threads(void *location, int thread, int threads) {
  asked = true;
  push(location, thread, threads, CALLER);
}

static void set_size(void *location, const void *caller) {
  static int (*get_thread)(void *);
  if (get_thread == NULL) *(void **)&get_thread = mt_team_find("__kmpc_global_thread_num", caller);
  unsigned size = asked ? 0 : mt_team_size(0, caller);
  asked = false;
  if (size != 0) push(location, get_thread(location), (int)size, caller);
}

#define FOUR(i) a[i], a[(i) + 1], a[(i) + 2], a[(i) + 3]
#define SIXTEEN(i) FOUR(i), FOUR((i) + 4), FOUR((i) + 8), FOUR((i) + 12)

/* A callee of variable arguments reads `count` of them, so more may be passed. */
EXPORT void __kmpc_fork_call(void *location, int count, region *f, ...) {
  static void (*next)(void *, int, region *, ...);
  void *a[ADDRESSES_MAX] = {NULL};
  if (next == NULL) *(void **)&next = mt_team_find("__kmpc_fork_call", CALLER);
  if (count > ADDRESSES_MAX) {
    fprintf(stderr,
            "mltp: a parallel region shares %d variables; mltp run passes on %d (run the program "
            "without it)\n",
            count, ADDRESSES_MAX);
    abort();
  }
  va_list arguments;
  va_start(arguments, f);
  for (int i = 0; i < count; i++) a[i] = va_arg(arguments, void *);
  va_end(arguments);
  mt_team_begin();
  set_size(location, CALLER);
  next(location, count, f, SIXTEEN(0), SIXTEEN(16), SIXTEEN(32), SIXTEEN(48), SIXTEEN(64),
       SIXTEEN(80), SIXTEEN(96), SIXTEEN(112));
  mt_team_end();
}

EXPORT void __kmpc_fork_call_if(void *location, int count, region *f, int condition, void *shared) {
  static void (*next)(void *, int, region *, int, void *);
  if (next == NULL) *(void **)&next = mt_team_find("__kmpc_fork_call_if", CALLER);
  mt_team_begin();
  if (condition) set_size(location, CALLER);
  next(location, count, f, condition, shared);
  mt_team_end();
}
