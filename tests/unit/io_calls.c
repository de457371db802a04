/* SPDX-License-Identifier: Apache-2.0 */
/* Calls on descriptors, step by step (src/io/call.c, stream.c, socket.c): what each asks of the
 * kernel, when it waits and asks again, and what it returns and counts. */
#include "io_calls.h"

#include "io/socket.c"

#include "io/stream.c"

enum { CONNECTION = 9 };

/* ---- waiters of other calls */

void __wrap_mt_io_fresh(int fd, enum os_fd_kind kind);
void __wrap_mt_io_fresh(int fd, enum os_fd_kind kind) { note("fresh:%d:%d", fd, (int)kind); }

struct mltp_thread *__wrap_mt_io_change(struct mt_io_side *side, bool ended);
struct mltp_thread *__wrap_mt_io_change(struct mt_io_side *side, bool ended) {
  CHECK(ended && mt_io_is_closing(&described)); /* waiters find the mark */
  note("change:%d", (int)(side - described.sides));
  struct mltp_thread *waiters = world.waiters;
  world.waiters = NULL;
  return waiters;
}

void __wrap_mt_resume_chain(struct mltp_thread *first);
void __wrap_mt_resume_chain(struct mltp_thread *first) {
  CHECK(first == &caller);
  note("resume");
}

/* ---- the kernel */

int __wrap_os_readv(int fd, const struct iovec *parts, int number, size_t *count);
int __wrap_os_readv(int fd, const struct iovec *parts, int number, size_t *count) {
  CHECK(fd == FD && parts != NULL);
  note("readv:%d", number);
  return answer(count);
}

/* The first part, which may be the rest of one. */
static char written[16];

int __wrap_os_writev(int fd, const struct iovec *parts, int number, size_t *count);
int __wrap_os_writev(int fd, const struct iovec *parts, int number, size_t *count) {
  CHECK_EQUAL(fd, FD);
  memset(written, 0, sizeof written);
  memcpy(written, parts->iov_base, parts->iov_len);
  note("writev:%d<%s>", number, written);
  return answer(count);
}

int __wrap_os_recvmsg(int fd, struct msghdr *message, int flags, size_t *count);
int __wrap_os_recvmsg(int fd, struct msghdr *message, int flags, size_t *count) {
  CHECK_EQUAL(fd, FD);
  note("recv:%d:%#x", (int)message->msg_iovlen, (unsigned)flags);
  return answer(count);
}

int __wrap_os_sendmsg(int fd, const struct msghdr *message, int flags, size_t *count);
int __wrap_os_sendmsg(int fd, const struct msghdr *message, int flags, size_t *count) {
  CHECK_EQUAL(fd, FD);
  memset(written, 0, sizeof written);
  memcpy(written, message->msg_iov->iov_base, message->msg_iov->iov_len);
  note("send:%d<%s>:%#x", (int)message->msg_iovlen, written, (unsigned)flags);
  return answer(count);
}

int __wrap_os_accept(int fd, struct sockaddr *address, socklen_t *length, int *connection);
int __wrap_os_accept(int fd, struct sockaddr *address, socklen_t *length, int *connection) {
  size_t number;
  CHECK(fd == FD && address != NULL && *length == sizeof *address);
  note("accept");
  int error = answer(&number);
  if (error == 0) *connection = (int)number;
  return error;
}

int __wrap_os_connect(int fd, const struct sockaddr *address, socklen_t length);
int __wrap_os_connect(int fd, const struct sockaddr *address, socklen_t length) {
  size_t none;
  CHECK(fd == FD && address != NULL && length == sizeof *address);
  note("connect");
  return answer(&none);
}

int __wrap_os_connected(int fd);
int __wrap_os_connected(int fd) {
  size_t none;
  CHECK_EQUAL(fd, FD);
  note("connected");
  return answer(&none);
}

/* ---- attempts and waits */

static void a_call_tries_again_after_each_change(void) {
  size_t count = 77;
  begin(OS_FD_STREAM);
  ANSWERED({EAGAIN, 0}, {EAGAIN, 0}, {0, 3});
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), 0);
  TRACE("prepare readv:1 wait_in readv:1 wait_in readv:1 leave");
  CHECK_EQUAL(count, 3);
  begin(OS_FD_STREAM);
  ANSWERED({EAGAIN, 0}, {EIO, 0});
  CHECK_EQUAL(mltp_io_write_timed(FD, letters, 2, &count, 50), EIO);
  TRACE("prepare writev:1<ab> wait_out until:50 writev:1<ab> leave");
  CHECK_EQUAL(count, 0);
}

