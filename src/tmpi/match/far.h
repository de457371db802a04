/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file far.h
 * Messages between nodes. A rank of another node has its element in tm_job.ranks, and its mailbox
 * is not used. A sender finds out that the receiver is far where it looks for the receiver's
 * intake. A job of one node where ranks have no intakes does not come there, and where they have,
 * each has one: so messages within a node pay nothing for it.
 *
 * The transport (nodes/ucx.c) carries a header and the data. What arrives enters the receiver's
 * mailbox like any other message: matching stays in one place, and a wildcard sees messages of all
 * nodes in one order. Few bytes come with their header. Of a larger message, or of a synchronous
 * one, the header stands in the mailbox with a request of kind TM_FAR as its sender. The receiver
 * then fetches the data straight into its buffer, or tells the sender that it has matched.
 *
 * What nodes share otherwise goes by notes: few bytes for a service, which takes them at once, in
 * the thread that has found them. That is a rank, a VP without a thread, or a kernel thread of the
 * transport, and the transport's lock is held: a service takes internal locks, and never waits.
 * Notes and messages of a node arrive in the order in which they were sent.
 *
 * The transport's lock protects `parts`; it is taken before any mailbox's internal lock.
 */
#ifndef TM_MATCH_FAR_H
#define TM_MATCH_FAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmpi/mailbox/mailbox.h"
#include "tmpi/match/transport.h"
#include "tmpi/rank/export.h"

enum {
  TM_FAR_EAGER_MAX = 65536, /**< bytes that travel with their header; a fetch of fewer takes longer,
                                 since the receiver's node and the sender's have to answer */
  TM_FAR_NOTE_MAX = 57344   /**< bytes; with its header it is one message of UCX by TCP */
};

/** What takes what has come. */
enum tm_far_service {
  TM_FAR_MAILBOX,
  TM_FAR_PARTITIONED, /**< part/channel_far.c */
  TM_FAR_FILE,        /**< io/shared_pointer.c */
  TM_FAR_WINDOW,      /**< rma/far_target.c */
  TM_FAR_CANCEL,      /**< far_cancel.c, at the receiver's node */
  TM_FAR_CANCELLED,   /**< far_cancel.c, at the sender's node */
  TM_FAR_REGISTRY,    /**< comm/registry.c */
  TM_FAR_SPAWN,       /**< comm/spawn_nodes.c */
  TM_FAR_CHECK,       /**< check/summary.c, which is there with --check alone */
  TM_FAR_SERVICES
};

/** What goes in front of each message. All nodes have the same version of it (nodes/nodes.h). */
struct tm_far_header {
  uint64_t context;
  uint64_t bytes;      /**< of data */
  uint64_t answer;     /**< the tm_far_send that waits until its receiver matches; 0: none does */
  uint64_t sequence;   /**< number of the message from its node to this one */
  int32_t source, tag; /**< source: of a note, the number in the job */
  int32_t dest;        /**< number in the job */
  int32_t node;        /**< that sent it */
  int32_t service;     /**< enum tm_far_service */
};

/** A message under way to another node. */
struct tm_far_send {
  const void *data; /* [const] header.bytes of them */
  bool fetched;     /* [const] the receiver fetches the data */
  uint32_t ahead;   /* [const] bytes of `packed` that come with the header, before them */
  bool joins;       /* [const] its sender does not wait, and it may leave with others */
  bool held;        /* [lock: transport's] it waits for others; linked by: */
  struct tm_far_send *next;
  int parts;                  /* [lock: transport's] events to come: it is sent, it is matched */
  struct tm_request *request; /* [const] to complete then; NULL: its sender does not wait */
  struct tm_buffer *buffer;   /* [const] counted there until then; NULL: not */
  uint64_t *number; /* [const] gets header.sequence before the message is sent; NULL: nothing */
  struct tm_far_header header; /* with nothing between it and: */
  char packed[];               /* [const] a copy of the data */
};
_Static_assert(offsetof(struct tm_far_send, packed) ==
                   offsetof(struct tm_far_send, header) + sizeof(struct tm_far_header),
               "header and data leave as one piece");

