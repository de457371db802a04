/* SPDX-License-Identifier: Apache-2.0 */
/* Virtual processors: their number, idling, and not leaving ready threads behind. */
#define _GNU_SOURCE /* CPU sets */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/support.h"

#define MS 1000000ull

/* ------------------------------------------------------------- mltp_set_vps */

struct busy {
  mltp_lock_t lock;
  long count;
  int rounds;
};

static void *keep_busy(void *p0) {
  struct busy *busy = p0;
  for (int i = 0; i < busy->rounds; i++) {
    mltp_lock(&busy->lock);
    busy->count++;
    mltp_unlock(&busy->lock);
    if (i % 4 == 0) mltp_yield();
    if (i % 50 == 0) mltp_sleep(10000);
  }
  return NULL;
}

static void mltp_set_vps_while_threads_run(void) {
  enum { COUNT = 50 };
  static const int numbers[] = {4, 1, 2, 16, 3, 1, 8, 2};
  struct busy busy = {.lock = MLTP_LOCK_INIT, .rounds = scaled(1000)};
  mltp_t *threads[COUNT];
  for (int i = 0; i < COUNT; i++) threads[i] = spawn(keep_busy, &busy);
  for (int round = 0; round < 5; round++) {
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
      CHECK_EQUAL(mltp_set_vps(numbers[i]), 0);
      CHECK_EQUAL(mltp_vps(), numbers[i]);
      mltp_yield();
      mltp_sleep(MS / 5);
    }
  }
  for (int i = 0; i < COUNT; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  CHECK_EQUAL(busy.count, (long)COUNT * busy.rounds);
}

static void mltp_set_vps_refuses(void) {
  int before = mltp_vps();
  CHECK_EQUAL(mltp_set_vps(0), EINVAL);
  CHECK_EQUAL(mltp_set_vps(-1), EINVAL);
  CHECK_EQUAL(mltp_set_vps(1025), EINVAL);
  CHECK_EQUAL(mltp_vps(), before);
}

static void *set_vps_to(void *p0) { return (void *)(intptr_t)mltp_set_vps((int)(intptr_t)p0); }

static void mltp_set_vps_by_every_kind(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    struct worker worker;
    check_case("%s", kind_names[kind]);
    worker_start(&worker, (enum kind)kind, set_vps_to, (void *)(intptr_t)(kind + 2));
    CHECK_EQUAL((intptr_t)worker_join(&worker), 0);
    CHECK_EQUAL(mltp_vps(), kind + 2);
  }
}

struct census {
  mltp_barrier_t barrier;
  atomic_int running, most;
};

/* Counts how many threads are between two scheduling points at a time. */
static void *be_counted(void *p0) {
  struct census *census = p0;
  mltp_barrier_wait(&census->barrier);
  mltp_yield(); /* a scheduling point for whatever VP this is on */
  mltp_sleep(5 * MS);
  mltp_barrier_wait(&census->barrier);
  mltp_yield();
  for (int i = 0; i < 50; i++) {
    int now = atomic_fetch_add(&census->running, 1) + 1;
    int most = atomic_load(&census->most);
    while (now > most && !atomic_compare_exchange_weak(&census->most, &most, now)) continue;
    uint64_t end = mltp_after(MS / 50);
    while (mltp_now() < end) continue;
    atomic_fetch_sub(&census->running, 1);
    mltp_yield();
  }
  return NULL;
}

static void surplus_vps_stop(void) {
  if (on_kernel_backend()) return; /* each thread is its own VP there */
  struct census census = {.barrier = MLTP_BARRIER_INIT(9)};
  struct worker workers[8];
  CHECK_EQUAL(mltp_set_vps(4), 0);
  for (int i = 0; i < 8; i++) worker_start(&workers[i], UNBOUND, be_counted, &census);
  CHECK_EQUAL(mltp_set_vps(1), 0);
  mltp_barrier_wait(&census.barrier);
  mltp_barrier_wait(&census.barrier);
  for (int i = 0; i < 8; i++) worker_join(&workers[i]);
  CHECK_EQUAL(atomic_load(&census.most), 1);
}

/* ------------------------------------------------ CPUs the process may use */

