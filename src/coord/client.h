/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file client.h
 * A program's side of mltpd: joins, reads its grant, reports its demand.
 *
 * Life (state): OFF -> ASKED (HELLO sent) -> JOINED -> LOST (daemon gone) -> ASKED -> ...
 * There is one client in a process. Nothing here waits for the daemon but mt_client_join(), and
 * that for a tenth of a second at most. No thread is started.
 *
 * Where MAKEFLAGS offers a jobserver, `auto` takes part in that instead (jobserver.h; state JOBS):
 * its tokens are the grant. `mltp jobs` offers one that follows the daemon.
 *
 * A daemon that dies or stops: the grant counts until its lease ends, then the program runs as
 * without a daemon, and looks for a new one once a second (mt_client_look()).
 *
 * Labels CD-n. Model of the bell: a program stores its demand, then loads `bell`; the daemon sets
 * `bell`, then loads the demand. One of the two sees the other.
 */
#ifndef MT_COORD_CLIENT_H
#define MT_COORD_CLIENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "coord/proto.h"

/** What every scheduling point reads; on a line that is seldom written. */
struct mt_client_view {
  const uint32_t *granted; /**< [atomic] the word in the grant page; never NULL */
  uint32_t seen;           /**< [atomic] the grant that the runtime follows now */
};

extern struct mt_client_view mt_client_view __attribute__((visibility("hidden")));

/** @return true when the grant has changed since the runtime looked. */
static inline bool mt_client_changed(void) {
  /* CD-6 acquire: the page that the pointer leads to; pairs CD-1 CD-5 */
  const uint32_t *granted = mt_load_acquire(&mt_client_view.granted);
  /* relaxed: the number says all there is to say */
  return mt_load_relaxed(granted) != mt_load_relaxed(&mt_client_view.seen);
}

/** What a program says of itself. */
struct mt_client_program {
  uint32_t role; /**< enum mt_proto_role */
  uint32_t most; /**< VPs it would run without a daemon */
};

/**
 * Joins the daemon.
 * Waits a tenth of a second at most for the answer; a later one counts, too. Not thread-safe.
 * @param where "off", "auto" (the jobserver of make, else the user's daemon, else the machine's),
 * or the path of a socket
 * @return 0; ENOENT: there is no daemon, which is no error with "auto"; or another errno value
 *         after the daemon, or the kernel, refused.
 */
int mt_client_join(const char *where, const struct mt_client_program *program);

/** Leaves the daemon: the share is free at once. Harmless when not joined. */
void mt_client_leave(void);

/** In a child of fork(): forgets the connection, which is the parent's. */
void mt_client_forget(void);

/** @return true while there is a daemon, or was one that may come back. */
bool mt_client_is_joined(void);

/** @return VPs that the runtime may have active, and notes that it knows; UINT32_MAX: any number.
 * Any thread. */
uint32_t mt_client_follow(void);

/** @return the first of the CPUs that are the program's own, counted from 1 as in struct mt_grant,
 * and *count; 0: the program has none of its own. Any thread. */
uint32_t mt_client_cpus(uint32_t *count);

/** Reports how many VPs are awake, and how many the program could keep busy.
 * @return true when mt_client_ring() has to be called, outside of internal locks. */
bool mt_client_report(uint32_t active, uint32_t demand);

/** Tells the daemon to look at the report. A system call. */
void mt_client_ring(void);

/** Counts scheduling points, for `mltp ps`. */
void mt_client_count(uint32_t switches);

/** To be called now and then with os_now(): looks whether the lease has ended, and for a new
 * daemon. Does something once in a tenth of a second at most. */
void mt_client_look(uint64_t now);

#endif
