/* SPDX-License-Identifier: Apache-2.0 */
/* How calls on descriptors end for writers, for threads that poll, and by the number of the
 * descriptor; and what they leave behind. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <mltp/io.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/byte.h"
#include "support/support.h"

#define MS 1000000ull

static void *write_one(void *p0) {
  CHECK_EQUAL(mltp_io_write(*(int *)p0, "x", 1, NULL), 0);
  return NULL;
}

/* ---- writers wait, too */

static char much[1 << 20]; /* more than fits */

struct expectation {
  int fd, error;
};

static void *write_in_vain(void *p0) {
  const struct expectation *expected = p0;
  size_t count = 0;
  CHECK_EQUAL(mltp_io_write(expected->fd, much, sizeof much, &count), expected->error);
  CHECK(count > 0);
  CHECK(count < sizeof much);
  return NULL;
}

/* A message of no bytes is one where messages have bounds, and what cannot be sent has a reason. */
static void an_empty_message_is_sent(void) {
  int ends[2];
  char byte;
  size_t count = 7;
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
  CHECK_EQUAL(mltp_io_send(ends[0], &byte, 0, 0, &count), 0);
  CHECK_EQUAL(count, 0);
  CHECK_EQUAL(mltp_io_write(ends[0], &byte, 0, NULL), 0);
  for (int i = 0; i < 2; i++) {
    count = 7;
    CHECK_EQUAL(mltp_io_recv_timed(ends[1], &byte, 1, 0, &count, mltp_after(MS)), 0);
    CHECK_EQUAL(count, 0);
  }
  const struct iovec none[2] = {{&byte, 0}, {&byte, 0}}; /* writev(2) sends nothing, either */
  for (int parts = 0; parts <= 2; parts++) {
    count = 7;
    CHECK_EQUAL(mltp_io_writev(ends[0], none, parts, &count), 0);
    CHECK_EQUAL(count, 0);
  }
  CHECK_EQUAL(mltp_io_recv_timed(ends[1], &byte, 1, 0, &count, mltp_after(MS)), ETIMEDOUT);
  CHECK_EQUAL(mltp_io_close(ends[1]), 0);
  CHECK_EQUAL(mltp_io_send(ends[0], &byte, 0, 0, &count), ECONNREFUSED);
  CHECK_EQUAL(mltp_io_close(ends[0]), 0);
}

/* Until a writer has filled it: then it waits. */
static void await_full(int fd) {
  struct pollfd asked = {.fd = fd, .events = POLLOUT};
  while (poll(&asked, 1, 0) == 1) mltp_sleep(MS);
}

/* The descriptor of the writer, or its peer's. */
static void closed(enum kind kind, int which, int error) {
  int ends[2];
  struct worker writer;
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  struct expectation expected = {ends[0], error};
  worker_start(&writer, kind, write_in_vain, &expected);
  await_full(ends[0]);
  CHECK_EQUAL(mltp_io_close(ends[which]), 0);
  worker_join(&writer);
  CHECK_EQUAL(mltp_io_close(ends[1 - which]), 0);
}

static void mltp_io_close_wakes_writers(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    closed((enum kind)kind, 0, EBADF);
    closed((enum kind)kind, 1, EPIPE);
  }
}

static void mltp_cancel_ends_a_write(void) {
  for (int bound = 0; bound < 2; bound++) {
    int ends[2];
    CHECK_EQUAL(pipe(ends), 0);
    struct expectation expected = {ends[1], ECANCELED};
    mltp_t *writer = (bound ? spawn_bound : spawn)(write_in_vain, &expected);
    await_full(ends[1]);
    CHECK_EQUAL(mltp_cancel(writer), 0);
    CHECK_EQUAL(mltp_join(writer, NULL), 0);
    close_both(ends);
  }
}

static void mltp_io_write_timed_counts_what_was_written(void) {
  int ends[2];
  size_t count = 7;
  CHECK_EQUAL(pipe(ends), 0);
  uint64_t deadline = mltp_after(3 * MS);
  CHECK_EQUAL(mltp_io_write_timed(ends[1], much, sizeof much, &count, deadline), ETIMEDOUT);
  CHECK(mltp_now() >= deadline);
  CHECK_EQUAL(count, fcntl(ends[1], F_GETPIPE_SZ));
  CHECK_EQUAL(mltp_io_write_timed(ends[1], much, 1, &count, 0), ETIMEDOUT);
  CHECK_EQUAL(count, 0);
  close_both(ends);
}

/* ---- calls that need not wait let others run now and then */

static int stop, turns; /* one VP runs all */

static void *count_turns(void *p0) {
  while (!stop) {
    turns++;
    mltp_yield();
  }
  return p0;
}

static void some_dozen_calls_in_a_row_give_way(void) {
  enum { ROW = 32, CALLS = ROW * (ROW + 1) };
  int ends[2], before;
  size_t count;
  char byte;
  stop = turns = 0;
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(write(ends[1], much, CALLS), CALLS);
  mltp_t *other = spawn(count_turns, NULL);
  mltp_yield(); /* it has begun */
  before = turns;
  for (int i = 0; i < CALLS; i++) CHECK_EQUAL(mltp_io_read(ends[0], &byte, 1, &count), 0);
  CHECK_EQUAL(turns - before, CALLS / ROW);
  stop = 1;
  CHECK_EQUAL(mltp_join(other, NULL), 0);
  close_both(ends);
}

