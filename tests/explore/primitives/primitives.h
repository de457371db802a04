/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file primitives.h
 * What THREADS threads do with one primitive, each thread given its number. They say with
 * EXPECT() what must hold whatever their order, and go through section() where only one
 * may be, or so that it is counted.
 */
#ifndef TESTS_EXPLORE_PRIMITIVES_H
#define TESTS_EXPLORE_PRIMITIVES_H

#include <errno.h>
#include <mltp/mltp.h>

enum { THREADS = 3, ROUNDS = 2, CHANNELS = 2 };

/** Notes that the program must fail in the end, with a message. */
void expect(int holds, const char *what);
#define EXPECT(condition) expect(!!(condition), #condition)

/** Counted; alone in there, or the program fails. */
void section(void);

/** Sections entered so far. */
extern int entered;

/** Made before the threads start, checked and ended after they have. */
extern mltp_lock_t lock; /* of the case's class */
extern mltp_rwlock_t rwlock;
extern mltp_sem_t sem; /* 1 unit, also at the end */
extern mltp_cond_t cond;
extern mltp_barrier_t barrier;             /* for THREADS */
extern mltp_latch_t latch, second;         /* for THREADS */
extern mltp_waitgroup_t group;             /* of THREADS tasks */
extern mltp_channel_t *channels[CHANNELS]; /* of capacities 0, 1; of long; empty at the end */

/* with_locks.c */
mltp_userf_t with_lock, with_trylock, with_timedlock, with_rwlock, with_timed_rwlock;
/* with_waits.c */
mltp_userf_t with_sem, with_timed_sem, with_barrier, with_cond, with_timed_cond, with_sleep;
/* with_counts.c */
mltp_userf_t with_latch, with_timed_latch, with_waitgroup, with_once, with_once_left;
/* with_words.c */
mltp_userf_t with_await, with_timed_await;
/* with_channels.c */
mltp_userf_t with_channel, with_buffer, with_select, with_two_selects, with_timed_channel,
    with_close;

#endif
