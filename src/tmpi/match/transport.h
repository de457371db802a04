/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file transport.h
 * What ranks and idle VPs call of the transport between nodes; far.h has the protocol.
 */
#ifndef TM_MATCH_TRANSPORT_H
#define TM_MATCH_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

struct tm_far_fetch;
struct tm_far_send;
struct tm_request;

/** What carries messages. Ranks call its functions. inside: the transport has called what calls it,
 * so its lock is held, and it does what it is asked later. */
struct tm_transport {
  /** Sends header and data. @return whether all parts are over; otherwise tm_far_part() is called
   * when the data have been sent, and tm_far_end() after the last part. */
  bool (*send)(struct tm_far_send *send, int node, bool inside);
  /** Fetches data that a header has announced; tm_far_fetched() follows. */
  void (*fetch)(void *announced, void *to, struct tm_far_fetch *fetch, bool inside);
  /** Tells a node that a message of its has been matched: tm_far_part() follows there. */
  void (*answer)(int node, uint64_t answer, bool inside);
  /** Drops data that a header has announced: the send is over then. */
  void (*drop)(void *announced, bool inside);
  /** Does tm_far_hold(). */
  bool (*hold)(struct tm_request *request);
  /** Takes what has come, unless another thread is about to. Never waits. Also in the idle context
   * of a VP. looks: how often it looks at most, while nothing comes and no rank wants to send.
   * @return whether something has come. */
  bool (*poll)(int looks);
  /** The same for a rank that tests, and would test again at once: offers the CPU to others now and
   * then while nothing comes. @return how long it should doze, ns: others want the CPU; 0: not. */
  uint64_t (*test)(void);
  /** A VP that polled goes to sleep. */
  void (*rest)(void);
  /** Sends what is held for more. A rank is going to park. */
  void (*hurry)(void);
};

#endif
