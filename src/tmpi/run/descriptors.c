/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that make a descriptor, or do something to one. A rank's numbers from 0 to 2 may stand
 * for other descriptors (streams.c): each function finds the one that is meant, and a descriptor
 * that a rank makes gets the lowest number that the rank has closed.
 *
 * Left out: descriptors in messages between processes, and folders of openat() and variants.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <termios.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process_number.h"
#include "tmpi/run/signals.h"
#include "tmpi/run/streams.h"

/* ---- making one */

static int give(int fd, const char *call) { return tm_streams_give(fd, 0, call); }

/* Has `result` of a call that has made two. */
static int give_two(int result, int ends[2], const char *call) {
  for (int i = 0; i < 2 && result == 0; i++) ends[i] = give(ends[i], call);
  return result;
}

static int open_rank(const char *path, int flags, ...) {
  char room[TM_STREAMS_PATH];
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  tm_number_in_name(path, flags);
  return give(open(tm_streams_path(path, room), flags, mode), "open");
}

static int openat_rank(int folder, const char *path, int flags, ...) {
  char room[TM_STREAMS_PATH];
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  va_end(list);
  if (folder == AT_FDCWD) tm_number_in_name(path, flags);
  return give(openat(folder, tm_streams_path(path, room), flags, mode), "openat");
}

static int creat_rank(const char *path, mode_t mode) {
  char room[TM_STREAMS_PATH];
  tm_number_in_name(path, O_CREAT | O_TRUNC);
  return give(creat(tm_streams_path(path, room), mode), "creat");
}

static int pipe_rank(int ends[2]) { return give_two(pipe(ends), ends, "pipe"); }

static int pipe2_rank(int ends[2], int flags) {
  return give_two(pipe2(ends, flags), ends, "pipe2");
}

static int socketpair_rank(int domain, int type, int protocol, int ends[2]) {
  return give_two(socketpair(domain, type, protocol, ends), ends, "socketpair");
}

static int accept_rank(int fd, struct sockaddr *address, socklen_t *length) {
  return give(accept(tm_streams_meant(fd), address, length), "accept");
}

static int accept4_rank(int fd, struct sockaddr *address, socklen_t *length, int flags) {
  return give(accept4(tm_streams_meant(fd), address, length, flags), "accept4");
}

/* What a rank blocks is kept for it here, not by the kernel. */
static void warn_unread(void) {
  static uint32_t warned;
  /* relaxed: a mark alone */
  if (tm_rank_number() < 0 || mt_or_relaxed(&warned, 1) != 0) return;
  fprintf(stderr,
          "tmpirun: rank %d: signalfd() reads no signal that a rank blocks (take it by "
          "sigtimedwait(), or handle it)\n",
          tm_rank_number());
}

static int signalfd_rank(int fd, const sigset_t *mask, int flags) {
  warn_unread();
  int result = signalfd(tm_streams_meant(fd), mask, flags);
  return fd == -1 ? give(result, "signalfd") : tm_streams_number(result);
}

/* Defines NAME_rank, which makes a descriptor by the function NAME. */
#define MAKES(name, parameters, ...)                                                               \
  static int name##_rank parameters { return give(name(__VA_ARGS__), #name); }

MAKES(socket, (int domain, int type, int protocol), domain, type, protocol)
MAKES(eventfd, (unsigned first, int flags), first, flags)
MAKES(timerfd_create, (int clock, int flags), clock, flags)
MAKES(inotify_init, (void))
MAKES(inotify_init1, (int flags), flags)
MAKES(epoll_create, (int size), size)
MAKES(epoll_create1, (int flags), flags)
MAKES(memfd_create, (const char *name, unsigned flags), name, flags)
MAKES(posix_openpt, (int flags), flags)
MAKES(mkstemp, (char *path), path)
MAKES(mkostemp, (char *path, int flags), path, flags)
MAKES(mkstemps, (char *path, int suffix), path, suffix)
MAKES(mkostemps, (char *path, int suffix, int flags), path, suffix, flags)

const char *const tm_descriptor_makers[] = {
    "open",       "open64", "openat",  "openat64", "__open_2",  "__open64_2", "creat", "dup",
    "creat64",    "fcntl",  "fcntl64", "pipe",     "pipe2",     "socket",     "fopen", "fopen64",
    "socketpair", "accept", "accept4", "mkstemp",  "mkstemp64", NULL};

static int shm_open_rank(const char *name, int flags, mode_t mode) {
  tm_number_in_object(name, flags);
  return give(shm_open(name, flags, mode), "shm_open");
}

/* ---- doing something to one */

