/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file working_directory.h
 * What the kernel or libc keeps for a kernel thread, and a rank takes along: working directory,
 * umask, locale.
 *
 * As long as no rank changes one of them nothing is done. The first change installs a hook that VPs
 * call before a rank continues (mti_set_switch_hook()), which gives the kernel thread what the rank
 * has. A VP that idles has no rank's locale: the rank may continue elsewhere and free it. A kernel
 * thread of its own working directory and umask comes from unshare(CLONE_FS); a container may
 * refuse that, then ranks share both, and tmpirun reports the first change. A rank's pthreads start
 * with what the rank has; later changes do not reach them, which is reported, too.
 *
 * Rejected: to resolve paths in the functions that take some. They are many, and libc's own calls
 * of one another would be missed.
 */
#ifndef TM_RUN_WORKING_DIRECTORY_H
#define TM_RUN_WORKING_DIRECTORY_H

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/** Of a rank. Its threads change it, one at a time, as in a process; VPs read it. */
struct tm_carried {
  uint64_t serial;          /* [atomic] of the last change of the next two; 0: they are tmpirun's */
  int folder;               /* [atomic] descriptor of the working directory; 0: tmpirun's */
  int before;               /* [rank] the last one: a VP may still be reading it */
  uint32_t mask;            /* [atomic] umask */
  locale_t locale;          /* [atomic] of setlocale(); NULL: tmpirun's */
  locale_t used;            /* [atomic] of uselocale(), on the rank's own thread; NULL: none */
  struct lconv conventions; /* [rank] result of localeconv() */
};

/** Before ranks start. @return false: no memory. */
bool tm_carry_start(int ranks);

/** @return the calling rank's. */
struct tm_carried *tm_carried(void);

/** @return whether ranks have working directories of their own. */
bool tm_carry_is_own(void);

/** Changes that of the calling rank. @return 0, or -1 with errno. */
int tm_carry_enter(const char *path);

/** The calling kernel thread gets what the rank with this number (mti_number(); 0: tmpirun) has.
 * Async-signal-safe. */
void tm_carry_apply(uint32_t number);

/** The same for a handler of the rank, which has interrupted another rank's thread. The rank's own
 * thread may run elsewhere and free the locale that it has set by uselocale(): the handler gets
 * that of setlocale(). @return what tm_carry_return() gets when the handler has ended */
uint32_t tm_carry_lend(uint32_t number);

/** The calling kernel thread gets back what the interrupted thread has, whose rank has this number.
 */
void tm_carry_return(uint32_t before, uint32_t number);

/** From now on VPs do the same. */
void tm_carry_hook(void);

/** A rank has ended. */
void tm_carry_end(int rank);

/** locales.c: the same for the locale. own_only: without that of uselocale(). */
void tm_locale_apply(const struct tm_carried *carried, bool own_only);

#endif
