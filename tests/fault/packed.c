/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of parked threads give their memory back (MLTP_PACK_MS), and nobody notices. */
#define _GNU_SOURCE /* mincore */
#include <linux/io_uring.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/memory/pack.h"
#include "os/faults.h"
#include "support/support.h"

enum { SLEEPERS = 100, WORDS = 40, PAGE = 4096, MS = 1000000 };

static struct mt_pack_counts counts_now(void) {
  struct mt_pack_counts counts;
  mt_pack_counts(&counts);
  return counts;
}

/* @return whether the page of an address has no memory. */
static int is_absent(const volatile void *at) {
  unsigned char here = 1;
  void *page = (void *)((uintptr_t)at & ~(uintptr_t)(PAGE - 1));
  return mincore(page, PAGE, &here) == 0 && !(here & 1);
}

/* ---- threads that sleep, each with words on its stack */

static struct sleeper {
  mltp_sem_t sem;
  mltp_t *thread;
  volatile uint64_t *words; /* on its stack */
  int number;
} sleepers[SLEEPERS];

static atomic_int woken;

static uint64_t word_of(int number, int i) {
  return (uint64_t)(number + 1) * 1000003u + (uint64_t)i;
}

static void *sleep_with_words(void *of) {
  struct sleeper *self = of;
  volatile uint64_t words[WORDS];
  for (int i = 0; i < WORDS; i++) words[i] = word_of(self->number, i);
  self->words = words;
  CHECK_EQUAL(mltp_sem_wait(&self->sem), 0);
  CHECK_EQUAL(atomic_fetch_add(&woken, 1), self->number);
  for (int i = 0; i < WORDS; i++) CHECK_EQUAL(words[i], word_of(self->number, i));
  return NULL;
}

static void start_sleepers(void) {
  atomic_store(&woken, 0);
  for (int n = 0; n < SLEEPERS; n++) {
    struct sleeper *sleeper = &sleepers[n];
    sleeper->number = n;
    sleeper->words = NULL;
    CHECK_EQUAL(mltp_sem_init(&sleeper->sem, 0, "sleeper"), 0);
    sleeper->thread = spawn(sleep_with_words, sleeper);
  }
}

/* @return whether the thread has its words. */
static int has_begun(const struct sleeper *sleeper) {
  return *(volatile uint64_t *volatile const *)&sleeper->words != NULL;
}

static void wait_until_absent(const struct sleeper *sleeper) {
  while (!has_begun(sleeper) || !is_absent(sleeper->words)) mltp_sleep(MS);
}

static void wait_until_packed(void) {
  for (int n = 0; n < SLEEPERS; n++) wait_until_absent(&sleepers[n]);
}

/* Ordered: the next one wakes when the one before has run. */
static void wake_sleepers(void) {
  for (int n = 0; n < SLEEPERS; n++) {
    CHECK_EQUAL(mltp_sem_post(&sleepers[n].sem), 0);
    mltp_join(sleepers[n].thread, NULL);
  }
  CHECK_EQUAL(atomic_load(&woken), SLEEPERS);
}

static void parked_threads_give_their_pages_back(void) {
  start_sleepers();
  wait_until_packed();
  while (counts_now().pages < SLEEPERS) mltp_sleep(MS); /* the packer counts a moment later */
  struct mt_pack_counts counts = counts_now();
  CHECK(counts.packed >= SLEEPERS);
  CHECK(counts.bytes < SLEEPERS * PAGE * 4u);
  wake_sleepers();
  while (counts_now().back < SLEEPERS) mltp_sleep(MS);
  counts = counts_now();
  if (mltp_vps() == 1) CHECK(counts.ahead >= SLEEPERS / 2); /* stacks lie in the order of waking */
}

/* ---- without memory for pages that nobody has touched yet */

static atomic_int waking = -1; /* the number of a sleeper; from 0 on those behind it get no page */
static atomic_int refused;

enum { WHILE_NS = 200 * MS };

int __real_os_faults_fill(const struct os_faults *faults, void *page, const void *content,
                          size_t size);
int __wrap_os_faults_fill(const struct os_faults *faults, void *page, const void *content,
                          size_t size);

int __wrap_os_faults_fill(const struct os_faults *faults, void *page, const void *content,
                          size_t size) {
  int first = atomic_load(&waking) + 1;
  for (int n = first; first > 0 && n < SLEEPERS; n++) {
    if (((uintptr_t)sleepers[n].words ^ (uintptr_t)page) >= PAGE) continue;
    atomic_fetch_add(&refused, 1);
    return ENOMEM;
  }
  return __real_os_faults_fill(faults, page, content, size);
}