static void a_wait_ends_a_call(void) {
  size_t count = 77;
  begin(OS_FD_STREAM);
  ANSWERED({EAGAIN, 0});
  world.wait_error = ETIMEDOUT;
  CHECK_EQUAL(mltp_io_read_timed(FD, letters, 4, &count, 30), ETIMEDOUT);
  TRACE("prepare readv:1 wait_in until:30 leave");
  CHECK_EQUAL(count, 0);
  begin(OS_FD_STREAM);
  ANSWERED({EAGAIN, 0});
  world.closes = true;
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), EBADF);
  TRACE("prepare readv:1 wait_in leave");
}

static void calls_need_a_thread_and_a_descriptor(void) {
  size_t count = 77;
  struct msghdr message = {0};
  begin(OS_FD_STREAM);
  world.enter_error = EBADF;
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), EBADF);
  CHECK_EQUAL(mltp_io_close(FD), EBADF);
  TRACE("prepare enter");
  CHECK_EQUAL(count, 0);
  mt_set_current(NULL);
  CHECK_EQUAL(mltp_io_recvmsg(FD, &message, 0, &count), EPERM);
  CHECK_EQUAL(mltp_io_close(FD), EPERM);
  TRACE("misuse:mltp_io_recvmsg misuse:mltp_io_close");
}

static void a_call_is_a_scheduling_point(void) {
  size_t count;
  begin(OS_FD_STREAM);
  mt_det_on = true;
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), 0);
  mt_det_on = false;
  TRACE("point:mltp_io_read prepare readv:1 leave");
}

/* A TCP connection that gave fewer bytes than there was room for has no more until it changes. */
static void a_connection_that_was_emptied_is_not_asked_again(void) {
  size_t count;
  begin(OS_FD_TCP);
  described.registered = 1;
  ANSWERED({0, 3}, {0, 1}, {0, 2});
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), 0);
  TRACE("prepare recv:1:0 leave");
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), 0);
  TRACE("prepare wait_in recv:1:0 leave");
  CHECK_EQUAL(count, 1);
  CHECK_EQUAL(mltp_io_recv(FD, letters, 4, MSG_OOB, &count), 0); /* it has data of its own */
  TRACE("prepare recv:1:0x41 leave");
  CHECK_EQUAL(mt_io_is_drained(&described.sides[MT_IO_IN], 1), true);
}