static void report_cpus(void) {
  pin_to_one_cpu();
  if (mltp_cpus() != 1) _exit(1);
  if (mltp_init(0) != 0) _exit(2);
  if (mltp_cpus() != 1) _exit(3);
  if (mltp_vps() != 1) _exit(4);
  if (mltp_vps_active() != 1) _exit(5);
  if (mltp_set_vps(4) != 0) _exit(6);
  if (mltp_vps() != 4) _exit(7);
  int expected = strcmp(getenv("MLTP_OVERSUBSCRIBE"), "0") == 0 ? 1 : 4;
  if (mltp_vps_active() != expected) _exit(8);
  mltp_finalize();
}

static void check_cpus(const char *oversubscribe) {
  static struct outcome outcome;
  const char *const settings[] = {"MLTP_VPS", oversubscribe, NULL};
  run_child(&outcome, report_cpus, settings);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), 0);
}

static void mltp_cpus_honours_the_affinity_mask(void) { check_cpus("MLTP_OVERSUBSCRIBE=0"); }

static void mltp_vps_active_may_exceed_the_cpus(void) {
  check_cpus("MLTP_OVERSUBSCRIBE=1");
  check_cpus("MLTP_OVERSUBSCRIBE=eager");
}

static void mltp_cpus_is_no_more_than_there_are(void) {
  cpu_set_t allowed;
  sched_getaffinity(0, sizeof allowed, &allowed);
  CHECK(mltp_cpus() >= 1);
  CHECK(mltp_cpus() <= CPU_COUNT(&allowed));
}

/* ---------------------------------------------------------------- idle VPs */

static cpu_set_t at_start; /* where the process may run */

static void *look_at_mask(void *p0) {
  cpu_set_t now;
  sched_getaffinity(0, sizeof now, &now);
  CHECK(CPU_EQUAL(&now, &at_start));
  atomic_store((atomic_int *)p0, 1);
  return NULL;
}

/* A VP that is woken is kept off its waker's CPU only until it runs. */
static void woken_vps_may_run_anywhere(void) {
  if (mltp_vps() < 2) return; /* main's VP does not give way below */
  for (int round = 0; round < 10; round++) {
    atomic_int looked = 0;
    mltp_sleep(MS); /* the other VPs go to sleep */
    mltp_t *thread = spawn(look_at_mask, &looked);
    while (!atomic_load(&looked)) continue;
    CHECK_EQUAL(mltp_join(thread, NULL), 0);
  }
}

static uint64_t cpu_time(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
}

static void *do_nothing(void *p0) { return p0; }

/* VPs look around for a moment before they sleep. On a busy machine they come to that late, so the
 * best of some times counts. */
static void idle_program_uses_no_cpu(void) {
  enum { TRIES = 20 };
  mltp_t *threads[20]; /* every VP has had something to do */
  uint64_t used = UINT64_MAX;
  for (int i = 0; i < 20; i++) threads[i] = spawn(do_nothing, NULL);
  for (int i = 0; i < 20; i++) mltp_join(threads[i], NULL);
  for (int i = 0; i < TRIES && used >= 300 * MS / 20; i++) {
    mltp_sleep(20 * MS);
    uint64_t before = cpu_time();
    mltp_sleep(300 * MS);
    used = cpu_time() - before;
  }
  CHECK(used < 300 * MS / 20);
}

static struct {
  mltp_sem_t woken;
  pid_t task; /* of the VP that sleeps */
  cpu_set_t one;
} masked;

static void *set_mask_and_wake(void *p0) {
  mltp_self(); /* the runtime knows of this thread, and reports no deadlock */
  usleep(20000);
  CHECK_EQUAL(sched_setaffinity(masked.task, sizeof masked.one, &masked.one), 0);
  mltp_sem_post(&masked.woken);
  return p0;
}

/* A waker keeps the sleeper off its own CPU for a moment, and the sleeper undoes that. */
static void a_mask_set_in_sleep_stays(void) {
  cpu_set_t all, now;
  struct worker worker;
  if (seeded()) return;
  sched_getaffinity(0, sizeof all, &all);
  CPU_ZERO(&masked.one);
  for (unsigned cpu = 0; CPU_COUNT(&masked.one) == 0; cpu++)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &masked.one);
  mltp_sem_init(&masked.woken, 0, NULL);
  masked.task = gettid();
  worker_start(&worker, FOREIGN, set_mask_and_wake, NULL);
  mltp_sem_wait(&masked.woken);
  int same = gettid() == masked.task; /* else another VP took the thread */
  sched_getaffinity(masked.task, sizeof now, &now);
  sched_setaffinity(masked.task, sizeof all, &all);
  CHECK(!same || CPU_EQUAL(&now, &masked.one));
  worker_join(&worker);
  mltp_sem_destroy(&masked.woken);
}

