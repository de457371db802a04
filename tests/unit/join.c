/* SPDX-License-Identifier: Apache-2.0 */
/* Ending, joining and detaching threads, many of them, created from everywhere. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "support/support.h"

static void *same(void *p0) { return p0; }

/* Through a pointer, so that the compiler does not know how it ends. */
static void (*volatile end_thread)(void *result) = mltp_exit;

/* @return never; were it to, not what the thread was to end with */
static __attribute__((noinline)) void *exit_deep(int depth, void *result) {
  volatile char frame[128];
  frame[0] = (char)depth;
  if (depth == 0) {
    end_thread(result);
  } else {
    exit_deep(depth - 1, result);
  }
  return (void *)(uintptr_t)(1 | frame[0]);
}

static void *exit_from_below(void *p0) { return exit_deep(50, p0); }

static void mltp_exit_from_a_deep_stack(void) {
  for (int kind = 0; kind < FOREIGN; kind++) {
    struct worker worker;
    check_case("%s", kind_names[kind]);
    worker_start(&worker, (enum kind)kind, exit_from_below, &worker);
    CHECK(worker_join(&worker) == &worker);
  }
}

static void *join_given(void *p0) {
  void *result = NULL;
  CHECK_EQUAL(mltp_join(p0, &result), 0);
  return result;
}

/* The result reaches a joiner of any kind, and so does the end of a thread of any kind. */
static void mltp_join_by_every_kind(void) {
  for (int joiner = 0; joiner < MIXED; joiner++) {
    for (int joined = 0; joined < FOREIGN; joined++) {
      check_case("%s joins %s", kind_names[joiner], kind_names[joined]);
      struct worker target, worker;
      worker_start(&target, (enum kind)joined, same, &target);
      worker_start(&worker, (enum kind)joiner, join_given, target.thread);
      CHECK(worker_join(&worker) == &target);
    }
  }
}

static void *wait_for_start(void *p0) {
  mltp_sem_wait(p0);
  return p0;
}

/* Finished before, running or blocked meanwhile, or never run so far. */
static void mltp_join_at_any_time(void) {
  void *result = NULL;
  mltp_t *finished = spawn(same, &result);
  for (int i = 0; i < 10; i++) mltp_yield();
  mltp_sleep(1000000);
  CHECK_EQUAL(mltp_join(finished, &result), 0);
  CHECK(result == &result);

  mltp_sem_t sem = MLTP_SEM_INIT(0);
  mltp_t *blocked = spawn(wait_for_start, &sem);
  struct worker joiner;
  worker_start(&joiner, UNBOUND, join_given, blocked);
  for (int i = 0; i < 10; i++) mltp_yield();
  mltp_sem_post(&sem);
  CHECK(worker_join(&joiner) == &sem);

  mltp_t *unstarted = spawn(same, &result);
  CHECK_EQUAL(mltp_join(unstarted, &result), 0);
  CHECK(result == &result);
  CHECK_EQUAL(mltp_join(spawn(same, NULL), NULL), 0);
}

static void mltp_join_oneself(void) { CHECK_EQUAL(mltp_join(mltp_self(), NULL), EDEADLK); }

static atomic_int ended;

static void *end_counted(void *p0) {
  if (p0 != NULL) mltp_sem_wait(p0);
  atomic_fetch_add(&ended, 1);
  return NULL;
}

static void mltp_detach_before_and_after_the_end(void) {
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  atomic_store(&ended, 0);
  for (int i = 0; i < 50; i++) {
    mltp_t *early = i % 10 ? spawn(end_counted, &sem) : spawn_bound(end_counted, &sem);
    CHECK_EQUAL(mltp_detach(early), 0);
    mltp_sem_post(&sem);
    mltp_t *late = spawn(end_counted, NULL);
    if (i % 2) {
      for (int round = 0; round < 5; round++) mltp_yield();
    }
    CHECK_EQUAL(mltp_detach(late), 0);
  }
  while (atomic_load(&ended) < 100) mltp_yield();
}

/* -------------------------------------------------------------- great numbers */

enum { BATCH = 1000 };