/* A fresh runtime, whose stacks lie in the order of waking. */
static void wake_without_memory(void) {
  if (mltp_init(0) != 0) _exit(1);
  start_sleepers();
  wait_until_packed();
  for (int n = 0; n < SLEEPERS; n++) {
    atomic_store(&waking, n);
    CHECK_EQUAL(mltp_sem_post(&sleepers[n].sem), 0);
    mltp_join(sleepers[n].thread, NULL);
    if (n != SLEEPERS / 2) continue;
    int before = atomic_load(&refused);
    mltp_sleep(WHILE_NS);
    if (atomic_load(&refused) > before + 1) _exit(4); /* the packer tries a page again and again */
  }
  atomic_store(&waking, -1);
  if (mltp_vps() == 1 && atomic_load(&refused) == 0) _exit(2);
  if (mltp_finalize() != 0) _exit(3);
}

/* They stay packed, and the thread that has touched its page continues at once. */
static void pages_ahead_need_no_memory(void **state) {
  static struct outcome outcome;
  static const char *const no_settings[] = {NULL};
  (void)state;
  run_child(&outcome, wake_without_memory, no_settings);
  assert_int_equal(outcome.status, 0);
}

/* ---- frames of several pages */

enum { DEPTH = 6 };

static volatile uint64_t *deep_words[DEPTH];
static mltp_sem_t deep_sem;
static atomic_int is_deep;

static __attribute__((noinline)) uint64_t sleep_deep(int depth) {
  volatile uint64_t frame[PAGE / 8];
  for (int i = 0; i < PAGE / 8; i++) frame[i] = i % 16 == 0 ? word_of(depth, i) : 0;
  deep_words[depth] = frame;
  uint64_t below = depth + 1 < DEPTH ? sleep_deep(depth + 1) : 0;
  if (depth + 1 == DEPTH) {
    atomic_store(&is_deep, 1);
    mltp_sem_wait(&deep_sem);
  }
  for (int i = 0; i < PAGE / 8; i++) CHECK_EQUAL(frame[i], i % 16 == 0 ? word_of(depth, i) : 0);
  return below + frame[0];
}

static void *start_deep(void *unused) {
  sleep_deep(0);
  return unused;
}

static void all_pages_of_a_stack_go(void) {
  CHECK_EQUAL(mltp_sem_init(&deep_sem, 0, "deep"), 0);
  atomic_store(&is_deep, 0);
  mltp_t *thread = spawn(start_deep, NULL);
  while (!atomic_load(&is_deep)) mltp_sleep(MS);
  for (int depth = 0; depth < DEPTH; depth++)
    while (!is_absent(deep_words[depth])) mltp_sleep(MS);
  mltp_sem_post(&deep_sem);
  mltp_join(thread, NULL);
}

/* ---- others access what is packed */

static void other_threads_read_and_write_it(void) {
  start_sleepers();
  for (int n = 0; n < SLEEPERS; n += 7) {
    wait_until_absent(&sleepers[n]);
    for (int i = 0; i < WORDS; i++) CHECK_EQUAL(sleepers[n].words[i], word_of(n, i));
    wait_until_absent(&sleepers[n]); /* it is packed once more */
    sleepers[n].words[1] = 7;
    wait_until_absent(&sleepers[n]);
    CHECK_EQUAL(sleepers[n].words[1], 7);
    sleepers[n].words[1] = word_of(n, 1);
  }
  wake_sleepers();
}

static void the_kernel_reads_and_writes_it(void) {
  enum { BYTES = WORDS * 8 };
  uint64_t sent[WORDS], got[WORDS];
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  start_sleepers();
  wait_until_packed();
  for (int n = 0; n < SLEEPERS; n += 13) {
    struct sleeper *sleeper = &sleepers[n];
    wait_until_absent(sleeper);
    CHECK_EQUAL(write(ends[1], (void *)sleeper->words, BYTES), BYTES);
    CHECK_EQUAL(read(ends[0], got, BYTES), BYTES);
    for (int i = 0; i < WORDS; i++) CHECK_EQUAL(got[i], word_of(n, i));
    for (int i = 0; i < WORDS; i++) sent[i] = word_of(n, WORDS - i);
    CHECK_EQUAL(write(ends[1], sent, BYTES), BYTES);
    wait_until_absent(sleeper);
    CHECK_EQUAL(read(ends[0], (void *)sleeper->words, BYTES), BYTES);
    for (int i = 0; i < WORDS; i++) CHECK_EQUAL(sleeper->words[i], word_of(n, WORDS - i));
    for (int i = 0; i < WORDS; i++) sleeper->words[i] = word_of(n, i);
  }
  wake_sleepers();
  close(ends[0]);
  close(ends[1]);
}

