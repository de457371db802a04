/* SPDX-License-Identifier: Apache-2.0 */
/* Files and the mappings of programs. */
#include "os/map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

int os_file_open(const char *path, int *fd, size_t *size) {
  struct stat status;
  *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO would wait for its writer */
  if (*fd < 0) return errno;
  int error = fstat(*fd, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : EISDIR;
  if (error != 0)
    close(*fd);
  else
    *size = (size_t)status.st_size;
  return error;
}

void os_file_close(int fd) { close(fd); }

int os_file_identity(int fd, uint64_t *device, uint64_t *inode) {
  struct stat status;
  if (fstat(fd, &status) != 0) return errno;
  *device = status.st_dev;
  *inode = status.st_ino;
  return 0;
}

uint64_t os_file_stamp(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return 0;
  uint64_t seconds = (uint64_t)status.st_mtim.tv_sec, rest = (uint64_t)status.st_mtim.tv_nsec;
  /* a file that is cut has its new size some time before its new date */
  return (seconds * 1000000000 + rest) ^ (uint64_t)status.st_size << 40;
}

bool os_file_is_noexec(int fd) {
  struct statvfs system;
  return fstatvfs(fd, &system) == 0 && (system.f_flag & ST_NOEXEC) != 0;
}

int os_file_make(const char *path, int *fd) {
  *fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  return *fd < 0 ? errno : 0;
}

void os_raise_file_limit(void) {
  struct rlimit limit; /* refused: opening files will say so */
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int os_file_read(int fd, void *to, size_t size, off_t offset) {
  for (size_t done = 0; done < size;) {
    ssize_t got = pread(fd, (char *)to + done, size - done, offset + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    done += (size_t)got;
  }
  return 0;
}

void *os_map_memory(size_t size) {
  void *address =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) return NULL;
  madvise(address, size, MADV_NOHUGEPAGE); /* each rank's few pages lie far apart */
  return address;
}

int os_map_file(void *address, size_t size, int fd, off_t offset, bool executable) {
  enum { AROUND = 64 << 10 }; /* as much comes with the first fault anyway */
  int protection = PROT_READ | (executable ? PROT_EXEC : 0);
  int flags = MAP_PRIVATE | MAP_FIXED | (size <= AROUND ? MAP_POPULATE : 0);
  return mmap(address, size, protection, flags, fd, offset) != MAP_FAILED ? 0 : errno;
}

void os_unmap(void *address, size_t size) { munmap(address, size); }
