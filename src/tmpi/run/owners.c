/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See owners.h.
 *
 * Relaxed: the number of a rank is all there is, and the program orders its uses of a descriptor.
 */
#include "tmpi/run/owners.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/rank/rank.h"

enum { MOST = 1 << 20 /* descriptors from here on have no owner */ };

static uint32_t *owners; /* [atomic] each: the rank and 1, 0: none. NULL: there is one rank */
static uint32_t *counts; /* [atomic] of each rank: how many it has */
static uint32_t end;     /* [atomic] no descriptor from here on has an owner */
static int first_free;   /* [const] tmpirun and its parent have made all below it */

/* [atomic] The file that each stood for when its owner made it, and tmpirun's when the ranks began;
 * 0: none. A library closes descriptors by other ways than the ones we see: UCX and PMIx some of
 * tmpirun, zlib one that a rank gave it. The next descriptor of the process gets the number. */
static uint64_t *files;

bool tm_owners_start(int ranks) {
  owners = calloc(MOST, sizeof *owners); /* pages that nobody writes to take no memory */
  files = calloc(MOST, sizeof *files);
  counts = calloc((size_t)ranks, sizeof *counts);
  return owners != NULL && files != NULL && counts != NULL;
}

/* @return a number for the file that a descriptor stands for, never 0; 0: it is closed. All of
 * eventfd(), epoll_create() and such are one file, and so are those of one path. */
static uint64_t file_of(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return 0;
  return ((uint64_t)status.st_dev << 32 ^ (uint64_t)status.st_ino) | (uint64_t)1 << 63;
}

/* @return whether it is still what was noted. */
static bool is_same(int fd) {
  uint64_t file = file_of(fd);
  return file != 0 && file == mt_load_relaxed(&files[fd]);
}

/* Those below have owners of their own: streams.c. */
static bool is_known(int fd) { return owners != NULL && fd > STDERR_FILENO && fd < MOST; }

void tm_owners_begin(void) {
  if (owners == NULL) return;
  first_free = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (first_free < 0) return;
  close(first_free);
  for (int fd = 0; fd < first_free; fd++)
    if (is_known(fd)) mt_store_relaxed(&files[fd], file_of(fd));
}

static void set_owner(int fd, uint32_t owner) {
  uint32_t before = mt_load_relaxed(&owners[fd]);
  while (!mt_cas_relaxed(&owners[fd], &before, owner)) continue;
  if (before == owner) return;
  if (before != 0) mt_add_relaxed(&counts[before - 1], -1U);
  if (owner != 0) mt_add_relaxed(&counts[owner - 1], 1);
}

int tm_owner_note(int fd) {
  int rank = tm_rank_number();
  if (!is_known(fd) || rank < 0) return fd;
  uint32_t seen = mt_load_relaxed(&end), next = (uint32_t)fd + 1;
  while (seen < next && !mt_cas_relaxed(&end, &seen, next)) continue;
  mt_store_relaxed(&files[fd], file_of(fd));
  set_owner(fd, (uint32_t)rank + 1);
  return fd;
}

void tm_owner_forget(int fd) {
  if (!is_known(fd)) return;
  mt_store_relaxed(&files[fd], 0);
  set_owner(fd, 0);
}

/* What tmpirun was started with is no such descriptor: exec() would have closed it. */
static bool is_of_tmpirun(int fd, int flags) {
  return fd < first_free && (flags & FD_CLOEXEC) != 0;
}

int tm_owner_other(int fd) {
  int rank = tm_rank_number();
  if (!is_known(fd) || rank < 0) return TM_OWNER_NONE;
  uint32_t owner = mt_load_relaxed(&owners[fd]);
  if (owner == (uint32_t)rank + 1 || (owner == 0 && fd >= first_free)) return TM_OWNER_NONE;
  int flags = fcntl(fd, F_GETFD); /* a library that ranks share may have closed it */
  if (flags < 0 || !is_same(fd)) return TM_OWNER_NONE;
  if (owner != 0) return (int)owner - 1;
  return is_of_tmpirun(fd, flags) ? TM_OWNER_TMPIRUN : TM_OWNER_NONE;
}

