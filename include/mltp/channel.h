/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file channel.h
 * Channels: queues of elements between threads; and select, which waits for the first of several
 * sends and receives. Unbound, bound and foreign threads may use the same channel.
 *
 * A channel keeps at most as many elements as its capacity. With capacity 0 it keeps none: a
 * sender waits for a receiver. The library copies each element, directly to a waiting receiver
 * if there is one, and other users of the channel wait meanwhile. So send pointers to large
 * data. Elements arrive in the order in which they were sent. Waiting threads are served in the
 * order in which they came.
 */
#ifndef MLTP_CHANNEL_H
#define MLTP_CHANNEL_H

#include <mltp/base.h>

MLTP_BEGIN_DECLS

/** Handle of a channel. */
typedef struct mltp_channel mltp_channel_t;

/**
 * Creates a channel.
 * @param[out] channel the new channel
 * @param capacity     elements it keeps; 0: none, a send waits for its receiver
 * @param element_size bytes of an element; 0: elements carry no data
 * @param name         shown in reports, not copied; NULL: none
 * @return 0; ENOMEM: no memory, or its size overflows. Blocks: no. Context: any.
 */
MLTP_API int mltp_channel_create(mltp_channel_t **channel, size_t capacity, size_t element_size,
                                 const char *name);

/**
 * Frees a channel and the elements in it. No other thread may use it any more: a receiver
 * that got EPIPE, or the last element it expects, may free it.
 * @return 0; EBUSY (misuse): threads wait for it. Blocks: no. Context: any.
 */
MLTP_API int mltp_channel_destroy(mltp_channel_t *channel);

/**
 * Sends an element; waits until there is room or a receiver.
 * @param element the library copies the element from here
 * @return 0; EPIPE: the channel is closed, nothing was sent; ECANCELED: nothing was
 *         sent, see mltp_cancel().
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_channel_send(mltp_channel_t *channel, const void *element);

/**
 * Receives an element; waits until there is one.
 * @param[out] element the library copies the element to here
 * @return 0; EPIPE: the channel is closed and empty, nothing was written; ECANCELED:
 *         nothing was received, see mltp_cancel().
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_channel_recv(mltp_channel_t *channel, void *element);

/** Sends an element if that is possible at once. @return 0; EAGAIN: there is neither room nor a
 * waiting receiver; EPIPE: the channel is closed. Blocks: no. Context: any. */
MLTP_API int mltp_channel_send_try(mltp_channel_t *channel, const void *element);

/** Receives an element if that is possible at once. @return 0; EAGAIN: there is none;
 * EPIPE: the channel is closed and empty. Blocks: no. Context: any. */
MLTP_API int mltp_channel_recv_try(mltp_channel_t *channel, void *element);

/** Sends an element, but gives up at a deadline. @return 0; ETIMEDOUT, ECANCELED:
 * nothing was sent; EPIPE: the channel is closed. Blocks: thread. Context: any. */
MLTP_API int mltp_channel_send_timed(mltp_channel_t *channel, const void *element,
                                     uint64_t deadline);

/** Receives an element, but gives up at a deadline. @return 0; ETIMEDOUT, ECANCELED:
 * none came; EPIPE: the channel is closed and empty. Blocks: thread. Context: any. */
MLTP_API int mltp_channel_recv_timed(mltp_channel_t *channel, void *element, uint64_t deadline);

/**
 * Closes a channel: nothing can be sent to it any more. Receivers still get the elements in it.
 * Threads that wait for it, senders included, get EPIPE at once.
 * @return 0; EALREADY: it is closed already. Blocks: no. Context: any.
 */
MLTP_API int mltp_channel_close(mltp_channel_t *channel);

/** Returns how many elements are in a channel. @return the number; it may change at any time.
 * Blocks: no. Context: any. */
MLTP_API size_t mltp_channel_length(const mltp_channel_t *channel);

/** Returns the capacity of a channel. @return the most elements it keeps. Blocks: no.
 * Context: any. */
MLTP_API size_t mltp_channel_capacity(const mltp_channel_t *channel);

/* --------------------------------------------------------------- select */

/** The operation of a case of a select. */
typedef enum mltp_op { MLTP_SEND, MLTP_RECV } mltp_op_t;

/** One of the sends and receives that a select chooses from. Make it by MLTP_CASE_SEND or
 * MLTP_CASE_RECV. Fields without a comment belong to mltp_select(). */
typedef struct mltp_case {
  mltp_channel_t *channel; /**< NULL: this case is never done */
  mltp_op_t op;            /**< send or receive */
  int error;               /**< set if this case was done: 0, or EPIPE as the plain call returns */
  void *element;           /**< a send copies from here, a receive copies to here */
  struct mltp_case *next_;
  struct mltp_case *prev_;
  struct mltp_case *locks_;
  void *record_;
} mltp_case_t;

/** Initialiser of a case that sends what element points to. */
#define MLTP_CASE_SEND(channel, element)                                                           \
  {(channel), MLTP_SEND, 0, (void *)(element), NULL, NULL, NULL, NULL}
/** Initialiser of a case that receives to where element points. */
#define MLTP_CASE_RECV(channel, element)                                                           \
  {(channel), MLTP_RECV, 0, (element), NULL, NULL, NULL, NULL}

/**
 * Waits until one of several sends and receives can be done, and does exactly that one. It
 * chooses at random among the cases that can be done at once. A channel may be in several cases.
 * The case of a closed channel can be done: its error is EPIPE then.
 * @param cases       in any order; may be used again afterwards
 * @param count       number of cases; meant for some dozens, since sorting them takes time that
 *                    grows with its square
 * @param[out] chosen index of the case that was done; written only where 0 is returned
 * @return 0; ECANCELED: see mltp_cancel(); EINVAL (misuse): a case neither sends nor receives.
 * Blocks: thread. Context: any.
 */
MLTP_API int mltp_select(mltp_case_t *cases, size_t count, size_t *chosen);

/** Does one of several sends and receives if one can be done at once.
 * @return 0; EAGAIN: none can be done now; EINVAL: as mltp_select(). Blocks: no. Context: any. */
MLTP_API int mltp_select_try(mltp_case_t *cases, size_t count, size_t *chosen);

/** Waits as mltp_select(), but gives up at a deadline.
 * @return 0; ETIMEDOUT; ECANCELED, EINVAL: as mltp_select().
 * Blocks: thread, until the deadline. Context: any. */
MLTP_API int mltp_select_timed(mltp_case_t *cases, size_t count, size_t *chosen, uint64_t deadline);

MLTP_END_DECLS

#endif
