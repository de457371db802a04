/* SPDX-License-Identifier: Apache-2.0 */
/* Each allocation and each system call of the library fails in turn, once and from then on:
 * public calls return their documented errors, or the program stops with a message. */
#include <fcntl.h>
#include <mltp/io.h>
#include <mltp/thesis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/inject.h"
#include "support/support.h"
#undef mltp_create /* here with mltp.h's meaning */
#undef mltp_cond_wait
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
static int leaks(void) { return __lsan_do_recoverable_leak_check(); }
#else
static int leaks(void) { return 0; }
#endif

enum {
  THREADS = 6,
  HANG_SECONDS = 120, /* without using the processor, */
  LOOP_SECONDS = 60,  /* or of using it */
  WRONG_MAX = 5,
  UNDOCUMENTED = 10, /* exit statuses of a child */
  LEAKED = 11,
  HUNG = 12
};

/* ------------------------------------------------------------- what may come back */

/* Ends the child unless got is 0 or one of two errors. @return got */
static int allow(const char *call, int got, int error, int other) {
  if (got == 0 || got == error || got == other) return got;
  dprintf(2, "%s returned %d (%s), which is not documented\n", call, got, strerror(got));
  _exit(UNDOCUMENTED);
}

static int start(void) { return allow("mltp_init", mltp_init(0), ENOMEM, EAGAIN); }

static void stop(void) { allow("mltp_finalize", mltp_finalize(), 0, 0); }

/* @return the number of threads that were made; the others were refused. */
static int create(mltp_t **threads, int count, const mltp_attr_t *attr, mltp_userf_t *func,
                  void *arg) {
  int made = 0;
  for (int i = 0; i < count; i++)
    if (allow("mltp_create", mltp_create(&threads[made], attr, func, arg), EAGAIN, 0) == 0) made++;
  return made;
}

static void join(mltp_t **threads, int count) {
  for (int i = 0; i < count; i++) allow("mltp_join", mltp_join(threads[i], NULL), 0, 0);
}

/* ----------------------------------------------------------------- the programs */

static void life(void) {
  int null = open("/dev/null", O_WRONLY);
  for (int round = 0; round < 3; round++) {
    if (start() != 0) continue;
    mltp_options(null);
    mltp_dump(null);
    if (mltp_cpus() < 1 || mltp_vps() < 1 || mltp_vps_active() < 1) _exit(UNDOCUMENTED);
    stop();
  }
  close(null);
}

static void *yielding(void *p0) {
  mltp_yield();
  mltp_yield_to_first();
  mltp_exit(p0);
}

static void *with_arguments(int a, ...) {
  mltp_yield();
  return (void *)(intptr_t)a;
}

static void unbound(void) {
  mltp_t *threads[THREADS];
  if (start() != 0) return;
  for (int size = 16 << 10; size <= 1 << 20; size *= 8) {
    mltp_attr_t attr = MLTP_ATTR_INIT;
    attr.stack_size = (size_t)size;
    join(threads, create(threads, THREADS, &attr, yielding, NULL));
  }
  mltp_t *thread = mltp_vcreate(with_arguments, 16, 1, 2);
  if (thread != NULL) join(&thread, 1);
  thread = spawn(yielding, NULL);
  if (thread != NULL) allow("mltp_detach", mltp_detach(thread), 0, 0);
  stop();
}

static void bound(void) {
  mltp_t *threads[THREADS];
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = 1;
  if (start() != 0) return;
  join(threads, create(threads, THREADS, &attr, yielding, NULL));
  attr.detached = 1;
  create(threads, THREADS, &attr, yielding, NULL);
  stop();
}

static mltp_lock_t lock;
static mltp_cond_t cond;
static mltp_sem_t sem;
static mltp_barrier_t barrier;

static int foreign_ended;

/* By a thread that the library may not know yet: it succeeds only if the library knows it then. */
static void destroy_first(void) {
  mltp_sem_t unused;
  mltp_sem_init(&unused, 0, NULL);
  int error = allow("mltp_sem_destroy", mltp_sem_destroy(&unused), EPERM, 0);
  if (error == 0 && mltp_self() == NULL) _exit(UNDOCUMENTED);
}

