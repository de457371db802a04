/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mappings at a fixed address. All ranks have one address space, so MAP_FIXED, MREMAP_FIXED or
 * SHM_REMAP would silently replace what another rank has mapped there. Such a call fails with
 * EEXIST, as with MAP_FIXED_NOREPLACE, or EINVAL, as shmat() without SHM_REMAP, after a message. A
 * rank may map over what it has mapped itself.
 *
 * The table has the ranges that ranks have mapped so. They do not overlap, and are
 * sorted. A rank that unmaps a range gives it free for others. Mappings whose address the kernel
 * chose are not in it: it chooses none that is in use.
 *
 * libc unmaps memory without a call of these functions, and gives the stack of a pthread that has
 * ended to a pthread of another rank. A range in there would stay, and the next owner could not map
 * over its own memory. So what a mapping or a pthread gets is taken out of the table.
 */
#include <errno.h>
#include <mltp/mltp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "base/atomic.h"
#include "os/pthreads.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"

struct range {
  uintptr_t start, end; /* end: the first address behind it */
  int rank;
};

static mltp_lock_t lock = MLTP_LOCK_INIT;
static struct range *ranges; /* [lock] */
static size_t count, room;   /* [lock] */
static bool ever_fixed;      /* [atomic] most programs map nothing so */

static bool is_shared(void) { return tm_rank_number() >= 0 && tm_the_program->ranks > 1; }

static uintptr_t page_size(void) { return (uintptr_t)sysconf(_SC_PAGESIZE); }

static struct range range_of(const void *address, size_t bytes, int rank) {
  uintptr_t start = (uintptr_t)address, page = page_size();
  return (struct range){start, start + (bytes + page - 1) / page * page, rank};
}

/* @return the first range that ends behind an address; `count`: none. The lock is held. */
static size_t find(uintptr_t address) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (ranges[middle].end <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* @return a rank, not the range's, that has mapped a part of it; -1: none. */
static int find_other(struct range wanted) {
  for (size_t i = find(wanted.start); i < count && ranges[i].start < wanted.end; i++)
    if (ranges[i].rank != wanted.rank) return ranges[i].rank;
  return -1;
}

/* Makes room for three ranges more. @return false: no memory. */
static bool reserve(void) {
  if (count + 3 <= room) return true;
  size_t more = room != 0 ? 2 * room : 16;
  struct range *grown = realloc(ranges, more * sizeof *grown);
  if (grown == NULL) return false;
  ranges = grown;
  room = more;
  return true;
}

static void insert(size_t at, struct range range) {
  memmove(&ranges[at + 1], &ranges[at], (count - at) * sizeof *ranges);
  ranges[at] = range;
  count++;
}

/* Takes out what lies in [start, end); there is room for one range more. */
static void cut(uintptr_t start, uintptr_t end) {
  size_t i = find(start);
  if (i == count) return;
  if (ranges[i].start < start) {
    struct range behind = {end, ranges[i].end, ranges[i].rank};
    ranges[i++].end = start;
    if (behind.start < behind.end) insert(i, behind);
  }
  size_t first = i;
  while (i < count && ranges[i].end <= end) i++;
  if (i < count && ranges[i].start < end) ranges[i].start = end;
  memmove(&ranges[first], &ranges[i], (count - i) * sizeof *ranges);
  count -= i - first;
}

/* Ranges of one rank that touch become one. */
static void add(struct range range) {
  cut(range.start, range.end);
  size_t i = find(range.start);
  if (i > 0 && ranges[i - 1].end == range.start && ranges[i - 1].rank == range.rank)
    ranges[i - 1].end = range.end;
  else
    insert(i, range);
}

/* The calling rank has got this memory from the kernel or from libc. */
static void take_over(const void *address, size_t bytes) {
  struct range range = range_of(address, bytes, 0);
  mltp_lock(&lock);
  if (count > 0 && reserve()) cut(range.start, range.end);
  mltp_unlock(&lock);
}

/* relaxed: what the caller got was another's before, and came by way of a lock of libc or the
 * kernel */
static bool may_be_listed(void) { return is_shared() && mt_load_relaxed(&ever_fixed); }

void tm_mappings_start_pthread(void) {
  pthread_attr_t attributes;
  void *low;
  size_t size;
  if (!may_be_listed() || os_pthread_getattr(os_pthread_self(), &attributes) != 0) return;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) take_over(low, size);
  pthread_attr_destroy(&attributes);
}

