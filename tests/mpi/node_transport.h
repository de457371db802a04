/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file node_transport.h
 * The transport between nodes (src/tmpi/nodes/ucx.c) alone: UCX, packets, the clock, locks and the
 * rest of the library are stand-ins, which note what is called, and do what a test says.
 */
#ifndef TESTS_MPI_NODE_TRANSPORT_H
#define TESTS_MPI_NODE_TRANSPORT_H

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "noted_events.h"
#include "tmpi/match/far.h"
#include "tmpi/nodes/ucx.h"

enum {
  NODES = 3,
  RANKS_OF_NODE = 2,
  DATA = 64,
  DESCRIPTOR = 42,
  LEASE_NS = 1000000,
  POLL_NS = 100000,
  LOST_NS = 20000,
  STEPS = 16 /* of UCX, that the thread takes at a time */
};

/** The setup of each test: the transport starts. And its teardown: no memory is left. */
int transport_prepare(void **state);
int transport_end(void **state);
extern const struct tm_transport *transport;
extern struct tm_peer peers[NODES];

/* ---- the library */

extern bool quiet; /**< notes nothing of locks */
extern void (*at_lock)(void), (*at_unlock)(void), (*at_yield)(void);
extern uint64_t now, rest_mark;
extern void (*asleep)(void);    /**< called where the thread sleeps for a lease */
extern jmp_buf aborted, served; /**< the end of the job; the thread's */
extern struct arrived {
  struct tm_far_header header;
  const void *data, *announced;
} arrived; /**< the last message */
extern void (*on_arrival)(void);
extern bool has_no_memory;
extern int allocated; /**< pieces of memory, and not freed */

/* ---- packets */

extern bool holds; /**< the next sends are held */
extern uint32_t held;
extern bool packets_pend; /**< UCX does not finish them */
extern struct tm_far_header in_packet;

/* ---- UCX */

extern char ucx_request;         /**< whatever it is */
extern ucs_status_ptr_t outcome; /**< of a call */
extern ucp_request_param_t last; /**< of the last call, as: */
extern ucp_ep_h last_ep;
extern const void *last_header, *last_data;
extern size_t last_header_size, last_bytes;
extern int brings;            /**< steps that find something */
extern void (*at_step)(void); /**< called in each */
extern ucs_status_t arms;     /**< once, UCS_OK after that */

/* ---- the thread */

extern void *(*serve)(void *); /**< its function */
extern int create_error, detach_error;
extern int sleeps;       /**< until it is left */
extern bool thread_ends; /**< it is one, and ends where it sleeps */
extern void (*at_poll)(void);
extern sem_t yields; /**< a thread waits for one that is inside, or does so no longer */
/** Starts a thread of the test's. */
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *),
                          void *argument);

/* ---- what tests do */

extern struct message {
  struct tm_far_send of;
  char packed[DATA];
} message; /**< the last one that was made */
extern const char payload[DATA];

/** Makes a message of `parts` to a rank of node 2. */
struct tm_far_send *send_of(int tag, int parts);
/** @return whether the transport rests; what it counts is in: */
bool rests(void);
extern uint64_t went, came;
/** Checks what was counted since note_counts(). */
void note_counts(void);
void check_counts(bool is_at_rest, uint64_t more_went, uint64_t more_came);

#endif
