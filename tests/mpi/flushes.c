/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written of streams, and when (src/tmpi/run/flush.c): a rank leaves out the streams that
 * another thread holds, the end of a job has a kernel thread write all, waits for it no longer than
 * half a second, and takes no lock of libc's once that thread is prepared. The kernel thread is
 * played by the test's own. Streams note what they write.
 */
#include "traced_calls.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/run/output.h"
#include "tmpi/run/owners.h"
#include "tmpi/run/process.h"

enum { MS = 1000000, BEGIN = 1000, STACK_SIZE = 1 << 18 };

/* ---- streams */

static struct sink {
  const char *name;
  int error; /* of its writes; 0: they succeed */
  FILE *stream;
} out = {.name = "out"}, err = {.name = "err"}, other = {.name = "other"};

static void (*at_write)(void); /* what other threads do meanwhile; NULL: nothing */

static ssize_t write_sink(void *cookie, const char *text, size_t length) {
  const struct sink *sink = cookie;
  if (at_write != NULL) at_write();
  note("%s:%.*s", sink->name, (int)length, text);
  errno = sink->error;
  return sink->error == 0 ? (ssize_t)length : -1;
}

static void open_sink(struct sink *sink) {
  const cookie_io_functions_t functions = {.write = write_sink};
  sink->error = 0;
  sink->stream = fopencookie(sink, "w", functions);
  assert_non_null(sink->stream);
}

static FILE *before[2];

/* cmocka's output goes to stdout and stderr, too: not during a test. */
static int begin(void **state) {
  (void)state;
  fflush(NULL);
  open_sink(&out);
  open_sink(&err);
  open_sink(&other);
  before[0] = stdout;
  before[1] = stderr;
  stdout = out.stream;
  stderr = err.stream;
  trace[0] = '\0';
  errno = 0;
  return 0;
}

static int end(void **state) {
  (void)state;
  stdout = before[0];
  stderr = before[1];
  fclose(out.stream);
  fclose(err.stream);
  fclose(other.stream);
  trace[0] = '\0';
  return 0;
}

static void print_all(void) { fputs("1", stdout), fputs("2", stderr), fputs("3", other.stream); }

/* ---- another thread holds a stream */

static sem_t holds, may_end;

static void *hold(void *stream) {
  flockfile(stream);
  sem_post(&holds);
  sem_wait(&may_end);
  funlockfile(stream);
  return NULL;
}

static void with_held(FILE *stream, void (*function)(void)) {
  pthread_t holder;
  assert_int_equal(pthread_create(&holder, NULL, hold, stream), 0);
  sem_wait(&holds);
  function();
  sem_post(&may_end);
  assert_int_equal(pthread_join(holder, NULL), 0);
}

/* ---- the rest of the library */

static int refusal; /* of a kernel thread */
static bool is_child;
static void *(*function)(void *); /* of the kernel thread */
static void (*at_wait)(void);     /* what happens when its end is awaited; NULL: the time passes */
static jmp_buf asleep;            /* the kernel thread sleeps again */

uint64_t os_now(void) { return (uint64_t)BEGIN * MS; }

int os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  assert_int_equal(*word, expected);
  if (deadline == UINT64_MAX) longjmp(asleep, 1);
  note("until:%d", (int)(deadline / MS) - BEGIN);
  if (at_wait == NULL) return ETIMEDOUT;
  at_wait();
  return 0;
}

void os_futex_wake(uint32_t *word, int count) {
  (void)word;
  note("wake:%d", count == 1);
}

int os_thread_start_quiet(size_t stack_size, void *(*func)(void *), void *arg) {
  assert_true(stack_size == STACK_SIZE && arg == NULL);
  note("start");
  if (refusal == 0) function = func;
  return refusal;
}

static const FILE *others; /* another rank has made it */

bool tm_owner_is_others_stream(FILE *stream) { return stream == others; }