/* Defines NAME_rank, which calls the function NAME for the descriptor that is meant. */
#define TAKES(type, name, parameters, ...)                                                         \
  static type name##_rank parameters {                                                             \
    fd = tm_streams_meant(fd);                                                                     \
    return name(__VA_ARGS__);                                                                      \
  }

typedef const struct iovec parts_t;

TAKES(ssize_t, read, (int fd, void *data, size_t size), fd, data, size)
TAKES(ssize_t, readv, (int fd, parts_t *parts, int count), fd, parts, count)
TAKES(ssize_t, pread, (int fd, void *data, size_t size, off_t at), fd, data, size, at)
TAKES(ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), fd, data, size, at)
TAKES(ssize_t, preadv, (int fd, parts_t *parts, int count, off_t at), fd, parts, count, at)
TAKES(ssize_t, pwritev, (int fd, parts_t *parts, int count, off_t at), fd, parts, count, at)
TAKES(int, isatty, (int fd), fd)
TAKES(int, ttyname_r, (int fd, char *name, size_t room), fd, name, room)
TAKES(int, fsync, (int fd), fd)
TAKES(int, fdatasync, (int fd), fd)
TAKES(off_t, lseek, (int fd, off_t offset, int whence), fd, offset, whence)
TAKES(int, ftruncate, (int fd, off_t length), fd, length)
TAKES(int, fallocate, (int fd, int mode, off_t at, off_t length), fd, mode, at, length)
TAKES(int, posix_fallocate, (int fd, off_t at, off_t length), fd, at, length)
TAKES(int, posix_fadvise, (int fd, off_t at, off_t length, int advice), fd, at, length, advice)
TAKES(int, fstat, (int fd, struct stat *status), fd, status)
TAKES(int, fstatfs, (int fd, struct statfs *status), fd, status)
TAKES(int, fstatvfs, (int fd, struct statvfs *status), fd, status)
TAKES(int, fchmod, (int fd, mode_t mode), fd, mode)
TAKES(int, fchown, (int fd, uid_t user, gid_t group), fd, user, group)
TAKES(int, futimens, (int fd, const struct timespec times[2]), fd, times)
TAKES(int, futimes, (int fd, const struct timeval times[2]), fd, times)
TAKES(long, fpathconf, (int fd, int name), fd, name)
TAKES(int, tcgetattr, (int fd, struct termios *state), fd, state)
TAKES(int, tcsetattr, (int fd, int when, const struct termios *state), fd, when, state)
TAKES(pid_t, tcgetpgrp, (int fd), fd)
TAKES(int, bind, (int fd, const struct sockaddr *address, socklen_t length), fd, address, length)
TAKES(int, connect, (int fd, const struct sockaddr *address, socklen_t length), fd, address, length)
TAKES(int, listen, (int fd, int backlog), fd, backlog)
TAKES(int, shutdown, (int fd, int how), fd, how)
TAKES(ssize_t, send, (int fd, const void *data, size_t size, int flags), fd, data, size, flags)
TAKES(ssize_t, recv, (int fd, void *data, size_t size, int flags), fd, data, size, flags)
TAKES(ssize_t, sendto,
      (int fd, const void *data, size_t size, int flags, const struct sockaddr *to,
       socklen_t length),
      fd, data, size, flags, to, length)
TAKES(ssize_t, recvfrom,
      (int fd, void *data, size_t size, int flags, struct sockaddr *from, socklen_t *length), fd,
      data, size, flags, from, length)
TAKES(ssize_t, sendmsg, (int fd, const struct msghdr *message, int flags), fd, message, flags)
TAKES(ssize_t, recvmsg, (int fd, struct msghdr *message, int flags), fd, message, flags)
TAKES(int, getsockopt, (int fd, int level, int name, void *value, socklen_t *length), fd, level,
      name, value, length)
TAKES(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t length), fd,
      level, name, value, length)
TAKES(int, getsockname, (int fd, struct sockaddr *address, socklen_t *length), fd, address, length)
TAKES(int, getpeername, (int fd, struct sockaddr *address, socklen_t *length), fd, address, length)

static int ioctl_rank(int fd, unsigned long request, ...) {
  va_list list;
  va_start(list, request);
  void *argument = va_arg(list, void *);
  va_end(list);
  return ioctl(tm_streams_meant(fd), request, argument);
}

/* ---- the forms of _FORTIFY_SOURCE, which end the program when there is no room */