static void mltp_create_and_join_100000(void) {
  static mltp_t *threads[BATCH];
  int batches = on_kernel_backend() ? scaled(10) : scaled(100);
  intptr_t sum = 0;
  for (int b = 0; b < batches; b++) {
    for (intptr_t i = 0; i < BATCH; i++) {
      threads[i] = spawn(same, (void *)(i + 1));
      CHECK(threads[i] != NULL);
    }
    for (int i = 0; i < BATCH; i++) {
      void *result = NULL;
      CHECK_EQUAL(mltp_join(threads[i], &result), 0);
      sum += (intptr_t)result;
    }
  }
  CHECK_EQUAL(sum, (intptr_t)batches * BATCH * (BATCH + 1) / 2);
}

struct node {
  int depth;
  enum kind kind;
};

/* A tree of threads, each of which waits for its two children. @return its leaves */
static void *grow_tree(void *p0) {
  struct node *node = p0;
  if (node->depth == 0) return (void *)1;
  struct node children[2];
  struct worker workers[2];
  intptr_t leaves = 0;
  for (int i = 0; i < 2; i++) {
    children[i] = (struct node){node->depth - 1, node->kind};
    enum kind kind = node->kind == MIXED ? (enum kind)((node->depth + i) % MIXED) : node->kind;
    worker_start(&workers[i], kind, grow_tree, &children[i]);
  }
  for (int i = 0; i < 2; i++) leaves += (intptr_t)worker_join(&workers[i]);
  return (void *)leaves;
}

static void trees_of_threads_of_every_kind(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    int depth = kind == UNBOUND && !on_kernel_backend() && !SANITIZED && !EMULATED ? 12 : 5;
    struct node root = {depth, (enum kind)kind};
    CHECK_EQUAL((intptr_t)grow_tree(&root), 1 << depth);
  }
}

static void *create_many(void *p0) {
  atomic_int *count = p0;
  for (int i = 0; i < scaled(200); i++) {
    mltp_t *thread = spawn(same, NULL);
    CHECK(thread != NULL);
    if (i % 3 == 0) mltp_yield();
    if (i % 2) {
      CHECK_EQUAL(mltp_join(thread, NULL), 0);
    } else {
      CHECK_EQUAL(mltp_detach(thread), 0);
    }
    atomic_fetch_add(count, 1);
  }
  return NULL;
}

static void threads_created_while_others_run(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    atomic_int count = 0;
    check_case("%s", kind_names[kind]);
    workers_run(6, (enum kind)kind, create_many, &count);
    CHECK_EQUAL(atomic_load(&count), 6 * scaled(200));
  }
}

/* ------------------------- joined before it started: its joiner may run it at once */

/* Calls, since a compiler keeps the address of errno, which differs between VPs. */
static __attribute__((noinline)) int errno_now(void) { return errno; }
static __attribute__((noinline)) void set_errno(int value) { errno = value; }

struct chain {
  int left;
  mltp_sem_t sem;
};

/* Each thread creates and joins the next, all the way down, the last one blocks, and
 * all leave their frames by mltp_exit(). */
static void *next_in_chain(void *p0) {
  struct chain *chain = p0;
  void *result = NULL;
  CHECK_EQUAL(errno_now(), 0);
  set_errno(chain->left);
  if (chain->left-- > 0) {
    mltp_join(spawn(next_in_chain, chain), &result);
  } else {
    mltp_sem_wait(&chain->sem);
  }
  mltp_exit((void *)((intptr_t)result + 1));
}

static void *run_chain(void *p0) {
  struct chain *chain = p0;
  int length = chain->left + 1;
  void *result = NULL;
  set_errno(12345);
  for (int i = 0; i < 50; i++) mltp_join(spawn(same, NULL), NULL); /* some take turns */
  mltp_join(spawn(next_in_chain, chain), &result);
  CHECK_EQUAL((intptr_t)result, length);
  CHECK_EQUAL(errno_now(), 12345);
  return NULL;
}

static void *post_to(void *p0) {
  for (int i = 0; i < 5; i++) mltp_yield();
  mltp_sem_post(p0);
  return NULL;
}

