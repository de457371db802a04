/* SPDX-License-Identifier: Apache-2.0 */
/* Where kernel threads run, and how they are made (src/os/affinity.c, kthread.c, real_time.c), on a
 * machine of the test's own: calls of libc are replaced, and what they are asked for is noted. */
#define _GNU_SOURCE /* CPU sets */
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "os/os.h"
#include "support/support.h"

enum { ALL = 0xff /* the eight CPUs of the machine */, OTHER = 4711 /* a task */, SETS = 4 };

/* ---- the machine */

static int here;             /* the CPU of the caller; -1: not known */
static unsigned own, others; /* where the caller, and OTHER, may run; 0: the kernel does not say */
static bool refuses;         /* new sets */
static struct {
  pid_t tid;
  unsigned cpus;
} sets[SETS];
static int set_count;

int __wrap_sched_getcpu(void);
int __wrap_sched_getaffinity(pid_t tid, size_t size, cpu_set_t *cpus);
int __wrap_sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *cpus);
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *cpus);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *),
                          void *arg);

static unsigned bits_of(const cpu_set_t *cpus) {
  unsigned bits = 0;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, cpus)) bits |= 1u << cpu;
  return bits;
}

static int set(pid_t tid, unsigned cpus) {
  CHECK(set_count < SETS);
  if (refuses || set_count == SETS) {
    errno = EPERM;
    return EPERM;
  }
  sets[set_count].tid = tid;
  sets[set_count++].cpus = cpus;
  return 0;
}

int __wrap_sched_getcpu(void) {
  if (here < 0) errno = ENOSYS;
  return here;
}

int __wrap_sched_getaffinity(pid_t tid, size_t size, cpu_set_t *cpus) {
  unsigned bits = tid == 0 ? own : tid == OTHER ? others : 0;
  CHECK_EQUAL(size, sizeof *cpus);
  if (bits == 0) {
    errno = ESRCH;
    return -1;
  }
  CPU_ZERO(cpus);
  for (unsigned cpu = 0; cpu < 8; cpu++)
    if (bits >> cpu & 1) CPU_SET(cpu, cpus);
  return 0;
}

int __wrap_sched_setaffinity(pid_t tid, size_t size, const cpu_set_t *cpus) {
  CHECK_EQUAL(size, sizeof *cpus);
  return set(tid, bits_of(cpus)) == 0 ? 0 : -1;
}

/* libc returns the error, and errno stays. */
int __wrap_pthread_attr_setaffinity_np(pthread_attr_t *attr, size_t size, const cpu_set_t *cpus) {
  CHECK(attr != NULL && size == sizeof *cpus);
  return set(OTHER, bits_of(cpus));
}

static void machine(int cpu, unsigned callers, unsigned tasks) {
  here = cpu;
  own = callers;
  others = tasks;
  refuses = false;
  set_count = 0;
  errno = EDOM;
}

/* ---- a thread that is woken runs on another CPU than its waker */

