/* SPDX-License-Identifier: Apache-2.0 */
/* See working_directory.h.
 *
 * Relaxed: fields of a rank that `serial` orders; flags that only go up and cost nothing if seen
 * late. */
#include "tmpi/run/working_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/direct_switch.h"
#include "core/internal/locks.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

enum files { UNKNOWN, REFUSED, OWN };

static const uint64_t no_serial = UINT64_MAX;

/* Beside the number of what a kernel thread has: it was lent to a handler; the hook is set, so that
 * the number changes whenever threads do. */
static const uint32_t lent = (uint32_t)1 << 31, followed = (uint32_t)1 << 30;

static struct tm_carried *all, none; /* of ranks; what tmpirun has */
static int start_folder;             /* [const] once files is OWN */
static uint32_t files;               /* [atomic] enum files */
static uint64_t serials;             /* [atomic] */
static uint32_t hooked;              /* [atomic] 1: tm_carry_hook() was called */
static uint32_t ilock;               /* of the first change */

/* What the kernel thread has. */
static __thread bool has_own;       /* nobody else changes its working directory */
static __thread uint64_t at_serial; /* of the change that it has seen */
static __thread uint32_t applied;   /* the number of what it has or is about to have, with bits */

bool tm_carry_start(int ranks) {
  all = calloc((size_t)ranks, sizeof *all);
  return all != NULL;
}

struct tm_carried *tm_carried(void) { return &all[tm_rank_number()]; }

/* ---- applying */

/* A handler may interrupt it and do the same. What it restores is the new one, since `applied` was
 * written first. */
static void apply_files(const struct tm_carried *wanted) {
  uint64_t serial = mt_load_acquire(&wanted->serial); /* CY-1 acquire: fields; pairs CY-2, CY-3 */
  if (has_own && serial == at_serial) return;
  if (!has_own && os_unshare_files() != 0) return; /* the first thread could: unlikely */
  has_own = true;
  at_serial = no_serial;
  int folder = mt_load_relaxed(&wanted->folder);
  bool entered = fchdir(folder != 0 ? folder : start_folder) == 0;
  umask((mode_t)mt_load_relaxed(serial != 0 ? &wanted->mask : &none.mask));
  if (entered) at_serial = serial;
}

static void apply(uint32_t what) {
  uint32_t number = what & ~(lent | followed);
  const struct tm_carried *wanted = number != 0 ? &all[number - 1] : &none;
  int error = errno;
  applied = what;
  /* CY-5 acquire: what tmpirun has; pairs CY-4 */
  if (mt_load_acquire(&files) == OWN) apply_files(wanted);
  tm_locale_apply(wanted, (what & lent) != 0);
  errno = error;
}

void tm_carry_apply(uint32_t number) {
  apply(mt_load_relaxed(&hooked) != 0 ? number | followed : number);
}

uint32_t tm_carry_lend(uint32_t number) {
  uint32_t before = applied;
  apply(number | lent | followed);
  return before;
}

/* Within a switch `applied` is right, and the number is that of the thread before. */
void tm_carry_return(uint32_t before, uint32_t number) {
  apply((before & followed) != 0 ? before : number);
}

/* Where no rank follows nobody looks at the working directory, which would cost system calls. */
static void prepare(uint32_t number) {
  applied = number | followed;
  if (number != 0)
    apply(applied);
  else
    tm_locale_apply(&none, false);
}

void tm_carry_hook(void) {
  mt_store_relaxed(&hooked, 1);
  mti_set_switch_hook(prepare);
}

/* ---- changing */

/* Before a rank has changed anything: what tmpirun has is read. */
static enum files begin(void) {
  enum files now = REFUSED;
  start_folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (start_folder >= 0 && os_unshare_files() == 0) {
    has_own = true;
    none.mask = (uint32_t)umask(0);
    umask((mode_t)none.mask);
    now = OWN;
  }
  mt_store_release(&files, now); /* CY-4 release: what tmpirun has; pairs CY-5 */
  if (now == OWN) tm_carry_hook();
  return now;
}

/* @return whether each rank has a working directory and a umask of its own. */
static bool ranks_have_files(void) {
  if (tm_the_program->ranks == 1) return false;
  enum files now = mt_load_relaxed(&files); /* relaxed: tm_carry_apply() looks again */
  if (now == UNKNOWN) {
    mti_lock(&ilock);
    now = mt_load_relaxed(&files);
    if (now == UNKNOWN) now = begin();
    mti_unlock(&ilock);
  }
  return now == OWN;
}

