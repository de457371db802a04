/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's part of a round. */
#include <stdlib.h>

#include "soak.h"

struct receive {
  int comm, source, tag; /* as posted, wildcards too */
  struct data data;
  MPI_Status status;
  int of_request; /* -1: it is complete */
};

struct part {
  struct plan *plan;
  const struct world *world;
  uint64_t *chance;
  struct receive *receives;
  int receive_count;
  struct data *sends;
  int send_count;
  MPI_Request *requests;
  MPI_Status *statuses;
  bool *persistent;
  int request_count;
};

static int add_request(struct part *part, MPI_Request request, bool persistent) {
  part->requests[part->request_count] = request;
  part->persistent[part->request_count] = persistent;
  return part->request_count++;
}

/* ---- sending */

typedef int starts(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
typedef int sends(const void *, int, MPI_Datatype, int, int, MPI_Comm);

static void send_message(struct part *part, const struct message *m) {
  static starts *const start[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};
  static starts *const init[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init, MPI_Rsend_init};
  static sends *const wait[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
  struct data *data = &part->sends[part->send_count++];
  MPI_Comm comm = part->world->comms[m->comm];
  bool ready = part->plan->kind == READY && draw_below(part->chance, 2) == 0;
  int mode = ready ? 3 : draw_below(part->chance, 3);
  int how = draw_below(part->chance, part->plan->kind == RECEIVES_WAIT ? 2 : 3);
  MPI_Request request;
  data_make(data, (enum layout)draw_below(part->chance, LAYOUTS), m->count);
  data_fill(data, m->id);
  if (how == 2) {
    wait[mode](data->memory, data->elements, data->type, m->dest, m->tag, comm);
    return;
  }
  if (how == 1) {
    init[mode](data->memory, data->elements, data->type, m->dest, m->tag, comm, &request);
    MPI_Start(&request);
  } else {
    start[mode](data->memory, data->elements, data->type, m->dest, m->tag, comm, &request);
  }
  add_request(part, request, how == 1);
}

static bool is_sent(const struct part *part, const struct message *m) {
  return m->source == part->world->ranks[m->comm];
}

static bool is_received(const struct part *part, const struct message *m) {
  return m->dest == part->world->ranks[m->comm];
}

static void send_all(struct part *part) {
  for (int i = 0; i < part->plan->count; i++)
    if (is_sent(part, &part->plan->messages[i])) send_message(part, &part->plan->messages[i]);
}

/* ---- receiving */

/* One receive for each message that will come, in any order. */
static void plan_receives(struct part *part) {
  int largest[COMMS] = {0};
  for (int i = 0; i < part->plan->count; i++) {
    const struct message *m = &part->plan->messages[i];
    if (!is_received(part, m)) continue;
    enum style style = part->plan->styles[m->comm];
    bool any_source = style == ANY_RANK || style == ANY_BOTH;
    bool any_tag = style == ANY_LABEL || style == ANY_BOTH;
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

static void receive_all(struct part *part) {
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

/* ---- completion, in any order */

static void done(struct part *part, int index, const MPI_Status *status) {
  part->statuses[index] = *status;
  if (part->persistent[index]) MPI_Request_free(&part->requests[index]);
}

static void wait_all(struct part *part) {
  int count = part->request_count, left = count, index, flag, some;
  int *indices = malloc(((size_t)count + 1) * sizeof *indices);
  MPI_Status *statuses = malloc(((size_t)count + 1) * sizeof *statuses);
  if (indices == NULL || statuses == NULL) fail("no memory");
  while (left > 0) {
    MPI_Status status;
    int first = draw_below(part->chance, count);
    switch (draw_below(part->chance, 5)) {
      case 0:
        if (part->requests[first] == MPI_REQUEST_NULL) continue;
        MPI_Wait(&part->requests[first], &status);
        done(part, first, &status);
        left--;
        break;
      case 1:
        if (part->requests[first] == MPI_REQUEST_NULL) continue;
        MPI_Test(&part->requests[first], &flag, &status);
        if (!flag) continue;
        done(part, first, &status);
        left--;
        break;
      case 2:
        MPI_Waitany(count, part->requests, &index, &status);
        done(part, index, &status);
        left--;
        break;
      case 3:
        MPI_Waitsome(count, part->requests, &some, indices, statuses);
        for (int i = 0; i < some; i++) done(part, indices[i], &statuses[i]);
        left -= some;
        break;
      default:
        if (draw_below(part->chance, 4) != 0) continue;
        for (int i = 0; i < count; i++) indices[i] = part->requests[i] != MPI_REQUEST_NULL;
        MPI_Waitall(count, part->requests, statuses);
        for (int i = 0; i < count; i++)
          if (indices[i]) done(part, i, &statuses[i]);
        left = 0;
    }
  }
  free(indices);
  free(statuses);
}

/* ---- against the model */

static void check(struct part *part) {
  for (int i = 0; i < part->receive_count; i++) {
    struct receive *r = &part->receives[i];
    int count;
    if (r->of_request >= 0) r->status = part->statuses[r->of_request];
    MPI_Get_count(&r->status, MPI_INT, &count);
    const struct message *m =
        model_match(part->plan, part->world, r->comm, r->status.MPI_SOURCE, r->tag);
    if (m == NULL) fail("a message from %d that was not sent", r->status.MPI_SOURCE);
    if (m->tag != r->status.MPI_TAG || m->count != count)
      fail("message %d from %d has tag %d, %d numbers; got tag %d, %d numbers: not in order", m->id,
           m->source, m->tag, m->count, r->status.MPI_TAG, count);
    data_check(&r->data, m->id, count);
    data_free(&r->data);
  }
  for (int i = 0; i < part->send_count; i++) data_free(&part->sends[i]);
}

static void check_nothing_left(const struct world *world) {
  for (int c = 0; c < COMMS; c++) {
    int flag;
    MPI_Barrier(world->comms[c]);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world->comms[c], &flag, MPI_STATUS_IGNORE);
    if (flag) fail("a message nobody was to get");
    MPI_Barrier(world->comms[c]);
  }
}

void perform(struct plan *plan, const struct world *world, uint64_t *chance) {
  size_t most = 2 * (size_t)plan->count + 1;
  struct part part = {.plan = plan, .world = world, .chance = chance};
  part.receives = calloc(most, sizeof *part.receives);
  part.sends = calloc(most, sizeof *part.sends);
  part.requests = calloc(most, sizeof *part.requests);
  part.statuses = calloc(most, sizeof *part.statuses);
  part.persistent = calloc(most, sizeof *part.persistent);
  if (part.receives == NULL || part.sends == NULL || part.requests == NULL ||
      part.statuses == NULL || part.persistent == NULL)
    fail("no memory");
  plan_receives(&part);
  if (plan->kind == RECEIVES_WAIT) send_all(&part);
  receive_all(&part);
  if (plan->kind == READY) MPI_Barrier(MPI_COMM_WORLD);
  if (plan->kind != RECEIVES_WAIT) send_all(&part);
  wait_all(&part);
  check(&part);
  check_nothing_left(world);
  free(part.receives);
  free(part.sends);
  free(part.requests);
  free(part.statuses);
  free(part.persistent);
}