/* A pthread's first call may be refused for want of memory, by any call. */
static void *foreign_main(void *destroys) {
  mltp_t *threads[2];
  inject_spare_me(false);
  if (destroys != NULL) destroy_first();
  if (mltp_self() != NULL) {
    mltp_lock(&lock);
    mltp_unlock(&lock);
    mltp_sleep(1000);
    join(threads, create(threads, 2, NULL, yielding, NULL));
  } else if (mltp_lock(&lock) == 0) {
    mltp_unlock(&lock);
  }
  mltp_sem_post(&sem);
  inject_spare_me(true);
  __atomic_fetch_add(&foreign_ended, 1, __ATOMIC_RELEASE);
  return NULL;
}

static void foreign(void) {
  pthread_t threads[2];
  mltp_lock_init(&lock, MLTP_LOCK_STANDARD, NULL);
  mltp_sem_init(&sem, 0, NULL);
  if (start() != 0) return;
  inject_spare_me(true);
  for (int i = 0; i < 2; i++)
    pthread_create(&threads[i], NULL, foreign_main, i == 0 ? NULL : &threads[i]);
  inject_spare_me(false);
  mltp_sem_wait_timed(&sem, mltp_after(10000000));
  while (__atomic_load_n(&foreign_ended, __ATOMIC_ACQUIRE) < 2) mltp_sleep(100000);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  stop();
}

static void *waiting(void *arg) {
  for (int class = 0; lock_classes[class].id < MLTP_LOCK_ALT_EXCHANGE; class ++) {
    mltp_barrier_wait(&barrier);
    if (arg == NULL) mltp_lock_init(&lock, lock_classes[class].id, NULL);
    mltp_barrier_wait(&barrier);
    allow("mltp_lock", mltp_lock(&lock), 0, 0);
    mltp_yield();
    allow("mltp_unlock", mltp_unlock(&lock), 0, 0);
    if (allow("mltp_lock_timed", mltp_lock_timed(&lock, mltp_after(100000)), ETIMEDOUT, 0) == 0)
      mltp_unlock(&lock);
    if (allow("mltp_lock_try", mltp_lock_try(&lock), EBUSY, 0) == 0) mltp_unlock(&lock);
  }
  mltp_lock(&lock);
  allow("mltp_cond_wait_timed", mltp_cond_wait_timed(&cond, &lock, mltp_after(300000)), ETIMEDOUT,
        0);
  mltp_unlock(&lock);
  mltp_cond_broadcast(&cond);
  mltp_sem_post(&sem);
  allow("mltp_sem_wait_timed", mltp_sem_wait_timed(&sem, MLTP_NEVER), 0, 0);
  mltp_sleep(100000);
  return arg;
}

static void *numbered(void *arg) {
  static uint32_t numbers; /* the first one of each episode makes the lock */
  (void)arg;
  intptr_t number = __atomic_fetch_add(&numbers, 1, __ATOMIC_RELAXED);
  return waiting((void *)number);
}

static mltp_sem_t gate;

static void *gated(void *arg) {
  mltp_sem_wait(&gate);
  return numbered(arg);
}

/* As many take part as could be made. */
static void primitives(int bound_ones) {
  mltp_t *threads[THREADS];
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_cond_init(&cond, NULL);
  mltp_sem_init(&sem, 0, NULL);
  mltp_sem_init(&gate, 0, NULL);
  if (start() != 0) return;
  int made = create(threads, THREADS - bound_ones, &attr, gated, NULL);
  attr.bound = 1;
  made += create(threads + made, bound_ones, &attr, gated, NULL);
  mltp_barrier_init(&barrier, (unsigned)made, NULL);
  for (int i = 0; i < made; i++) mltp_sem_post(&gate);
  join(threads, made);
  mltp_barrier_destroy(&barrier);
  mltp_sem_destroy(&sem);
  mltp_cond_destroy(&cond);
  stop();
}

static void waits(void) { primitives(0); }
static void waits_of_bound_threads(void) { primitives(2); }

static void *blocking(void *p0) {
  mltp_blocking_begin();
  usleep(100);
  mltp_blocking_end();
  return p0;
}

static void moving_vps(void) {
  mltp_t *threads[THREADS];
  if (start() != 0) return;
  for (int vps = 1; vps <= 4; vps++) {
    allow("mltp_set_vps", mltp_set_vps(vps), EAGAIN, 0);
    join(threads, create(threads, THREADS, NULL, blocking, NULL));
  }
  allow("mltp_set_vps", mltp_set_vps(1), EAGAIN, 0);
  stop();
}

