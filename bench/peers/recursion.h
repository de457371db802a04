/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file recursion.h
 * Rows of recursive programs, written once for all libraries; valid C and C++. A peer first
 * defines p_thread_t, p_spawn() and p_join() as rows.h says, and offers the rows as NAME-N.
 *
 *   fibonacci-N  fib(N) forks fib(N - 1), works out fib(N - 2) itself, and joins
 *   queens-N     all places of N queens; a node is a board
 *   uts-N        unbalanced tree search (Olivier et al., 2006) of a binomial tree whose root has N
 *                children, with splitmix64 in the place of SHA-1
 *   levels-N     the same of a geometric tree, which ends at level N
 *   ...-alive-N  counts the threads that have begun and not ended; its time says nothing
 *
 * A node with k children forks k - 1 threads, by halving the range of its children. The same tree
 * is walked without threads first, outside of the time, to know the answer.
 */
#ifndef MLTP_BENCH_RECURSION_H
#define MLTP_BENCH_RECURSION_H

#include <string.h>
#include <sys/resource.h>

#include "peer.h"

/* ---- what a thread executes: a node, or a node that is counted */

static void *(*node_body)(void *arg);
static void *(*thread_body)(void *arg);
static uint64_t alive, alive_most;

static inline void *counted_body(void *arg) {
  const uint64_t now = __atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST);
  uint64_t most = __atomic_load_n(&alive_most, __ATOMIC_SEQ_CST);
  while (now > most && !__atomic_compare_exchange_n(&alive_most, &most, now, false,
                                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    continue;
  void *result = node_body(arg);
  __atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
  return result;
}

/* ---- trees of nodes */

/** A node, the part of its children that is to be walked, and what was found there. */
struct branch {
  unsigned queens; /* 0: the node is one of uts */
  unsigned levels; /* below the node, of a geometric tree */
  bool geometric;
  unsigned first, end;
  uint32_t columns, rising, falling; /* queens: where no further one may be */
  uint64_t random;                   /* uts */
  uint64_t nodes, inner, solved;
};

static inline uint32_t branch_free(const struct branch *b) {
  return ~(b->columns | b->rising | b->falling) & ((1u << b->queens) - 1);
}

/* A node has k children or more by a chance of .8 to the k, so four in the mean. */
static inline unsigned branch_geometric(const struct branch *b) {
  enum { CHILDREN_MAX = 100 };
  unsigned children = 0;
  uint64_t below = ((uint64_t)1 << 32) * 4 / 5;
  for (; b->levels != 0 && b->random >> 32 < below && children < CHILDREN_MAX; children++)
    below = below * 4 / 5;
  return children;
}

/* Of uts a node has 8 children by a chance of .124, so a subtree has 125 nodes in the mean. */
static inline unsigned branch_children(const struct branch *b) {
  enum { CHILDREN = 8, PER_MILLE = 124 };
  if (b->queens != 0) return (unsigned)__builtin_popcount(branch_free(b));
  if (b->geometric) return branch_geometric(b);
  return (b->random >> 32) * 1000 >> 32 < PER_MILLE ? CHILDREN : 0;
}

static inline uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

/** @return the child of that number, with all of its own children ahead. */
static inline struct branch branch_child(const struct branch *b, unsigned number) {
  struct branch child = *b;
  child.nodes = 1;
  child.inner = child.solved = 0;
  if (b->queens != 0) {
    uint32_t free_places = branch_free(b);
    for (unsigned i = 0; i < number; i++) free_places &= free_places - 1;
    const uint32_t place = free_places & -free_places;
    child.columns |= place;
    child.rising = (child.rising | place) << 1;
    child.falling = (child.falling | place) >> 1;
    child.solved = child.columns == (1u << b->queens) - 1;
  } else {
    child.random = splitmix64(b->random ^ splitmix64(number));
    child.levels -= b->geometric;
  }
  child.first = 0;
  child.end = branch_children(&child);
  child.inner = child.end != 0;
  return child;
}

static inline void branch_add(struct branch *to, const struct branch *from) {
  to->nodes += from->nodes;
  to->inner += from->inner;
  to->solved += from->solved;
}

static inline struct branch branch_half(const struct branch *b, unsigned first, unsigned end) {
  struct branch half = *b;
  half.first = first;
  half.end = end;
  half.nodes = half.inner = half.solved = 0;
  return half;
}

/* Adds what is below the children of a branch to it, without threads. forks: those on the way to
 * it. @return the most on any way. */
static inline unsigned branch_walk(struct branch *b, unsigned forks) {
  const struct branch node = *b;
  unsigned most = forks;
  for (unsigned i = node.first; i < node.end; i++) {
    struct branch child = branch_child(&node, i);
    unsigned on_path = forks;
    for (unsigned among = node.end - node.first; among > 1; among = (among + 1) / 2) on_path++;
    const unsigned below = branch_walk(&child, on_path);
    if (below > most) most = below;
    branch_add(b, &child);
  }
  return most;
}

/* The same with a thread for each half of several children. */
static inline void *branch_fork(void *arg) {
  struct branch *b = (struct branch *)arg;
  if (b->first == b->end) return NULL;
  if (b->end - b->first == 1) {
    struct branch child = branch_child(b, b->first);
    branch_fork(&child);
    branch_add(b, &child);
    return NULL;
  }
  const unsigned middle = b->first + (b->end - b->first) / 2;
  struct branch forked = branch_half(b, b->first, middle), rest = branch_half(b, middle, b->end);
  p_thread_t thread;
  p_spawn(&thread, thread_body, &forked);
  branch_fork(&rest);
  p_join(&thread);
  branch_add(b, &forked);
  branch_add(b, &rest);
  return NULL;
}

/* ---- rows */

static inline uint64_t recursion_peak(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return (uint64_t)usage.ru_maxrss * 1024;
}

static inline void nodes_are(void *(*body)(void *), bool counted) {
  node_body = body;
  thread_body = counted ? counted_body : body;
}

/* Whole trees, until there were as many threads as wanted. */
static inline bool row_tree(struct peer_run *run, struct branch root, bool counted) {
  struct branch expected = root;
  struct peer_run walk = *run;
  root.nodes = expected.nodes = 1;
  root.inner = expected.inner = 1;
  peer_clock_start(&walk);
  run->depth = branch_walk(&expected, 0);
  peer_clock_stop(&walk);
  nodes_are(branch_fork, counted);
  const uint64_t each = expected.nodes - 1 - expected.inner;
  const uint64_t trees = (run->ops + each - 1) / each;
  bool verified = true;
  run->ops = trees * each;
  run->walk_ns = trees * walk.cpu_ns;
  peer_clock_start(run);
  for (uint64_t i = 0; i < trees; i++) {
    struct branch found = root;
    branch_fork(&found);
    verified &= found.nodes == expected.nodes && found.inner == expected.inner &&
                found.solved == expected.solved;
  }
  peer_clock_stop(run);
  run->rss_bytes = recursion_peak();
  run->alive = alive_most;
  return verified;
}

static inline bool queens(struct peer_run *run, bool counted) {
  struct branch root;
  if (run->threads < 4 || run->threads > 20) return false;
  memset(&root, 0, sizeof root);
  root.queens = root.end = run->threads;
  return row_tree(run, root, counted);
}

static inline bool row_queens(struct peer_run *run) { return queens(run, false); }

static inline bool row_queens_alive(struct peer_run *run) { return queens(run, true); }

static inline bool uts(struct peer_run *run, bool counted) {
  struct branch root;
  if (run->threads < 2) return false;
  memset(&root, 0, sizeof root);
  root.end = run->threads;
  return row_tree(run, root, counted);
}

static inline bool row_uts(struct peer_run *run) { return uts(run, false); }

static inline bool row_uts_alive(struct peer_run *run) { return uts(run, true); }

static inline bool levels(struct peer_run *run, bool counted) {
  enum { CHILDREN = 4 /* of the root; it may not be a leaf */ };
  struct branch root;
  if (run->threads > 20) return false;
  memset(&root, 0, sizeof root);
  root.geometric = true;
  root.levels = run->threads;
  root.end = CHILDREN;
  return row_tree(run, root, counted);
}

static inline bool row_levels(struct peer_run *run) { return levels(run, false); }

static inline bool row_levels_alive(struct peer_run *run) { return levels(run, true); }

struct fibonacci {
  unsigned n;
  uint64_t result;
};

static inline void *fibonacci_body(void *arg) {
  struct fibonacci *fib = (struct fibonacci *)arg;
  fib->result = fib->n;
  if (fib->n < 2) return NULL;
  struct fibonacci forked = {fib->n - 1, 0}, rest = {fib->n - 2, 0};
  p_thread_t thread;
  p_spawn(&thread, thread_body, &forked);
  fibonacci_body(&rest);
  p_join(&thread);
  fib->result = forked.result + rest.result;
  return NULL;
}

static inline uint64_t fibonacci_walk(unsigned n) {
  return n < 2 ? n : fibonacci_walk(n - 1) + fibonacci_walk(n - 2);
}

static inline bool fibonacci(struct peer_run *run, bool counted) {
  struct peer_run walk = *run;
  uint64_t value = 0, next = 1;
  if (run->threads < 2 || run->threads > 45) return false;
  for (unsigned i = 0; i < run->threads; i++) {
    const uint64_t sum = value + next;
    value = next;
    next = sum;
  }
  const uint64_t each = next - 1, trees = (run->ops + each - 1) / each;
  peer_clock_start(&walk);
  bool verified = fibonacci_walk(run->threads) == value;
  peer_clock_stop(&walk);
  run->ops = trees * each;
  run->depth = run->threads - 1;
  run->walk_ns = trees * walk.cpu_ns;
  nodes_are(fibonacci_body, counted);
  peer_clock_start(run);
  for (uint64_t i = 0; i < trees; i++) {
    struct fibonacci fib = {run->threads, 0};
    fibonacci_body(&fib);
    verified &= fib.result == value;
  }
  peer_clock_stop(run);
  run->rss_bytes = recursion_peak();
  run->alive = alive_most;
  return verified;
}

static inline bool row_fibonacci(struct peer_run *run) { return fibonacci(run, false); }

static inline bool row_fibonacci_alive(struct peer_run *run) { return fibonacci(run, true); }

/** In a peer's table of rows. */
/* clang-format off */
#define RECURSION_ROWS                                                                             \
  {"fibonacci", row_fibonacci, 1, 0, 24}, {"fibonacci-alive", row_fibonacci_alive, 1, 0, 24},      \
  {"queens", row_queens, 1, 0, 8}, {"queens-alive", row_queens_alive, 1, 0, 8},                    \
  {"uts", row_uts, 1, 0, 100}, {"uts-alive", row_uts_alive, 1, 0, 100},                            \
  {"levels", row_levels, 1, 0, 6}, {"levels-alive", row_levels_alive, 1, 0, 6}
/* clang-format on */

#endif
