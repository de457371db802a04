/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file fastbox.h
 * Room for one short message in the line of a mailbox that holds its guard. Between two processors
 * a message costs the transfers of lines that it takes: by a cell those of guard, queue and cell,
 * by this one, which the guard brings along, one for the sender and one for the receiver.
 *
 * It is filled when there is no other message: what is in it is older than all in `arrived`, and
 * looked at first. The mailbox's guard protects it (tests/models/mailbox.pml).
 */
#ifndef TM_MATCH_FASTBOX_H
#define TM_MATCH_FASTBOX_H

#include <stdint.h>

#include "tmpi/match/queue.h"

enum {
  TM_LINE = 64,         /**< bytes of a cache line */
  TM_FASTBOX_BYTES = 36 /**< of data there is room for: a line without the rest */
};

struct tm_fastbox {
  struct tm_envelope envelope;
  uint32_t full; /* 0: empty; 1 and the bytes of data */
  char data[TM_FASTBOX_BYTES];
};

#endif