void mti_add_bystanders(uint32_t more) { note("bystanders+%d", (int)more); }
bool tm_process_is_child(void) { return is_child; }
void tm_output_end_all(void) { note("lines"); }
void tm_output_flush_failed(int error) { note("failed:%d", error); }

/* ---- a rank flushes */

static void all_that_is_free_is_written(void **state) {
  (void)state;
  print_all();
  errno = EDOM; /* of another call */
  assert_int_equal(tm_flush_free(), 0);
  assert_int_equal(errno, 0);
  check_trace("out:1 err:2 other:3 ");
  assert_int_equal(tm_flush_free(), 0);
  check_trace("");
}

static void flush_free(void) { assert_int_equal(tm_flush_free(), 0); }

static void a_stream_that_is_held_stays(void **state) {
  (void)state;
  print_all();
  with_held(other.stream, flush_free);
  check_trace("out:1 err:2 ");
  with_held(stdin, flush_free); /* the others have been given back */
  check_trace("other:3 ");
}

/* It may be writing to it without a lock. */
static void a_stream_of_another_rank_stays(void **state) {
  char text[8] = "";
  (void)state;
  FILE *file = tmpfile();
  assert_non_null(file);
  fputs("own", file);
  others = file;
  assert_int_equal(tm_flush_free(), 0);
  assert_int_equal(pread(fileno(file), text, sizeof text, 0), 0);
  others = NULL;
  assert_int_equal(tm_flush_free(), 0);
  assert_int_equal(pread(fileno(file), text, sizeof text, 0), 3);
  assert_string_equal(text, "own");
  fclose(file);
}

static int error_of_flush(int of_out, int of_err, int of_other) {
  out.error = of_out;
  err.error = of_err;
  other.error = of_other;
  print_all();
  assert_int_equal(tm_flush_free(), EOF);
  return errno;
}

static void the_first_error_counts(void **state) {
  (void)state;
  assert_int_equal(error_of_flush(ENOSPC, EIO, EFBIG), ENOSPC);
  check_trace("out:1 err:2 other:3 failed:28 ");
  end(NULL);
  begin(NULL);
  assert_int_equal(error_of_flush(0, EIO, EFBIG), EIO);
  check_trace("out:1 err:2 other:3 ");
  end(NULL);
  begin(NULL);
  assert_int_equal(error_of_flush(0, 0, EFBIG), EFBIG);
  check_trace("out:1 err:2 other:3 ");
}

static void nothing(void) {}

static void *open_and_close(void *unused) {
  FILE *file = tmpfile();
  assert_non_null(file);
  fclose(file);
  return unused;
}

static void another_thread_opens(void) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, open_and_close, NULL), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The write may wait for what another rank reads. */
static void other_ranks_open_streams_meanwhile(void **state) {
  struct sink second = {.name = "second"};
  (void)state;
  open_sink(&second);
  fputs("4", second.stream);
  fputs("3", other.stream);
  at_write = another_thread_opens;
  assert_int_equal(tm_flush_free(), 0);
  at_write = NULL;
  check_trace("second:4 other:3 ");
  with_held(second.stream, nothing); /* it has been given back */
  fclose(second.stream);
}

/* The list of streams begins with the newest. */
static void the_first_error_of_other_streams(void **state) {
  struct sink older = {.name = "older"}, newer = {.name = "newer"};
  (void)state;
  open_sink(&older);
  open_sink(&newer);
  older.error = EIO;
  newer.error = EFBIG;
  fputs("4", older.stream);
  fputs("5", newer.stream);
  assert_int_equal(tm_flush_free(), EOF);
  assert_int_equal(errno, EFBIG);
  check_trace("newer:5 older:4 ");
  fclose(older.stream);
  fclose(newer.stream);
}

/* ---- the job ends, and no kernel thread is prepared */

static void thread_works(void) { function(NULL); }