static void a_sleeper_is_kept_off_the_wakers_cpu(void) {
  static const struct {
    int cpu;
    unsigned cpus, expected; /* 0: nothing changes */
  } rows[] = {
      {2, ALL, ALL & ~4u}, {0, 3, 2}, {7, 0x81, 1}, {3, 3, 3}, /* it could not run here anyway */
      {1, 2, 0},                                               /* no other CPU is left */
      {-1, ALL, 0},        {2, 0, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    for (int how = 0; how < 4; how++) {
      struct os_affinity affinity = {.narrowed = how % 2 == 0};
      bool starts = how >= 2, expected = rows[i].expected != 0 && how != 1;
      pthread_attr_t attr;
      check_case("row %zu, %d", i, how);
      machine(rows[i].cpu, starts ? rows[i].cpus : 0, starts ? 0 : rows[i].cpus);
      refuses = how == 1;
      if (starts)
        os_affinity_start_elsewhere(&affinity, &attr);
      else
        os_affinity_avoid_here(&affinity, OTHER);
      CHECK_EQUAL(errno, EDOM);
      CHECK_EQUAL(affinity.narrowed, expected);
      CHECK_EQUAL(set_count, expected);
      if (!expected) continue;
      CHECK_EQUAL(sets[0].tid, OTHER);
      CHECK_EQUAL(sets[0].cpus, rows[i].expected);
      CHECK_EQUAL(bits_of(&affinity.cpus), rows[i].cpus);
      for (int again = 0; again < 2; again++) { /* once is enough */
        os_affinity_restore(&affinity);
        CHECK_EQUAL(set_count, 2);
        CHECK_EQUAL(sets[1].tid, 0); /* the caller's */
        CHECK_EQUAL(sets[1].cpus, rows[i].cpus);
        CHECK(!affinity.narrowed);
      }
      CHECK_EQUAL(errno, EDOM);
    }
}

/* ---- a visit to some CPUs */

static void a_visit_moves_the_caller_once(void) {
  static const struct {
    int cpu;
    unsigned cpus;
    uint32_t first, count;
    unsigned expected; /* where it is moved to; 0: nowhere */
  } rows[] = {
      {0, ALL, 1, 1, 2},     {0, ALL, 4, 2, 0x30}, {7, ALL, 0, 7, 0x7f},
      {0, 0x2d, 1, 2, 0x0c}, /* the second and the third of CPUs 0, 2, 3, 5 */
      {0, 0x2d, 3, 9, 0x20}, {5, 0x2d, 0, 1, 1},   {2, ALL, 2, 1, 0}, /* it is there */
      {3, ALL, 2, 2, 0},     {0, ALL, 8, 1, 0},    {0, ALL, 3, 0, 0},
      {0, ALL, 0, 8, 0}, /* all of them */
      {9, ALL, 0, 8, 0},     {9, ALL, 0, 7, 0x7f}, {-1, ALL, 1, 1, 0},
      {0, 0, 1, 1, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_case("row %zu", i);
    machine(rows[i].cpu, rows[i].cpus, 0);
    os_affinity_visit(rows[i].first, rows[i].count);
    CHECK_EQUAL(errno, EDOM);
    CHECK_EQUAL(set_count, rows[i].expected != 0 ? 2 : 0);
    if (rows[i].expected == 0) continue;
    CHECK(sets[0].tid == 0 && sets[1].tid == 0);
    CHECK_EQUAL(sets[0].cpus, rows[i].expected);
    CHECK_EQUAL(sets[1].cpus, rows[i].cpus); /* it may leave again */
  }
  machine(0, ALL, 0);
  refuses = true;
  os_affinity_visit(1, 1);
  CHECK_EQUAL(errno, EDOM);
}

/* ---- kernel threads */

static int errors[2]; /* of the calls that make a kernel thread */
static int calls;
static struct {
  bool has_attributes;
  int detached;
  size_t stack_size, guard_size;
  sigset_t mask; /* of the creator */
} made[2];

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*func)(void *),
                          void *arg) {
  (void)func;
  CHECK(calls < 2);
  if (calls == 2) return EINVAL;
  made[calls].has_attributes = attr != NULL;
  if (attr != NULL) {
    pthread_attr_getdetachstate(attr, &made[calls].detached);
    pthread_attr_getstacksize(attr, &made[calls].stack_size);
    pthread_attr_getguardsize(attr, &made[calls].guard_size);
  }
  pthread_sigmask(SIG_SETMASK, NULL, &made[calls].mask);
  if (errors[calls] == 0) *thread = (pthread_t)(uintptr_t)arg;
  return errors[calls++];
}

static void *nothing(void *p0) { return p0; }

/* A set of CPUs that is refused now is done without. */
static void a_thread_starts_elsewhere_or_anywhere(void) {
  static const struct {
    bool elsewhere, refuses;
    int errors[2], calls, result;
    bool narrowed;
  } rows[] = {
      {true, false, {0, 0}, 1, 0, true},
      {true, true, {0, 0}, 1, 0, false},
      {false, false, {0, 0}, 1, 0, false},
      {true, false, {EINVAL, 0}, 2, 0, false},
      {true, false, {EPERM, EAGAIN}, 2, EAGAIN, false},
      {true, false, {EPERM, EINVAL}, 2, EAGAIN, false},
      {false, false, {EPERM, 0}, 1, EPERM, false},
      {false, false, {EINVAL, 0}, 1, EAGAIN, false},
      {true, true, {ENOMEM, 0}, 1, ENOMEM, false},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct os_affinity affinity = {.narrowed = true};
    pthread_t thread = 0;
    check_case("row %zu", i);
    machine(1, ALL, 0);
    refuses = rows[i].refuses;
    calls = 0;
    errors[0] = rows[i].errors[0];
    errors[1] = rows[i].errors[1];
    CHECK_EQUAL(os_thread_start(&thread, &affinity, rows[i].elsewhere, nothing, &calls),
                rows[i].result);
    CHECK_EQUAL(calls, rows[i].calls);
    CHECK(made[0].has_attributes && made[0].detached == PTHREAD_CREATE_JOINABLE);
    if (calls == 2) CHECK(!made[1].has_attributes);
    CHECK_EQUAL(affinity.narrowed, rows[i].narrowed);
    CHECK_EQUAL(thread, rows[i].result == 0 ? (pthread_t)(uintptr_t)&calls : 0);
    CHECK_EQUAL(set_count, rows[i].elsewhere && !rows[i].refuses);
  }
}

/* What libc takes out of the stack that one asks for. */
static size_t overhead(void) {
  size_t (*minimum)(const pthread_attr_t *);
  pthread_attr_t attr;
  *(void **)&minimum = dlsym(RTLD_DEFAULT, "__pthread_get_minstack");
  CHECK_EQUAL(pthread_attr_init(&attr), 0);
  size_t size = minimum != NULL ? minimum(&attr) : 0;
  pthread_attr_destroy(&attr);
  return size;
}

static void detached_threads_have_the_room_that_was_asked_for(void) {
  static const size_t sizes[] = {1 << 16, (16 << 20) - 4096, 16 << 20, 64 << 20};
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, NULL, &before);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
    for (int quiet = 0; quiet < 2; quiet++) {
      check_case("%zu bytes, %d", sizes[i], quiet);
      calls = 0;
      errors[0] = i == 1 ? EINVAL : 0;
      int error = quiet ? os_thread_start_quiet(sizes[i], nothing, NULL)
                        : os_thread_start_detached(sizes[i], nothing, NULL);
      CHECK_EQUAL(error, i == 1 ? EAGAIN : 0);
      CHECK_EQUAL(calls, 1);
      CHECK_EQUAL(made[0].detached, PTHREAD_CREATE_DETACHED);
      CHECK_EQUAL(made[0].stack_size, sizes[i] + overhead());
      CHECK_EQUAL(made[0].guard_size, i < 2 ? os_page_size() : 1 << 20);
      pthread_sigmask(SIG_SETMASK, NULL, &after);
      for (int signo = 1; signo < 32; signo++) {
        if (signo == SIGKILL || signo == SIGSTOP) continue;
        CHECK_EQUAL(sigismember(&made[0].mask, signo), quiet || sigismember(&before, signo));
        CHECK_EQUAL(sigismember(&after, signo), sigismember(&before, signo));
      }
    }
}

