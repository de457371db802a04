/* SPDX-License-Identifier: Apache-2.0 */
/* Broadcasts of many bytes; offer.h has the protocol. */
#include "tmpi/coll/offer.h"

#include "base/atomic.h"
#include "tmpi/match/match.h"
#include "tmpi/request/request.h"

/* On the root's stack. The root stays until all members have copied. */
struct offer {
  const void *buffer;     /* [const] */
  struct tm_type *type;   /* [const] */
  size_t bytes;           /* [const] */
  int left;               /* [atomic] other members that have not copied yet: OF-1 */
  struct tm_request over; /* complete when all have copied. Reports take it for a receive of this
                             collective; it is never posted */
};

/* Tags that no other message has: neither the collectives' own nor tm_coll_tagged()'s. So a rank
 * that is wrongly in another collective does not take an address for data. */
static struct tm_coll with_own_tag(const struct tm_coll *coll) {
  struct tm_coll own = *coll;
  own.tag = TM_COLL_TAGS + 2 + coll->tag % (TM_COLL_TAGS - 2);
  return own;
}

static void offer_all(struct tm_coll *coll, const void *buffer, size_t bytes,
                      struct tm_type *type) {
  struct tm_comm *comm = coll->comm;
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct offer offer = {.buffer = buffer, .type = type, .bytes = bytes, .left = comm->size - 1};
  uintptr_t address = (uintptr_t)&offer;
  struct tm_request *over = &offer.over;
  tm_request_borrow_inner(over, TM_RECV, NULL, 0, byte, MPI_ANY_SOURCE, coll->tag, comm);
  for (int i = 1; i < comm->size; i++)
    tm_coll_send(coll, &address, sizeof address, byte, (comm->rank + i) % comm->size);
  tm_requests_wait(&over, 1, 1, coll->call);
}

static void copy_from(struct tm_coll *coll, void *buffer, size_t room, struct tm_type *type,
                      int root) {
  uintptr_t address = 0;
  tm_coll_recv(coll, &address, sizeof address, tm_type_of(MPI_BYTE), root);
  struct offer *offer = (struct offer *)address;
  if (offer->bytes > room) tm_coll_too_long(coll, root, offer->bytes, room);
  tm_type_copy(buffer, type, offer->buffer, offer->type, offer->bytes < room ? offer->bytes : room);
  /* OF-1 acq_rel: this copy, and for the last one those of all others; pairs OF-1 */
  bool last = mt_add_acq_rel(&offer->left, -1) == 1;
  if (last) tm_request_complete(&offer->over); /* otherwise the offer may be gone */
}

void tm_bcast_offered(struct tm_coll *coll, void *buffer, size_t bytes, struct tm_type *type,
                      int root) {
  struct tm_coll own = with_own_tag(coll);
  if (coll->comm->rank == root)
    offer_all(&own, buffer, bytes, type);
  else
    copy_from(&own, buffer, bytes, type, root);
  own.tag = coll->tag;
  *coll = own;
}