static void chains_of_joins_that_block_at_the_end(void) {
  enum { CHAINS = 8 };
  int rounds = on_kernel_backend() ? scaled(20) : 20; /* of a thousand threads each */
  for (int round = 0; round < rounds; round++) {
    struct chain chains[CHAINS];
    struct worker runners[CHAINS], posters[CHAINS];
    for (int i = 0; i < CHAINS; i++) {
      chains[i] = (struct chain){.left = i * 25, .sem = MLTP_SEM_INIT(0)};
      worker_start(&runners[i], UNBOUND, run_chain, &chains[i]);
    }
    for (int i = 0; i < CHAINS; i++)
      worker_start(&posters[i], i % 2 ? UNBOUND : BOUND, post_to, &chains[i].sem);
    for (int i = 0; i < CHAINS; i++) worker_join(&posters[i]);
    for (int i = 0; i < CHAINS; i++) worker_join(&runners[i]);
  }
}

static void *large_frame(void *p0) {
  volatile char large[200 * 1024];
  for (size_t i = 0; i < sizeof large; i += 4096) large[i] = 1;
  return large[4096] == 1 ? p0 : NULL;
}

/* However deep in its own stack the joiner is, the thread has all of its own. */
static void *join_from_a_deep_stack(void *p0) {
  volatile char mine[150 * 1024];
  void *result = NULL;
  memset((char *)mine, 7, sizeof mine);
  mltp_join(spawn(large_frame, p0), &result);
  for (size_t i = 0; i < sizeof mine; i += 64) CHECK_EQUAL(mine[i], 7);
  return result;
}

static void joined_threads_have_stacks_of_their_own(void) {
  if (SANITIZED) return; /* larger frames */
  int mark = 0;
  void *result = NULL;
  mltp_join(spawn(join_from_a_deep_stack, &mark), &result);
  CHECK(result == &mark);
}

/* ------------------------------------------------------------- with a deadline */

struct joining {
  mltp_t *target;
  mltp_sem_t end;
};

static void *end_when_posted(void *p0) {
  mltp_sem_wait(p0);
  return p0;
}

static void *join_in_vain_then_for_good(void *p0) {
  struct joining *joiner = p0;
  uint64_t deadline = mltp_after(2000000);
  void *result = NULL;
  CHECK_EQUAL(mltp_join_timed(joiner->target, &result, deadline), ETIMEDOUT);
  CHECK(mltp_now() >= deadline);
  CHECK_EQUAL(mltp_join_timed(joiner->target, &result, 0), ETIMEDOUT);
  CHECK(result == NULL);
  mltp_sem_post(&joiner->end);
  CHECK_EQUAL(mltp_join_timed(joiner->target, &result, MLTP_NEVER), 0);
  CHECK(result == &joiner->end);
  return NULL;
}

static void mltp_join_timed_gives_up_and_leaves_it_joinable(void) {
  for (int target = 0; target < FOREIGN; target++) {
    for (int kind = 0; kind < MIXED; kind++) {
      check_case("%s joined by %s", kind_names[target], kind_names[kind]);
      struct joining joiner = {.end = MLTP_SEM_INIT(0)};
      joiner.target = target == BOUND ? spawn_bound(end_when_posted, &joiner.end)
                                      : spawn(end_when_posted, &joiner.end);
      workers_run(1, (enum kind)kind, join_in_vain_then_for_good, &joiner);
      CHECK_EQUAL(mltp_sem_destroy(&joiner.end), 0);
    }
  }
}

static void *sleep_briefly(void *p0) {
  mltp_sleep((uint64_t)(uintptr_t)p0);
  return p0;
}

/* Deadlines that come just when the thread ends: joined once, whichever side was first. */
static void *join_just_in_time(void *p0) {
  for (uintptr_t i = 0; i < (uintptr_t)scaled(100); i++) {
    void *brief = (void *)(i % 8 * 10000);
    mltp_t *target = i % 16 == 0 ? spawn_bound(sleep_briefly, brief) : spawn(sleep_briefly, brief);
    void *result = NULL;
    int error = mltp_join_timed(target, &result, mltp_after((i + i / 8) % 8 * 10000));
    CHECK(error == 0 || error == ETIMEDOUT);
    if (error != 0) CHECK_EQUAL(mltp_join(target, &result), 0);
    CHECK(result == brief);
  }
  return p0;
}