ssize_t __read_chk(int fd, void *data, size_t size, size_t room);
ssize_t __pread_chk(int fd, void *data, size_t size, off_t at, size_t room);
ssize_t __recv_chk(int fd, void *data, size_t size, size_t room, int flags);
int __poll_chk(struct pollfd *asked, nfds_t count, int timeout, size_t room);

TAKES(ssize_t, __read_chk, (int fd, void *data, size_t size, size_t room), fd, data, size, room)
TAKES(ssize_t, __pread_chk, (int fd, void *data, size_t size, off_t at, size_t room), fd, data,
      size, at, room)
TAKES(ssize_t, __recv_chk, (int fd, void *data, size_t size, size_t room, int flags), fd, data,
      size, room, flags)

/* ---- two at once */

static ssize_t sendfile_rank(int out, int in, off_t *at, size_t size) {
  return sendfile(tm_streams_meant(out), tm_streams_meant(in), at, size);
}

static ssize_t copy_file_range_rank(int in, off_t *in_at, int out, off_t *out_at, size_t size,
                                    unsigned flags) {
  return copy_file_range(tm_streams_meant(in), in_at, tm_streams_meant(out), out_at, size, flags);
}

static ssize_t splice_rank(int in, off_t *in_at, int out, off_t *out_at, size_t size,
                           unsigned flags) {
  return splice(tm_streams_meant(in), in_at, tm_streams_meant(out), out_at, size, flags);
}

/* ---- waiting for some */

static int epoll_ctl_rank(int epoll, int operation, int fd, struct epoll_event *event) {
  return epoll_ctl(tm_streams_meant(epoll), operation, tm_streams_meant(fd), event);
}

static int epoll_wait_rank(int fd, struct epoll_event *events, int count, int timeout) {
  return epoll_wait(tm_streams_meant(fd), events, count, timeout);
}

static int epoll_pwait_rank(int fd, struct epoll_event *events, int count, int timeout,
                            const sigset_t *mask) {
  struct tm_masked masked;
  int result = -1;
  if (tm_masked_begin(&masked, &mask))
    result = epoll_pwait(tm_streams_meant(fd), events, count, timeout, mask);
  tm_masked_end(&masked);
  return result;
}

/* The program's own list, in place. A null pointer is for the kernel to refuse. @return whether it
 * has to be changed back. */
static bool change_list(struct pollfd *asked, nfds_t count) {
  if (asked == NULL || !tm_streams_any()) return false;
  for (nfds_t i = 0; i < count; i++) asked[i].fd = tm_streams_meant(asked[i].fd);
  return true;
}

static void change_back(struct pollfd *asked, nfds_t count) {
  for (nfds_t i = 0; i < count; i++) asked[i].fd = tm_streams_number(asked[i].fd);
}

static int poll_rank(struct pollfd *asked, nfds_t count, int timeout) {
  bool changed = change_list(asked, count);
  int result = poll(asked, count, timeout);
  if (changed) change_back(asked, count);
  return result;
}

static int ppoll_rank(struct pollfd *asked, nfds_t count, const struct timespec *timeout,
                      const sigset_t *mask) {
  struct tm_masked masked;
  bool changed = change_list(asked, count);
  int result = -1;
  if (tm_masked_begin(&masked, &mask)) result = ppoll(asked, count, timeout, mask);
  tm_masked_end(&masked);
  if (changed) change_back(asked, count);
  return result;
}

static int poll_checked(struct pollfd *asked, nfds_t count, int timeout, size_t room) {
  bool changed = change_list(asked, count);
  int result = __poll_chk(asked, count, timeout, room);
  if (changed) change_back(asked, count);
  return result;
}

/* The sets of select() with the descriptors that are meant. */
enum { SETS = 3 };

struct sets {
  fd_set *given[SETS], meant[SETS];
  int given_count, count;
};

/* @return false: one is closed, or is not for a set, with errno. */
static bool translate(struct sets *sets) {
  sets->count = sets->given_count;
  for (int i = 0; i < SETS; i++) {
    FD_ZERO(&sets->meant[i]);
    for (int fd = 0; fd < sets->given_count; fd++) {
      if (sets->given[i] == NULL || !FD_ISSET(fd, sets->given[i])) continue;
      int meant = tm_streams_meant(fd);
      if (meant >= FD_SETSIZE) {
        errno = EBADF;
        return false;
      }
      FD_SET(meant, &sets->meant[i]);
      if (meant >= sets->count) sets->count = meant + 1;
    }
  }
  return true;
}

static void translate_back(struct sets *sets) {
  for (int i = 0; i < SETS; i++)
    for (int fd = 0; fd < sets->given_count && sets->given[i] != NULL; fd++)
      if (FD_ISSET(fd, sets->given[i]) && !FD_ISSET(tm_streams_meant(fd), &sets->meant[i]))
        FD_CLR(fd, sets->given[i]);
}