static void report(int rank, const char *call, uintptr_t at, int other) {
  fprintf(stderr,
          "tmpi: rank %d: %s at %p, where rank %d has mapped memory: all ranks have one address "
          "space, so the call fails (let the kernel choose the address)\n",
          rank, call, (void *)at, other);
}

/* A call of mmap() or shmat(). */
struct request {
  void *at;
  size_t bytes;
  int protection, flags, fd; /* fd: of shmat(), the segment */
  off_t offset;
  bool is_segment;
};

static void *map(const struct request *r) {
  if (r->is_segment) return shmat(r->fd, r->at, r->flags);
  return mmap(r->at, r->bytes, r->protection, r->flags, r->fd, r->offset);
}

static bool replaces(const struct request *r) {
  return (r->flags & (r->is_segment ? SHM_REMAP : MAP_FIXED)) != 0;
}

/* @return 0 or an errno value, with *at. */
static int map_fixed(const struct request *r, void **at) {
  struct range wanted = range_of(r->at, r->bytes, tm_rank_number());
  int error = 0;
  mt_store_relaxed(&ever_fixed, true); /* relaxed: see may_be_listed() */
  mltp_lock(&lock);
  int other = find_other(wanted);
  if (other >= 0)
    error = r->is_segment ? EINVAL : EEXIST;
  else if (!reserve())
    error = ENOMEM;
  else if ((*at = map(r)) == MAP_FAILED)
    error = errno;
  else
    add(wanted);
  mltp_unlock(&lock);
  if (other >= 0 && replaces(r))
    report(wanted.rank, r->is_segment ? "shmat: SHM_REMAP" : "mmap: MAP_FIXED", wanted.start,
           other);
  return error;
}

static void *map_or_take_over(const struct request *r, bool fixed) {
  void *at = MAP_FAILED;
  if (!fixed || (uintptr_t)r->at % page_size() != 0 || !is_shared()) {
    at = map(r);
    if (at != MAP_FAILED && may_be_listed()) take_over(at, r->bytes);
    return at;
  }
  int error = map_fixed(r, &at);
  if (error == 0) return at;
  tm_set_errno(error);
  return MAP_FAILED;
}

