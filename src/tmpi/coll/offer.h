/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file offer.h
 * Broadcasts of many bytes, in which the members do not meet.
 *
 * The root sends each member the address of an offer, which lies on the root's stack and names its
 * buffer. A member that has the address copies and continues. The last one to copy releases the
 * root. So a member that comes late delays the root alone. In a phase (phase.h) it would delay all,
 * and where ranks compute in turn between broadcasts, each VP would wait for the other in each of
 * them.
 *
 * Members that wait are made ready in the order of their ranks, from the root's on: the root of the
 * next broadcast is often the next rank.
 *
 * Rejected: sending the data as messages. The root would copy them for each member that waits, one
 * after the other, and into its own cache. Copying them once, so that the root need not wait: the
 * root's next broadcast has to wait for late members anyway, or they keep copies without bound.
 *
 * Test: tests/mpi/offers.c.
 */
#ifndef TM_COLL_OFFER_H
#define TM_COLL_OFFER_H

#include "tmpi/coll/coll.h"

enum {
  TM_OFFER_MIN = 16384 /**< bytes: a message and a switch for each member cost less than an eighth
                          of copying them; with fewer bytes a phase is cheaper */
};

/** Copies bytes, TM_OFFER_MIN or more, from the root's buffer to all others'. In a team. */
void tm_bcast_offered(struct tm_coll *coll, void *buffer, size_t bytes, struct tm_type *type,
                      int root);

#endif