/* ---- pinned pages */

/* io_uring keeps a buffer in its place, for devices to write to. @return its descriptor. */
static int pin(void *at, size_t size) {
  struct io_uring_params parameters = {0};
  struct iovec buffer = {at, size};
  int ring = (int)syscall(SYS_io_uring_setup, 1, &parameters);
  if (ring >= 0 && syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &buffer, 1) != 0) {
    close(ring);
    ring = -1;
  }
  return ring;
}

static void a_page_that_a_device_may_write_to_stays(void) {
  start_sleepers();
  wait_until_packed();
  struct sleeper *sleeper = &sleepers[5];
  int ring = pin((void *)sleeper->words, sizeof sleeper->words[0]); /* it comes back */
  if (ring < 0) {
    print_message("not tested: io_uring pins no page here\n");
  } else {
    CHECK(!is_absent(sleeper->words));
    uint64_t before = counts_now().kept;
    while (counts_now().kept < before + 3) mltp_sleep(MS); /* the packer tries again and again */
    CHECK(!is_absent(sleeper->words));
    close(ring);
    wait_until_packed();
  }
  wake_sleepers();
}

static void a_dump_reads_it(void) {
  start_sleepers();
  wait_until_packed();
  int null = memfd_create("dump", 0);
  mltp_dump(null);
  CHECK(lseek(null, 0, SEEK_END) > SLEEPERS);
  close(null);
  wake_sleepers();
}

/* ---- threads that wake while they are packed */

enum { RUNNERS = 32, STEPS = 4000 };

static mltp_sem_t batons[RUNNERS];
static atomic_int steps_left;

/* Goes down some pages and comes back, so that frames of several pages sleep. */
static __attribute__((noinline)) uint64_t descend(int number, int depth) {
  volatile uint64_t frame[120];
  for (int i = 0; i < 120; i++) frame[i] = word_of(number, depth * 1000 + i);
  if (depth > 0)
    frame[5] += descend(number, depth - 1);
  else
    mltp_sem_wait(&batons[number]);
  uint64_t sum = 0;
  for (int i = 0; i < 120; i++)
    if (i != 5) CHECK_EQUAL(frame[i], word_of(number, depth * 1000 + i));
  for (int i = 0; i < 120; i++) sum += frame[i];
  return sum;
}

static uint64_t expected(int number, int depth) {
  uint64_t sum = depth > 0 ? expected(number, depth - 1) : 0;
  for (int i = 0; i < 120; i++) sum += word_of(number, depth * 1000 + i);
  return sum;
}

static void *run_with_baton(void *of) {
  int number = (int)(intptr_t)of, depth = number % 9;
  uint64_t right = expected(number, depth);
  while (atomic_load(&steps_left) > 0) {
    CHECK_EQUAL(descend(number, depth), right);
    atomic_fetch_sub(&steps_left, 1);
    if (number % 4 == 0) mltp_sleep((uint64_t)(number % 3) * MS); /* the baton cools down */
    mltp_sem_post(&batons[(number + 1) % RUNNERS]);
  }
  mltp_sem_post(&batons[(number + 1) % RUNNERS]); /* the next one ends, too */
  return NULL;
}

static void threads_wake_while_they_are_packed(void) {
  mltp_t *threads[RUNNERS];
  atomic_store(&steps_left, STEPS);
  for (int n = 0; n < RUNNERS; n++) CHECK_EQUAL(mltp_sem_init(&batons[n], 0, "baton"), 0);
  for (int n = 0; n < RUNNERS; n++) threads[n] = spawn(run_with_baton, (void *)(intptr_t)n);
  for (int n = 0; n < 4; n++) mltp_sem_post(&batons[n * RUNNERS / 4]);
  for (int n = 0; n < RUNNERS; n++) mltp_join(threads[n], NULL);
  CHECK(counts_now().packed > RUNNERS);
  CHECK(counts_now().back > RUNNERS);
  mltp_trim();
}

/* ---- fork() */

enum { FORKS = 200 };

static void look_in_child(void) {
  for (int n = 0; n < SLEEPERS; n++)
    for (int i = 0; i < WORDS; i++)
      if (sleepers[n].words[i] != word_of(n, i)) _exit(3);
  _exit(0);
}

