/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What programs make of the process number. They take it for what no other process has, but ranks
 * are one process: two of them write to one file that they have named by it, and each loses data.
 * Or all ranks start the same random numbers from it. Neither shows in an exit status.
 *
 * Rejected: a number of its own for each rank. A debugger, /proc and other programs do not know it.
 */
#include "tmpi/run/process_number.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"

enum { NOTES = 256 /* what comes later is not looked at */ };

/* Which rank has made the file of a name, or was the first to start from a seed. */
static struct note {
  uint64_t what; /* a hash of the name; the seed; 0: none */
  int rank;
  bool removed;        /* by another rank: what that one makes is not this rank's */
} notes[NOTES];        /* [ilock] */
static uint32_t ilock; /* of notes */
static uint32_t asked; /* [atomic] 1: a rank has asked for the number */

static pid_t getpid_rank(void) {
  mt_store_relaxed(&asked, 1); /* relaxed: the rank that asks sees it, and no other has to */
  return getpid();
}

/* Call it with the lock. @return the note of that; a free one; NULL: all are used. */
static struct note *find(uint64_t what) {
  struct note *unused = NULL;
  for (int i = 0; i < NOTES; i++) {
    if (notes[i].what == what) return &notes[i];
    if (notes[i].what == 0 && unused == NULL) unused = &notes[i];
  }
  return unused;
}

/* is_new: nobody else has it, unless another rank has removed it. @return the rank that has noted
 * it: `rank`, if there was none. */
static int first_to(uint64_t what, int rank, bool is_new) {
  int first = rank;
  mti_lock(&ilock);
  struct note *note = find(what);
  if (note != NULL && (note->what != what || (is_new && !note->removed)))
    *note = (struct note){what, rank, false};
  else if (note != NULL)
    first = note->rank;
  mti_unlock(&ilock);
  return first;
}

/* The rank has removed the file: if another rank has noted it, that one has lost its own. */
static void note_removal(uint64_t what, int rank) {
  mti_lock(&ilock);
  struct note *note = find(what);
  if (note != NULL && note->what == what) {
    if (note->rank == rank)
      note->what = 0;
    else
      note->removed = true;
  }
  mti_unlock(&ilock);
}

/* @return the rank that may make something of the number; -1: none has asked for it. */
static int asking_rank(void) {
  const struct tm_process *process = tm_process_self();
  /* relaxed: see getpid_rank() */
  return process != NULL && mt_load_relaxed(&asked) != 0 ? process->number : -1;
}

/* ---- files */

/* @return whether digits in the name are the number. A number of a fixed width may stand between
 * other digits. */
static bool has_number(const char *path) {
  enum { WIDE = 3 /* zeros in front of it that are no chance */ };
  char number[16];
  int length = snprintf(number, sizeof number, "%d", (int)getpid());
  for (const char *at = strstr(path, number); at != NULL; at = strstr(at + 1, number)) {
    const char *start = at;
    while (start > path && start[-1] == '0') start--;
    bool begins = start == path || !isdigit((unsigned char)start[-1]);
    if (at - start >= WIDE || (begins && !isdigit((unsigned char)at[length]))) return true;
  }
  return false;
}

static uint64_t hash_of(const char *path) {
  uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
  for (; *path != '\0'; path++) hash = (hash ^ (unsigned char)*path) * 0x100000001b3;
  return hash;
}

static bool exists(const char *path) {
  int error = errno;
  bool found = access(path, F_OK) == 0;
  errno = error;
  return found;
}

/* @return the rank that the calling one's use of the name is noted for; -1: it is not looked at. */
static int naming_rank(const char *path) {
  int rank = path != NULL ? asking_rank() : -1;
  if (rank < 0 || !has_number(path)) return -1;
  return path[0] == '/' || !tm_carry_is_own() ? rank : -1; /* another rank's is in another folder */
}

/* A file that is new cannot be the other rank's: that one has renamed or removed its own. But if
 * this rank has removed it, for a left-over of a process that had its number, it takes the other
 * rank's place. */
