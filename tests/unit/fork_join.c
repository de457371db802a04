/* SPDX-License-Identifier: Apache-2.0 */
/* Recursive fork and join: the threads alive at once are bounded by depth and VPs, not by the
 * work, and other threads run meanwhile. */
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/support.h"

static atomic_long alive, most;

static void count_begin(void) {
  long now = atomic_fetch_add(&alive, 1) + 1, before = atomic_load(&most);
  while (now > before && !atomic_compare_exchange_weak(&most, &before, now)) continue;
}

static void count_end(void) { atomic_fetch_sub(&alive, 1); }

struct fib {
  int n;
  long result;
};

static void fib(struct fib *f);

static void *fib_thread(void *p0) {
  count_begin();
  fib(p0);
  count_end();
  return NULL;
}

static void fib(struct fib *f) {
  if (f->n < 2) {
    f->result = f->n;
    return;
  }
  struct fib a = {f->n - 1, 0}, b = {f->n - 2, 0};
  mltp_t *thread = spawn(fib_thread, &a);
  fib(&b);
  CHECK_EQUAL(mltp_join(thread, NULL), 0);
  f->result = a.result + b.result;
}

static void check_fib(int n, long expected) {
  struct fib f = {n, 0};
  fib(&f);
  CHECK_EQUAL(f.result, expected);
}

/* On the kernel backend each call is a kernel thread, and all of them live at once. ThreadSanitizer
 * takes a millisecond for each. */
static void recurse(void) {
  if (on_kernel_backend() || THREAD_SANITIZED)
    check_fib(8, 21);
  else
    check_fib(12, 144);
}

struct queens {
  int row;
  unsigned columns, up, down;
  long solutions;
};

enum { BOARD = 8 };

static void *place_queens(void *p0) {
  struct queens *q = p0, next[BOARD];
  mltp_t *threads[BOARD];
  int count = 0;
  count_begin();
  for (int i = 0; i < BOARD && q->row < BOARD; i++) {
    unsigned column = 1u << i, up = 1u << (q->row + i), down = 1u << (q->row - i + BOARD);
    if (q->columns & column || q->up & up || q->down & down) continue;
    next[count] = (struct queens){q->row + 1, q->columns | column, q->up | up, q->down | down, 0};
    threads[count] = spawn(place_queens, &next[count]);
    count++;
  }
  q->solutions = q->row == BOARD;
  for (int i = 0; i < count; i++) {
    CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
    q->solutions += next[i].solutions;
  }
  count_end();
  return NULL;
}

/* Unbalanced tree search: a node has no children or WIDTH, so the sizes of subtrees differ by
 * orders of magnitude. */
struct uts {
  uint64_t random;
  int depth;
  long nodes;
};

enum { WIDTH = 8, PER_MILLE = 124 };

static int full;     /* levels whose nodes have children */
static int deepest;  /* level whose nodes have none */
static long longest; /* nodes on the longest path */

static uint64_t splitmix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

static struct uts child_of(const struct uts *parent, int number) {
  uint64_t random = splitmix64(parent->random ^ splitmix64((uint64_t)number));
  return (struct uts){random, parent->depth + 1, 0};
}

static int children_of(const struct uts *u) {
  bool has = u->depth < full || (u->depth < deepest && u->random % 1000 < PER_MILLE);
  return has ? WIDTH : 0;
}

static long count_nodes(const struct uts *u) {
  long nodes = 1;
  if (u->depth >= longest) longest = u->depth + 1;
  for (int i = 0; i < children_of(u); i++) {
    struct uts child = child_of(u, i);
    nodes += count_nodes(&child);
  }
  return nodes;
}

static void *search(void *p0) {
  struct uts *u = p0, child[WIDTH];
  mltp_t *threads[WIDTH];
  const int children = children_of(u);
  count_begin();
  u->nodes = 1;
  for (int i = 0; i < children; i++) {
    child[i] = child_of(u, i);
    threads[i] = spawn(search, &child[i]);
  }
  for (int i = 0; i < children; i++) {
    CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
    u->nodes += child[i].nodes;
  }
  count_end();
  return NULL;
}

/* Joins run the threads only where our own scheduler has them in its own queue. */
static bool joins_run_threads(void) {
  return !seeded() && getenv("MLTP_SCHED") == NULL && !on_kernel_backend() &&
         !on_ucontext_backend();
}

/* A VP begins a second path after 16 ms, which may have passed before the search, and further ones
 * at intervals that double (core/life/fork_join.h). @return how many it has begun since then. */
static long paths_since(uint64_t begin) {
  long paths = 2;
  for (uint64_t ns = mltp_now() - begin; ns >= 16000000; ns /= 2) paths++;
  return paths;
}

