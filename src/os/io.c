/* SPDX-License-Identifier: Apache-2.0 */
/* Attempts to read, write and connect. None of them waits, but those on files. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/os.h"

/* The result of a call that returns bytes, or -1; errno is the caller's again. */
static int bytes(ssize_t result, size_t *count, int saved) {
  int error = result < 0 ? errno : 0;
  *count = result < 0 ? 0 : (size_t)result;
  errno = saved;
  return error;
}

/* Returns what a descriptor is that is no file. */
static enum os_fd_kind kind_of(int fd, const struct stat *status) {
  int protocol = 0;
  socklen_t length = sizeof protocol;
  if (!S_ISSOCK(status->st_mode)) return OS_FD_STREAM;
  bool known = getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) == 0;
  return known && protocol == IPPROTO_TCP ? OS_FD_TCP : OS_FD_SOCKET;
}

int os_fd_prepare(int fd, enum os_fd_kind *kind) {
  int saved = errno, error = 0;
  struct stat status;
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0 || fstat(fd, &status) != 0) {
    error = errno;
  } else if (S_ISREG(status.st_mode) || S_ISBLK(status.st_mode) || S_ISDIR(status.st_mode)) {
    *kind = OS_FD_FILE;
  } else {
    *kind = kind_of(fd, &status);
    if ((flags & O_NONBLOCK) == 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) error = errno;
  }
  errno = saved;
  return error;
}

/* Not repeated: Linux has closed it, whatever it says. */
int os_fd_close(int fd) {
  int saved = errno;
  int error = close(fd) == 0 || errno == EINTR ? 0 : errno;
  errno = saved;
  return error;
}

int os_readv(int fd, const struct iovec *parts, int number, size_t *count) {
  int saved = errno;
  ssize_t result;
  result = TEMP_FAILURE_RETRY(number == 1 ? read(fd, parts->iov_base, parts->iov_len)
                                          : readv(fd, parts, number));
  return bytes(result, count, saved);
}

int os_writev(int fd, const struct iovec *parts, int number, size_t *count) {
  int saved = errno;
  ssize_t result;
  result = TEMP_FAILURE_RETRY(number == 1 ? write(fd, parts->iov_base, parts->iov_len)
                                          : writev(fd, parts, number));
  return bytes(result, count, saved);
}

int os_preadv(int fd, const struct iovec *part, off_t offset, size_t *count) {
  int saved = errno;
  ssize_t result;
  result = TEMP_FAILURE_RETRY(pread(fd, part->iov_base, part->iov_len, offset));
  return bytes(result, count, saved);
}

int os_pwritev(int fd, const struct iovec *part, off_t offset, size_t *count) {
  int saved = errno;
  ssize_t result;
  result = TEMP_FAILURE_RETRY(pwrite(fd, part->iov_base, part->iov_len, offset));
  return bytes(result, count, saved);
}

int os_pread_cached(int fd, const struct iovec *part, off_t offset, size_t *count) {
  int saved = errno;
  ssize_t result;
  result = TEMP_FAILURE_RETRY(preadv2(fd, part, 1, offset, RWF_NOWAIT));
  return bytes(result, count, saved);
}

int os_recvmsg(int fd, struct msghdr *message, int flags, size_t *count) {
  int saved = errno;
  ssize_t result;
  if (message->msg_iovlen == 1 && message->msg_name == NULL && message->msg_control == NULL)
    result = TEMP_FAILURE_RETRY(
        recv(fd, message->msg_iov->iov_base, message->msg_iov->iov_len, flags | MSG_DONTWAIT));
  else
    result = TEMP_FAILURE_RETRY(recvmsg(fd, message, flags | MSG_DONTWAIT));
  return bytes(result, count, saved);
}

int os_sendmsg(int fd, const struct msghdr *message, int flags, size_t *count) {
  int saved = errno;
  ssize_t result;
  flags |= MSG_DONTWAIT | MSG_NOSIGNAL;
  if (message->msg_iovlen == 1 && message->msg_name == NULL && message->msg_control == NULL)
    result =
        TEMP_FAILURE_RETRY(send(fd, message->msg_iov->iov_base, message->msg_iov->iov_len, flags));
  else
    result = TEMP_FAILURE_RETRY(sendmsg(fd, message, flags));
  return bytes(result, count, saved);
}

/* A connection that ended before it was accepted is not the server's error. */
int os_accept(int fd, struct sockaddr *address, socklen_t *length, int *connection) {
  int saved = errno, result;
  do
    result =
        accept4(fd, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC); /* stores none if it fails */
  while (result < 0 && (errno == EINTR || errno == ECONNABORTED));
  int error = result < 0 ? errno : 0;
  if (error == 0) *connection = result;
  errno = saved;
  return error;
}

/* A signal does not end a connect: it continues in the background. A local socket that blocks has
 * waited for room in the queue of the other side, and nothing continues there. */
int os_connect(int fd, const struct sockaddr *address, socklen_t length) {
  int saved = errno, error;
  do error = connect(fd, address, length) == 0 ? 0 : errno;
  while (error == EINTR && address->sa_family == AF_UNIX);
  if (error == EINTR) error = EINPROGRESS;
  errno = saved;
  return error;
}

int os_connected(int fd) {
  int saved = errno, error = 0;
  socklen_t length = sizeof error;
  struct pollfd writable = {.fd = fd, .events = POLLOUT};
  if (poll(&writable, 1, 0) == 0)
    error = EAGAIN;
  else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
    error = errno;
  errno = saved;
  return error;
}

int os_sendfile(int to, int from, off_t *offset, size_t size, size_t *count) {
  int saved = errno;
  ssize_t result;
  result = TEMP_FAILURE_RETRY(sendfile(to, from, offset, size));
  return bytes(result, count, saved);
}

int os_poll_now(struct pollfd *fds, size_t number, int *ready) {
  int saved = errno, result;
  result = TEMP_FAILURE_RETRY(poll(fds, number, 0));
  int error = result < 0 ? errno : 0;
  *ready = result < 0 ? 0 : result;
  errno = saved;
  return error;
}

int os_open(const char *path, int flags, mode_t mode, int *fd) {
  int saved = errno, result;
  result = TEMP_FAILURE_RETRY(open(path, flags | O_CLOEXEC, mode));
  int error = result < 0 ? errno : 0;
  if (error == 0) *fd = result;
  errno = saved;
  return error;
}

int os_fsync(int fd) {
  int saved = errno, result;
  result = TEMP_FAILURE_RETRY(fsync(fd));
  int error = result < 0 ? errno : 0;
  errno = saved;
  return error;
}