/* ---- several at a time */

struct polling {
  struct pollfd fds[3];
  int ready;
};

static void *poll_one(void *p0) {
  struct polling *p = p0;
  CHECK_EQUAL(mltp_io_poll(p->fds, 3, &p->ready), 0);
  return NULL;
}

/* Numbers below 0 stand for no descriptor, and 0 for one. */
static void poll_number(int fd) {
  int ends[2];
  CHECK_EQUAL(pipe(ends), 0);
  if (fd >= 0) CHECK_EQUAL(dup2(ends[0], fd), fd);
  if (fd < 0) fd = ends[0];
  struct polling p = {{{-1, POLLIN, 7}, {fd, POLLIN, 7}, {-5, POLLIN, 7}}, 7};
  CHECK_EQUAL(mltp_io_poll_timed(p.fds, 3, &p.ready, mltp_after(2 * MS)), ETIMEDOUT);
  for (int i = 0; i < 3; i++) CHECK_EQUAL(p.fds[i].revents, 0);
  mltp_t *poller = spawn(poll_one, &p);
  mltp_sleep(2 * MS); /* else it need not wait */
  CHECK_EQUAL(mltp_io_write(ends[1], "x", 1, NULL), 0);
  CHECK_EQUAL(mltp_join(poller, NULL), 0);
  CHECK_EQUAL(p.ready, 1);
  CHECK_EQUAL(p.fds[0].revents, 0);
  CHECK_EQUAL(p.fds[1].revents, POLLIN);
  CHECK_EQUAL(p.fds[2].revents, 0);
  if (fd != ends[0]) CHECK_EQUAL(mltp_io_close(fd), 0);
  close_both(ends);
}

static void mltp_io_poll_passes_over_negative_numbers(void) { poll_number(-1); }

static void mltp_io_poll_sees_descriptor_0(void) {
  int kept = fcntl(0, F_DUPFD_CLOEXEC, 3);
  poll_number(0);
  if (kept >= 0) CHECK_EQUAL(dup2(kept, 0), 0);
  if (kept >= 0) close(kept);
}

/* Every VP sleeps; what wakes them comes from outside. */
static void mltp_io_poll_is_no_deadlock(void) {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    int ends[2];
    pthread_t outside;
    struct worker poller;
    CHECK_EQUAL(pipe(ends), 0);
    struct polling p = {{{ends[0], POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}}, 0};
    worker_start(&poller, (enum kind)kind, poll_one, &p);
    CHECK_EQUAL(pthread_create(&outside, NULL, write_late, &ends[1]), 0);
    worker_join(&poller);
    CHECK_EQUAL(p.ready, 1);
    CHECK_EQUAL(pthread_join(outside, NULL), 0);
    close_both(ends);
  }
}

/* ---- numbers */

enum { HIGH = 3000, BEYOND = 1 << 22 /* what the library keeps track of */ };

