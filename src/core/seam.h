/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file seam.h
 * What the libraries of this project that are built on libmltp need of its inside: guards,
 * parking, and a word in the deadlock report. libmltp.so shows these under the version
 * MLTP_PRIVATE, to which nobody else may link: they change as it pleases us.
 */
#ifndef MT_CORE_SEAM_H
#define MT_CORE_SEAM_H

#include <mltp/sync.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_SEAM __attribute__((visibility("default")))

struct mltp_thread;

/** A guard is a word that starts as 0; held for moments, never across a call that waits. */
MT_SEAM void mt_seam_lock(uint32_t *guard);
MT_SEAM void mt_seam_unlock(uint32_t *guard);

/** @return the calling thread, NULL after a misuse report. call names who asked. */
MT_SEAM struct mltp_thread *mt_seam_self(const char *call);

/** @return the number the calling thread was given, 0: none; threads start without. For what a
 * library has to know of its caller in each call: a load from a line that parking touches, too,
 * where mltp_get() needs two more. From any context, also a signal handler. */
MT_SEAM uint32_t mt_seam_number(void);

/** Gives the calling thread a number. @return false after a misuse report that names the call. */
MT_SEAM bool mt_seam_set_number(const char *call, uint32_t number);

/** Parks the calling thread until mt_seam_resume(). The guard, which it holds, is released
 * when it can be resumed. what: shown by dumps; must stay readable while it waits. */
MT_SEAM void mt_seam_park(uint32_t *guard, const char *what);

/** Makes a parked thread run again. Whoever resumes has seen it waiting under the guard. */
MT_SEAM void mt_seam_resume(struct mltp_thread *t);

/** Where a thread goes instead of returning from mt_seam_switch(), once it is taken. */
struct mt_seam_detour {
  bool taken;
  void (*go)(struct mt_seam_detour *self);
};

/** Parks the calling thread and lets `to` go on in its place, on the same VP where there are
 * VPs: a coroutine's switch. Both are unbound, or neither is; `to` was parked by this call or
 * mt_seam_park(), and whoever may resume it is the caller alone. No guard: the caller can be
 * resumed from the moment `to` runs. Returns when the caller is resumed, or run in another's
 * place. The detour is here so that callers may end with this call: each function that
 * returns after a switch returns to where the processor does not expect it. */
MT_SEAM void mt_seam_switch(struct mltp_thread *to, const char *what,
                            struct mt_seam_detour *detour);

/** Parks the calling thread at the end of a queue, whose guard it holds; as mt_seam_park(). */
MT_SEAM void mt_seam_wait(mltp_waitq_t *queue, const char *what);

/** Makes all run again who wait in a queue. The caller holds its guard, or has held it since the
 * last of them entered; nobody enters meanwhile. */
MT_SEAM void mt_seam_resume_all(mltp_waitq_t *queue);

/** The same, and those that run on VPs go on on VP number `vp`, unless that is blocked or not
 * there: for threads that work on the same data. What they have in another VP's cache they lose. */
MT_SEAM void mt_seam_resume_all_at(mltp_waitq_t *queue, int vp);

/** Waits on the processor until a word is not 0, where that may pay (core/await.h), or for
 * blindly_ns if that is not 0. Counted as other waits for words are. @return whether it is. */
MT_SEAM bool mt_seam_spin(const uint32_t *word, const struct mltp_thread *waker,
                          uint64_t blindly_ns);

/** @return whether a thread runs, and is not the caller; also of one that has ended, or NULL:
 * false. */
MT_SEAM bool mt_seam_runs_elsewhere(const struct mltp_thread *t);

/** In deterministic mode the caller may be interrupted here. */
MT_SEAM void mt_seam_preempt(const char *call);

/** @return whether threads are switched by our own code (MLTP_BACKEND). */
MT_SEAM bool mt_seam_is_native(void);

/** A function that tells of a deadlock; NULL: none. @return whether it has said all there is to
 * say: the dump of all threads is left out then. */
MT_SEAM void mt_seam_on_deadlock(bool (*report)(void));

/** So many kernel threads of the process will never make a thread ready: what is a deadlock without
 * them is one. */
MT_SEAM void mt_seam_bystanders(uint32_t count);

/** Copies what others may be changing, freeing or unmapping. Also in a signal handler.
 * @return false: the memory is not there. */
MT_SEAM bool mt_seam_peek(void *to, const void *from, size_t size);

#endif
