/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets and pages shared with another process. */
#include "os/unix.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "os/os.h"

/* Errno is the program's: every function here leaves it alone. */
static int fail(int saved, int fd) {
  int error = errno;
  if (fd >= 0) close(fd);
  errno = saved;
  return error;
}

static bool may_serve_us(int fd) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  return peer.uid == 0 || peer.uid == geteuid();
}

static struct os_socket identify(int fd) {
  struct stat status;
  struct os_socket socket = {.fd = fd};
  if (fstat(fd, &status) == 0) {
    socket.device = status.st_dev;
    socket.inode = status.st_ino;
  }
  return socket;
}

int os_unix_connect(const char *path, struct os_socket *to) {
  int saved = errno;
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlen(path) >= sizeof address.sun_path) return ENAMETOOLONG;
  strcpy(address.sun_path, path);
  if (access(path, F_OK) != 0) return fail(saved, -1); /* most often: no socket to make and close */
  int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return fail(saved, -1);
  fd = os_descriptor_raise(fd);
  if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0) return fail(saved, fd);
  if (!may_serve_us(fd)) {
    errno = EACCES;
    return fail(saved, fd);
  }
  *to = identify(fd);
  errno = saved;
  return 0;
}

bool os_socket_is_ours(const struct os_socket *s) {
  int saved = errno;
  struct stat status;
  bool ours = fstat(s->fd, &status) == 0 && status.st_dev == s->device && status.st_ino == s->inode;
  errno = saved;
  return ours;
}

int os_unix_send(const struct os_socket *to, const void *message, size_t size) {
  int saved = errno;
  if (!os_socket_is_ours(to)) return EBADF;
  if (send(to->fd, message, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return fail(saved, -1);
  errno = saved;
  return 0;
}

static void take_descriptors(const struct msghdr *header, int fds[OS_DESCRIPTORS]) {
  for (int i = 0; i < OS_DESCRIPTORS; i++) fds[i] = -1;
  for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL;
       c = CMSG_NXTHDR((struct msghdr *)header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    if (count > OS_DESCRIPTORS) count = OS_DESCRIPTORS;
    memcpy(fds, CMSG_DATA(c), count * sizeof(int));
  }
}

int os_unix_receive(const struct os_socket *from, void *message, size_t size, int wait_ms,
                    int fds[OS_DESCRIPTORS]) {
  int saved = errno;
  if (!os_socket_is_ours(from)) return EBADF;
  union {
    char bytes[CMSG_SPACE(OS_DESCRIPTORS * sizeof(int))];
    struct cmsghdr align;
  } control;
  struct iovec part = {message, size};
  struct msghdr header = {
      .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  struct pollfd one = {.fd = from->fd, .events = POLLIN};
  if (wait_ms > 0) poll(&one, 1, wait_ms); /* a signal shortens the wait; the caller asks again */
  ssize_t got = recvmsg(from->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) return fail(saved, -1);
  take_descriptors(&header, fds);
  errno = saved;
  if (got == 0) return ECONNRESET;
  return (size_t)got == size ? 0 : EPROTO;
}

void os_unix_close(struct os_socket *s) {
  int saved = errno;
  if (s->fd >= 0 && os_socket_is_ours(s)) close(s->fd);
  s->fd = -1;
  errno = saved;
}

void os_program_name(char *name, size_t size) {
  strncpy(name, program_invocation_short_name, size - 1);
  name[size - 1] = '\0';
}

/* Without these seals the other side could cut the file, and a load would raise SIGBUS. */
static bool is_sealed(int fd, size_t size) {
  struct stat status;
  int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &status) == 0 &&
         (size_t)status.st_size >= size;
}

int os_page_attach(int fd, size_t size, bool writable, void **page) {
  int saved = errno;
  int error = 0, fixed = *page != NULL ? MAP_FIXED : 0;
  if (!is_sealed(fd, size)) {
    error = EPERM;
  } else {
    void *at =
        mmap(*page, size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED | fixed, fd, 0);
    if (at != MAP_FAILED)
      *page = at;
    else
      error = errno;
  }
  close(fd);
  errno = saved;
  return error;
}