static void dump_by_signal(void) {
  mltp_t *thread;
  setenv("MLTP_DUMP_SIGNAL", "10", 1);
  setenv("MLTP_STATS", "1", 1);
  signal(SIGUSR1, SIG_IGN); /* where the library cannot have it */
  mltp_sem_init(&gate, 0, NULL);
  int error = mltp_init(0);
  if (allow("mltp_init", error == EINVAL ? 0 : error, ENOMEM, EAGAIN) != 0 || error != 0) return;
  int made = create(&thread, 1, NULL, gated, NULL);
  mltp_barrier_init(&barrier, 1, NULL);
  mltp_yield();
  raise(SIGUSR1);
  mltp_sem_post(&gate);
  join(&thread, made);
  stop();
}

/* ---- input and output */

/* What a call that waits for a descriptor may return beside EOF: the kernel does not watch it. */
static int allow_io(const char *call, int got) {
  if (got == EMFILE || got == ENOSPC) return got;
  return allow(call, got, ENOMEM, ETIMEDOUT);
}

static void *read_byte(void *p0) {
  char byte;
  size_t count;
  allow_io("mltp_io_read", mltp_io_read_timed(*(int *)p0, &byte, 1, &count, mltp_after(3000000)));
  return NULL;
}

static void *accept_one(void *p0) {
  int connection;
  uint64_t deadline = mltp_after(3000000);
  if (allow_io("mltp_io_accept",
               mltp_io_accept_timed(*(int *)p0, NULL, NULL, &connection, deadline)) == 0)
    allow("mltp_io_close", mltp_io_close(connection), 0, 0);
  return NULL;
}

static void *use_files(void *p0) {
  char byte = 'x';
  size_t count;
  int fd;
  if (mltp_io_open("/dev/zero", O_RDONLY, 0, &fd) != 0) _exit(UNDOCUMENTED);
  allow("mltp_io_read", mltp_io_read(fd, &byte, 1, &count), ENOMEM, 0);
  allow("mltp_io_close", mltp_io_close(fd), ENOMEM, 0);
  return p0;
}

static void io(void) {
  mltp_t *threads[THREADS];
  int ends[2], listener = socket(AF_UNIX, SOCK_STREAM, 0), ready;
  int caller = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "mltp-injection-%d", getpid());
  if (pipe(ends) != 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
      listen(listener, 2) != 0)
    _exit(UNDOCUMENTED);
  if (start() != 0) return;
  int made = create(threads, 2, NULL, read_byte, &ends[0]);
  made += create(threads + made, 1, NULL, accept_one, &listener);
  made += create(threads + made, 2, NULL, use_files, NULL);
  struct pollfd fd = {.fd = ends[0], .events = POLLIN};
  allow_io("mltp_io_poll", mltp_io_poll_timed(&fd, 1, &ready, mltp_after(1000000)));
  mltp_io_write(ends[1], "xx", 2, NULL);
  allow_io("mltp_io_connect", mltp_io_connect(caller, (struct sockaddr *)&address, sizeof address));
  join(threads, made);
  for (int i = 0; i < 2; i++) allow("mltp_io_close", mltp_io_close(ends[i]), ENOMEM, 0);
  close(listener);
  close(caller);
  stop();
}

static const struct program {
  const char *name;
  void (*body)(void);
} programs[] = {
    {"life", life},
    {"unbound", unbound},
    {"bound", bound},
    {"foreign", foreign},
    {"waits", waits},
    {"waits of bound threads", waits_of_bound_threads},
    {"moving VPs", moving_vps},
    {"dump by signal", dump_by_signal},
    {"input and output", io},
};

/* ------------------------------------------------------------------- the driver */

static const struct program *program;
static struct inject_counts *counts; /* shared with children: calls of each kind in the program */

static struct plan {
  enum call call;
  unsigned nth;
  bool onward;
  int error; /* 0: only count */
} plan;

/* On a busy machine a child may just be slow: then it has used some of the processor since. */
static void report_hanging(int signo) {
  (void)signo;
  static int64_t before;
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  int64_t ms = used.tv_sec * 1000 + used.tv_nsec / 1000000;
  bool works = ms > before + 10 && ms < LOOP_SECONDS * 1000;
  before = ms;
  if (works) {
    alarm(HANG_SECONDS);
    return;
  }
  inject_stop();
  mltp_dump(2);
  _exit(HUNG);
}

