/* SPDX-License-Identifier: Apache-2.0 */
/* Output that works in a signal handler (src/os/write.c): it waits for its reader, no reader's end
 * ends the program, and the last words are complete. */
#define _GNU_SOURCE /* the headers of src/os want it */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"
#include "support/support.h"

enum { MUCH = 1 << 20 /* bytes, more than a pipe holds */ };

static const uint64_t long_time = 3600000000000, short_time = 5000000; /* ns */

/* A part that is written twice, or left out, is found: pages and pipes have no multiple of 23
 * bytes. */
static char letter(size_t at) { return (char)('a' + at % 23); }

static char *long_text(void) {
  char *text = malloc(MUCH);
  for (size_t i = 0; text != NULL && i < MUCH; i++) text[i] = letter(i);
  return text;
}

/* @return how many bytes of the long text came. */
static void *read_to_the_end(void *p0) {
  static char text[4096];
  size_t count = 0;
  for (ssize_t got; (got = read(*(int *)p0, text, sizeof text)) > 0;)
    for (ssize_t i = 0; i < got; i++) count += text[i] == letter(count);
  return (void *)count;
}

static void a_write_waits_for_its_reader(void) {
  int ends[2];
  void *count;
  pthread_t reader;
  char *text = long_text();
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  CHECK_EQUAL(pthread_create(&reader, NULL, read_to_the_end, &ends[0]), 0);
  errno = EDOM;
  CHECK_EQUAL(os_write(ends[1], text, MUCH), 0);
  CHECK_EQUAL(errno, EDOM);
  close(ends[1]);
  CHECK_EQUAL(pthread_join(reader, &count), 0);
  CHECK_EQUAL((size_t)count, MUCH);
  close(ends[0]);
  free(text);
}

static int interrupted; /* [atomic] */

static void interrupt(int signo) {
  (void)signo;
  __atomic_store_n(&interrupted, 1, __ATOMIC_RELAXED);
}

struct interruption {
  int from; /* the pipe's end to read from */
  pthread_t writer;
  struct os_task task; /* its kernel thread */
};

/* A signal comes while the writer waits for this reader. */
static void *interrupt_and_read(void *p0) {
  struct interruption *i = p0;
  int written = 0;
  while (ioctl(i->from, FIONREAD, &written) == 0 && written == 0) continue;
  while (os_task_state(&i->task) == OS_TASK_RUNS) continue;
  CHECK_EQUAL(pthread_kill(i->writer, SIGUSR1), 0);
  while (!__atomic_load_n(&interrupted, __ATOMIC_RELAXED)) continue;
  return read_to_the_end(&i->from);
}

static void a_signal_does_not_cut_a_write(void) {
  int ends[2];
  void *count;
  pthread_t reader;
  struct sigaction action = {.sa_handler = interrupt}, before;
  char *text = long_text();
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
  CHECK_EQUAL(sigaction(SIGUSR1, &action, &before), 0);
  struct interruption i = {ends[0], pthread_self(), os_task_of(gettid())};
  CHECK_EQUAL(pthread_create(&reader, NULL, interrupt_and_read, &i), 0);
  errno = EDOM;
  CHECK_EQUAL(os_write(ends[1], text, MUCH), 0);
  CHECK_EQUAL(errno, EDOM);
  close(ends[1]);
  CHECK_EQUAL(pthread_join(reader, &count), 0);
  CHECK_EQUAL((size_t)count, MUCH);
  CHECK_EQUAL(sigaction(SIGUSR1, &before, NULL), 0);
  close(ends[0]);
  free(text);
}

static int is_pending(void) {
  sigset_t pending;
  CHECK_EQUAL(sigpending(&pending), 0);
  return sigismember(&pending, SIGPIPE);
}

/* A SIGPIPE that the write causes is taken away, and one that was there before is not. */
static void a_reader_may_have_gone(void) {
  int ends[2];
  sigset_t set, now;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  CHECK_EQUAL(pipe(ends), 0);
  close(ends[0]);
  errno = EDOM;
  CHECK_EQUAL(os_write(ends[1], "x", 1), EPIPE);
  CHECK_EQUAL(errno, EDOM);
  CHECK_EQUAL(pthread_sigmask(SIG_BLOCK, &set, &now), 0);
  CHECK_EQUAL(sigismember(&now, SIGPIPE), 0);
  CHECK_EQUAL(os_write(ends[1], "x", 1), EPIPE);
  CHECK_EQUAL(is_pending(), 0);
  raise(SIGPIPE);
  CHECK_EQUAL(os_write(ends[1], "x", 1), EPIPE);
  CHECK_EQUAL(is_pending(), 1);
  CHECK_EQUAL(sigtimedwait(&set, NULL, &(struct timespec){0}), SIGPIPE);
  CHECK_EQUAL(pthread_sigmask(SIG_SETMASK, &now, NULL), 0);
  close(ends[1]);
  CHECK_EQUAL(os_write(ends[1], "x", 1), EBADF);
  int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  CHECK_EQUAL(os_write(full, "x", 1), ENOSPC);
  close(full);
}

