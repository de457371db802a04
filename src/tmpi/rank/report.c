/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deadlock in terms of ranks. Nobody runs then, so that what is read stands still.
 *
 * Relaxed: as above.
 */
#include "tmpi/rank/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/seam.h"
#include "tmpi/dt/type.h"
#include "tmpi/mpi/comm.h"
#include "tmpi/mpi/request.h"

enum { TEXT_MAX = 400 };

static const char *name_of(const struct tm_comm *comm) {
  return comm->name[0] != '\0' ? comm->name : "a communicator";
}

static void describe_peer(char *text, const struct tm_request *request) {
  if (request->peer == MPI_ANY_SOURCE)
    strcpy(text, "any rank");
  else
    snprintf(text, 32, "rank %d", request->peer);
}

static void describe_request(char *text, const struct tm_rank *rank) {
  const struct tm_request *request = rank->box.waits_for;
  if (request->kind == TM_GENERALIZED) {
    snprintf(text, TEXT_MAX, "in %s: nobody has called MPI_Grequest_complete()", rank->box.call);
    return;
  }
  if (request->kind == TM_COLLECTIVE) {
    snprintf(text, TEXT_MAX, "in %s: a nonblocking collective has not ended on %s", rank->box.call,
             name_of(request->comm));
    return;
  }
  char peer[32], tag[32];
  bool inner = request->comm != NULL && request->envelope.context != request->comm->context;
  if (inner) { /* of a collective: whom its messages go to is not the program's business */
    snprintf(text, TEXT_MAX, "in %s on %s", rank->box.call, name_of(request->comm));
    return;
  }
  describe_peer(peer, request);
  if (request->envelope.tag == MPI_ANY_TAG)
    strcpy(tag, "any tag");
  else
    snprintf(tag, sizeof tag, "tag %d", request->envelope.tag);
  bool active = !request->persistent || request->active;
  snprintf(text, TEXT_MAX, "in %s: %s%s %s, %s, %zu bytes, on %s", rank->box.call,
           active ? "" : "(never started) ",
           request->kind == TM_SEND ? "no receive was posted by" : "no message has come from", peer,
           tag, request->count * request->type->size,
           request->comm != NULL ? name_of(request->comm) : "no communicator");
}

static void describe(char *text, const struct tm_rank *rank) {
  if (mt_load_relaxed(&rank->ended))
    snprintf(text, TEXT_MAX, "ended");
  else if (mt_load_relaxed(&rank->box.call) == NULL)
    snprintf(text, TEXT_MAX, "outside of MPI");
  else if (rank->box.meets_on != NULL)
    snprintf(text, TEXT_MAX, "in %s on %s", rank->box.call, name_of(rank->box.meets_on));
  else if (rank->box.waits_for == NULL)
    snprintf(text, TEXT_MAX, "in %s: no message has come", rank->box.call);
  else
    describe_request(text, rank);
}

/* Prints "ranks 0-2, 7" for the ranks whose text is the same as that of `first`. */
static void print_alike(char (*texts)[TEXT_MAX], int first, bool *printed) {
  char list[200] = "";
  size_t used = 0;
  int count = 0;
  for (int i = first; i < tm_job.size; i++) {
    if (printed[i] || strcmp(texts[i], texts[first]) != 0) continue;
    int last = i;
    while (last + 1 < tm_job.size && strcmp(texts[last + 1], texts[first]) == 0) last++;
    for (int r = i; r <= last; r++) printed[r] = true;
    count += last - i + 1;
    const char *before = used == 0 ? "" : ", ";
    int length = last > i ? snprintf(list + used, sizeof list - used, "%s%d-%d", before, i, last)
                          : snprintf(list + used, sizeof list - used, "%s%d", before, i);
    if (length > 0 && used + (size_t)length < sizeof list - 8) used += (size_t)length;
    i = last;
  }
  fprintf(stderr, "tmpi:   rank%s %s %s%s\n", count > 1 ? "s" : "", list,
          strcmp(texts[first], "ended") == 0 ? (count > 1 ? "have " : "has ")
                                             : (count > 1 ? "wait " : "waits "),
          texts[first]);
}

static void report(void) {
  char(*texts)[TEXT_MAX] = calloc((size_t)tm_job.size, sizeof *texts);
  bool *printed = calloc((size_t)tm_job.size, sizeof *printed);
  bool ready = texts != NULL && printed != NULL;
  fflush(stdout);
  for (int i = 0; ready && i < tm_job.size; i++) describe(texts[i], &tm_job.ranks[i]);
  fprintf(stderr, "tmpi: deadlock of %d ranks:\n", tm_job.size);
  for (int i = 0; ready && i < tm_job.size; i++)
    if (!printed[i]) print_alike(texts, i, printed);
  free(texts);
  free(printed);
}

void tm_report_start(void) { mt_seam_on_deadlock(report); }
