/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file alternatives.h
 * Lock classes for comparison: the thesis's yielding locks and the spin locks of the literature.
 *
 * mltp_lock_init() and MLTP_LOCK_INIT_CLASS() take them as they take the classes of sync.h, and
 * the same calls use the locks. None of their waiters parks, so a program that needs a lock, and
 * no experiment, takes a class of sync.h. A library built without the alternatives refuses them:
 * mltp_lock_init() returns EINVAL.
 */
#ifndef MLTP_ALTERNATIVES_H
#define MLTP_ALTERNATIVES_H

#include <mltp/sync.h>

/** Lock classes that exist to be compared with those of sync.h. */
enum {
  MLTP_LOCK_ALT_YIELD_END = 16,   /**< tries once, else yields to the end of the ready queue, and
                                       again (thesis 3.3.3.2); unfair */
  MLTP_LOCK_ALT_YIELD_FRONT = 17, /**< the same, but yields to the front (3.3.3.2). Every eighth
                                       yield goes to the end, so that a holder behind two waiters
                                       gets to run; unfair */

  /* The spin locks of Anderson et al. 1989, section IV, and their two successors. A waiter spins
     on its VP while the holder runs and yields the VP while it does not. A waiter with a deadline
     does not queue: it looks and tries now and then. */
  MLTP_LOCK_ALT_EXCHANGE = 18,   /**< exchanges until it succeeds; unfair */
  MLTP_LOCK_ALT_READ = 19,       /**< reads until the lock looks free, then exchanges; unfair */
  MLTP_LOCK_ALT_BACKOFF = 20,    /**< delays once the lock looks free, the longer the more attempts
                                      have failed, then reads again and exchanges. Unfair to
                                      threads that have waited long */
  MLTP_LOCK_ALT_PERSISTENT = 21, /**< delays like BACKOFF whenever the lock looks held, exchanges at
                                      once when it looks free; as unfair */
  MLTP_LOCK_ALT_ARRAY = 22,      /**< first come, first served: takes a number and spins on the
                                      slot of that number (Table IV) */
  MLTP_LOCK_ALT_MCS = 23,        /**< first come, first served: each waiter spins on a word of its
                                      own (Mellor-Crummey and Scott 1991) */
  MLTP_LOCK_ALT_CLH = 24         /**< first come, first served: each waiter spins on the word of
                                      the waiter before it (Craig 1993; Landin and Hagersten 1994) */
};

#endif
