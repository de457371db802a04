/* SPDX-License-Identifier: Apache-2.0 */
/* A dump says of each waiting thread what object it waits for: kind, address, name, and
 * what would end the wait. */
#define _GNU_SOURCE /* memfd_create() */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/memory/descriptor.h"
#include "support/support.h"
#include "sync/describe.h"

/* Writes a dump and finds what it says of the thread named "waiter", up to the end of
 * the line. */
static void look_at_waiter(char *line, size_t size) {
  static char dump[1 << 16];
  int fd = memfd_create("dump", 0);
  CHECK(fd >= 0);
  mltp_dump(fd);
  ssize_t length = pread(fd, dump, sizeof dump - 1, 0);
  close(fd);
  dump[length > 0 ? length : 0] = '\0';
  const char *from = strstr(dump, "'waiter'");
  snprintf(line, size, "%.*s", from != NULL ? (int)strcspn(from, "\n") : 0, from);
}

/* And not about to park, or to run again. */
static int is_parked(const char *line) {
  return strstr(line, "waits for") != NULL && strstr(line, "for nothing") == NULL &&
         strstr(line, "blocks VP") == NULL;
}

static void check_line(char *line, const char *expected) {
  char *said = strstr(line, "waits for");
  if (said != NULL && strlen(said) > strlen(expected))
    said[strlen(expected)] = '\0'; /* how long, and where */
  CHECK_TEXT(said != NULL ? said : line, expected);
}

/* Starts wait(object) in a thread, and compares what the dump says once it waits. */
static mltp_t *check_waiter(mltp_userf_t *wait, void *object, int bound, const char *expected) {
  char line[256];
  mltp_t *thread = NULL;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = "waiter";
  attr.bound = bound;
  CHECK_EQUAL(mltp_create(&thread, &attr, wait, object), 0);
  do {
    mltp_yield();
    look_at_waiter(line, sizeof line);
  } while (!is_parked(line));
  check_line(line, expected);
  return thread;
}

#define EXPECT(...) snprintf(expected, sizeof expected, "waits for " __VA_ARGS__)

static char expected[256];

/* Runs check with an unbound and with a bound waiter. */
static void for_both(void (*check)(int bound)) {
  mltp_set_name(mltp_self(), "director");
  for (int bound = 0; bound < 2; bound++) {
    check_case("%s", bound ? "bound" : "unbound");
    check(bound);
  }
}

static void *lock_it(void *p0) {
  mltp_lock(p0);
  mltp_unlock(p0);
  return NULL;
}

static void check_lock(int bound) {
  mltp_lock_t lock;
  mltp_lock_init(&lock, MLTP_LOCK_REACTIVE, "props");
  mltp_lock(&lock);
  EXPECT("lock %p 'props' (held by thread %lu 'director')", (void *)&lock,
         (unsigned long)mltp_id(mltp_self()));
  mltp_t *thread = check_waiter(lock_it, &lock, bound, expected);
  mltp_unlock(&lock);
  mltp_join(thread, NULL);
}

static void lock_is_described_with_its_holder(void) { for_both(check_lock); }

static void *wait_for_cond(void *p0) {
  mltp_cond_wait_unlocked(p0);
  return NULL;
}

static void check_cond(int bound) {
  mltp_cond_t cond;
  mltp_cond_init(&cond, "curtain");
  EXPECT("condition %p 'curtain'", (void *)&cond);
  mltp_t *thread = check_waiter(wait_for_cond, &cond, bound, expected);
  mltp_cond_signal(&cond);
  mltp_join(thread, NULL);
}

static void condition_is_described(void) { for_both(check_cond); }

static void *wait_at_barrier(void *p0) {
  mltp_barrier_wait(p0);
  return NULL;
}

static void check_barrier(int bound) {
  mltp_barrier_t barrier;
  mltp_barrier_init(&barrier, 2, "stage-door");
  EXPECT("barrier %p 'stage-door' (1 of 2 have come)", (void *)&barrier);
  mltp_t *thread = check_waiter(wait_at_barrier, &barrier, bound, expected);
  mltp_barrier_wait(&barrier);
  mltp_join(thread, NULL);
}

static void barrier_is_described_with_who_has_come(void) { for_both(check_barrier); }

static void *wait_for_sem(void *p0) {
  mltp_sem_wait(p0);
  return NULL;
}

static void check_sem(int bound) {
  mltp_sem_t sem;
  mltp_sem_init(&sem, 0, "tickets");
  EXPECT("semaphore %p 'tickets'", (void *)&sem);
  mltp_t *thread = check_waiter(wait_for_sem, &sem, bound, expected);
  mltp_sem_post(&sem);
  mltp_join(thread, NULL);
}

static void semaphore_is_described(void) { for_both(check_sem); }

static void *wait_for_latch(void *p0) {
  mltp_latch_wait(p0);
  return NULL;
}

