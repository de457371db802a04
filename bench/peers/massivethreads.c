/* SPDX-License-Identifier: Apache-2.0 */
/* MassiveThreads, from an installation that the user names: rows of recursive programs. */
#include <myth/myth.h>
#include <stdlib.h>

#include "peer.h"

typedef myth_thread_t p_thread_t;

static void start(int vps) {
  myth_globalattr_t attr;
  peer_check(myth_globalattr_init(&attr) == 0, "myth_globalattr_init");
  peer_check(myth_globalattr_set_n_workers(&attr, (size_t)vps) == 0, "n_workers");
  peer_check(myth_init_ex(&attr) >= 0, "myth_init_ex");
}

static void stop(void) { myth_fini(); }

static inline void p_spawn(p_thread_t *thread, void *(*body)(void *), void *arg) {
  *thread = myth_create(body, arg);
}

static inline void p_join(p_thread_t *thread) { myth_join(*thread, NULL); }

#include "recursion.h"

static const struct peer_row rows[] = {RECURSION_ROWS, {NULL, NULL, 0, 0, 0}};

int main(int argc, char **argv) {
  const struct peer peer = {"massivethreads", "MassiveThreads", 1024, start, stop, rows};
  return peer_main(&peer, argc, argv);
}
