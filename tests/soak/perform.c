/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's part of a round. */
#include <stdlib.h>

#include "part.h"

int add_request(struct part *part, MPI_Request request, bool persistent) {
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

static void send_all(struct part *part) {
  for (int i = 0; i < part->plan->count; i++)
    if (is_sent(part, &part->plan->messages[i])) send_message(part, &part->plan->messages[i]);
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
