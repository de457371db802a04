/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vp_state.h
 * What alternatives keep with a VP.
 */
#ifndef MT_ALTERNATIVES_SPIN_VP_STATE_H
#define MT_ALTERNATIVES_SPIN_VP_STATE_H

#include "alternatives/spin/spinlock.h"
#include "core/vp/vp.h"

struct mt_ready_queue;

/** [owner] all of it but what is tagged otherwise. */
struct mt_vp_alternative {
  struct mt_spin_node spin;     /* for spinning locks of the thread that runs here */
  struct mt_ready_queue *holds; /* the queue whose lock this VP holds; its list may be lent */
  struct mltp_thread *free;     /* free descriptors, linked by next; strategy/freelist.c */
  uint32_t free_count;
  uint8_t waits;              /* it has entered the idle queue, and not left; strategy/idleq.c */
  uint8_t queued;             /* [atomic] written under the idle queue's lock: it is there */
  struct mt_vp *idle_next;    /* [lock: idle queue] */
  struct mltp_thread *spare;  /* [lock: idle queue] a descriptor for the thread it will be given */
  struct mltp_thread *handed; /* [atomic] its flag: the thread it was waiting for */
  struct mt_vp *hands_to;     /* the idle VP that gets the thread being created */
};

#endif
