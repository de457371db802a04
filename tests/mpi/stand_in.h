/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file stand_in.h
 * Stand-ins hand calls on, but for one that fails (failing.c, failing_calls.c). NODES_FAIL names
 * it, as "ucp_ep_create 1 0": a function, the number of its call, and the number of the node. With
 * the word "killed" behind it, the node is killed there.
 *
 * NODES_LATE, as "2 0": to node 0 the launcher says by the end of the second fence that the process
 * of another node is gone, and the connection to that node tells it later.
 */
#ifndef TESTS_MPI_STAND_IN_H
#define TESTS_MPI_STAND_IN_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** @return whether this call of a function fails. */
static inline bool stand_in_fails(const char *call) {
  static int calls;
  char name[64], how[16] = "";
  int wanted, node;
  const char *fails = getenv("NODES_FAIL"), *own = getenv("PMIX_RANK");
  if (fails == NULL || own == NULL ||
      sscanf(fails, "%63s %d %d %15s", name, &wanted, &node, how) < 3)
    return false;
  if (strcmp(name, call) != 0 || atoi(own) != node) return false;
  if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != wanted) return false;
  if (strcmp(how, "killed") == 0) raise(SIGKILL);
  return true;
}

/** @return the number of the fence that NODES_LATE names for this node; 0: none. */
static inline int stand_in_late_fence(void) {
  int fence, node;
  const char *late = getenv("NODES_LATE"), *own = getenv("PMIX_RANK");
  if (late == NULL || own == NULL || sscanf(late, "%d %d", &fence, &node) != 2) return 0;
  return atoi(own) == node ? fence : 0;
}

#endif