/* -------------------------------------------------- calls that block the VP */

static int pipe_ends[2];

static void *read_a_byte(void *p0) {
  char byte = 0;
  (void)p0;
  mltp_blocking_begin();
  ssize_t got = read(pipe_ends[0], &byte, 1);
  mltp_blocking_end();
  return (void *)(intptr_t)(got == 1 ? byte : -1);
}

/* The readers return only if another thread runs while they block in the kernel: with
 * a single VP, that takes another one in its place (else this hangs). */
static void mltp_blocking_lets_others_run(void) {
  enum { READERS = 5 };
  CHECK_EQUAL(pipe(pipe_ends), 0);
  for (int round = 0; round < 20; round++) {
    struct worker workers[READERS];
    for (int i = 0; i < READERS; i++) {
      enum kind kind = i == 3 ? BOUND : i == 4 ? FOREIGN : UNBOUND;
      worker_start(&workers[i], kind, read_a_byte, NULL);
    }
    for (int i = 0; i < 3; i++) mltp_yield();
    CHECK_EQUAL(write(pipe_ends[1], "xxxxx", READERS), READERS);
    for (int i = 0; i < READERS; i++) CHECK_EQUAL((intptr_t)worker_join(&workers[i]), 'x');
  }
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

static void *write_a_byte(void *p0) {
  CHECK_EQUAL(write(pipe_ends[1], p0, 1), 1);
  return NULL;
}

/* What was ready on the blocked VP is run by others. */
static void mltp_blocking_begin_leaves_its_queue_to_others(void) {
  CHECK_EQUAL(pipe(pipe_ends), 0);
  for (int round = 0; round < 50; round++) {
    mltp_t *writer = spawn(write_a_byte, "y");
    CHECK_EQUAL((intptr_t)read_a_byte(NULL), 'y');
    mltp_join(writer, NULL);
  }
  close(pipe_ends[0]);
  close(pipe_ends[1]);
}

static atomic_int spinning;

static void *spin_and_yield(void *p0) {
  while (atomic_load(&spinning)) mltp_yield();
  return p0;
}

/* Though they are never without something to run (a thief steals when it is). */
static void mltp_blocking_begin_leaves_its_queue_to_busy_others(void) {
  enum { SPINNERS = 24 };
  mltp_t *spinners[SPINNERS];
  atomic_store(&spinning, 1);
  for (int i = 0; i < SPINNERS; i++) spinners[i] = spawn(spin_and_yield, NULL);
  mltp_blocking_begin_leaves_its_queue_to_others();
  atomic_store(&spinning, 0);
  for (int i = 0; i < SPINNERS; i++) CHECK_EQUAL(mltp_join(spinners[i], NULL), 0);
}

static void mltp_blocking_without_blocking(void) {
  for (int i = 0; i < scaled(2000); i++) {
    mltp_blocking_begin();
    mltp_blocking_end();
    if (i % 16 == 0) mltp_yield();
  }
}

/* ------------------------------------------------------------ work conserving */

static void *set_flag(void *p0) {
  atomic_store((atomic_int *)p0, 1);
  return NULL;
}

/* The creator never yields: only an idle VP that comes for it can run the thread. */
static void ready_threads_are_not_left_behind(void) {
  if (mltp_cpus() < 2) return;
  CHECK_EQUAL(mltp_set_vps(2), 0);
  for (int round = 0; round < 50; round++) {
    atomic_int ran = 0;
    if (round % 2) mltp_sleep(MS / 2); /* so that the other VP is asleep */
    mltp_t *thread = spawn(set_flag, &ran);
    while (!atomic_load(&ran)) continue;
    CHECK_EQUAL(mltp_join(thread, NULL), 0);
  }
}

struct handoff {
  mltp_sem_t sem;
  atomic_int taken;
};

static void *take_and_tell(void *p0) {
  struct handoff *handoff = p0;
  mltp_sem_wait(&handoff->sem);
  atomic_store(&handoff->taken, 1);
  return NULL;
}

/* The same for a thread that is woken. */
static void woken_threads_are_not_left_behind(void) {
  if (mltp_cpus() < 2) return;
  CHECK_EQUAL(mltp_set_vps(2), 0);
  for (int round = 0; round < 50; round++) {
    struct handoff handoff = {.sem = MLTP_SEM_INIT(0)};
    mltp_t *thread = spawn(take_and_tell, &handoff);
    for (int i = 0; i < 3; i++) mltp_yield();
    if (round % 2) mltp_sleep(MS / 2);
    mltp_sem_post(&handoff.sem);
    while (!atomic_load(&handoff.taken)) continue;
    CHECK_EQUAL(mltp_join(thread, NULL), 0);
  }
}

/* Null threads are not worth moving; threads that come after them are, and are found though
 * their VP continues from one to the next. */
static void threads_are_moved_again_after_null_ones(void) {
  if (mltp_cpus() < 2 || on_kernel_backend()) return;
  CHECK_EQUAL(mltp_set_vps(2), 0);
  for (int i = scaled(500); i > 0; i--) {
    mltp_t *threads[100];
    for (int j = 0; j < 100; j++) threads[j] = spawn(do_nothing, NULL);
    for (int j = 0; j < 100; j++) CHECK_EQUAL(mltp_join(threads[j], NULL), 0);
  }
  enum { LASTING = 16 };
  struct census census = {.barrier = MLTP_BARRIER_INIT(LASTING + 1)};
  struct worker workers[LASTING];
  while (atomic_load(&census.most) < 2) {
    for (int i = 0; i < LASTING; i++) worker_start(&workers[i], UNBOUND, be_counted, &census);
    mltp_barrier_wait(&census.barrier);
    mltp_barrier_wait(&census.barrier);
    for (int i = 0; i < LASTING; i++) worker_join(&workers[i]);
  }
}

/* ------------------------------------------- more active VPs than there are CPUs */

static void *read_unannounced(void *p0) {
  char byte = 0;
  (void)p0;
  CHECK_EQUAL(read(pipe_ends[0], &byte, 1), 1);
  return NULL;
}

/* As many threads as there are CPUs block in the kernel and do not say so. Only another
 * VP, which wakes up beyond the CPUs, can run what would end that (else this hangs). */
static void blocked_vps_are_noticed(void) {
  enum { READERS = 3 };
  pin_to_one_cpu();
  if (mltp_init(READERS + 1) != 0) _exit(1);
  if (pipe(pipe_ends) != 0) _exit(2);
  for (int round = 0; round < 3; round++) {
    mltp_t *readers[READERS];
    for (int i = 0; i < READERS; i++) readers[i] = spawn(read_unannounced, NULL);
    for (int i = 0; i < READERS; i++) mltp_join(spawn(write_a_byte, "z"), NULL);
    for (int i = 0; i < READERS; i++) mltp_join(readers[i], NULL);
  }
  mltp_finalize();
}

static void ready_threads_of_blocked_vps_run(void) {
  static struct outcome outcome;
  const char *const settings[] = {"MLTP_VPS", "MLTP_OVERSUBSCRIBE=1", NULL};
  run_child(&outcome, blocked_vps_are_noticed, settings);
  assert_true(WIFEXITED(outcome.status));
  assert_int_equal(WEXITSTATUS(outcome.status), 0);
}

int main(void) {
  sched_getaffinity(0, sizeof at_start, &at_start);
  const struct CMUnitTest tests[] = {
      TEST(mltp_set_vps_while_threads_run),
      TEST(mltp_set_vps_refuses),
      TEST(mltp_set_vps_by_every_kind),
      TEST_UNMONITORED(surplus_vps_stop),
      TEST_BARE(mltp_cpus_honours_the_affinity_mask),
      TEST_BARE(mltp_vps_active_may_exceed_the_cpus),
      TEST(mltp_cpus_is_no_more_than_there_are),
      TEST(idle_program_uses_no_cpu),
      TEST(woken_vps_may_run_anywhere),
      TEST(a_mask_set_in_sleep_stays),
      TEST(mltp_blocking_lets_others_run),
      TEST(mltp_blocking_begin_leaves_its_queue_to_others),
      TEST(mltp_blocking_begin_leaves_its_queue_to_busy_others),
      TEST(mltp_blocking_without_blocking),
      TEST(ready_threads_are_not_left_behind),
      TEST(woken_threads_are_not_left_behind),
      TEST(threads_are_moved_again_after_null_ones),
      TEST_BARE(ready_threads_of_blocked_vps_run),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
