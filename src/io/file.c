/* SPDX-License-Identifier: Apache-2.0 */
/* Files. What is in the page cache is read at once; the rest is the pool's. */
#include "core/det/det.h"
#include "io/call.h"
#include "io/pool.h"
#include "mltp/io.h"

/* ---- at an offset */

struct span {
  struct mt_io_job job; /* first */
  int fd;
  struct iovec part; /* what is left */
  off_t offset;
  size_t done;
  int error;
};

static void advance(struct span *span, size_t count) {
  span->part.iov_base = (char *)span->part.iov_base + count;
  span->part.iov_len -= count;
  span->offset += (off_t)count;
  span->done += count;
}

/* A pool's job has bytes to move. */
static void read_span(struct mt_io_job *job) {
  struct span *span = (struct span *)job;
  size_t count;
  do {
    span->error = os_preadv(span->fd, &span->part, span->offset, &count);
    advance(span, count);
  } while (span->part.iov_len != 0 && count != 0 && span->error == 0);
}

static void write_span(struct mt_io_job *job) {
  struct span *span = (struct span *)job;
  size_t count;
  do {
    span->error = os_pwritev(span->fd, &span->part, span->offset, &count);
    advance(span, count);
  } while (span->part.iov_len != 0 && span->error == 0);
}

static int run_span(const char *name, struct span *span, bool reads) {
  struct mltp_thread *self = mt_self(name);
  if (self == NULL) return EPERM;
  mt_preempt(name);
  int error;
  struct mt_io_fd *f = mt_io_enter(span->fd, false, &error);
  if (f == NULL) return error;
  size_t count;
  bool cached = reads && os_pread_cached(span->fd, &span->part, span->offset, &count) == 0;
  if (cached) advance(span, count);
  /* A short read from the cache: the file may continue on the device. */
  if (span->part.iov_len != 0 && !(cached && count == 0))
    error = mt_pool_run(self, &span->job, "a call on a file");
  mt_io_leave(f);
  return error != 0 ? error : span->error;
}

int mltp_io_pread(int fd, void *buffer, size_t size, off_t offset, size_t *count) {
  struct span span = {.job.run = read_span, .fd = fd, .part = {buffer, size}, .offset = offset};
  int error = run_span("mltp_io_pread", &span, true);
  *count = span.done;
  return error;
}

int mltp_io_pwrite(int fd, const void *buffer, size_t size, off_t offset, size_t *count) {
  struct span span = {
      .job.run = write_span, .fd = fd, .part = {(void *)(uintptr_t)buffer, size}, .offset = offset};
  int error = run_span("mltp_io_pwrite", &span, false);
  if (count != NULL) *count = span.done;
  return error;
}

/* ---- whole files */

struct opening {
  struct mt_io_job job; /* first */
  const char *path;
  int flags;
  mode_t mode;
  int fd;
  int error;
};

static void open_file(struct mt_io_job *job) {
  struct opening *opening = (struct opening *)job;
  opening->error = os_open(opening->path, opening->flags, opening->mode, &opening->fd);
}

/* A FIFO is opened without waiting for its other end, as any descriptor that is to be polled. */
int mltp_io_open(const char *path, int flags, mode_t mode, int *fd) {
  struct mltp_thread *self = mt_self("mltp_io_open");
  if (self == NULL) return EPERM;
  mt_preempt("mltp_io_open");
  struct opening opening = {.job.run = open_file, .path = path, .flags = flags, .mode = mode};
  int error = mt_pool_run(self, &opening.job, "a file to be opened");
  if (error == 0) error = opening.error;
  if (error != 0) return error;
  mt_io_unknown(opening.fd);
  *fd = opening.fd;
  return 0;
}

struct syncing {
  struct mt_io_job job; /* first */
  int fd;
  int error;
};

static void sync_file(struct mt_io_job *job) {
  struct syncing *syncing = (struct syncing *)job;
  syncing->error = os_fsync(syncing->fd);
}

int mltp_io_fsync(int fd) {
  struct mltp_thread *self = mt_self("mltp_io_fsync");
  if (self == NULL) return EPERM;
  mt_preempt("mltp_io_fsync");
  int error;
  struct mt_io_fd *f = mt_io_enter(fd, false, &error);
  if (f == NULL) return error;
  struct syncing syncing = {.job.run = sync_file, .fd = fd};
  error = mt_pool_run(self, &syncing.job, "a file to be on its device");
  mt_io_leave(f);
  return error != 0 ? error : syncing.error;
}

/* ---- to a socket */

static int send_some(struct mt_io_call *call, const struct mt_io_fd *f) {
  (void)f;
  while (call->file.size != 0) {
    size_t count;
    int error = os_sendfile(call->fd, call->file.from, call->file.offset, call->file.size, &count);
    if (error != 0) return error;
    if (count == 0) return 0; /* the end of the file */
    call->done += count;
    call->file.size -= count;
  }
  return 0;
}

int mltp_io_sendfile_timed(int to, int from, off_t *offset, size_t size, size_t *count,
                           uint64_t deadline) {
  struct mt_io_call call = {.name = "mltp_io_sendfile",
                            .fd = to,
                            .direction = MT_IO_OUT,
                            .attempt = send_some,
                            .file = {from, offset, size}};
  int error = mt_io_make(&call, deadline);
  if (count != NULL) *count = call.done;
  return error;
}

int mltp_io_sendfile(int to, int from, off_t *offset, size_t size, size_t *count) {
  return mltp_io_sendfile_timed(to, from, offset, size, count, MLTP_NEVER);
}