void tm_number_in_name(const char *path, int flags) {
  static uint32_t reported; /* [atomic] */
  bool replaces = (flags & O_TRUNC) != 0 || (flags & (O_CREAT | O_APPEND)) == O_CREAT;
  int rank = replaces ? naming_rank(path) : -1;
  if (rank < 0) return;
  bool is_new = !exists(path);
  if (!is_new && (flags & O_EXCL) != 0) return; /* the call fails */
  int first = first_to(hash_of(path), rank, is_new);
  if (first == rank || mt_or_relaxed(&reported, 1) != 0) return; /* relaxed: a mark alone */
  fprintf(stderr,
          "tmpirun: ranks %d and %d write to the same file '%s': its name has the process number, "
          "which all ranks share (put the rank into the name)\n",
          first, rank, path);
}

/* A rank is about to remove the file. */
static void remove_name(const char *path) {
  int rank = naming_rank(path);
  if (rank >= 0 && exists(path)) note_removal(hash_of(path), rank);
}

static int unlink_rank(const char *path) {
  remove_name(path);
  return unlink(path);
}

static int unlinkat_rank(int folder, const char *path, int flags) {
  if (folder == AT_FDCWD) remove_name(path);
  return unlinkat(folder, path, flags);
}

static int remove_rank(const char *path) {
  remove_name(path);
  return remove(path);
}

/* ---- objects that libc keeps as files */

enum { OBJECT_PATH = 300 /* no name is longer than a file's */ };

static const char *object_path(char path[OBJECT_PATH], const char *prefix, const char *name) {
  if (name == NULL) return NULL;
  snprintf(path, OBJECT_PATH, "/dev/shm/%s%s", prefix, name + strspn(name, "/"));
  return path;
}

void tm_number_in_object(const char *name, int flags) {
  char path[OBJECT_PATH];
  tm_number_in_name(object_path(path, "", name), flags);
}

static int shm_unlink_rank(const char *name) {
  char path[OBJECT_PATH];
  remove_name(object_path(path, "", name));
  return shm_unlink(name);
}

static sem_t *sem_open_rank(const char *name, int flags, ...) {
  char path[OBJECT_PATH];
  va_list list;
  va_start(list, flags);
  mode_t mode = va_arg(list, mode_t);
  unsigned value = va_arg(list, unsigned);
  va_end(list);
  tm_number_in_name(object_path(path, "sem.", name), flags);
  return sem_open(name, flags, mode, value);
}

static int sem_unlink_rank(const char *name) {
  char path[OBJECT_PATH];
  remove_name(object_path(path, "sem.", name));
  return sem_unlink(name);
}

/* ---- random numbers */

enum { SECONDS = 60 /* since a program has read the clock, on a loaded machine */ };

/* @return whether it is what programs commonly make of the number, and of the time. */
static bool is_of_number(uint32_t seed) {
  uint32_t number = (uint32_t)getpid(), now = (uint32_t)time(NULL);
  bool found = seed == number;
  for (uint32_t then = now - SECONDS; then != now + 1; then++)
    found |= seed == then + number || seed == then - number || seed == (then ^ number) ||
             seed == then * number;
  return found;
}

/* The functions that set a seed (src/tmpi/private/random.c) call this. */
static void start_from(long seed) {
  static uint32_t reported; /* [atomic] */
  int rank = asking_rank();
  if (rank < 0 || !is_of_number((uint32_t)seed)) return;
  int first = first_to((uint32_t)seed, rank, false);
  if (first == rank || mt_or_relaxed(&reported, 1) != 0) return; /* relaxed: a mark alone */
  fprintf(stderr,
          "tmpirun: ranks %d and %d start the same random numbers, from %lu: it is made of the "
          "process number, which all ranks share (add the rank)\n",
          first, rank, (unsigned long)(uint32_t)seed);
}

const struct tm_override tm_override_number[] = {
    {"getpid", (tm_any *)getpid_rank},
    {"unlink", (tm_any *)unlink_rank},
    {"unlinkat", (tm_any *)unlinkat_rank},
    {"remove", (tm_any *)remove_rank},
    {"shm_unlink", (tm_any *)shm_unlink_rank},
    {"sem_open", (tm_any *)sem_open_rank},
    {"sem_unlink", (tm_any *)sem_unlink_rank},
    {"tm_seed_given", (tm_any *)start_from},
    {NULL, NULL},
};