/* ---- priorities */

enum { MINE = 5, MOST = 99 };

static int policy, priority;                /* the caller's */
static int refused;                         /* the number of the call that is refused; 0: none */
static int asked, new_policy, new_priority; /* of the calls that change something; -1: none */

int __wrap_sched_getscheduler(pid_t tid);
int __wrap_sched_getparam(pid_t tid, struct sched_param *parameters);
int __wrap_sched_setparam(pid_t tid, const struct sched_param *parameters);
int __wrap_sched_setscheduler(pid_t tid, int to, const struct sched_param *parameters);

static int refuse_or(int result) {
  if (++asked != refused) return result;
  errno = EPERM;
  return -1;
}

int __wrap_sched_getscheduler(pid_t tid) { return refuse_or(tid == 0 ? policy : SCHED_OTHER); }

int __wrap_sched_getparam(pid_t tid, struct sched_param *parameters) {
  CHECK_EQUAL(tid, 0);
  parameters->sched_priority = priority;
  return refuse_or(0);
}

int __wrap_sched_setparam(pid_t tid, const struct sched_param *parameters) {
  CHECK_EQUAL(tid, 0);
  new_priority = parameters->sched_priority;
  return refuse_or(0);
}

int __wrap_sched_setscheduler(pid_t tid, int to, const struct sched_param *parameters) {
  new_policy = to;
  return __wrap_sched_setparam(tid, parameters);
}

