/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Argobots, from an installation that the user names: rows of recursive programs. Each execution
 * stream has a pool of its own, last in, first out, and the default scheduler takes from the
 * others' pools as well: the arrangement that its examples have for recursion.
 */
#include <abt.h>
#include <stdlib.h>

#include "peer.h"

enum { STREAMS_MAX = 1024, STACK = 64 << 10 /* the default of 16 KiB is too small for uts */ };

static int streams;
static ABT_xstream xstream[STREAMS_MAX];
static ABT_pool pool[STREAMS_MAX];

typedef struct {
  ABT_thread thread;
  void *(*body)(void *);
  void *arg;
} p_thread_t;

static void make_stream(int i) {
  ABT_pool own_first[STREAMS_MAX];
  ABT_sched sched;
  for (int j = 0; j < streams; j++) own_first[j] = pool[(i + j) % streams];
  int error =
      ABT_sched_create_basic(ABT_SCHED_RANDWS, streams, own_first, ABT_SCHED_CONFIG_NULL, &sched);
  peer_check(error == ABT_SUCCESS, "ABT_sched_create_basic");
  if (i != 0) {
    peer_check(ABT_xstream_create(sched, &xstream[i]) == ABT_SUCCESS, "ABT_xstream_create");
    return;
  }
  ABT_xstream_self(&xstream[0]);
  peer_check(ABT_xstream_set_main_sched(xstream[0], sched) == ABT_SUCCESS, "the first scheduler");
}

static void start(int vps) {
  streams = vps;
  setenv("ABT_THREAD_STACKSIZE", "65536", 1);
  peer_check(ABT_init(0, NULL) == ABT_SUCCESS, "ABT_init");
  for (int i = 0; i < streams; i++)
    peer_check(ABT_pool_create_basic(ABT_POOL_RANDWS, ABT_POOL_ACCESS_MPMC, ABT_TRUE, &pool[i]) ==
                   ABT_SUCCESS,
               "ABT_pool_create_basic");
  for (int i = 0; i < streams; i++) make_stream(i);
}

static void stop(void) {
  for (int i = 1; i < streams; i++) {
    ABT_xstream_join(xstream[i]);
    ABT_xstream_free(&xstream[i]);
  }
  ABT_finalize();
}

static void call_body(void *arg) {
  p_thread_t *thread = arg;
  thread->body(thread->arg);
}

static inline void p_spawn(p_thread_t *thread, void *(*body)(void *), void *arg) {
  int rank;
  thread->body = body;
  thread->arg = arg;
  ABT_xstream_self_rank(&rank);
  int error =
      ABT_thread_create(pool[rank], call_body, thread, ABT_THREAD_ATTR_NULL, &thread->thread);
  peer_check(error == ABT_SUCCESS, "ABT_thread_create");
}

static inline void p_join(p_thread_t *thread) { ABT_thread_free(&thread->thread); }

#include "recursion.h"

static const struct peer_row rows[] = {RECURSION_ROWS, {NULL, NULL, 0, 0, 0}};

int main(int argc, char **argv) {
  const struct peer peer = {"argobots", "Argobots", STREAMS_MAX, start, stop, rows};
  return peer_main(&peer, argc, argv);
}
