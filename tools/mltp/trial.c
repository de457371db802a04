/* SPDX-License-Identifier: Apache-2.0 */
/* Starting programs, waiting for them, reading their decisions. */
#include "trial.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <mltp/mltp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload.h"

enum { CANNOT_RUN = 127 }; /* as shells say it */

void *checked(void *memory) {
  if (memory == NULL) errx(1, "explore: no memory (explore fewer runs)");
  return memory;
}

static double now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* ---- running */

static void __attribute__((noreturn)) become(const struct program *program,
                                             const struct trial *trial, const char *log) {
  char steps[32];
  setpgid(0, 0); /* so that its children can be killed with it */
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  snprintf(steps, sizeof steps, "%lu", (unsigned long)program->steps_max);
  setenv("MLTP_STEPS_MAX", steps, 1);
  setenv("MLTP_SEED", trial->seed, 1);
  setenv("MLTP_SCHEDULE", trial->schedule, 1);
  setenv("MLTP_SCHEDULE_LOG", log, 1);
  if (program->accesses) setenv("MLTP_ACCESSES", "1", 1);
  if (program->gated && preload(program->argv[0], preload_gate) != 0) _exit(CANNOT_RUN);
  int null = open("/dev/null", O_RDWR);
  if (null < 0) _exit(CANNOT_RUN);
  dup2(null, STDIN_FILENO);
  if (!trial->shown) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  execvp(program->argv[0], program->argv);
  _exit(CANNOT_RUN);
}

static void start(const struct program *program, struct trial *trial) {
  char log[64];
  fflush(NULL);
  trial->log_fd = memfd_create("mltp-explore", MFD_CLOEXEC);
  if (trial->log_fd < 0) err(1, "explore: cannot make a file in memory");
  snprintf(log, sizeof log, "/proc/%d/fd/%d", getpid(), trial->log_fd);
  trial->deadline = now() + program->timeout;
  trial->pid = fork();
  if (trial->pid == 0) become(program, trial, log);
  if (trial->pid > 0) trial->pid_fd = pidfd_open(trial->pid, 0);
  if (trial->pid < 0 || trial->pid_fd < 0) err(1, "explore: cannot start a process");
}

static void await(struct trial *trial) {
  struct pollfd ended = {.fd = trial->pid_fd, .events = POLLIN};
  int ready;
  do {
    double left = trial->deadline - now();
    ready = poll(&ended, 1, left > 0 ? (int)(left * 1000) + 1 : 0);
  } while (ready < 0 && errno == EINTR);
  trial->timed_out = ready == 0;
  if (trial->timed_out && kill(-trial->pid, SIGKILL) != 0) kill(trial->pid, SIGKILL);
  while (waitpid(trial->pid, &trial->status, 0) < 0 && errno == EINTR) continue;
  close(trial->pid_fd);
}

/* ---- reading the log */

static char *read_whole(int fd) {
  off_t size = lseek(fd, 0, SEEK_END);
  char *text = checked(malloc((size_t)size + 1));
  ssize_t got = pread(fd, text, (size_t)size, 0);
  text[got > 0 ? got : 0] = '\0';
  return text;
}

static bool read_decision(char *line, struct decision *decision) {
  char *fields[8];
  for (int i = 0; i < 8; i++)
    if ((fields[i] = strsep(&line, "\t")) == NULL) return false;
  *decision = (struct decision){
      .taken = {strtoul(fields[0], NULL, 10), (unsigned)strtoul(fields[1], NULL, 10)},
      .count = (unsigned)strtoul(fields[2], NULL, 10),
      .from = strtoul(fields[3], NULL, 10),
      .from_name = fields[4],
      .call = fields[5],
      .to = strtoul(fields[6], NULL, 10),
      .to_name = fields[7],
  };
  return true;
}

static void read_log(struct trial *trial) {
  char *rest = trial->log = read_whole(trial->log_fd);
  close(trial->log_fd);
  size_t room = 0;
  for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
    if (trial->decision_count == room) {
      room = 2 * room + 64;
      trial->decisions = checked(reallocarray(trial->decisions, room, sizeof *trial->decisions));
    }
    if (read_decision(line, &trial->decisions[trial->decision_count])) trial->decision_count++;
  }
}

void trials_run(const struct program *program, struct trial *trials, size_t count) {
  for (size_t i = 0; i < count; i++) start(program, &trials[i]);
  for (size_t i = 0; i < count; i++) {
    await(&trials[i]);
    read_log(&trials[i]);
    if (WIFEXITED(trials[i].status) && WEXITSTATUS(trials[i].status) == CANNOT_RUN)
      errx(1, "explore: cannot run '%s' (give the path of a program)", program->argv[0]);
  }
}

void trial_free(struct trial *trial) {
  free(trial->seed);
  free(trial->schedule);
  free(trial->decisions);
  free(trial->log);
}

/* ---- about its end */

bool trial_failed(const struct trial *trial) { return trial->timed_out || trial->status != 0; }

bool trial_same_end(const struct trial *a, const struct trial *b) {
  return a->timed_out == b->timed_out && a->status == b->status;
}

void trial_describe(const struct trial *trial, char *text, size_t size) {
  if (trial->timed_out) {
    snprintf(text, size, "did not end in time");
  } else if (WIFSIGNALED(trial->status)) {
    snprintf(text, size, "died by signal %d (%s)", WTERMSIG(trial->status),
             strsignal(WTERMSIG(trial->status)));
  } else {
    int status = WEXITSTATUS(trial->status);
    snprintf(text, size, "exit status %d%s", status,
             status == MLTP_EXIT_DEADLOCK   ? " (deadlock)"
             : status == MLTP_EXIT_LIVELOCK ? " (livelock)"
                                            : "");
  }
}

/* ---- schedules */

struct schedule trial_schedule(const struct trial *trial) {
  struct schedule schedule = {
      checked(calloc(trial->decision_count + 1, sizeof *schedule.departures)), 0};
  for (size_t i = 0; i < trial->decision_count; i++)
    if (trial->decisions[i].taken.choice != 0)
      schedule.departures[schedule.count++] = trial->decisions[i].taken;
  return schedule;
}

char *schedule_text(const struct schedule *schedule) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = checked(open_memstream(&text, &size));
  if (schedule->count == 0) fputs("fifo", stream);
  for (size_t i = 0; i < schedule->count; i++)
    fprintf(stream, "%s%lu:%u", i > 0 ? "," : "", (unsigned long)schedule->departures[i].step,
            schedule->departures[i].choice);
  fclose(stream);
  return checked(text);
}