static void high_numbers_are_descriptors(void) {
  struct rlimit limit;
  int ends[2];
  size_t count;
  char byte;
  CHECK_EQUAL(mltp_io_read(BEYOND, &byte, 1, &count), ENOMEM);
  CHECK_EQUAL(mltp_io_close(BEYOND), ENOMEM);
  CHECK_EQUAL(mltp_io_close(BEYOND - 1), EBADF);
  CHECK_EQUAL(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max <= 2 * HIGH) return;
  struct rlimit wide = {limit.rlim_max, limit.rlim_max};
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &wide), 0);
  CHECK_EQUAL(pipe(ends), 0);
  int high = fcntl(ends[0], F_DUPFD_CLOEXEC, HIGH);
  CHECK(high >= HIGH);
  mltp_t *reader = spawn(read_one, &high);
  mltp_sleep(2 * MS);
  write_one(&ends[1]);
  CHECK_EQUAL(mltp_join(reader, NULL), 0);
  CHECK_EQUAL(mltp_io_close(high), 0);
  close_both(ends);
  CHECK_EQUAL(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* A number that a call of ours has used, and that close(2) has made free. @return it */
static int used_number(int file) {
  int ends[2], fd;
  char byte;
  size_t count;
  if (file) {
    fd = open("/proc/version", O_RDONLY | O_CLOEXEC);
    CHECK_EQUAL(mltp_io_read(fd, &byte, 1, &count), 0);
  } else {
    CHECK_EQUAL(pipe(ends), 0);
    write_one(&ends[1]);
    read_one(&ends[0]);
    close(ends[1]);
    fd = ends[0];
  }
  close(fd);
  return fd;
}

static void *accept_and_answer(void *p0) {
  int connection = -1;
  CHECK_EQUAL(mltp_io_accept(*(int *)p0, NULL, NULL, &connection), 0);
  mltp_yield(); /* the caller waits by now */
  write_one(&connection);
  CHECK_EQUAL(mltp_io_close(connection), 0);
  return NULL;
}

/* On one VP: else the reader would wait in the kernel, and nobody would answer. */
static void mltp_io_connect_forgets_what_had_the_number(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t length = sizeof address;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int listener = socket(AF_INET, SOCK_STREAM, 0), used = used_number(0);
  CHECK(listener >= 0);
  if (listener < 0) return;
  CHECK_EQUAL(bind(listener, (struct sockaddr *)&address, length), 0);
  CHECK_EQUAL(getsockname(listener, (struct sockaddr *)&address, &length), 0);
  CHECK_EQUAL(listen(listener, 1), 0);
  mltp_t *server = spawn(accept_and_answer, &listener);
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  CHECK_EQUAL(fd, used);
  CHECK_EQUAL(mltp_io_connect(fd, (struct sockaddr *)&address, sizeof address), 0);
  read_one(&fd);
  CHECK_EQUAL(mltp_join(server, NULL), 0);
  CHECK_EQUAL(mltp_io_close(fd), 0);
  CHECK_EQUAL(mltp_io_close(listener), 0);
}

/* Calls on a file have few kernel threads, in which these readers would wait. */
static void mltp_io_open_forgets_what_had_the_number(void) {
  enum { READERS = 12 };
  mltp_t *readers[READERS];
  char folder[] = "/tmp/mltp-io-XXXXXX", path[64];
  int fd = -1;
  CHECK(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/fifo", folder);
  CHECK_EQUAL(mkfifo(path, 0600), 0);
  int used = used_number(1);
  CHECK_EQUAL(mltp_io_open(path, O_RDWR, 0, &fd), 0);
  CHECK_EQUAL(fd, used);
  for (int i = 0; i < READERS; i++) readers[i] = spawn(read_one, &fd);
  mltp_yield(); /* all of them wait */
  for (int i = 0; i < READERS; i++) write_one(&fd);
  for (int i = 0; i < READERS; i++) CHECK_EQUAL(mltp_join(readers[i], NULL), 0);
  CHECK_EQUAL(mltp_io_close(fd), 0);
  unlink(path);
  rmdir(folder);
}

/* ---- calls on files of a thread that is cancelled */

static void *use_files_when_cancelled(void *p0) {
  int fd = open("/proc/version", O_RDONLY | O_CLOEXEC), opened = -1; /* never in the page cache */
  char byte;
  size_t count = 7;
  CHECK(fd >= 0);
  CHECK_EQUAL(mltp_cancel(mltp_self()), 0);
  CHECK_EQUAL(mltp_io_open("/dev/null", O_RDONLY, 0, &opened), ECANCELED);
  CHECK_EQUAL(opened, -1);
  CHECK_EQUAL(mltp_io_pread(fd, &byte, 1, 0, &count), ECANCELED);
  CHECK_EQUAL(count, 0);
  CHECK_EQUAL(mltp_io_fsync(fd), ECANCELED);
  close(fd);
  return p0;
}

static void calls_on_files_end_by_a_cancellation(void) {
  for (int bound = 0; bound < 2; bound++) {
    mltp_t *thread = (bound ? spawn_bound : spawn)(use_files_when_cancelled, NULL);
    CHECK_EQUAL(mltp_join(thread, NULL), 0);
  }
}

/* ---- what a runtime leaves behind */

static int open_descriptors(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  CHECK(folder != NULL);
  while (folder != NULL && readdir(folder) != NULL) count++;
  if (folder != NULL) closedir(folder);
  return count;
}

static void use_all(void) {
  int ends[2], fd = -1;
  CHECK_EQUAL(mltp_init(0), 0);
  CHECK_EQUAL(pipe(ends), 0);
  mltp_t *reader = spawn(read_one, &ends[0]);
  mltp_sleep(MS);
  write_one(&ends[1]);
  CHECK_EQUAL(mltp_join(reader, NULL), 0);
  close_both(ends);
  CHECK_EQUAL(mltp_io_open("/dev/null", O_RDONLY, 0, &fd), 0);
  CHECK_EQUAL(mltp_io_close(fd), 0);
  CHECK_EQUAL(mltp_finalize(), 0);
}

static void a_runtime_leaves_no_descriptors(void) {
  use_all();
  int before = open_descriptors();
  for (int i = 0; i < 3; i++) use_all();
  CHECK_EQUAL(open_descriptors(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(mltp_io_close_wakes_writers),
      TEST(mltp_cancel_ends_a_write),
      TEST(mltp_io_write_timed_counts_what_was_written),
      TEST(an_empty_message_is_sent),
      TEST_ONE_VP(some_dozen_calls_in_a_row_give_way),
      TEST(mltp_io_poll_passes_over_negative_numbers),
      TEST(mltp_io_poll_sees_descriptor_0),
      TEST(mltp_io_poll_is_no_deadlock),
      TEST(high_numbers_are_descriptors),
      TEST_ONE_VP(mltp_io_connect_forgets_what_had_the_number),
      TEST_ONE_VP(mltp_io_open_forgets_what_had_the_number),
      TEST(calls_on_files_end_by_a_cancellation),
      TEST_BARE(a_runtime_leaves_no_descriptors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