static int fork_once(void) {
  int status = -1;
  pid_t pid = fork();
  if (pid == 0) look_in_child();
  return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Its own frames are packed, too: it sleeps below them, and forks far below. */
static __attribute__((noinline)) int fork_below(int depth) {
  volatile uint64_t frame[200];
  for (int i = 0; i < 200; i++) frame[i] = word_of(depth, i);
  int status = 0;
  if (depth == 0) {
    mltp_sleep(30u * MS);
    pid_t pid = fork();
    if (pid == 0) return -1; /* the child returns through all frames */
    waitpid(pid, &status, 0);
  } else {
    status = fork_below(depth - 1);
  }
  for (int i = 0; i < 200; i++)
    if (frame[i] != word_of(depth, i)) _exit(4);
  return status;
}

/* Brings pages back all the time, so that they are packed all the time. */
static atomic_int churns;

static void *churn(void *unused) {
  while (atomic_load(&churns))
    for (int n = 0; n < SLEEPERS; n++) CHECK_EQUAL(sleepers[n].words[0], word_of(n, 0));
  return unused;
}

static void *fork_on_a_stack(void *unused) {
  int status = fork_below(12);
  if (status == -1) look_in_child();
  CHECK_EQUAL(status, 0);
  return unused;
}

static void a_child_of_fork_has_all_pages(void) {
  start_sleepers();
  wait_until_packed();
  CHECK_EQUAL(fork_once(), 0);
  wait_until_packed();
  for (int i = 0; i < 5; i++) mltp_join(spawn(fork_on_a_stack, NULL), NULL);
  atomic_store(&churns, 1);
  mltp_t *churning = spawn_bound(churn, NULL);
  for (int i = 0; i < FORKS; i++) CHECK_EQUAL(fork_once(), 0);
  atomic_store(&churns, 0);
  mltp_join(churning, NULL);
  /* The parent continues to pack what it shares with children. A context of libc's may leave no
   * room for the words in the topmost page, and other pages have to be written to before. */
  for (int n = 0; on_ucontext_backend() && n < SLEEPERS; n++) sleepers[n].words[0] = word_of(n, 0);
  wait_until_packed();
  wake_sleepers();
}

/* ---- limits */

static atomic_int may_park;

static void *wait_then_sleep(void *of) {
  while (!atomic_load(&may_park)) mltp_yield();
  return sleep_with_words(of);
}

static void without_memory_for_the_store_stacks_stay(void) {
  struct rlimit before, none;
  start_sleepers();
  wait_until_packed();
  wake_sleepers(); /* what threads need at all is there now */
  mltp_finalize();
  if (mltp_init(0) != 0) _exit(5);
  for (int n = 0; n < SLEEPERS; n++) {
    sleepers[n].words = NULL;
    sleepers[n].thread = spawn(wait_then_sleep, &sleepers[n]);
  }
  mltp_sleep(5u * MS);
  CHECK_EQUAL(counts_now().pages, 0);
  CHECK_EQUAL(getrlimit(RLIMIT_DATA, &before), 0);
  none = (struct rlimit){PAGE, before.rlim_max}; /* the kernel takes 0 for no limit */
  CHECK_EQUAL(setrlimit(RLIMIT_DATA, &none), 0);
  atomic_store(&woken, 0);
  atomic_store(&may_park, 1);
  for (int n = 0; n < SLEEPERS; n++)
    while (!has_begun(&sleepers[n])) mltp_sleep(MS);
  uint64_t kept = counts_now().kept; /* of some of them, again and again */
  while (counts_now().kept < kept + (uint64_t)2 * SLEEPERS) mltp_sleep(MS);
  CHECK_EQUAL(counts_now().pages, 0);
  for (int n = 0; n < SLEEPERS; n++) /* a page is absent for the moment of an attempt */
    for (int i = 0; i < WORDS; i++) CHECK_EQUAL(sleepers[n].words[i], word_of(n, i));
  CHECK_EQUAL(setrlimit(RLIMIT_DATA, &before), 0);
  wait_until_packed();
  wake_sleepers();
}

static mltp_sem_t dig_now;

static __attribute__((noinline)) int dig(int depth) {
  volatile char frame[512];
  memset((char *)frame, depth, sizeof frame);
  int below = depth < 0 ? 0 : dig(depth + 1);
  return below + frame[depth & 511];
}

static void *sleep_and_dig(void *depth) {
  mltp_sem_wait(&dig_now);
  return (void *)(intptr_t)dig((int)(intptr_t)depth);
}

static void overflow_after_a_sleep(void) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_t *thread;
  attr.name = "deep-sleeper";
  if (mltp_init(0) != 0) _exit(1);
  mltp_sem_init(&dig_now, 0, "dig");
  if (mltp_create(&thread, &attr, sleep_and_dig, NULL) != 0) _exit(1);
  while (counts_now().packed == 0) mltp_sleep(MS);
  mltp_sem_post(&dig_now);
  mltp_join(thread, NULL);
}

