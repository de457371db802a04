/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page faults that a kernel thread of the process serves: userfaultfd(2).
 *
 * The kernel thread that serves them has a table of descriptors of its own. The descriptor is in no
 * other, so a program that closes all descriptors does not close it: then the kernel would give
 * zeroes for each page that was moved away.
 *
 * The descriptor also serves faults of the kernel, in a system call that copies to or from such a
 * page. Without that right (UFFD_USER_MODE_ONLY) the call would fail with EFAULT, so such a
 * descriptor is not used.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/faults.h"

#ifndef UFFDIO_MOVE /* Linux 6.8; older headers lack it */
#define UFFD_FEATURE_MOVE (1 << 16)
struct uffdio_move {
  __u64 dst, src, len, mode;
  __s64 move;
};
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#endif
#ifndef USERFAULTFD_IOC_NEW /* Linux 6.1 */
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif

enum {
  MESSAGES = 64,       /* faults that are read at a time */
  MOVES_MOST = 100,    /* attempts to move a page that the kernel has locked for a moment */
  WAIT_MOST_MS = 60000 /* of one poll() */
};

/* A table of descriptors of its own, with none in it: the kernel thread would keep files of the
 * program open. @return 0 or an errno value. */
static int leave_descriptors(void) {
  enum { UNSHARE = 1 << 1 /* CLOSE_RANGE_UNSHARE */ };
  return syscall(SYS_close_range, 0u, ~0u, UNSHARE) == 0 ? 0 : errno;
}

/* @return the descriptor, or -1 with errno: EPERM where the right is missing. */
static int make_descriptor(void) {
  int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
  if (fd >= 0) return fd;
  int error = errno, device = open("/dev/userfaultfd", O_RDWR | O_CLOEXEC);
  if (device >= 0) {
    fd = ioctl(device, USERFAULTFD_IOC_NEW, O_CLOEXEC | O_NONBLOCK);
    close(device);
  }
  errno = error;
  return fd;
}

int os_faults_open(struct os_faults *faults, const char *name) {
  struct uffdio_api api = {.api = UFFD_API, .features = UFFD_FEATURE_MOVE};
  faults->fd = faults->memory = -1;
  prctl(PR_SET_NAME, name); /* refused: it has the name of its creator */
  int error = leave_descriptors();
  if (error != 0) return error;
  int fd = make_descriptor();
  if (fd < 0) return errno;
  if (ioctl(fd, UFFDIO_API, &api) != 0) { /* EINVAL: an older kernel */
    error = errno == EINVAL ? EOPNOTSUPP : errno;
    close(fd);
    return error;
  }
  faults->fd = fd;
  faults->memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
  return 0;
}

void os_faults_close(struct os_faults *faults) {
  if (faults->fd >= 0) close(faults->fd);
  if (faults->memory >= 0) close(faults->memory);
  faults->fd = faults->memory = -1;
}

int os_faults_watch(const struct os_faults *faults, void *address, size_t size) {
  struct uffdio_register range = {.range = {(uintptr_t)address, size},
                                  .mode = UFFDIO_REGISTER_MODE_MISSING};
  return ioctl(faults->fd, UFFDIO_REGISTER, &range) == 0 ? 0 : errno;
}

/* A store would wait for the caller itself. The kernel writes to the file without waiting. */
void os_faults_own(const struct os_faults *faults, const void *zero) {
  off_t at = (off_t)(uintptr_t)zero;
  ssize_t written = faults->memory >= 0 ? pwrite(faults->memory, "", 1, at) : 0;
  (void)written; /* refused: the page stays as it is */
}

int os_faults_move(const struct os_faults *faults, void *to, void *from, size_t size) {
  int error = 0;
  for (int i = 0; i < MOVES_MOST; i++) {
    struct uffdio_move move = {.dst = (uintptr_t)to, .src = (uintptr_t)from, .len = size};
    if (ioctl(faults->fd, UFFDIO_MOVE, &move) == 0) return 0;
    error = errno;
    if (error != EAGAIN) break;
  }
  return error;
}

static void wake(const struct os_faults *faults, const void *page, size_t size) {
  struct uffdio_range range = {(uintptr_t)page, size};
  ioctl(faults->fd, UFFDIO_WAKE, &range); /* cannot fail for a page */
}

int os_faults_fill(const struct os_faults *faults, void *page, const void *content, size_t size) {
  int error;
  do { /* EAGAIN: the mappings of the process are changing */
    struct uffdio_copy copy = {
        .dst = (uintptr_t)page, .src = (uintptr_t)content, .len = size, .mode = 0};
    error = ioctl(faults->fd, UFFDIO_COPY, &copy) == 0 ? 0 : errno;
  } while (error == EAGAIN);
  if (error == EEXIST || error == ENOENT) { /* it is there already, or the mapping is gone */
    wake(faults, page, size);
    error = 0;
  }
  return error;
}

static int left_ms(uint64_t deadline) {
  uint64_t now = os_now(), left = deadline > now ? (deadline - now + 999999) / 1000000 : 0;
  return left < WAIT_MOST_MS ? (int)left : WAIT_MOST_MS;
}

size_t os_faults_wait(const struct os_faults *faults, uintptr_t *addresses, size_t most,
                      uint64_t deadline) {
  struct uffd_msg messages[MESSAGES];
  if (most > MESSAGES) most = MESSAGES;
  if (deadline != 0) {
    struct pollfd on = {.fd = faults->fd, .events = POLLIN};
    if (poll(&on, 1, left_ms(deadline)) <= 0) return 0;
  }
  ssize_t length = read(faults->fd, messages, most * sizeof messages[0]);
  size_t count = 0, number = length > 0 ? (size_t)length / sizeof messages[0] : 0;
  for (size_t i = 0; i < number; i++)
    if (messages[i].event == UFFD_EVENT_PAGEFAULT)
      addresses[count++] = (uintptr_t)messages[i].arg.pagefault.address;
  return count;
}

void os_faults_fatal(const char *call, int error, const char *remedy) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/fd/2", (int)getpid());
  int fd = open(path, O_WRONLY | O_APPEND);
  if (fd >= 0) dup2(fd, STDERR_FILENO);
  os_fatal(call, error, remedy);
}