static int select_rank(int count, fd_set *reads, fd_set *writes, fd_set *others,
                       struct timeval *timeout) {
  struct sets sets = {.given = {reads, writes, others}, .given_count = count};
  if (count > FD_SETSIZE || !tm_streams_any()) return select(count, reads, writes, others, timeout);
  if (!translate(&sets)) return -1;
  fd_set *meant = sets.meant;
  int result = select(sets.count, &meant[0], &meant[1], &meant[2], timeout);
  if (result >= 0) translate_back(&sets);
  return result;
}

static int pselect_masked(int count, fd_set *reads, fd_set *writes, fd_set *others,
                          const struct timespec *timeout, const sigset_t *mask) {
  struct tm_masked masked;
  int result = -1;
  if (tm_masked_begin(&masked, &mask))
    result = pselect(count, reads, writes, others, timeout, mask);
  tm_masked_end(&masked);
  return result;
}

static int pselect_rank(int count, fd_set *reads, fd_set *writes, fd_set *others,
                        const struct timespec *timeout, const sigset_t *mask) {
  struct sets sets = {.given = {reads, writes, others}, .given_count = count};
  if (count > FD_SETSIZE || !tm_streams_any())
    return pselect_masked(count, reads, writes, others, timeout, mask);
  if (!translate(&sets)) return -1;
  fd_set *meant = sets.meant;
  int result = pselect_masked(sets.count, &meant[0], &meant[1], &meant[2], timeout, mask);
  if (result >= 0) translate_back(&sets);
  return result;
}

#define ROW(name) {#name, (tm_any *)name##_rank}
#define ROW_64(name)                                                                               \
  ROW(name), { #name "64", (tm_any *)name##_rank }

const struct tm_override tm_override_descriptors[] = {
    ROW_64(open),
    ROW_64(openat),
    ROW_64(creat),
    {"__open_2", (tm_any *)open_rank},
    {"__open64_2", (tm_any *)open_rank},
    {"__openat_2", (tm_any *)openat_rank},
    {"__openat64_2", (tm_any *)openat_rank},
    ROW(pipe),
    ROW(pipe2),
    ROW(socketpair),
    ROW(accept),
    ROW(accept4),
    ROW(signalfd),
    ROW(socket),
    ROW(eventfd),
    ROW(timerfd_create),
    ROW(inotify_init),
    ROW(inotify_init1),
    ROW(epoll_create),
    ROW(epoll_create1),
    ROW(memfd_create),
    ROW(shm_open),
    ROW(posix_openpt),
    ROW_64(mkstemp),
    ROW_64(mkostemp),
    ROW_64(mkstemps),
    ROW_64(mkostemps),
    ROW(read),
    ROW(readv),
    ROW_64(pread),
    ROW_64(pwrite),
    ROW_64(preadv),
    ROW_64(pwritev),
    ROW(isatty),
    ROW(ttyname_r),
    ROW(fsync),
    ROW(fdatasync),
    ROW_64(lseek),
    ROW_64(ftruncate),
    ROW_64(fallocate),
    ROW_64(posix_fallocate),
    ROW_64(posix_fadvise),
    ROW_64(fstat),
    ROW_64(fstatfs),
    ROW_64(fstatvfs),
    ROW(fchmod),
    ROW(fchown),
    ROW(futimens),
    ROW(futimes),
    ROW(fpathconf),
    ROW(tcgetattr),
    ROW(tcsetattr),
    ROW(tcgetpgrp),
    ROW(bind),
    ROW(connect),
    ROW(listen),
    ROW(shutdown),
    ROW(send),
    ROW(recv),
    ROW(sendto),
    ROW(recvfrom),
    ROW(sendmsg),
    ROW(recvmsg),
    ROW(getsockopt),
    ROW(setsockopt),
    ROW(getsockname),
    ROW(getpeername),
    ROW(ioctl),
    ROW(__read_chk),
    ROW(__pread_chk),
    {"__pread64_chk", (tm_any *)__pread_chk_rank},
    ROW(__recv_chk),
    ROW_64(sendfile),
    ROW(copy_file_range),
    ROW(splice),
    ROW(epoll_ctl),
    ROW(epoll_wait),
    ROW(epoll_pwait),
    ROW(poll),
    ROW(ppoll),
    {"__poll_chk", (tm_any *)poll_checked},
    ROW(select),
    ROW(pselect),
    {NULL, NULL},
};