static void *mmap_rank(void *address, size_t bytes, int protection, int flags, int fd,
                       off_t offset) {
  struct request request = {address, bytes, protection, flags, tm_streams_meant(fd), offset, false};
  return map_or_take_over(&request, (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0);
}

static int munmap_rank(void *address, size_t bytes) {
  if (!is_shared()) return munmap(address, bytes);
  struct range range = range_of(address, bytes, 0);
  mltp_lock(&lock);
  bool cuts = count > 0 && reserve(); /* without memory a range stays, and nobody may map there */
  int result = munmap(address, bytes), error = errno;
  if (result == 0 && cuts) cut(range.start, range.end);
  mltp_unlock(&lock);
  if (result != 0) tm_set_errno(error);
  return result;
}

struct move {
  void *from, *to; /* to: with MREMAP_FIXED */
  size_t old_bytes, bytes;
  int flags;
};

/* The lock is held, and there is room for three ranges. */
static void note_move(const struct move *move, const void *result) {
  struct range old = range_of(move->from, move->old_bytes, 0);
  struct range moved = range_of(result, move->bytes, tm_rank_number());
  if (moved.start == old.start) { /* it stays: what it has lost is free, what it has got is new */
    cut(old.end < moved.end ? old.end : moved.end, old.end < moved.end ? moved.end : old.end);
    return;
  }
  if ((move->flags & MREMAP_DONTUNMAP) == 0) cut(old.start, old.end);
  if ((move->flags & MREMAP_FIXED) != 0)
    add(moved);
  else
    cut(moved.start, moved.end);
}

/* @return MAP_FAILED, with *error. */
static void *move_range(const struct move *move, int *other, int *error) {
  struct range wanted = range_of(move->to, move->bytes, tm_rank_number());
  bool fixed = (move->flags & MREMAP_FIXED) != 0 && wanted.start % page_size() == 0;
  if (fixed) mt_store_relaxed(&ever_fixed, true); /* relaxed: see may_be_listed() */
  *other = fixed ? find_other(wanted) : -1;
  bool noted = (fixed || count > 0) && *other < 0 && reserve();
  *error = *other >= 0 ? EEXIST : ENOMEM;
  if (*other >= 0 || (fixed && !noted)) return MAP_FAILED;
  void *result = mremap(move->from, move->old_bytes, move->bytes, move->flags, move->to);
  *error = errno;
  if (result != MAP_FAILED && noted) note_move(move, result);
  return result;
}

static void *mremap_rank(void *address, size_t old_bytes, size_t bytes, int flags, ...) {
  va_list list;
  va_start(list, flags);
  bool has_target = (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0;
  void *target = has_target ? va_arg(list, void *) : NULL;
  va_end(list);
  if (!is_shared()) return mremap(address, old_bytes, bytes, flags, target);
  const struct move move = {address, target, old_bytes, bytes, flags};
  int other, error;
  mltp_lock(&lock);
  void *result = move_range(&move, &other, &error);
  mltp_unlock(&lock);
  if (other >= 0) report(tm_rank_number(), "mremap: MREMAP_FIXED", (uintptr_t)target, other);
  if (result == MAP_FAILED) tm_set_errno(error);
  return result;
}

/* ---- segments of System V */

/* Segments that ranks have attached at an address of their choice: shmdt() does not say how large
 * they are. */
static struct attached {
  uintptr_t start;
  size_t bytes;
} *attached;                                 /* [lock] */
static size_t attached_count, attached_room; /* [lock] */

/* The lock is held. @return the segment attached at an address; attached_count: none. */
static size_t find_attached(uintptr_t start) {
  size_t i = 0;
  while (i < attached_count && attached[i].start != start) i++;
  return i;
}

/* Without memory its range stays when it is detached, and nobody may map there. */
static void note_attached(const void *at, size_t bytes) {
  mltp_lock(&lock);
  size_t i = find_attached((uintptr_t)at);
  if (i == attached_room) {
    size_t more = i != 0 ? 2 * i : 16;
    struct attached *grown = realloc(attached, more * sizeof *grown);
    if (grown != NULL) {
      attached = grown;
      attached_room = more;
    }
  }
  if (i < attached_room) {
    attached[i] = (struct attached){(uintptr_t)at, bytes};
    if (i == attached_count) attached_count++;
  }
  mltp_unlock(&lock);
}

static void *shmat_rank(int id, const void *address, int flags) {
  struct shmid_ds about;
  if (!is_shared() || shmctl(id, IPC_STAT, &about) != 0) return shmat(id, address, flags);
  uintptr_t place = (uintptr_t)address;
  if ((flags & SHM_RND) != 0) place -= place % SHMLBA;
  struct request request = {
      .at = (void *)place, .bytes = about.shm_segsz, .flags = flags, .fd = id, .is_segment = true};
  void *at = map_or_take_over(&request, place != 0);
  if (at != MAP_FAILED && place != 0) note_attached(at, about.shm_segsz);
  return at;
}

static int shmdt_rank(const void *address) {
  if (!is_shared()) return shmdt(address);
  mltp_lock(&lock);
  size_t i = find_attached((uintptr_t)address);
  bool cuts = i < attached_count && count > 0 && reserve();
  int result = shmdt(address), error = errno;
  if (result == 0 && i < attached_count) {
    struct range range = range_of(address, attached[i].bytes, 0);
    if (cuts) cut(range.start, range.end);
    attached[i] = attached[--attached_count];
  }
  mltp_unlock(&lock);
  if (result != 0) tm_set_errno(error);
  return result;
}

const struct tm_override tm_override_mappings[] = {
    {"mmap", (tm_any *)mmap_rank},
    {"mmap64", (tm_any *)mmap_rank},
    {"munmap", (tm_any *)munmap_rank},
    {"mremap", (tm_any *)mremap_rank},
    {"shmat", (tm_any *)shmat_rank},
    {"shmdt", (tm_any *)shmdt_rank},
    {NULL, NULL},
};