static void have(int a_policy, int a_priority, int call) {
  policy = a_policy;
  priority = a_priority;
  refused = call;
  asked = 0;
  new_policy = new_priority = -1;
  errno = EDOM;
}

static void a_priority_is_raised_by_one(void) {
  enum { FLAG = SCHED_RESET_ON_FORK };
  static const struct {
    int policy, priority, refused, raised, before;
  } rows[] = {
      {SCHED_FIFO, MINE, 0, MINE + 1, MINE},
      {SCHED_RR, MINE, 0, MINE + 1, MINE},
      {SCHED_FIFO, MOST - 1, 0, MOST, MOST - 1},
      {SCHED_FIFO, MOST, 0, -1, 0},
      {SCHED_OTHER, 0, 0, -1, 0},
      {SCHED_BATCH, 0, 0, -1, 0},
      {SCHED_FIFO | FLAG, MINE, 0, -1, 0},
      {SCHED_FIFO, MINE, 1, -1, 0},
      {SCHED_FIFO, MINE, 2, -1, 0},
      {SCHED_FIFO, MINE, 3, MINE + 1, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    check_case("row %zu", i);
    have(rows[i].policy, rows[i].priority, rows[i].refused);
    CHECK_EQUAL(os_priority_raise(), rows[i].before);
    CHECK_EQUAL(new_priority, rows[i].raised);
    CHECK_EQUAL(errno, EDOM);
  }
  have(SCHED_FIFO, MINE + 1, 0);
  os_priority_restore(MINE);
  CHECK_EQUAL(new_priority, MINE);
  have(SCHED_FIFO, MINE + 1, 1);
  os_priority_restore(MINE);
  CHECK_EQUAL(errno, EDOM);
  have(SCHED_FIFO, MINE + 1, 0);
  os_priority_restore(0);
  CHECK_EQUAL(new_priority, -1);
  have(SCHED_RR | FLAG, MINE, 0);
  CHECK_EQUAL(os_priority(), MINE);
  have(SCHED_OTHER, MINE, 0);
  CHECK_EQUAL(os_priority(), 0);
  have(SCHED_RR, MINE, 2);
  CHECK_EQUAL(os_priority(), 0);
  CHECK_EQUAL(errno, EDOM);
}

/* What a kernel thread would have handed down to a thread that another one makes. */
static void a_manner_is_handed_on(void) {
  static const struct {
    int policy, refused, expected;
  } rows[] = {{SCHED_FIFO, 0, SCHED_FIFO},
              {SCHED_RR, 0, SCHED_RR},
              {SCHED_OTHER, 0, -1},
              {SCHED_FIFO, 1, -1},
              {SCHED_RR, 2, -1}};
  sigset_t before, some, now;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR2);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct os_manner manner;
    check_case("row %zu", i);
    pthread_sigmask(SIG_SETMASK, &some, &before);
    have(rows[i].policy, MINE, rows[i].refused);
    os_manner_note(&manner);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    have(SCHED_OTHER, 0, 0);
    os_manner_take(&manner);
    CHECK_EQUAL(errno, EDOM);
    CHECK_EQUAL(new_policy, rows[i].expected);
    CHECK_EQUAL(new_priority, rows[i].expected == -1 ? -1 : MINE);
    pthread_sigmask(SIG_SETMASK, &before, &now);
    CHECK(sigismember(&now, SIGUSR2) == 1 && sigismember(&now, SIGUSR1) == 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_sleeper_is_kept_off_the_wakers_cpu),
      TEST_BARE(a_visit_moves_the_caller_once),
      TEST_BARE(a_thread_starts_elsewhere_or_anywhere),
      TEST_BARE(detached_threads_have_the_room_that_was_asked_for),
      TEST_BARE(a_priority_is_raised_by_one),
      TEST_BARE(a_manner_is_handed_on),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
