/* SPDX-License-Identifier: Apache-2.0 */
/* Receives, and the probes before them. */
#include <stddef.h>

#include "part.h"

static bool is_received(const struct part *part, const struct message *m) {
  return m->dest == part->world->ranks[m->comm];
}

/* Mixed ones may leave a receive without a message: one with any tag took what it needed. */
static void mend_mixed(struct part *part, int comm) {
  bool all_match = true;
  for (int i = 0; i < part->receive_count; i++) {
    const struct receive *r = &part->receives[i];
    if (r->comm == comm)
      all_match &= model_match(part->plan, part->world, comm, r->source, r->tag) != NULL;
  }
  for (int i = 0; i < part->plan->count; i++) part->plan->messages[i].taken = false;
  for (int i = 0; i < part->receive_count && !all_match; i++)
    if (part->receives[i].comm == comm) part->receives[i].tag = MPI_ANY_TAG;
}

/* One receive for each message that will come, in any order. */
void plan_receives(struct part *part) {
  int largest[COMMS] = {0};
  for (int i = 0; i < part->plan->count; i++) {
    const struct message *m = &part->plan->messages[i];
    if (!is_received(part, m)) continue;
    enum style style = part->plan->styles[m->comm];
    bool any_source = style == ANY_RANK || style == ANY_BOTH;
    bool any_tag = style == ANY_LABEL || style == ANY_BOTH ||
                   (style == MIXED && draw_below(part->chance, 2) == 0);
    if (m->count > largest[m->comm]) largest[m->comm] = m->count;
    part->receives[part->receive_count++] =
        (struct receive){.comm = m->comm,
                         .source = any_source ? MPI_ANY_SOURCE : m->source,
                         .tag = any_tag ? MPI_ANY_TAG : m->tag,
                         .of_request = -1};
  }
  for (int i = part->receive_count; i > 1; i--) {
    int other = draw_below(part->chance, i);
    struct receive r = part->receives[i - 1];
    part->receives[i - 1] = part->receives[other];
    part->receives[other] = r;
  }
  for (int c = 0; c < COMMS; c++)
    if (part->plan->styles[c] == MIXED) mend_mixed(part, c);
  for (int i = 0; i < part->receive_count;
       i++) { /* which message it gets is not known: room for all */
    struct receive *r = &part->receives[i];
    data_make(&r->data, (enum layout)draw_below(part->chance, 2), largest[r->comm]);
    if (r->data.layout == STRIDED) { /* elements of a type that is as long as its stride */
      MPI_Type_free(&r->data.type);
      MPI_Type_create_resized(MPI_INT, 0, 2 * (MPI_Aint)sizeof(int), &r->data.type);
      MPI_Type_commit(&r->data.type);
      r->data.elements = largest[r->comm];
    }
  }
}

static void post_receive(struct part *part, struct receive *r) {
  MPI_Request request;
  MPI_Comm comm = part->world->comms[r->comm];
  bool persistent = draw_below(part->chance, 3) == 0;
  if (persistent) {
    MPI_Recv_init(r->data.memory, r->data.elements, r->data.type, r->source, r->tag, comm,
                  &request);
    MPI_Start(&request);
  } else {
    MPI_Irecv(r->data.memory, r->data.elements, r->data.type, r->source, r->tag, comm, &request);
  }
  r->of_request = add_request(part, request, persistent);
}

/* Looks for the message first, and receives what it found. */
static void probe_and_receive(struct part *part, struct receive *r, bool matched) {
  MPI_Comm comm = part->world->comms[r->comm];
  MPI_Status seen;
  MPI_Message message;
  int flag = 0, polls = draw_below(part->chance, 3);
  while (polls-- > 0 && !flag) {
    if (matched)
      MPI_Improbe(r->source, r->tag, comm, &flag, &message, &seen);
    else
      MPI_Iprobe(r->source, r->tag, comm, &flag, &seen);
  }
  if (!flag && matched) MPI_Mprobe(r->source, r->tag, comm, &message, &seen);
  if (!flag && !matched) MPI_Probe(r->source, r->tag, comm, &seen);
  if (matched)
    MPI_Mrecv(r->data.memory, r->data.elements, r->data.type, &message, &r->status);
  else
    MPI_Recv(r->data.memory, r->data.elements, r->data.type, seen.MPI_SOURCE, seen.MPI_TAG, comm,
             &r->status);
  int before, after;
  MPI_Get_count(&seen, MPI_INT, &before);
  MPI_Get_count(&r->status, MPI_INT, &after);
  if (before != after || seen.MPI_SOURCE != r->status.MPI_SOURCE ||
      seen.MPI_TAG != r->status.MPI_TAG)
    fail("a probe saw %d numbers from %d tag %d, then came %d from %d tag %d", before,
         seen.MPI_SOURCE, seen.MPI_TAG, after, r->status.MPI_SOURCE, r->status.MPI_TAG);
}

void receive_all(struct part *part) {
  for (int i = 0; i < part->receive_count; i++) {
    struct receive *r = &part->receives[i];
    int how = part->plan->kind == RECEIVES_WAIT ? draw_below(part->chance, 4) : 0;
    if (how == 0) post_receive(part, r);
    if (how == 1)
      MPI_Recv(r->data.memory, r->data.elements, r->data.type, r->source, r->tag,
               part->world->comms[r->comm], &r->status);
    if (how >= 2) probe_and_receive(part, r, how == 3);
  }
}