static void *read_one_byte(void *p0) {
  char byte;
  usleep(5000); /* while the other one waits, on most machines */
  CHECK_EQUAL(read(*(int *)p0, &byte, 1), 1);
  return NULL;
}

/* Where it would wait too long, this hangs. */
static void what_was_written_is_read(void) {
  int ends[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
  pthread_t reader;
  CHECK_EQUAL(pipe(ends), 0);
  errno = EDOM;
  os_wait_read(ends[1], long_time); /* it is empty */
  os_wait_read(null, long_time);
  os_wait_read(-1, long_time);
  CHECK_EQUAL(write(ends[1], "x", 1), 1);
  uint64_t before = os_now();
  os_wait_read(ends[1], short_time);
  CHECK(os_now() - before >= short_time);
  CHECK_EQUAL(pthread_create(&reader, NULL, read_one_byte, &ends[0]), 0);
  os_wait_read(ends[1], long_time);
  CHECK_EQUAL(errno, EDOM);
  CHECK_EQUAL(pthread_join(reader, NULL), 0);
  for (int i = 0; i < 2; i++) close(ends[i]);
  close(null);
}

static pthread_barrier_t meets;

static void *hold_stdout(void *p0) {
  flockfile(stdout);
  pthread_barrier_wait(&meets);
  pthread_barrier_wait(&meets);
  funlockfile(stdout);
  return p0;
}

/* In a child, whose output has a buffer. */
static void flush_output(int to) {
  pthread_t holder;
  dup2(to, STDOUT_FILENO);
  setvbuf(stdout, NULL, _IOFBF, 4096);
  fputs("first ", stdout);
  os_flush_output();
  fputs("second", stdout);
  pthread_barrier_init(&meets, NULL, 2);
  if (pthread_create(&holder, NULL, hold_stdout, NULL) != 0) _exit(1);
  pthread_barrier_wait(&meets);
  os_flush_output(); /* it does not wait for the holder, or this hangs */
  pthread_barrier_wait(&meets);
  if (pthread_join(holder, NULL) != 0) _exit(1);
  bool is_held = ftrylockfile(stdout) != 0;
  __fpurge(stdout); /* ThreadSanitizer flushes it at the end */
  _exit(is_held);
}

static void stdout_is_flushed_unless_it_is_held(void) {
  int ends[2], status = 1;
  char text[32] = "";
  CHECK_EQUAL(pipe(ends), 0);
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) flush_output(ends[1]);
  close(ends[1]);
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
  CHECK_EQUAL(read(ends[0], text, sizeof text - 1), 6);
  CHECK_TEXT(text, "first ");
  close(ends[0]);
}

static void a_log_is_continued(void) {
  char path[] = "/tmp/mltp-log-XXXXXX", text[16] = "";
  int made = mkstemp(path);
  for (int i = 0; i < 2; i++) {
    int lowest = dup(made), log;
    close(lowest);
    log = os_open_log(path);
    CHECK(log > lowest); /* which the program expects to get next */
    CHECK_EQUAL(os_write(log, "line\n", 5), 0);
    errno = EDOM;
    os_close(log);
    os_close(log);
    CHECK_EQUAL(errno, EDOM);
    CHECK_EQUAL(fcntl(log, F_GETFD), -1);
  }
  errno = EDOM;
  CHECK_EQUAL(os_open_log("/no/such/folder/log"), -1);
  CHECK_EQUAL(errno, EDOM);
  CHECK_EQUAL(read(made, text, sizeof text - 1), 10);
  CHECK_TEXT(text, "line\nline\n");
  close(made);
  unlink(path);
}

static struct outcome outcome;

static void refuse(void) { os_fatal("a call", EPERM, "allow it"); }

static void refuse_otherwise(void) {
  char remedy[400];
  memset(remedy, 'x', sizeof remedy - 1);
  remedy[sizeof remedy - 1] = '\0';
  os_report_alone();              /* the same thread may report again */
  os_fatal("a call", -1, remedy); /* a number without a name, and words without room */
}

static void last_words(void (*say)(void), const char *expected) {
  run_child(&outcome, say, (const char *const[]){NULL});
  CHECK(WIFSIGNALED(outcome.status) && WTERMSIG(outcome.status) == SIGABRT);
  if (EMULATED) outcome.said[strlen(expected)] = '\0'; /* the emulator has a line of its own */
  CHECK_TEXT(outcome.said, expected);
}

static void what_the_kernel_refuses_has_last_words(void) {
  last_words(refuse, "mltp: panic: a call: the kernel refused it: EPERM (allow it)\n");
  last_words(refuse_otherwise, "mltp: panic: a call: the kernel refused it:  (");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_write_waits_for_its_reader),
      TEST_BARE(a_signal_does_not_cut_a_write),
      TEST_BARE(a_reader_may_have_gone),
      TEST_BARE(what_was_written_is_read),
      TEST_BARE(stdout_is_flushed_unless_it_is_held),
      TEST_BARE(a_log_is_continued),
      TEST_BARE(what_the_kernel_refuses_has_last_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
