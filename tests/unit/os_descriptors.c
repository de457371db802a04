/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on sockets and pipes: each way in which one ends has its own value, and errno stays. */
#define _GNU_SOURCE /* the headers of src/os want it */
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_receive_ends_in_each_way),
      TEST_BARE(a_message_brings_descriptors),
      TEST_BARE(a_jobserver_is_no_standard_stream),
      TEST_BARE(a_connection_is_there_once_it_is_writable),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