static void an_overflow_is_found_after_a_sleep(void **state) {
  (void)state;
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  if (!has_guards()) skip();
  run_child(&outcome, overflow_after_a_sleep, no_settings);
  print_message("%s", outcome.said);
  assert_true(WIFSIGNALED(outcome.status));
  assert_int_equal(WTERMSIG(outcome.status), SIGABRT);
  assert_non_null(strstr(outcome.said, "overflow"));
  assert_non_null(strstr(outcome.said, "deep-sleeper"));
}

/* The packer is a kernel thread that waits, and must not hide that all others wait forever. */
static void deadlock_while_packed(void) {
  if (mltp_init(0) != 0) _exit(1);
  start_sleepers();
  wait_until_packed();
  mltp_join(sleepers[0].thread, NULL);
}

static void a_deadlock_is_found_while_packed(void **state) {
  (void)state;
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  run_child(&outcome, deadlock_while_packed, no_settings);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), MLTP_EXIT_DEADLOCK);
  assert_non_null(strstr(outcome.said, "sleeper"));
}

/* ---- words of the library */

static void run_with_counters(void) {
  if (mltp_init(0) != 0) _exit(1);
  start_sleepers();
  wait_until_packed();
  wake_sleepers();
  mltp_finalize();
}

static void counters_are_reported(void **state) {
  (void)state;
  static const char *const settings[] = {"MLTP_STATS=1", NULL};
  static struct outcome outcome;
  unsigned long packed = 0;
  run_child(&outcome, run_with_counters, settings);
  assert_int_equal(outcome.status, 0);
  const char *line = strstr(outcome.said, "packer: pages packed ");
  assert_non_null(line);
  assert_int_equal(sscanf(line, "packer: pages packed %lu", &packed), 1);
  assert_true(packed >= SLEEPERS);
}

static void start_with_locked_memory(void) {
  if (mlockall(MCL_FUTURE | MCL_ONFAULT) != 0) _exit(77);
  int error = mltp_init(0);
  if (error == ENOMEM || error == EAGAIN) _exit(77); /* so much must not be locked */
  if (error != EINVAL) _exit(1);
}

static void locked_memory_is_refused(void **state) {
  (void)state;
  static const char *const no_settings[] = {NULL};
  static struct outcome outcome;
  run_child(&outcome, start_with_locked_memory, no_settings);
  print_message("%s", outcome.said);
  if (WIFEXITED(outcome.status) && WEXITSTATUS(outcome.status) == 77) skip();
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "MLTP_PACK_MS: stacks cannot be packed: "));
  assert_non_null(strstr(outcome.said, "locked memory"));
}

static void try_to_start(void) { _exit(mltp_init(0) == 0 ? 0 : 2); }

int main(void) {
  if (SANITIZED || on_kernel_backend()) {
    fprintf(stderr, "skipped: needs user-level threads without a sanitizer\n");
    return 77;
  }
  setenv("MLTP_PACK_MS", "0", 1);
  static struct outcome outcome;
  static const char *const no_settings[] = {NULL};
  run_child(&outcome, try_to_start, no_settings);
  if (outcome.status != 0) {
    fprintf(stderr, "skipped: %s", outcome.said);
    return strstr(outcome.said, "MLTP_PACK_MS: stacks cannot be packed: ") != NULL ? 77 : 1;
  }
  const struct CMUnitTest tests[] = {
      TEST(parked_threads_give_their_pages_back),
      TEST(all_pages_of_a_stack_go),
      TEST(other_threads_read_and_write_it),
      TEST(the_kernel_reads_and_writes_it),
      TEST(a_page_that_a_device_may_write_to_stays),
      TEST(a_dump_reads_it),
      TEST(threads_wake_while_they_are_packed),
      TEST(a_child_of_fork_has_all_pages),
      TEST(without_memory_for_the_store_stacks_stay),
      cmocka_unit_test(an_overflow_is_found_after_a_sleep),
      cmocka_unit_test(counters_are_reported),
      cmocka_unit_test(pages_ahead_need_no_memory),
      cmocka_unit_test(locked_memory_is_refused),
      cmocka_unit_test(a_deadlock_is_found_while_packed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
