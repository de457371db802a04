/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are open on several nodes; file.h tells what the nodes have in common.
 *
 * The first node opens, and perhaps makes, the file. Then the others open what has this name there.
 * It is to be the same file: a name may mean a disk of each node's own, and results would be lost
 * without a message. So the first node holds a lock of one byte, far beyond the data, which the
 * others have to see. Where it cannot lock, they compare the number of the inode. Copies of a file
 * that is only read may be on disks of the nodes; the sizes are compared. What nodes remember of a
 * network file system is in network.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tmpi/coll/coll.h"
#include "tmpi/coll/op.h"
#include "tmpi/io/file.h"
#include "tmpi/rank/rank.h"

#define BEYOND ((off_t)1 << 62) /* bytes of data end before; locks of one byte are from here on */

/* ---- locks. They belong to the descriptor, and so to the node. */

static int set_lock(int fd, int type, off_t start, off_t length) {
  struct flock lock = {
      .l_type = (short)type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
  int result;
  mltp_blocking_begin();
  do result = fcntl(fd, F_OFD_SETLKW, &lock);
  while (result != 0 && errno == EINTR);
  int error = result != 0 ? errno : 0;
  mltp_blocking_end();
  return error;
}

int tm_file_lock(const struct tm_file_common *common, bool writes) {
  return set_lock(common->fd, writes ? F_WRLCK : F_RDLCK, 0, BEYOND);
}

void tm_file_unlock(const struct tm_file_common *common) {
  set_lock(common->fd, F_UNLCK, 0, BEYOND);
}

void tm_file_touch_lock(const struct tm_file_common *common) {
  if (set_lock(common->fd, F_RDLCK, BEYOND, 1) == 0) set_lock(common->fd, F_UNLCK, BEYOND, 1);
}

/* ---- opening */

/* What the first node tells the others. */
struct first {
  int error, amode, home_rank;
  bool regular, locked; /* it is a file with data; it holds the lock */
  off_t byte;           /* the one that it has locked */
  uint64_t inode;
  MPI_Offset size;
  uint64_t home;
  MPI_Offset begin;
};

static struct first open_first(const char *name, int amode, int members,
                               struct tm_file_common **common) {
  struct first first = {.amode = amode};
  struct stat state = {0};
  first.error = tm_file_common_open(name, amode, members, common);
  if (first.error != 0 || fstat((*common)->fd, &state) != 0) return first;
  first.regular = S_ISREG(state.st_mode);
  first.inode = state.st_ino;
  first.size = state.st_size;
  first.home = (uintptr_t)*common;
  first.home_rank = tm_rank_self()->number;
  first.begin = (*common)->begin;
  first.byte = BEYOND + 1 + getpid(); /* another job may open the file at this time */
  bool writes = (amode & MPI_MODE_RDONLY) == 0;
  first.locked = first.regular && writes && set_lock((*common)->fd, F_WRLCK, first.byte, 1) == 0;
  return first;
}

/* @return whether a file of this node is the one that the first node has opened. */
static bool is_same(const struct tm_file_common *common, const struct first *first) {
  struct stat state;
  struct flock lock = {.l_type = F_WRLCK, .l_start = first->byte, .l_len = 1};
  if (fstat(common->fd, &state) != 0) return false;
  if (!first->regular || !S_ISREG(state.st_mode)) return first->regular == S_ISREG(state.st_mode);
  if ((common->amode & MPI_MODE_RDONLY) != 0) return state.st_size == first->size;
  if (!first->locked) return state.st_ino == first->inode;
  return fcntl(common->fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* @return 0, an errno, or TM_NOT_ONE_FILE. */
static int open_other(const char *name, const struct first *first, int members,
                      struct tm_file_common **common) {
  int amode = first->amode & ~(MPI_MODE_CREATE | MPI_MODE_EXCL);
  int error = tm_file_common_open(name, amode, members, common);
  if (error != 0) return error == ENOENT ? TM_NOT_ONE_FILE : error;
  (*common)->amode = first->amode;
  (*common)->home = first->home;
  (*common)->begin = first->begin;
  return is_same(*common, first) ? 0 : TM_NOT_ONE_FILE;
}

struct tm_file_opened tm_file_open_on_nodes(struct tm_comm *comm, const char *call,
                                            const char *name, int amode) {
  struct tm_coll coll = tm_coll_begin(comm, call), result = tm_coll_begin(comm, call);
  struct tm_comm *local = comm->local_comm;
  struct tm_coll inside = tm_coll_begin(local, call);
  struct tm_file_common *common = NULL;
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct first first = {0};
  if (comm->rank == 0) first = open_first(name, amode, local->size, &common);
  tm_bcast(&coll, &first, sizeof first, byte, 0);
  int own = first.error, error = 0;
  if (own == 0 && local->rank == 0 && comm->rank != 0)
    own = open_other(name, &first, local->size, &common);
  if (common != NULL) {
    common->spans = true;
    common->home_rank = first.home_rank;
  }
  uintptr_t address = (uintptr_t)common;
  tm_bcast(&inside, &address, sizeof address, byte, 0);
  tm_allreduce(&result, &own, &error, 1, tm_type_of(MPI_INT), tm_op_of(MPI_MAX));
  if (comm->rank == 0 && first.locked) set_lock(common->fd, F_UNLCK, first.byte, 1);
  return (struct tm_file_opened){error, first.amode, (struct tm_file_common *)address};
}

bool tm_file_acts(const struct tm_file *file) {
  const struct tm_comm *local = file->comm->local_comm;
  return local != NULL ? local->rank == 0 : file->comm->rank == 0;
}
