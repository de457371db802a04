/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on sockets and pipes: each way in which one ends has its own value, and errno stays. */
#define _GNU_SOURCE /* the headers of src/os want it */
#include <fcntl.h>
#include <mltp/io.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fifo.h"
#include "os/os.h"
#include "os/unix.h"
#include "support/support.h"

static struct os_socket socket_of(int fd) {
  struct stat status;
  CHECK_EQUAL(fstat(fd, &status), 0);
  return (struct os_socket){fd, status.st_dev, status.st_ino};
}

static void a_receive_ends_in_each_way(void) {
  int ends[2], fds[OS_DESCRIPTORS], got = 0, sent = 7;
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  struct os_socket ours = socket_of(ends[0]), theirs = socket_of(ends[1]);
  errno = EINTR; /* another call's */
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), EAGAIN);
  CHECK_EQUAL(os_unix_send(&theirs, &sent, sizeof sent), 0);
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 1000, fds), 0);
  CHECK_EQUAL(got, 7);
  for (int i = 0; i < OS_DESCRIPTORS; i++) CHECK_EQUAL(fds[i], -1);
  CHECK_EQUAL(os_unix_send(&theirs, &sent, 1), 0);
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), EPROTO);
  os_unix_close(&theirs);
  CHECK_EQUAL(theirs.fd, -1);
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), ECONNRESET);
  CHECK_EQUAL(os_unix_send(&ours, &sent, sizeof sent), EPIPE);
  CHECK_EQUAL(dup2(STDERR_FILENO, ours.fd), ours.fd); /* as a program that closes all descriptors */
  CHECK_EQUAL(os_unix_receive(&ours, &got, sizeof got, 0, fds), EBADF);
  CHECK_EQUAL(os_unix_send(&ours, &sent, sizeof sent), EBADF);
  CHECK_EQUAL(errno, EINTR);
  close(ours.fd);
}

static void a_message_brings_descriptors(void) {
  union {
    char bytes[CMSG_SPACE(sizeof(int))];
    struct cmsghdr align;
  } control = {.bytes = ""};
  int ends[2], fds[OS_DESCRIPTORS], got = 0;
  char byte = 'x';
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  struct os_socket ours = socket_of(ends[0]);
  struct iovec part = {&byte, 1};
  struct msghdr header = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  control.align = (struct cmsghdr){
      .cmsg_len = CMSG_LEN(sizeof got), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.align), &ends[1], sizeof ends[1]);
  CHECK_EQUAL(sendmsg(ends[1], &header, 0), 1);
  byte = 0;
  CHECK_EQUAL(os_unix_receive(&ours, &byte, 1, 1000, fds), 0);
  CHECK_EQUAL(byte, 'x');
  CHECK(fds[0] >= 0 && (fcntl(fds[0], F_GETFD) & FD_CLOEXEC) != 0);
  for (int i = 1; i < OS_DESCRIPTORS; i++) CHECK_EQUAL(fds[i], -1);
  for (int i = 0; i < 2; i++) close(ends[i]);
  close(fds[0]);
}

/* A jobserver's tokens are never taken from a program's input, nor from its messages. */
static void a_jobserver_is_no_standard_stream(void) {
  struct os_socket fifo;
  int ends[2], kept = dup(STDERR_FILENO), other[2], result[2];
  char byte = 0;
  CHECK(kept > STDERR_FILENO);
  CHECK_EQUAL(pipe(ends), 0);
  CHECK_EQUAL(pipe(other), 0);
  CHECK_EQUAL(os_fifo_reopen(ends[0], ends[1], &fifo), 0);
  CHECK_EQUAL(os_fifo_take(&fifo, &byte), EAGAIN);
  CHECK_EQUAL(os_fifo_give(&fifo, 'x'), 0);
  CHECK_EQUAL(os_fifo_take(&fifo, &byte), 0);
  CHECK_EQUAL(byte, 'x');
  os_unix_close(&fifo);
  CHECK_EQUAL(os_fifo_take(&fifo, &byte), EBADF);
  CHECK_EQUAL(os_fifo_reopen(ends[0], ends[0], &fifo), EBADF);
  CHECK_EQUAL(os_fifo_reopen(ends[0], other[1], &fifo), EBADF);
  dup2(ends[1], STDERR_FILENO);
  result[0] = os_fifo_reopen(ends[0], STDERR_FILENO, &fifo);
  dup2(ends[0], STDERR_FILENO);
  result[1] = os_fifo_reopen(STDERR_FILENO, ends[1], &fifo);
  if (kept >= 0) dup2(kept, STDERR_FILENO);
  for (int i = 0; i < 2; i++) CHECK_EQUAL(result[i], EBADF);
  for (int i = 0; i < 2; i++) {
    close(ends[i]);
    close(other[i]);
  }
  close(kept);
}