static void other_reads_say_nothing_of_what_is_left(void) {
  static const struct {
    enum os_fd_kind kind;
    bool unregistered;
    int number, flags;
    struct answer answer;
  } rows[] = {
      {OS_FD_SOCKET, false, 1, 0, {0, 3}},       {OS_FD_TCP, true, 1, 0, {0, 3}},
      {OS_FD_TCP, false, 2, 0, {0, 3}},          {OS_FD_TCP, false, 1, MSG_PEEK, {0, 3}},
      {OS_FD_TCP, false, 1, 0, {0, 4}},          {OS_FD_TCP, false, 1, 0, {0, 0}},
      {OS_FD_TCP, false, 1, 0, {ECONNRESET, 3}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct iovec parts[2] = {{letters, 4}, {letters, 1}};
    size_t count;
    check_case("row %zu", i);
    begin(rows[i].kind);
    described.registered = !rows[i].unregistered;
    world.answers[0] = rows[i].answer;
    int error = rows[i].flags != 0 ? mltp_io_recv(FD, letters, 4, rows[i].flags, &count)
                                   : mltp_io_readv(FD, parts, rows[i].number, &count);
    CHECK_EQUAL(error, rows[i].answer.error);
    CHECK(!mt_io_is_drained(&described.sides[MT_IO_IN], 0));
  }
}

static void many_calls_without_a_wait_give_way(void) {
  size_t count;
  begin(OS_FD_STREAM);
  for (int row = 0; row < 2; row++) {
    world.asked = 0;
    for (int i = 1; i < 32; i++) CHECK_EQUAL(mltp_io_read(FD, letters, 1, &count), 0);
    CHECK(strstr(trace, "yield") == NULL);
    trace[0] = '\0';
    CHECK_EQUAL(mltp_io_read(FD, letters, 1, &count), 0);
    TRACE("prepare readv:1 yield leave");
    CHECK_EQUAL(described.streak, 0);
  }
  described.streak = 31;
  caller.vp = NULL; /* the kernel lets others run */
  CHECK_EQUAL(mltp_io_read(FD, letters, 1, &count), 0);
  TRACE("prepare readv:1 leave");
  CHECK_EQUAL(described.streak, 0);
  described.streak = 31;
  caller.vp = &here;
  world.answers[world.asked].error = EAGAIN;
  CHECK_EQUAL(mltp_io_read(FD, letters, 1, &count), 0); /* others have run meanwhile */
  TRACE("prepare readv:1 wait_in readv:1 leave");
  CHECK_EQUAL(described.streak, 0);
}

/* ---- bytes */

static void one_read_fills_all_parts(void) {
  const struct iovec parts[2] = {{letters, 1}, {letters, 4}};
  size_t count = 77;
  begin(OS_FD_STREAM);
  ANSWERED({0, 5});
  CHECK_EQUAL(mltp_io_readv(FD, parts, 2, &count), 0);
  TRACE("prepare readv:2 leave");
  CHECK_EQUAL(count, 5);
}

static void all_parts_are_written(void) {
  const struct iovec parts[4] = {{letters, 0}, {letters, 3}, {letters + 3, 0}, {letters + 3, 2}};
  size_t count = 77;
  begin(OS_FD_STREAM);
  ANSWERED({0, 2}, {EAGAIN, 0}, {0, 1}, {0, 2});
  CHECK_EQUAL(mltp_io_writev(FD, parts, 4, &count), 0);
  TRACE("prepare writev:3<abc> writev:1<c> wait_out writev:1<c> writev:1<de> leave");
  CHECK_EQUAL(count, 5);
  begin(OS_FD_STREAM);
  ANSWERED({0, 4}, {EPIPE, 0});
  CHECK_EQUAL(mltp_io_writev(FD, parts, 4, &count), EPIPE);
  TRACE("prepare writev:3<abc> writev:1<e> leave");
  CHECK_EQUAL(count, 4);
  begin(OS_FD_STREAM);
  ANSWERED({0, 5});
  CHECK_EQUAL(mltp_io_writev(FD, parts, 4, NULL), 0);
  TRACE("prepare writev:3<abc> leave");
}

static void one_empty_part_is_a_message(void) {
  const struct iovec none[2] = {{letters, 0}, {letters, 0}};
  size_t count = 77;
  begin(OS_FD_SOCKET);
  ANSWERED({EAGAIN, 0}, {0, 0});
  CHECK_EQUAL(mltp_io_send(FD, letters, 0, 0, &count), 0);
  TRACE("prepare send:1<>:0x40 wait_out send:1<>:0x40 leave");
  CHECK_EQUAL(count, 0);
  CHECK_EQUAL(mltp_io_writev(FD, none, 2, NULL), 0);
  TRACE("prepare leave");
}

/* read(2) and write(2) on a socket could wait, or raise SIGPIPE. */
static void sockets_and_flags_need_calls_of_sockets(void) {
  size_t count;
  begin(OS_FD_SOCKET);
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), 0);
  TRACE("prepare recv:1:0 leave");
  world.answers[1].count = 2;
  CHECK_EQUAL(mltp_io_write(FD, letters, 2, NULL), 0);
  TRACE("prepare send:1<ab>:0 leave");
  begin(OS_FD_STREAM);
  ANSWERED({ENOTSOCK, 0}, {ENOTSOCK, 0});
  CHECK_EQUAL(mltp_io_recv(FD, letters, 4, 0, &count), ENOTSOCK);
  CHECK_EQUAL(mltp_io_send(FD, letters, 1, MSG_OOB, &count), ENOTSOCK);
  TRACE("prepare recv:1:0x40 leave prepare send:1<a>:0x41 leave");
}

static void messages_keep_their_flags(void) {
  struct iovec parts[3] = {{letters, 2}, {letters, 1}, {letters, 1}};
  struct msghdr message = {.msg_iov = parts, .msg_iovlen = 3};
  size_t count = 77;
  begin(OS_FD_SOCKET);
  ANSWERED({EAGAIN, 0}, {0, 4}, {0, 3}, {EPIPE, 0});
  CHECK_EQUAL(mltp_io_recvmsg_timed(FD, &message, MSG_PEEK, &count, 60), 0);
  TRACE("prepare recv:3:0x2 wait_in until:60 recv:3:0x2 leave");
  CHECK_EQUAL(count, 4);
  CHECK_EQUAL(mltp_io_sendmsg(FD, &message, MSG_EOR, &count), 0);
  TRACE("prepare send:3<ab>:0x80 leave");
  CHECK_EQUAL(count, 3); /* once */
  CHECK_EQUAL(mltp_io_sendmsg(FD, &message, 0, NULL), EPIPE);
  TRACE("prepare send:3<ab>:0 leave");
}

/* ---- connections */

