/* SPDX-License-Identifier: Apache-2.0 */
/* Reading memory that may not be there: the kernel copies it, and says EFAULT where a load
 * would end the program. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "os/os.h"

enum { PAGE_MIN = 4096 /* a piece that crosses none is there or is not */ };

/* Where a filter or an emulator has no process_vm_readv(): write() reads memory as well. By
 * syscall(), since sanitizers look at what a program itself writes. */
static bool copy_through_pipe(void *to, const void *from, size_t size) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  bool copied = syscall(SYS_write, ends[1], from, size) == (long)size &&
                syscall(SYS_read, ends[0], to, size) == (long)size;
  close(ends[0]);
  close(ends[1]);
  return copied;
}

static bool copy(void *to, const void *from, size_t size) {
  struct iovec local = {to, size}, remote = {(void *)(uintptr_t)from, size};
  long copied = syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0);
  if (copied >= 0 || errno == EFAULT) return copied == (long)size;
  return copy_through_pipe(to, from, size);
}

size_t os_peek(void *to, const void *from, size_t size) {
  int saved = errno;
  size_t done = 0;
  while (done < size) {
    const char *next = (const char *)((uintptr_t)from + done); /* it may be any number */
    size_t piece = PAGE_MIN - (uintptr_t)next % PAGE_MIN;
    if (piece > size - done) piece = size - done;
    if (!copy((char *)to + done, next, piece)) break;
    done += piece;
  }
  errno = saved;
  return done;
}