/* @return whether the calling thread has those of its rank. */
static bool has_files(void) {
  int rank = tm_rank_number();
  bool has = rank >= 0 && ranks_have_files();
  if (has) tm_carry_apply((uint32_t)rank + 1);
  return has;
}

static bool is_shared(void) { return tm_rank_number() >= 0 && tm_the_program->ranks > 1; }

/* A thread that runs already keeps what it had. */
static void warn_of_pthreads(const char *call) {
  static uint32_t warned; /* [atomic] */
  if (mt_load_relaxed(&tm_process_self()->pthreads) == 0 || mt_or_relaxed(&warned, 1) != 0) return;
  fprintf(stderr,
          "tmpirun: rank %d called %s() while it has pthreads: its other threads keep what they "
          "had (call it before pthread_create)\n",
          tm_rank_number(), call);
}

static void publish(struct tm_carried *carried, int folder, mode_t mask) {
  if (folder != carried->folder && carried->before != 0) close(carried->before);
  if (folder != carried->folder) carried->before = carried->folder;
  mt_store_relaxed(&carried->folder, folder);
  mt_store_relaxed(&carried->mask, (uint32_t)mask);
  uint64_t serial = mt_add_relaxed(&serials, 1) + 1;
  mt_store_release(&carried->serial, serial); /* CY-2 release: the fields; pairs CY-1 */
  tm_carry_apply((uint32_t)tm_rank_number() + 1);
}

/* Takes the descriptor over; -1: errno tells. A handler of another rank may undo the first change
 * of the kernel thread (tm_carry_return()), which only tells whether the rank may enter.
 * @return 0, or -1 with errno */
static int enter(const char *call, int folder) {
  struct tm_carried *carried = tm_carried();
  if (folder < 0) return -1;
  if (fchdir(folder) != 0) {
    int error = errno;
    close(folder);
    errno = error;
    return -1;
  }
  publish(carried, folder, (mode_t)(carried->serial != 0 ? carried->mask : none.mask));
  warn_of_pthreads(call);
  return 0;
}

static void warn_shared(const char *call) {
  static uint32_t warned; /* [atomic] */
  if (!is_shared() || mt_or_relaxed(&warned, 1) != 0) return;
  fprintf(stderr,
          "tmpirun: rank %d called %s(): all ranks share working directory and umask, since "
          "unshare(2) is refused here (use absolute paths, or allow it)\n",
          tm_rank_number(), call);
}

static int chdir_rank(const char *path) {
  if (has_files()) return enter("chdir", open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (chdir(path) != 0) return -1;
  warn_shared("chdir");
  return 0;
}

bool tm_carry_is_own(void) { return tm_rank_number() >= 0 ? has_files() : ranks_have_files(); }

int tm_carry_enter(const char *path) { return chdir_rank(path); }

static int fchdir_rank(int fd) {
  if (has_files()) return enter("fchdir", fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (fchdir(fd) != 0) return -1;
  warn_shared("fchdir");
  return 0;
}

static mode_t umask_rank(mode_t mask) {
  bool own = has_files();
  mode_t old = umask(mask);
  if (mask == old) return old;
  if (own) {
    publish(tm_carried(), tm_carried()->folder, mask);
    if (mask != 0) warn_of_pthreads("umask"); /* 0: how a program reads it */
  } else if (mask != 0) {
    warn_shared("umask");
  }
  return old;
}

/* A handler of the rank may be running on another rank's kernel thread. Where no rank has changed
 * anything, what they have is memory that nobody has touched, and stays so. */
void tm_carry_end(int rank) {
  struct tm_carried *carried = &all[rank];
  if (mt_load_relaxed(&hooked) == 0) return;
  int folder = carried->folder;
  mt_store_relaxed(&carried->folder, 0);
  mt_store_relaxed(&carried->locale, NULL);
  mt_store_relaxed(&carried->used, NULL);
  mt_store_release(&carried->serial, 0); /* CY-3 release: the fields; pairs CY-1 */
  if (carried->before != 0) close(carried->before);
  if (folder != 0) close(folder);
  carried->before = 0;
}

const struct tm_override tm_override_carried[] = {
    {"umask", (tm_any *)umask_rank},
    {"chdir", (tm_any *)chdir_rank},
    {"fchdir", (tm_any *)fchdir_rank},
    {NULL, NULL},
};
