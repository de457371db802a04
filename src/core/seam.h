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

struct arch_turn;
struct mltp_thread;

/** A guard is a word that starts as 0; held for moments, never across a call that waits. */
MT_SEAM void mt_seam_lock(uint32_t *guard);
MT_SEAM void mt_seam_unlock(uint32_t *guard);

/** @return the calling thread, NULL after a misuse report. call names who asked. */
MT_SEAM struct mltp_thread *mt_seam_self(const char *call);

/** @return the number the calling thread was given, 0: none; threads start without. For what a
 * library has to know of its caller in each call: a load from a line that parking touches, too,
 * where mltp_tss_get() needs two more. From any context, also a signal handler. */
MT_SEAM uint32_t mt_seam_number(void);

/** Gives the calling thread a number. @return false after a misuse report that names the call. */
MT_SEAM bool mt_seam_set_number(const char *call, uint32_t number);

/** Parks the calling thread until mt_seam_resume(). The guard, which it holds, is released
 * when it can be resumed. what: shown by dumps; must stay readable while it waits. */
MT_SEAM void mt_seam_park(uint32_t *guard, const char *what);

/** Makes a parked thread run again. Whoever resumes has seen it waiting under the guard. */
MT_SEAM void mt_seam_resume(struct mltp_thread *t);

/** The same, and a thread that runs on VPs goes on on this one, unless it has not gone through a
 * scheduling point since a thread was last sent there with this word (0 at first; changed
 * atomically): a VP that has lost its CPU is sent one thread in vain. */
MT_SEAM void mt_seam_resume_at(struct mltp_thread *t, int vp, uint32_t *points);

/** Parks the calling thread and lets `to` go on in its place, on the same VP where there are
 * VPs: a coroutine's switch. Both are unbound, or neither is; `to` was parked by this call, the
 * next one or mt_seam_park(), and whoever may resume it is the caller alone. No guard: the caller
 * can be resumed from the moment `to` runs. Returns when the caller is resumed, or run in another's
 * place. */
MT_SEAM void mt_seam_switch(struct mltp_thread *to, const char *what);

/** mt_seam_switch() but for the switch itself, which the caller has to do at once: so that no frame
 * of ours is returned through afterwards, each of which costs a misprediction. Only
 * where mt_seam_hands_over(); the caller is unbound. A thread that waits so is resumed by another's
 * mt_seam_hand_over() or mt_seam_switch(), nothing else.
 * @return turn.to: NULL: it was not that simple; all is done, the caller has been resumed. */
MT_SEAM struct arch_turn mt_seam_hand_over(struct mltp_thread *to, const char *what);

/** @return whether there is mt_seam_hand_over(): with the native backend, where no sanitizer has to
 * be told of switches. */
MT_SEAM bool mt_seam_hands_over(void);

/** Has a thread that waits by one of these two calls call a function first when it goes on; it may
 * leave by longjmp(). Only where mt_seam_hands_over(); afterwards it is resumed as after
 * mt_seam_hand_over(). */
MT_SEAM void mt_seam_call_first(struct mltp_thread *t, void (*function)(void));

/** Parks the calling thread at the end of a queue, whose guard it holds; as mt_seam_park(). */
MT_SEAM void mt_seam_wait(mltp_waitq_t *queue, const char *what);

/** Makes all run again who wait in a queue. The caller holds its guard, or has held it since the
 * last of them entered; nobody enters meanwhile. */
MT_SEAM void mt_seam_resume_all(mltp_waitq_t *queue);

/** The same, and those that run on VPs go on on the VP that vp_of(number) gives for their number
 * (mt_seam_number()), unless that is blocked or not there: for threads that work on the same data.
 * What they have in another VP's cache they lose. */
MT_SEAM void mt_seam_resume_all_at(mltp_waitq_t *queue, int (*vp_of)(uint32_t number));

/** Waits on the processor until ended(what), where that may pay (core/await.h), or for blindly_ns
 * if that is not 0. Counted as waits for words are. @return whether it has ended. */
MT_SEAM bool mt_seam_spin(bool (*ended)(const void *), const void *what,
                          const struct mltp_thread *waker, uint64_t blindly_ns);

/** @return whether no other thread is ready on the caller's VP: a VP that spins has nothing else to
 * do then. */
MT_SEAM bool mt_seam_is_alone(void);

/** @return scheduling points that a VP has gone through, modulo 2^32: a clock of its threads' that
 * costs a load; 0: no such VP. From any context. */
MT_SEAM uint32_t mt_seam_points(int vp);

/** @return nanoseconds that a park of a thread like the caller takes, and an unpark; 0: in
 * deterministic mode, or MLTP_AWAIT_SPIN_NS says so. */
MT_SEAM uint64_t mt_seam_park_ns(void);

/** @return whether a thread runs, and is not the caller; also of one that has ended, or NULL:
 * false. */
MT_SEAM bool mt_seam_runs_elsewhere(const struct mltp_thread *t);

/** What it costs to move one of the program's threads to another VP, ns (250 unless said): to
 * take it there, and what it and those it works with lose while it is there. A theft that keeps its
 * VP busy for less does not pay (docs/design/013). */
MT_SEAM void mt_seam_move_costs(uint64_t ns);

/** In deterministic mode the caller may be interrupted here. */
MT_SEAM void mt_seam_preempt(const char *call);

/** @return whether threads are switched by our own code (MLTP_BACKEND). */
MT_SEAM bool mt_seam_is_native(void);

/** To be called before mltp_init(), which then makes VP 0 alone; mt_seam_vps_now() makes the
 * others. Until then threads are made ready and none of them runs, unless the caller waits: so that
 * what prepares them meets nobody who wants the same locks of the kernel's. */
MT_SEAM void mt_seam_vps_later(void);

/** Makes the VPs that mltp_init() has not made. Any thread. @return 0; EAGAIN after a message. */
MT_SEAM int mt_seam_vps_now(void);

/** What mltp_finalize() does but for taking the runtime down, for main of a process that ends now:
 * waits until all other threads have ended, and prints statistics where MLTP_STATS wants them. VPs
 * are left to the kernel, which ends all at once; joining them takes a turn of the CPU for each. */
MT_SEAM void mt_seam_leave(void);

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