/** A receive whose data are under way. */
struct tm_far_fetch {
  struct tm_request *recv;     /* [const] */
  struct tm_envelope envelope; /* [const] */
  size_t bytes;                /* [const] */
  int node;                    /* [const] that has the data */
  void *packed; /* [const] where the data come to first; NULL: the receiver's buffer */
  void (*ended)(struct tm_far_fetch *); /* [const] takes them and this; NULL: `recv` does */
};

/* ---- what the transport calls, with its lock held */

/** A part of a send is over. @return whether it was the last. */
static inline bool tm_far_part(struct tm_far_send *send) { return --send->parts == 0; }

/** All parts of a send are over. */
TM_EXPORT void tm_far_end(struct tm_far_send *send);

/** Adds a part to the send of a request, which goes to another node, unless it is over.
 * @return whether it has. */
TM_EXPORT bool tm_far_hold(struct tm_request *request);

/** A header has come, with its data, or with what fetches them. data: of a note, with what comes
 * ahead of the data. */
TM_EXPORT void tm_far_arrive(const struct tm_far_header *header, const void *data, void *announced);

/** The data of a fetch are here. */
TM_EXPORT void tm_far_fetched(struct tm_far_fetch *fetch);

/* ---- notes */

/** Takes a note of a rank. data may lie at any address, and is gone afterwards. */
typedef void tm_far_taker(int source, const void *data, size_t bytes);

/** By service. env/far_takers.c */
extern tm_far_taker *const tm_far_takers[TM_FAR_SERVICES];

/** @return a note whose data, tm_far_note_data(), are to be filled. Without memory the job ends. */
struct tm_far_send *tm_far_note_new(size_t bytes);
static inline void *tm_far_note_data(struct tm_far_send *note) { return note->packed; }
/** Only the first bytes of its data are sent. */
static inline void tm_far_note_cut(struct tm_far_send *note, size_t bytes) {
  note->header.bytes = bytes;
}
/** Its data come with the header, and announce others, which must stay until the taker has fetched
 * them. */
static inline void tm_far_note_announces(struct tm_far_send *note, const void *data, size_t bytes) {
  note->ahead = (uint32_t)note->header.bytes;
  note->header.bytes = bytes;
  note->data = data;
  note->fetched = true;
}
/** Takes a note that announces data. note: what has come with the header; gone afterwards. */
typedef void tm_far_announced_taker(const struct tm_far_header *header, const void *note,
                                    void *announced);
/** Of TM_FAR_WINDOW, which alone has such notes. env/far_takers.c */
extern tm_far_announced_taker *const tm_far_announced;
/** Sends it to the node of a rank. inside: in a taker. */
void tm_far_note_send(struct tm_far_send *note, enum tm_far_service service, int dest, bool inside);

/* ---- cancelling: far_cancel.c */

void tm_far_take_question(int source, const void *data, size_t bytes);
void tm_far_take_reply(int source, const void *data, size_t bytes);

/* ---- --check */

/** [const] Set before the first note comes: takes what tm_far_check() has sent. NULL: nobody. */
TM_EXPORT extern void (*tm_far_check_hook)(const void *data, size_t bytes);

/** Sends a note to the node of a rank, which may be this one. */
TM_EXPORT void tm_far_check(const void *data, size_t bytes, int dest);
void tm_far_take_check(int source, const void *data, size_t bytes);

/** A message of another node, which has left the mailbox, is not received. In a taker. */
void tm_far_drop(struct tm_message *m);

/** From now on messages go to other nodes, and come. */
TM_EXPORT void tm_far_start(const struct tm_transport *transport);

struct tm_comm;

/** Fails a call that has no form for members on several nodes. comm NULL: the call has none.
 * @return what the call returns. */
TM_EXPORT int tm_far_refuse(struct tm_comm *comm, const char *call);

#endif