static void a_thread_writes_all(void **state) {
  (void)state;
  at_wait = thread_works;
  print_all();
  tm_flush_all();
  check_trace("start until:500 out:1 other:3 err:2 wake:0 lines ");
  at_wait = NULL; /* it waits for a stream */
  tm_flush_all();
  check_trace("start until:500 lines ");
}

static int wakes_left; /* for no reason */

static void thread_works_later(void) {
  if (wakes_left-- == 0) thread_works();
}

static void the_wait_lasts_until_all_is_written(void **state) {
  (void)state;
  at_wait = thread_works_later;
  wakes_left = 2;
  tm_flush_all();
  check_trace("start until:500 until:500 until:500 wake:0 lines ");
}

/* There is no kernel thread: stdout is all that can be written without one. */
static void without_a_thread_stdout_is_written(void **state) {
  (void)state;
  refusal = EAGAIN;
  print_all();
  tm_flush_all();
  check_trace("start out:1 lines ");
  fputs("4", stdout);
  with_held(stdout, tm_flush_all);
  check_trace("start lines ");
  with_held(stdin, tm_flush_all); /* it was given back */
  check_trace("start out:4 lines ");
  refusal = 0;
}

/* ---- a kernel thread is prepared */

/* In a process of its own, since a process prepares one once. */
static void a_thread_that_was_refused(void **state) {
  (void)state;
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) {
    refusal = EAGAIN;
    tm_flush_prepare();
    tm_flush_prepare();
    refusal = 0;
    at_wait = NULL;
    tm_flush_all();
    _exit(strcmp(trace, "start start until:500 lines ") == 0 ? 0 : 1);
  }
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
}

static void a_thread_is_prepared_once(void **state) {
  (void)state;
  tm_flush_prepare();
  check_trace("start bystanders+1 ");
  tm_flush_prepare();
  check_trace("");
}

/* The kernel thread runs until it sleeps. */
static void prepared_thread_works(void) {
  if (setjmp(asleep) == 0) function(NULL);
}

static void the_prepared_thread_writes_all(void **state) {
  (void)state;
  print_all();
  at_wait = prepared_thread_works;
  tm_flush_all();
  check_trace("wake:1 until:500 out:1 other:3 err:2 wake:0 lines ");
  fputs("4", stdout);
  tm_flush_all(); /* it sleeps again */
  check_trace("wake:1 until:500 out:4 wake:0 lines ");
  prepared_thread_works(); /* nobody has woken it */
  check_trace("");
}

/* A child of fork() has no kernel thread but its own. */
static void a_child_has_no_prepared_thread(void **state) {
  (void)state;
  is_child = true;
  at_wait = NULL;
  tm_flush_all();
  check_trace("start until:500 lines ");
  is_child = false;
}

/* The prepared thread waits for a stream: at the next end there is another one. */
static void a_prepared_thread_that_does_not_end(void **state) {
  (void)state;
  at_wait = NULL;
  tm_flush_all();
  check_trace("wake:1 until:500 lines ");
  tm_flush_all();
  check_trace("start until:500 lines ");
}

#define FLUSH_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      FLUSH_TEST(all_that_is_free_is_written),
      FLUSH_TEST(a_stream_that_is_held_stays),
      FLUSH_TEST(a_stream_of_another_rank_stays),
      FLUSH_TEST(the_first_error_counts),
      FLUSH_TEST(other_ranks_open_streams_meanwhile),
      FLUSH_TEST(the_first_error_of_other_streams),
      FLUSH_TEST(a_thread_writes_all),
      FLUSH_TEST(the_wait_lasts_until_all_is_written),
      FLUSH_TEST(without_a_thread_stdout_is_written),
      FLUSH_TEST(a_thread_that_was_refused),
      FLUSH_TEST(a_thread_is_prepared_once),
      FLUSH_TEST(the_prepared_thread_writes_all),
      FLUSH_TEST(a_child_has_no_prepared_thread),
      FLUSH_TEST(a_prepared_thread_that_does_not_end),
  };
  sem_init(&holds, 0, 0);
  sem_init(&may_end, 0, 0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
