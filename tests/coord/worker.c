/* SPDX-License-Identifier: Apache-2.0 */
/* A program for the tests of mltpd, which does what lines on stdin say:
 *   busy N   N threads compute and meet at a barrier, again and again
 *   idle     nobody computes
 *   active   prints how many VPs were seen at work within the next 50 ms
 *   work N   prints after N more phases
 *   vps N    the program may have at most N VPs
 *   fork     a child uses the library; prints how that ended
 *   close    closes every descriptor from 3 on, and opens /dev/null in their places
 *   end      ends
 * Each is answered by a line. stdin is read by a bound thread, so that VPs may all be busy. */
#include <fcntl.h>
#include <mltp/mltp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS_MAX = 64, PHASE_NS = 20000, VPS_MAX = 1024 };

static mltp_barrier_t phase_ends;
static mltp_t *threads[THREADS_MAX];
static int count;              /* [owner] of the reader */
static bool stop;              /* [atomic] the threads shall end */
static bool leave;             /* [owner] of the moment between two barriers: they do */
static unsigned phases;        /* [atomic] */
static unsigned seen[VPS_MAX]; /* [atomic] steps of threads on each VP */

static void compute(uint64_t ns) {
  for (uint64_t end = mltp_now() + ns; mltp_now() < end;) continue;
}

static mltp_t *start(mltp_userf_t *func, const mltp_attr_t *attr) {
  mltp_t *thread;
  if (mltp_create(&thread, attr, func, NULL) != 0) abort();
  return thread;
}

/* Between the two barriers one thread decides for all. */
static void *work(void *unused) {
  do {
    compute(PHASE_NS);
    __atomic_fetch_add(&seen[mltp_vp()], 1, __ATOMIC_RELAXED);
    if (mltp_barrier_wait(&phase_ends) == MLTP_BARRIER_SERIAL) {
      __atomic_fetch_add(&phases, 1, __ATOMIC_RELAXED);
      leave = __atomic_load_n(&stop, __ATOMIC_RELAXED);
    }
    mltp_barrier_wait(&phase_ends);
  } while (!leave);
  return unused;
}

static void end_threads(void) {
  if (count == 0) return;
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < count; i++) mltp_join(threads[i], NULL);
  mltp_barrier_destroy(&phase_ends);
  count = 0;
}

static void start_threads(int number) {
  end_threads();
  stop = leave = false;
  count = number < 1 ? 1 : number > THREADS_MAX ? THREADS_MAX : number;
  mltp_barrier_init(&phase_ends, (unsigned)count, NULL);
  for (int i = 0; i < count; i++) threads[i] = start(work, NULL);
}

static int count_active(void) {
  int active = 0;
  unsigned before[VPS_MAX];
  for (int i = 0; i < VPS_MAX; i++) before[i] = __atomic_load_n(&seen[i], __ATOMIC_RELAXED);
  usleep(50000);
  for (int i = 0; i < VPS_MAX; i++)
    active += __atomic_load_n(&seen[i], __ATOMIC_RELAXED) != before[i];
  return active;
}

static unsigned do_phases(unsigned number) {
  unsigned from = __atomic_load_n(&phases, __ATOMIC_RELAXED);
  while (count > 0 && __atomic_load_n(&phases, __ATOMIC_RELAXED) - from < number) usleep(1000);
  return number;
}

static void *nothing(void *arg) { return arg; }

/* The child has no runtime; it makes one, which joins the daemon by itself. */
static int fork_child(void) {
  pid_t child = fork();
  if (child == 0) {
    if (mltp_init(0) != 0) _exit(1);
    mltp_join(start(nothing, NULL), NULL);
    mltp_finalize();
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  return status;
}

static int close_all(void) {
  for (int fd = 3; fd < 1024; fd++) close(fd);
  int last = -1;
  for (int i = 0; i < 400; i++) last = open("/dev/null", O_WRONLY);
  return last;
}

/* @return false: the end. */
static bool obey(const char *line) {
  int number = 0;
  if (sscanf(line, "busy %d", &number) == 1) {
    start_threads(number);
    printf("busy %d\n", count);
  } else if (strcmp(line, "idle\n") == 0) {
    end_threads();
    printf("idle\n");
  } else if (strcmp(line, "active\n") == 0) {
    printf("active %d\n", count_active());
  } else if (sscanf(line, "work %d", &number) == 1) {
    printf("worked %u\n", do_phases((unsigned)number));
  } else if (sscanf(line, "vps %d", &number) == 1) {
    printf("vps %d\n", mltp_set_vps(number));
  } else if (strcmp(line, "fork\n") == 0) {
    printf("forked %d\n", fork_child());
  } else if (strcmp(line, "close\n") == 0) {
    printf("closed %d\n", close_all());
  } else {
    return false;
  }
  fflush(stdout);
  return true;
}

static void *read_commands(void *unused) {
  char line[64];
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin) != NULL && obey(line)) continue;
  end_threads();
  return unused;
}

int main(void) {
  if (mltp_init(0) != 0) return 1;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.bound = 1;
  mltp_t *reader = start(read_commands, &attr);
  mltp_join(reader, NULL);
  mltp_finalize();
  printf("end\n");
  return 0;
}