/* A socket that is not writable yet is not connected yet. */
static void a_connection_is_there_once_it_is_writable(void) {
  static char zeroes[1 << 16];
  int ends[2];
  CHECK_EQUAL(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
  CHECK_EQUAL(os_connected(ends[0]), 0);
  while (send(ends[0], zeroes, sizeof zeroes, MSG_NOSIGNAL) > 0) continue;
  errno = EINTR;
  CHECK_EQUAL(os_connected(ends[0]), EAGAIN);
  while (recv(ends[1], zeroes, sizeof zeroes, 0) > 0) continue;
  errno = EINTR;
  CHECK_EQUAL(os_connected(ends[0]), 0);
  for (int i = 0; i < 2; i++) close(ends[i]);
  CHECK_EQUAL(os_connected(ends[0]), EBADF);
  CHECK_EQUAL(errno, EINTR);
}

/* ---- numbers of the standard streams that are closed */

enum { NUMBERS = 3, LOOKS = 1000, NAP_US = 1000 };

static void close_some(int which) {
  for (int fd = 0; fd < NUMBERS; fd++)
    if (which >> fd & 1) close(fd);
}

/* @return 0, or what is wrong. */
static int look_at_filled(int which) {
  char byte = 0;
  for (int fd = 0; fd < NUMBERS; fd++) {
    bool was_closed = (which >> fd & 1) != 0;
    int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || (was_closed && (flags & FD_CLOEXEC) == 0)) return 1;
    errno = 0;
    ssize_t moved = fd == STDIN_FILENO ? read(fd, &byte, 1) : write(fd, &byte, 0);
    if (was_closed && (moved != -1 || errno != EBADF)) return 2;
    if (!was_closed && moved != 0) return 3;
  }
  return open("/dev/null", O_RDONLY) >= NUMBERS ? 0 : 4;
}

static int ended_with(pid_t child) {
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void closed_standard_descriptors_are_filled(void) {
  int null = open("/dev/null", O_RDWR);
  for (int which = 0; which < 1 << NUMBERS; which++) {
    pid_t child = fork();
    if (child == 0) {
      for (int fd = 0; null >= 0 && fd < NUMBERS; fd++) dup2(null, fd);
      close_some(which);
      os_descriptors_fill();
      _exit(look_at_filled(which));
    }
    check_case("closed: %d", which);
    CHECK_EQUAL(ended_with(child), 0);
  }
  close(null);
}

/* A VP that begins reads a file: its number is taken for a moment. */
static bool stays(int fd) {
  for (int look = 0; look < LOOKS; look++) {
    if (fcntl(fd, F_GETFD) == -1) return false;
    usleep(NAP_US);
  }
  return true;
}

/* Nothing of the runtime's gets such a number: the program would write to it. */
static int start_without_streams(void) {
  int ends[2];
  char byte;
  size_t count;
  if (pipe(ends) != 0) return 1;
  setenv("MLTP_SCHEDULE_LOG", "/dev/null", 1);
  close_some((1 << NUMBERS) - 1);
  if (mltp_init(2) != 0) return 2;
  /* it waits, for which the runtime has descriptors */
  if (mltp_io_read_timed(ends[0], &byte, 1, &count, mltp_after(1000000)) != ETIMEDOUT) return 3;
  for (int fd = 0; fd < NUMBERS; fd++)
    if (stays(fd)) return 10 + fd;
  return mltp_finalize() == 0 ? 0 : 5;
}

static void the_runtime_keeps_off_their_numbers(void) {
  for (int few = 0; few < 2; few++) {
    pid_t child = fork();
    if (child == 0) {
      struct rlimit limit = {64, 64}; /* there is no high number */
      if (few && setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(9);
      _exit(start_without_streams());
    }
    check_case("few: %d", few);
    CHECK_EQUAL(ended_with(child), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_receive_ends_in_each_way),
      TEST_BARE(a_message_brings_descriptors),
      TEST_BARE(a_jobserver_is_no_standard_stream),
      TEST_BARE(a_connection_is_there_once_it_is_writable),
      TEST_BARE(closed_standard_descriptors_are_filled),
      TEST_BARE(the_runtime_keeps_off_their_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
