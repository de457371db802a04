/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing, whatever the descriptor is. */
#include "io/call.h"
#include "mltp/io.h"

/* A socket is read by recv() with MSG_DONTWAIT. */
static int receive(int fd, enum os_fd_kind kind, const struct iovec *parts, int number, int flags,
                   size_t *count) {
  if (kind < OS_FD_SOCKET && flags == 0) return os_readv(fd, parts, number, count);
  struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)number};
  return os_recvmsg(fd, &message, flags, count);
}

static int transmit(int fd, enum os_fd_kind kind, const struct iovec *parts, int number, int flags,
                    size_t *count) {
  if (kind < OS_FD_SOCKET && flags == 0) return os_writev(fd, parts, number, count);
  struct msghdr message = {.msg_iov = (struct iovec *)parts, .msg_iovlen = (size_t)number};
  return os_sendmsg(fd, &message, flags, count);
}

/* One part: the sizes of several would have to be added up. */
static int read_once(struct mt_io_call *call, const struct mt_io_fd *f) {
  int error = receive(call->fd, mt_io_kind(f), call->parts, call->number, call->flags, &call->done);
  call->short_read = error == 0 && mt_io_kind(f) == OS_FD_TCP && call->number == 1 &&
                     call->flags == 0 && call->done != 0 && call->done < call->parts->iov_len;
  return error;
}

/* All parts: first the rest of one that was cut, then the others in one system call. */
static int write_all(struct mt_io_call *call, const struct mt_io_fd *f) {
  bool more = mt_io_advance(call, 0);
  while (more) {
    struct iovec rest = {(char *)call->parts->iov_base + call->offset,
                         call->parts->iov_len - call->offset};
    bool cut = call->offset != 0;
    size_t count;
    int error = transmit(call->fd, mt_io_kind(f), cut ? &rest : call->parts, cut ? 1 : call->number,
                         call->flags, &count);
    if (error != 0) return error;
    more = mt_io_advance(call, count);
  }
  return 0;
}

/* An empty message is one where messages have bounds. */
static int write_none(struct mt_io_call *call, const struct mt_io_fd *f) {
  size_t count;
  return transmit(call->fd, mt_io_kind(f), call->parts, call->number, call->flags, &count);
}

static int read_parts(const char *name, int fd, const struct iovec *parts, int number, int flags,
                      size_t *count, uint64_t deadline) {
  struct mt_io_call call = {.name = name,
                            .fd = fd,
                            .direction = MT_IO_IN,
                            .attempt = read_once,
                            .parts = parts,
                            .number = number,
                            .flags = flags};
  int error = mt_io_make(&call, deadline);
  *count = call.done;
  return error;
}

static int write_parts(const char *name, int fd, const struct iovec *parts, int number, int flags,
                       size_t *count, uint64_t deadline) {
  bool none = number == 1 && parts->iov_len == 0;
  struct mt_io_call call = {.name = name,
                            .fd = fd,
                            .direction = MT_IO_OUT,
                            .attempt = none ? write_none : write_all,
                            .parts = parts,
                            .number = number,
                            .flags = flags};
  int error = mt_io_make(&call, deadline);
  if (count != NULL) *count = call.done;
  return error;
}

int mltp_io_read_timed(int fd, void *buffer, size_t size, size_t *count, uint64_t deadline) {
  struct iovec part = {buffer, size};
  return read_parts("mltp_io_read", fd, &part, 1, 0, count, deadline);
}

int mltp_io_read(int fd, void *buffer, size_t size, size_t *count) {
  return mltp_io_read_timed(fd, buffer, size, count, MLTP_NEVER);
}

int mltp_io_readv_timed(int fd, const struct iovec *parts, int number, size_t *count,
                        uint64_t deadline) {
  return read_parts("mltp_io_readv", fd, parts, number, 0, count, deadline);
}

int mltp_io_readv(int fd, const struct iovec *parts, int number, size_t *count) {
  return mltp_io_readv_timed(fd, parts, number, count, MLTP_NEVER);
}

int mltp_io_recv_timed(int fd, void *buffer, size_t size, int flags, size_t *count,
                       uint64_t deadline) {
  struct iovec part = {buffer, size};
  return read_parts("mltp_io_recv", fd, &part, 1, flags | MSG_DONTWAIT, count, deadline);
}

int mltp_io_recv(int fd, void *buffer, size_t size, int flags, size_t *count) {
  return mltp_io_recv_timed(fd, buffer, size, flags, count, MLTP_NEVER);
}

int mltp_io_write_timed(int fd, const void *buffer, size_t size, size_t *count, uint64_t deadline) {
  struct iovec part = {(void *)(uintptr_t)buffer, size};
  return write_parts("mltp_io_write", fd, &part, 1, 0, count, deadline);
}

int mltp_io_write(int fd, const void *buffer, size_t size, size_t *count) {
  return mltp_io_write_timed(fd, buffer, size, count, MLTP_NEVER);
}

int mltp_io_writev_timed(int fd, const struct iovec *parts, int number, size_t *count,
                         uint64_t deadline) {
  bool none = number == 1 && parts->iov_len == 0; /* writev(2) sends no empty message */
  return write_parts("mltp_io_writev", fd, parts, none ? 0 : number, 0, count, deadline);
}

int mltp_io_writev(int fd, const struct iovec *parts, int number, size_t *count) {
  return mltp_io_writev_timed(fd, parts, number, count, MLTP_NEVER);
}

int mltp_io_send_timed(int fd, const void *buffer, size_t size, int flags, size_t *count,
                       uint64_t deadline) {
  struct iovec part = {(void *)(uintptr_t)buffer, size};
  return write_parts("mltp_io_send", fd, &part, 1, flags | MSG_DONTWAIT, count, deadline);
}

int mltp_io_send(int fd, const void *buffer, size_t size, int flags, size_t *count) {
  return mltp_io_send_timed(fd, buffer, size, flags, count, MLTP_NEVER);
}