static void check_latch(int bound) {
  mltp_latch_t latch;
  mltp_latch_init(&latch, 3, "gate");
  EXPECT("latch %p 'gate' (3 still to come)", (void *)&latch);
  mltp_t *thread = check_waiter(wait_for_latch, &latch, bound, expected);
  mltp_latch_count_down(&latch, 3);
  mltp_join(thread, NULL);
}

static uint32_t word;

static void *wait_for_word(void *p0) {
  mltp_await(p0, 5, NULL);
  return NULL;
}

static void check_word(int bound) {
  mltp_await_store(&word, 3);
  EXPECT("word %p to be 5 (it is 3)", (void *)&word);
  mltp_t *thread = check_waiter(wait_for_word, &word, bound, expected);
  mltp_await_store(&word, 5);
  mltp_join(thread, NULL);
}

static void word_is_described_with_its_value(void) { for_both(check_word); }

static void latch_is_described_with_its_count(void) { for_both(check_latch); }

static void *wait_for_group(void *p0) {
  mltp_waitgroup_wait(p0);
  return NULL;
}

static void check_waitgroup(int bound) {
  mltp_waitgroup_t group;
  mltp_waitgroup_init(&group, "cast");
  mltp_waitgroup_add(&group, 2);
  EXPECT("wait group %p 'cast' (2 not done)", (void *)&group);
  mltp_t *thread = check_waiter(wait_for_group, &group, bound, expected);
  mltp_waitgroup_add(&group, -2);
  mltp_join(thread, NULL);
}

static void waitgroup_is_described_with_its_count(void) { for_both(check_waitgroup); }

static mltp_once_t once;

struct late {
  int bound;
  mltp_t *thread;
};

static void *come_late(void *p0) {
  mltp_once(&once, NULL, NULL);
  return p0;
}

/* As if another thread ran it. */
static void check_runner(const void *runner, const char *who) {
  char line[256];
  mltp_t *known = once.runner_;
  once.runner_ = (mltp_t *)(uintptr_t)runner;
  look_at_waiter(line, sizeof line);
  once.runner_ = known;
  EXPECT("once %p (run by %s)", (void *)&once, who);
  check_line(line, expected);
}

static void run_once(void *p0) {
  struct late *late = p0;
  EXPECT("once %p (run by thread %lu 'director')", (void *)&once,
         (unsigned long)mltp_id(mltp_self()));
  late->thread = check_waiter(come_late, NULL, late->bound, expected);
  if (THREAD_SANITIZED) return; /* the waiter has read it without a lock */
  check_runner(NULL, "nobody");
  check_runner(expected, "a thread that has ended");
}

static void check_once(int bound) {
  once = (mltp_once_t)MLTP_ONCE_INIT;
  struct late late = {.bound = bound};
  mltp_once(&once, run_once, &late);
  mltp_join(late.thread, NULL);
}

static void once_is_described_with_who_runs_it(void) { for_both(check_once); }

static void *read_it(void *p0) {
  mltp_rwlock_rdlock(p0);
  mltp_rwlock_unlock(p0);
  return NULL;
}

static void *write_it(void *p0) {
  mltp_rwlock_wrlock(p0);
  mltp_rwlock_unlock(p0);
  return NULL;
}

static void check_rwlock(int bound) {
  mltp_rwlock_t lock;
  mltp_rwlock_init(&lock, "script");
  mltp_rwlock_wrlock(&lock);
  EXPECT("readers-writer lock %p 'script', to read (held for writing by thread %lu 'director')",
         (void *)&lock, (unsigned long)mltp_id(mltp_self()));
  mltp_t *thread = check_waiter(read_it, &lock, bound, expected);
  mltp_rwlock_unlock(&lock);
  mltp_join(thread, NULL);
  mltp_rwlock_rdlock(&lock);
  mltp_rwlock_rdlock(&lock);
  EXPECT("readers-writer lock %p 'script', to write (held by 2 readers)", (void *)&lock);
  thread = check_waiter(write_it, &lock, bound, expected);
  mltp_rwlock_unlock(&lock);
  mltp_rwlock_unlock(&lock);
  mltp_join(thread, NULL);
}

static void rwlock_is_described_with_its_holders(void) { for_both(check_rwlock); }

static void *join_it(void *p0) {
  mltp_join(p0, NULL);
  return NULL;
}

static void check_join(int bound) {
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  mltp_t *target = spawn(wait_for_sem, &sem);
  mltp_set_name(target, "target");
  EXPECT("join of thread %lu 'target'", (unsigned long)mltp_id(target));
  mltp_t *thread = check_waiter(join_it, target, bound, expected);
  mltp_sem_post(&sem);
  mltp_join(thread, NULL);
}

static void join_is_described_with_its_thread(void) { for_both(check_join); }

static const uint64_t late = 3600ull * 1000 * 1000 * 1000;