static void child(void) {
  signal(SIGALRM, report_hanging);
  alarm(HANG_SECONDS);
  if (plan.error != 0)
    inject(plan.call, plan.nth, plan.onward, plan.error);
  else
    inject_count(counts);
  program->body();
  inject_stop();
  if (leaks()) _exit(LEAKED);
}

/* @return what is wrong with how the child ended; NULL: nothing. */
static const char *verdict(const struct outcome *outcome) {
  bool says = strstr(outcome->said, "mltp: ") != NULL;
  if (WIFEXITED(outcome->status)) switch (WEXITSTATUS(outcome->status)) {
      case 0: return NULL;
      case UNDOCUMENTED: return "an undocumented result";
      case LEAKED: return "a leak";
      case HUNG: return "a hang";
      default: return "an exit";
    }
  if (WTERMSIG(outcome->status) != SIGABRT) return "a crash";
  return says ? NULL : "an abort without a message";
}

static int wrong_ones; /* after a few, the rest of a program is left out */

static void run(void) {
  static const char *const settings[] = {"MLTP_MISUSE=error", NULL};
  static struct outcome outcome;
  run_child(&outcome, child, settings);
  const char *wrong = verdict(&outcome);
  if (wrong == NULL) return;
  print_error("%s, %s %u%s fails with error %d: %s (status 0x%x)\n", program->name,
              inject_calls[plan.call].name, plan.nth, plan.onward ? " and all after it" : "",
              plan.error, wrong, (unsigned)outcome.status);
  fputs(outcome.said, stderr); /* more than cmocka's buffer holds */
  CHECK(!"the failure was handled");
  wrong_ones++;
}

/* A call from one place in the program may come a thousand times, as in a loop: the first ones of
 * each place fail, and then ever fewer. The number of calls that come between is another in each
 * run. */
static bool is_chosen(unsigned nth_of_place) {
  unsigned chosen = 0;
  while (chosen < nth_of_place) chosen += chosen < 8 ? 1 : chosen / 4;
  return chosen == nth_of_place;
}

static bool is_chosen_of(const struct inject_counts *of, unsigned nth) {
  unsigned before = 0;
  if (nth >= INJECT_NOTED) return false;
  for (unsigned i = 0; i < nth; i++) before += of->places[i] == of->places[nth];
  return is_chosen(before);
}

/* Those of each place; under a sanitizer of all places together, under ThreadSanitizer or an
 * emulator few. */
static unsigned next_nth(const struct inject_counts *of, unsigned nth) {
  if (THREAD_SANITIZED || EMULATED) return 3 * nth + 1;
  if (SANITIZED) return nth < 4 ? nth + 1 : nth + nth / 4 + 1;
  do nth++;
  while (nth < of->count && !is_chosen_of(of, nth));
  return nth;
}

/* No kernel says this forever. */
static bool is_transient(enum call call, int error) {
  return error == EINTR || error == ECONNABORTED || (call == CALL_FUTEX_WAIT && error == EAGAIN);
}

static void fail_each(enum call call) {
  const int *errors = inject_calls[call].errors;
  if (SANITIZED && call == CALL_GETATTR)
    return; /* the sanitizer needs the bounds of main's stack */
  for (int e = 0; e < ERRORS_MAX && errors[e] != 0; e++)
    for (unsigned nth = 0; nth < counts[call].count && wrong_ones < WRONG_MAX;
         nth = next_nth(&counts[call], nth))
      for (int onward = 0; onward < 2; onward++) {
        if (onward && is_transient(call, errors[e])) continue;
        plan = (struct plan){call, nth, onward != 0, errors[e]};
        run();
      }
}

static void run_program(void **state) {
  program = *state;
  counts = shared_memory(CALLS * sizeof *counts);
  plan.error = 0;
  wrong_ones = 0;
  run();
  for (int call = 0; call < CALLS; call++) fail_each((enum call)call);
  assert_checks();
}

int main(int count, char **arguments) {
  if (count > 1) cmocka_set_test_filter(arguments[1]); /* one program */
  struct CMUnitTest tests[sizeof programs / sizeof programs[0]];
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++)
    tests[i] = (struct CMUnitTest){programs[i].name, run_program, NULL, NULL, (void *)&programs[i]};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
