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
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"

enum { NOTES = 256 /* what comes later is not looked at */ };

/* Which rank was the first to write to the file of a name, or to start from a seed. */
static struct note {
  uint64_t what; /* a hash of the name; the seed */
  int rank;
} notes[NOTES];        /* [ilock] */
static int count;      /* [ilock] */
static uint32_t ilock; /* of notes */
static uint32_t asked; /* [atomic] 1: a rank has asked for the number */

static pid_t getpid_rank(void) {
  mt_store_relaxed(&asked, 1); /* relaxed: the rank that asks sees it, and no other has to */
  return getpid();
}

/* @return the first rank that has noted it: `rank`, if there was none. */
static int first_to(uint64_t what, int rank) {
  mti_lock(&ilock);
  int i = 0;
  while (i < count && notes[i].what != what) i++;
  if (i == count && count < NOTES) notes[count++] = (struct note){what, rank};
  int first = i < count ? notes[i].rank : rank;
  mti_unlock(&ilock);
  return first;
}

/* @return the rank that may make something of the number; -1: none has asked for it. */
static int asking_rank(void) {
  const struct tm_process *process = tm_process_self();
  /* relaxed: see getpid_rank() */
  return process != NULL && mt_load_relaxed(&asked) != 0 ? process->number : -1;
}

/* ---- files */

/* @return whether digits in the name are the number, perhaps after zeros. */
static bool has_number(const char *path) {
  char number[16];
  int length = snprintf(number, sizeof number, "%d", (int)getpid());
  for (const char *at = strstr(path, number); at != NULL; at = strstr(at + 1, number)) {
    const char *start = at;
    while (start > path && start[-1] == '0') start--;
    bool begins = start == path || !isdigit((unsigned char)start[-1]);
    if (begins && !isdigit((unsigned char)at[length])) return true;
  }
  return false;
}

static uint64_t hash_of(const char *path) {
  uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */
  for (; *path != '\0'; path++) hash = (hash ^ (unsigned char)*path) * 0x100000001b3;
  return hash;
}

/* One that is new cannot be the other rank's: that one has renamed or removed its own. */
static bool exists(const char *path) {
  int error = errno;
  bool found = access(path, F_OK) == 0;
  errno = error;
  return found;
}

void tm_number_in_name(const char *path, int flags) {
  static uint32_t reported; /* [atomic] */
  bool replaces = (flags & O_TRUNC) != 0 || (flags & (O_CREAT | O_APPEND | O_EXCL)) == O_CREAT;
  int rank = replaces ? asking_rank() : -1;
  if (rank < 0 || path == NULL || !has_number(path)) return;
  if (path[0] != '/' && tm_carry_is_own()) return; /* another rank's is in another folder */
  bool is_old = exists(path);
  int first = first_to(hash_of(path), rank);
  if (first == rank || !is_old) return;
  if (mt_or_relaxed(&reported, 1) != 0) return; /* relaxed: a mark alone */
  fprintf(stderr,
          "tmpirun: ranks %d and %d write to the same file '%s': its name has the process number, "
          "which all ranks share (put the rank into the name)\n",
          first, rank, path);
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
  int first = first_to((uint32_t)seed, rank);
  if (first == rank || mt_or_relaxed(&reported, 1) != 0) return; /* relaxed: a mark alone */
  fprintf(stderr,
          "tmpirun: ranks %d and %d start the same random numbers, from %lu: it is made of the "
          "process number, which all ranks share (add the rank)\n",
          first, rank, (unsigned long)(uint32_t)seed);
}

const struct tm_override tm_override_number[] = {
    {"getpid", (tm_any *)getpid_rank},
    {"tm_seed_given", (tm_any *)start_from},
    {NULL, NULL},
};