/* ---- streams without a descriptor

 * An entry stays until the job ends, and takes another stream of its rank when its own is closed.
 * So nothing is locked: a child of fork() or a handler may close a stream, too. */

static struct made {
  struct made *next;  /* [const] */
  const FILE *stream; /* [atomic] NULL: it is closed */
  int rank;           /* [const] */
} *made;              /* [atomic] */

static struct made *first_made(void) {
  return mt_load_acquire(&made); /* OW-1 acquire: fields of the entries; pairs OW-2 */
}

/* @return NULL: no rank has made it. */
static struct made *find(const FILE *stream) {
  struct made *entry = first_made();
  while (entry != NULL && mt_load_relaxed(&entry->stream) != stream) entry = entry->next;
  return entry;
}

/* The last one at that address may be noted still: a library has closed it. */
void tm_owner_note_stream(const FILE *stream) {
  int rank = tm_rank_number();
  if (owners == NULL || rank < 0) return;
  tm_owner_forget_stream(stream);
  for (struct made *entry = first_made(); entry != NULL; entry = entry->next) {
    const FILE *none = NULL;
    if (entry->rank == rank && mt_cas_relaxed(&entry->stream, &none, stream)) return;
  }
  struct made *fresh = malloc(sizeof *fresh);
  if (fresh == NULL) return;
  *fresh = (struct made){first_made(), stream, rank};
  while (!mt_cas_release(&made, &fresh->next, fresh)) continue; /* OW-2 release: pairs OW-1 */
}

void tm_owner_forget_stream(const FILE *stream) {
  struct made *entry = find(stream);
  if (entry != NULL) mt_store_relaxed(&entry->stream, NULL);
}

bool tm_owner_is_others_stream(FILE *stream) {
  int fd = fileno_unlocked(stream), rank = tm_rank_number();
  if (fd >= 0 || rank < 0) return tm_owner_other(fd) != TM_OWNER_NONE;
  const struct made *entry = find(stream);
  return entry != NULL && entry->rank != rank;
}

/* ---- all of a rank's, or of others */

/* Those whose file is another one now are the next maker's.
 * @return the first descriptor from fd on that another rank has made; -1: there is none. */
static int next_of_others(int fd, int rank) {
  int most = (int)mt_load_relaxed(&end);
  for (; fd < most; fd++) {
    uint32_t owner = mt_load_relaxed(&owners[fd]);
    if (owner != 0 && owner != (uint32_t)rank + 1 && is_same(fd)) return fd;
  }
  return -1;
}

void tm_owners_close_others(int rank) {
  for (int fd = 0; (fd = next_of_others(fd, rank)) >= 0; fd++) close(fd);
}

/* @return the first descriptor from fd on that a rank has made; -1: there is none. */
static int next_of(int rank, int fd) {
  int most = mt_load_relaxed(&counts[rank]) != 0 ? (int)mt_load_relaxed(&end) : 0;
  for (; fd < most; fd++)
    if (mt_load_relaxed(&owners[fd]) == (uint32_t)rank + 1 && is_same(fd)) return fd;
  return -1;
}

void tm_owners_close_own(unsigned first, unsigned last, bool on_exec) {
  int rank = tm_rank_number();
  if (owners == NULL || rank < 0 || first >= MOST) return;
  for (int fd = (int)first; (fd = next_of(rank, fd)) >= 0 && (unsigned)fd <= last; fd++) {
    if (on_exec) {
      fcntl(fd, F_SETFD, FD_CLOEXEC);
      continue;
    }
    tm_owner_forget(fd);
    close(fd);
  }
}

void tm_owners_end(int rank) {
  if (owners == NULL || next_of(rank, 0) < 0) return;
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; null >= 0 && (fd = next_of(rank, fd)) >= 0; fd++) {
    tm_owner_forget(fd);
    dup3(null, fd, O_CLOEXEC);
  }
  if (null >= 0) close(null);
}

int tm_owners_spawn(posix_spawn_file_actions_t *actions) {
  int error = 0, rank = tm_rank_number();
  if (rank < 0) return 0;
  for (int fd = 0; error == 0 && (fd = next_of_others(fd, rank)) >= 0; fd++)
    error = posix_spawn_file_actions_addclose(actions, fd);
  return error;
}