static void mltp_join_timed_races_with_the_end(void) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    workers_run(4, (enum kind)kind, join_just_in_time, NULL);
  }
}

static void mltp_detach_after_mltp_join_timed(void) {
  static mltp_sem_t end = MLTP_SEM_INIT(0);
  mltp_t *target = spawn(end_when_posted, &end);
  CHECK_EQUAL(mltp_join_timed(target, NULL, mltp_after(1000)), ETIMEDOUT);
  CHECK_EQUAL(mltp_detach(target), 0);
  mltp_sem_post(&end);
}

static void mltp_join_try_joins_what_has_ended(void) {
  for (int bound = 0; bound < 2; bound++) {
    mltp_sem_t end = MLTP_SEM_INIT(0);
    void *result = NULL;
    mltp_t *thread = bound ? spawn_bound(end_when_posted, &end) : spawn(end_when_posted, &end);
    for (int i = 0; i < 3; i++) {
      CHECK_EQUAL(mltp_join_try(thread, &result), EBUSY);
      mltp_yield();
    }
    CHECK(result == NULL);
    mltp_sem_post(&end);
    int error;
    while ((error = mltp_join_try(thread, &result)) == EBUSY) mltp_yield();
    CHECK_EQUAL(error, 0);
    CHECK(result == &end);
  }
  CHECK_EQUAL(mltp_join_try(mltp_self(), NULL), EDEADLK);
}

/* --------------------------------------------------- threads that were not created */

static mltp_t *target;
static mltp_sem_t known, end_of_foreign;

static void *note_handle(void *p0) {
  target = mltp_self();
  mltp_sem_post(&known);
  mltp_sem_wait(&end_of_foreign);
  return p0;
}

static void *join_target(void *p0) {
  if (mltp_join(target, NULL) != EINVAL || mltp_join_try(target, NULL) != EINVAL) _exit(1);
  if (mltp_join_timed(target, NULL, 0) != EINVAL || mltp_detach(target) != EINVAL) _exit(2);
  return p0;
}

static void join_main_and_a_foreign_thread(void) {
  struct worker foreign;
  if (mltp_init(0) != 0) _exit(3);
  target = mltp_self();
  mltp_join(spawn(join_target, NULL), NULL);
  mltp_sem_init(&known, 0, NULL);
  mltp_sem_init(&end_of_foreign, 0, NULL);
  worker_start(&foreign, FOREIGN, note_handle, NULL);
  mltp_sem_wait(&known);
  if (!seeded()) join_target(NULL);
  mltp_sem_post(&end_of_foreign);
  worker_join(&foreign);
  if (mltp_finalize() != 0) _exit(4);
}

static void threads_that_were_not_created_cannot_be_joined(void) {
  static struct outcome outcome;
  static const char *const settings[] = {"MLTP_MISUSE=error", NULL};
  int refusals = 0;
  run_child(&outcome, join_main_and_a_foreign_thread, settings);
  CHECK_EQUAL(outcome.status, 0);
  for (const char *at = outcome.said; (at = strstr(at, "was not created by this library")) != NULL;
       at++)
    refusals++;
  CHECK_EQUAL(refusals, seeded() ? 4 : 8);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_exit_from_a_deep_stack),
      TEST(mltp_join_by_every_kind),
      TEST(mltp_join_at_any_time),
      TEST(mltp_join_oneself),
      TEST(mltp_detach_before_and_after_the_end),
      TEST(mltp_create_and_join_100000),
      TEST(trees_of_threads_of_every_kind),
      TEST(threads_created_while_others_run),
      TEST(chains_of_joins_that_block_at_the_end),
      TEST(joined_threads_have_stacks_of_their_own),
      TEST(mltp_join_timed_gives_up_and_leaves_it_joinable),
      TEST(mltp_join_timed_races_with_the_end),
      TEST(mltp_detach_after_mltp_join_timed),
      TEST(mltp_join_try_joins_what_has_ended),
      TEST_BARE(threads_that_were_not_created_cannot_be_joined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
