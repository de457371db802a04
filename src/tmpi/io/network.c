/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of network file systems in a job of several nodes. On one node nothing of this is done.
 *
 * The kernel of a node remembers names, sizes and data, NFS for up to a minute. MPI promises that
 * a rank sees what another one has done before they met, so a node asks the server again:
 * - a name, before it is opened or removed: of its folder. A name that another node has removed
 *   would open the removed file, and what is written to it would be lost;
 * - a size, in MPI_File_sync() and where it is asked for;
 * - data, in MPI_File_sync(): NFS forgets them when a lock is taken. The lock is a shared one: the
 *   server makes a node that waits for a lock ask again, and it sleeps for seconds between.
 *
 * A node of NFS that has a page writes all of it, and so loses what another node has written to it
 * since. Linux writes no more than it was given where each write goes to the server at once, which
 * is chosen.
 *
 * A file system in user space (FUSE) has a process on each node, which may remember all of this,
 * too. No call makes it ask its server, so a job is warned before it writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/io/file.h"
#include "tmpi/rank/rank.h"

static bool is_on(int fd, long magic) {
  struct statfs system;
  return fstatfs(fd, &system) == 0 && system.f_type == magic;
}

static bool is_on_nfs(int fd) { return is_on(fd, NFS_SUPER_MAGIC); }

/* What the server has of an open file. @return 0 or an errno. */
static int ask_server(int fd, struct statx *now) {
  int flags = AT_EMPTY_PATH | AT_STATX_FORCE_SYNC;
  return statx(fd, "", flags, STATX_BASIC_STATS, now) == 0 ? 0 : errno;
}

/* ---- names */

void tm_file_refresh_name(const char *name) {
  char folder[PATH_MAX];
  struct statx unused;
  if (tm_job.far == NULL) return;
  const char *slash = strrchr(name, '/');
  int length = slash != NULL ? (int)(slash - name) + 1 : 1;
  snprintf(folder, sizeof folder, "%.*s", length, slash != NULL ? name : ".");
  statx(AT_FDCWD, folder, AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &unused);
}

/* @return whether the server has no name for a file. A symbolic link may lead to another folder
 * than the one that was asked. */
static bool is_removed(int fd) {
  struct statx now;
  if (!is_on_nfs(fd)) return false;
  int error = ask_server(fd, &now);
  return error == ESTALE || (error == 0 && now.stx_nlink == 0);
}

int tm_file_open_name(const char *name, int flags) {
  enum { TRIES = 3 };
  for (int i = 0; i < TRIES; i++) {
    tm_file_refresh_name(name);
    int fd = open(name, flags, 0666);
    if (fd < 0 || tm_job.far == NULL || !is_removed(fd)) return fd;
    close(fd);
  }
  errno = (flags & O_CREAT) != 0 ? ESTALE : ENOENT;
  return -1;
}

int tm_file_write_at_once(const struct tm_file_common *common) {
  bool writes = (common->amode & MPI_MODE_RDONLY) == 0;
  int access = (common->amode & MPI_MODE_RDWR) != 0 ? O_RDWR : O_WRONLY;
  if (tm_job.far == NULL || !writes || !is_on_nfs(common->fd)) return 0;
  int fd = open(common->name, access | O_DSYNC | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = dup3(fd, common->fd, O_CLOEXEC) < 0 ? errno : 0;
  close(fd);
  return error;
}

void tm_file_warn_of_memory(const struct tm_file_common *common) {
  static uint32_t warned; /* [atomic] */
  bool writes = (common->amode & MPI_MODE_RDONLY) == 0;
  if (tm_job.far == NULL || !writes || !is_on(common->fd, FUSE_SUPER_MAGIC)) return;
  if (mt_or_relaxed(&warned, 1) != 0) return; /* relaxed: a mark alone */
  fprintf(
      stderr,
      "tmpi: warning: '%s' is on a file system in user space (FUSE): its client on each node may "
      "remember names, sizes and data, and show old ones even after MPI_File_sync() (tmpirun(1) "
      "says what helps)\n",
      common->name);
}

/* ---- sizes and data */

int tm_file_size(const struct tm_file_common *common, MPI_Offset *size) {
  struct statx now;
  struct stat known;
  if (tm_job.far != NULL && ask_server(common->fd, &now) == 0) {
    *size = (MPI_Offset)now.stx_size;
    return 0;
  }
  if (fstat(common->fd, &known) != 0) return errno;
  *size = known.st_size;
  return 0;
}

/* A file system without locks has no such memory, and data that are not read need not be fresh. */
void tm_file_refresh(const struct tm_file_common *common) {
  MPI_Offset unused;
  if (tm_job.far == NULL) return;
  if ((common->amode & MPI_MODE_WRONLY) == 0) tm_file_touch_lock(common);
  tm_file_size(common, &unused);
}