static void *join_it_timed(void *p0) {
  CHECK_EQUAL(mltp_join_timed(p0, NULL, mltp_after(late)), 0);
  return NULL;
}

static void check_timed_join(int bound) {
  mltp_sem_t sem = MLTP_SEM_INIT(0);
  mltp_t *target = spawn(wait_for_sem, &sem);
  mltp_set_name(target, "target");
  EXPECT("join of thread %lu 'target'", (unsigned long)mltp_id(target));
  mltp_t *thread = check_waiter(join_it_timed, target, bound, expected);
  mltp_sem_post(&sem);
  mltp_join(thread, NULL);
}

static void timed_join_is_described_with_its_thread(void) { for_both(check_timed_join); }

static void *sleep_long(void *p0) {
  CHECK_EQUAL(mltp_sleep(late), ECANCELED);
  return p0;
}

static void check_sleep(int bound) {
  mltp_t *thread = check_waiter(sleep_long, NULL, bound, "waits for sleep");
  CHECK_EQUAL(mltp_cancel(thread), 0);
  mltp_join(thread, NULL);
}

static void sleep_is_described(void) { for_both(check_sleep); }

/* ------------------------------------------------------- what cannot be read */

static void check_name(const char *name, const char *shown) {
  mltp_sem_t sem;
  check_case("'%s'", shown);
  mltp_sem_init(&sem, 0, name);
  EXPECT("semaphore %p '%s'", (void *)&sem, shown);
  mltp_t *thread = check_waiter(wait_for_sem, &sem, 0, expected);
  mltp_sem_post(&sem);
  mltp_join(thread, NULL);
}

static void names_are_shown_as_far_as_they_can_be_read(void) {
  char many[200], most[96] = "";
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(pages != MAP_FAILED);
  memset(many, 'x', sizeof many - 1);
  many[sizeof many - 1] = '\0';
  memcpy(most, many, sizeof most - 1);
  memcpy(pages + page - 3, "end", 3);
  mprotect(pages + page, page, PROT_NONE); /* what is unmapped may be mapped again by others */
  check_name(NULL, "");
  check_name("gr\u00fcn", "gr\u00fcn");
  check_name("a\n\033b\177", "a??b?");
  check_name(many, most);
  check_name(pages + page - 3, "end"); /* and no byte after it */
  check_name(pages + page, "");
  check_name((const char *)1, "");
  munmap(pages, 2 * page);
}

/* A thread that no longer waits as it did when it was copied. */
static void waits_that_have_ended_are_none(void) {
  char text[MT_WAIT_TEXT_MAX];
  struct mltp_thread copy;
  mltp_sem_t sem;
  mltp_sem_init(&sem, 0, "tickets");
  EXPECT("semaphore %p 'tickets'", (void *)&sem);
  mltp_t *thread = check_waiter(wait_for_sem, &sem, 0, expected);
  mt_ilock_lock(&sem.queue_.ilock_); /* which is free when its registers are saved */
  mt_ilock_unlock(&sem.queue_.ilock_);
  CHECK(mt_descriptor_peek(&copy, thread));
  mt_describe_wait(text, &copy, thread);
  CHECK_TEXT(text, expected + strlen("waits for "));
  copy.id++;
  mt_describe_wait(text, &copy, thread);
  CHECK_TEXT(text, "nothing");
  mltp_sem_post(&sem);
  mltp_join(thread, NULL);
}

static void object_whose_memory_is_gone_is_called_so(void) {
  char line[256];
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  mltp_sem_t *sem = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(sem != MAP_FAILED);
  mltp_sem_init(sem, 0, "tickets");
  EXPECT("semaphore %p 'tickets'", (void *)sem);
  mltp_t *thread = check_waiter(wait_for_sem, sem, 0, expected);
  CHECK_EQUAL(mprotect(sem, page, PROT_NONE), 0);
  look_at_waiter(line, sizeof line);
  CHECK_EQUAL(mprotect(sem, page, PROT_READ | PROT_WRITE), 0);
  EXPECT("semaphore %p, which cannot be read: its memory is gone", (void *)sem);
  check_line(line, expected);
  mltp_sem_post(sem);
  mltp_join(thread, NULL);
  munmap(sem, page);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(lock_is_described_with_its_holder),          TEST(condition_is_described),
      TEST(barrier_is_described_with_who_has_come),     TEST(semaphore_is_described),
      TEST(latch_is_described_with_its_count),          TEST(word_is_described_with_its_value),
      TEST(waitgroup_is_described_with_its_count),      TEST(rwlock_is_described_with_its_holders),
      TEST(once_is_described_with_who_runs_it),         TEST(join_is_described_with_its_thread),
      TEST(timed_join_is_described_with_its_thread),    TEST(sleep_is_described),
      TEST(names_are_shown_as_far_as_they_can_be_read), TEST(waits_that_have_ended_are_none),
      TEST(object_whose_memory_is_gone_is_called_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