/* Checks that no more threads were alive at once than there are on the paths, 100 at least. */
static void check_most(long path, uint64_t begin) {
  long bound = path * paths_since(begin);
  check_case("paths of %ld, %ld of them, %d VPs", path, paths_since(begin), mltp_vps_active());
  if (joins_run_threads() && !THREAD_SANITIZED)
    CHECK(atomic_load(&most) <= (bound > 100 ? bound : 100) * mltp_vps_active());
}

/* Searches a tree of `least` nodes or more. */
static void search_unbalanced(int full_levels, int levels, long least) {
  struct uts root = {8, 0, 0};
  full = full_levels;
  deepest = levels;
  longest = 0;
  const long expected = count_nodes(&root);
  CHECK(expected > least);
  atomic_store(&most, 0);
  search(&root);
  CHECK_EQUAL(root.nodes, expected);
}

static void unbalanced_search_is_depth_first(void) {
  if (on_kernel_backend()) return;
  uint64_t begin = mltp_now();
  search_unbalanced(2, 40, 2000);
  check_most(longest, begin);
}

/* The threads on the longest path are alive at once in any depth-first order. ThreadSanitizer takes
 * a millisecond to make a thread, and there is no bound then. */
static void deep_search_is_bounded_by_its_longest_path(void) {
  if (on_kernel_backend() || THREAD_SANITIZED) return;
  uint64_t begin = mltp_now();
  search_unbalanced(3, INT_MAX, 30000);
  CHECK(longest > 100);
  check_most(longest, begin);
}

/* Begun breadth first, fib(21) has some 700 threads alive, and the bound on one VP is 100. The
 * turns of fresh threads come by time, so a slower program begins more of them. */
static void recursion_is_depth_first(void) {
  enum { FIB = THREAD_SANITIZED ? 15 : 21 };
  if (on_kernel_backend()) return;
  uint64_t begin = mltp_now();
  atomic_store(&most, 0);
  check_fib(FIB, THREAD_SANITIZED ? 610 : 10946);
  struct queens q = {0, 0, 0, 0, 0};
  place_queens(&q);
  CHECK_EQUAL(q.solutions, 92);
  check_most(FIB, begin);
}

static atomic_int stop, rounds;

static void *yield_and_count(void *p0) {
  while (!atomic_load(&stop)) {
    atomic_fetch_add(&rounds, 1);
    mltp_yield();
  }
  return p0;
}

static void *set_flag(void *p0) {
  atomic_store((atomic_int *)p0, 1);
  return NULL;
}

/* A started thread that is ready gets its turn for as long as the recursion lasts. */
static void recursion_lets_started_threads_run(void) {
  atomic_store(&stop, 0);
  atomic_store(&rounds, 0);
  mltp_t *thread = spawn(yield_and_count, NULL);
  while (atomic_load(&rounds) < 100) recurse();
  atomic_store(&stop, 1);
  CHECK_EQUAL(mltp_join(thread, NULL), 0);
}

/* So does one that has not started, although a started thread is always ready too. */
static void recursion_lets_fresh_threads_begin(void) {
  atomic_int begun[3] = {0};
  mltp_t *threads[3];
  atomic_store(&stop, 0);
  mltp_t *yielder = spawn(yield_and_count, NULL);
  for (int i = 0; i < 3; i++) threads[i] = spawn(set_flag, &begun[i]);
  while (!(atomic_load(&begun[0]) && atomic_load(&begun[1]) && atomic_load(&begun[2]))) recurse();
  atomic_store(&stop, 1);
  CHECK_EQUAL(mltp_join(yielder, NULL), 0);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
}

static void *fib_often(void *p0) {
  while (!atomic_load((atomic_int *)p0)) recurse();
  return NULL;
}

/* Nor do several recursions that never end keep a thread from its turn. */
static void recursions_interrupt_each_other(void) {
  atomic_int over = 0;
  mltp_t *threads[4];
  for (int i = 0; i < 4; i++) threads[i] = spawn(fib_often, &over);
  mltp_t *last = spawn(set_flag, &over);
  while (!atomic_load(&over)) recurse();
  for (int i = 0; i < 4; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  CHECK_EQUAL(mltp_join(last, NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_ONE_VP(recursion_is_depth_first),
      TEST_UNMONITORED(recursion_is_depth_first),
      TEST_UNMONITORED(unbalanced_search_is_depth_first),
      TEST_ONE_VP(deep_search_is_bounded_by_its_longest_path),
      TEST_UNMONITORED(deep_search_is_bounded_by_its_longest_path),
      TEST_ONE_VP(recursion_lets_started_threads_run),
      TEST(recursion_lets_started_threads_run),
      TEST_ONE_VP(recursion_lets_fresh_threads_begin),
      TEST(recursion_lets_fresh_threads_begin),
      TEST_ONE_VP(recursions_interrupt_each_other),
      TEST(recursions_interrupt_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