static void a_connection_is_of_its_listeners_kind(void) {
  struct sockaddr address;
  socklen_t length = sizeof address;
  int connection = 77;
  begin(OS_FD_TCP);
  ANSWERED({EAGAIN, 0}, {0, CONNECTION}, {EMFILE, 0});
  CHECK_EQUAL(mltp_io_accept_timed(FD, &address, &length, &connection, 20), 0);
  char expected[80];
  snprintf(expected, sizeof expected, "prepare accept wait_in until:20 accept fresh:%d:%d leave",
           CONNECTION, (int)OS_FD_TCP);
  TRACE(expected);
  CHECK_EQUAL(connection, CONNECTION);
  CHECK_EQUAL(mltp_io_accept(FD, &address, &length, &connection), EMFILE);
  TRACE("prepare accept leave");
  CHECK_EQUAL(connection, CONNECTION);
}

static void a_connect_is_begun_once(void) {
  const struct sockaddr address = {.sa_family = AF_INET};
  begin(OS_FD_TCP);
  ANSWERED({EINPROGRESS, 0}, {EAGAIN, 0}, {ECONNREFUSED, 0});
  CHECK_EQUAL(mltp_io_connect_timed(FD, &address, sizeof address, 80), ECONNREFUSED);
  TRACE("unknown:7 prepare connect wait_out until:80 connected wait_out until:80 connected leave");
  begin(OS_FD_SOCKET);
  CHECK_EQUAL(mltp_io_connect(FD, &address, sizeof address), 0);
  TRACE("unknown:7 prepare connect leave");
  ANSWERED({0, 0}, {ENETUNREACH, 0}, {EAGAIN, 0});
  CHECK_EQUAL(mltp_io_connect(FD, &address, sizeof address), ENETUNREACH);
  TRACE("unknown:7 prepare connect leave");
  /* The queue of a local socket is full, and no change will say when it is not. */
  CHECK_EQUAL(mltp_io_connect(FD, &address, sizeof address), EAGAIN);
  TRACE("unknown:7 prepare connect leave");
}

static void one_caller_closes_and_wakes_the_waiters(void) {
  begin(OS_FD_STREAM);
  world.waiters = &caller;
  world.leave_error = EIO;
  CHECK_EQUAL(mltp_io_close(FD), EIO);
  TRACE("enter change:0 resume change:1 leave");
  CHECK_EQUAL(mltp_io_close(FD), EBADF); /* another closes it: the error is the other's */
  TRACE("enter leave");
}

/* ---- files */

#define FILE_CALL "pool<a call on a file>"

static void calls_on_files_are_the_pools(void) {
  size_t count;
  begin(OS_FD_FILE);
  ANSWERED({0, 3}, {EAGAIN, 0});
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), 0);
  TRACE("prepare " FILE_CALL " readv:1 leave");
  CHECK_EQUAL(count, 3);
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), EAGAIN);
  TRACE("prepare " FILE_CALL " readv:1 leave");
  begin(OS_FD_FILE);
  ANSWERED({0, 1}, {EAGAIN, 0}, {ENOSPC, 0});
  CHECK_EQUAL(mltp_io_write(FD, letters, 2, &count), ENOSPC); /* a file has no change to wait for */
  TRACE("prepare " FILE_CALL " writev:1<ab> writev:1<b> writev:1<b> leave");
  CHECK_EQUAL(count, 1);
  world.pool_error = ECANCELED;
  CHECK_EQUAL(mltp_io_read(FD, letters, 4, &count), ECANCELED);
  TRACE("prepare " FILE_CALL " leave");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_call_tries_again_after_each_change),
      TEST_BARE(a_wait_ends_a_call),
      TEST_BARE(calls_need_a_thread_and_a_descriptor),
      TEST_BARE(a_call_is_a_scheduling_point),
      TEST_BARE(a_connection_that_was_emptied_is_not_asked_again),
      TEST_BARE(other_reads_say_nothing_of_what_is_left),
      TEST_BARE(many_calls_without_a_wait_give_way),
      TEST_BARE(one_read_fills_all_parts),
      TEST_BARE(all_parts_are_written),
      TEST_BARE(one_empty_part_is_a_message),
      TEST_BARE(sockets_and_flags_need_calls_of_sockets),
      TEST_BARE(messages_keep_their_flags),
      TEST_BARE(a_connection_is_of_its_listeners_kind),
      TEST_BARE(a_connect_is_begun_once),
      TEST_BARE(one_caller_closes_and_wakes_the_waiters),
      TEST_BARE(calls_on_files_are_the_pools),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
