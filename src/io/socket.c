/* SPDX-License-Identifier: Apache-2.0 */
/* Connections and messages, and the end of a descriptor. */
#include "core/wait/park.h"
#include "io/call.h"
#include "mltp/io.h"

/* ---- connections */

static int accept_once(struct mt_io_call *call, const struct mt_io_fd *f) {
  int error =
      os_accept(call->fd, call->accept.address, call->accept.length, call->accept.connection);
  if (error == 0) mt_io_fresh(*call->accept.connection, mt_io_kind(f));
  return error;
}

int mltp_io_accept_timed(int fd, struct sockaddr *address, socklen_t *length, int *connection,
                         uint64_t deadline) {
  struct mt_io_call call = {.name = "mltp_io_accept",
                            .fd = fd,
                            .direction = MT_IO_IN,
                            .attempt = accept_once,
                            .accept = {address, length, connection}};
  return mt_io_make(&call, deadline);
}

int mltp_io_accept(int fd, struct sockaddr *address, socklen_t *length, int *connection) {
  return mltp_io_accept_timed(fd, address, length, connection, MLTP_NEVER);
}

static int connect_once(struct mt_io_call *call, const struct mt_io_fd *f) {
  (void)f;
  if (call->begun) return os_connected(call->fd);
  call->begun = true;
  int error = os_connect(call->fd, call->connect.address, call->connect.length);
  if (error == EINPROGRESS) return EAGAIN;
  if (error != EAGAIN) return error;
  call->flags = EAGAIN; /* no change will tell when the queue has room */
  return ECANCELED;
}

int mltp_io_connect_timed(int fd, const struct sockaddr *address, socklen_t length,
                          uint64_t deadline) {
  mt_io_unknown(fd); /* a socket that was not made by a call of ours */
  struct mt_io_call call = {.name = "mltp_io_connect",
                            .fd = fd,
                            .direction = MT_IO_OUT,
                            .attempt = connect_once,
                            .connect = {address, length}};
  int error = mt_io_make(&call, deadline);
  return call.flags != 0 ? call.flags : error;
}

int mltp_io_connect(int fd, const struct sockaddr *address, socklen_t length) {
  return mltp_io_connect_timed(fd, address, length, MLTP_NEVER);
}

/* ---- messages */

static int receive_once(struct mt_io_call *call, const struct mt_io_fd *f) {
  (void)f;
  return os_recvmsg(call->fd, call->message, call->flags, &call->done);
}

int mltp_io_recvmsg_timed(int fd, struct msghdr *message, int flags, size_t *count,
                          uint64_t deadline) {
  struct mt_io_call call = {.name = "mltp_io_recvmsg",
                            .fd = fd,
                            .direction = MT_IO_IN,
                            .attempt = receive_once,
                            .flags = flags,
                            .message = message};
  int error = mt_io_make(&call, deadline);
  *count = call.done;
  return error;
}

int mltp_io_recvmsg(int fd, struct msghdr *message, int flags, size_t *count) {
  return mltp_io_recvmsg_timed(fd, message, flags, count, MLTP_NEVER);
}

static int send_once(struct mt_io_call *call, const struct mt_io_fd *f) {
  (void)f;
  return os_sendmsg(call->fd, call->message_out, call->flags, &call->done);
}

int mltp_io_sendmsg_timed(int fd, const struct msghdr *message, int flags, size_t *count,
                          uint64_t deadline) {
  struct mt_io_call call = {.name = "mltp_io_sendmsg",
                            .fd = fd,
                            .direction = MT_IO_OUT,
                            .attempt = send_once,
                            .flags = flags,
                            .message_out = message};
  int error = mt_io_make(&call, deadline);
  if (count != NULL) *count = call.done;
  return error;
}

int mltp_io_sendmsg(int fd, const struct msghdr *message, int flags, size_t *count) {
  return mltp_io_sendmsg_timed(fd, message, flags, count, MLTP_NEVER);
}

/* ---- the end */

static void wake_side(struct mt_io_side *side) {
  struct mltp_thread *waiters = mt_io_change(side, true);
  if (waiters != NULL) mt_resume_chain(waiters);
}

int mltp_io_close(int fd) {
  if (mt_self("mltp_io_close") == NULL) return EPERM;
  int error;
  struct mt_io_fd *f = mt_io_enter(fd, false, &error);
  if (f == NULL) return error;
  /* relaxed: waiters have the side's lock after us; mt_io_leave() orders the rest */
  bool closes = (mt_or_relaxed(&f->use, MT_IO_CLOSING) & MT_IO_CLOSING) == 0;
  if (closes) {
    wake_side(&f->sides[MT_IO_IN]);
    wake_side(&f->sides[MT_IO_OUT]);
  }
  error = mt_io_leave(f);
  return closes ? error : EBADF;
}
