/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The shared file pointer: an access claims its bytes, and gets the place where they begin. The
 * pointer is the first node's; the other nodes ask it by notes. seek.c sets it.
 */
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/io/file.h"
#include "tmpi/match/far.h"
#include "tmpi/match/match.h"
#include "tmpi/rank/rank.h"

/* A claim at another node, on the stack of its claimer. */
struct claim {
  struct tm_request request; /* complete: the answer is here */
  MPI_Offset place;
};

struct note {
  uint64_t common; /* of the first node; 0: it is an answer */
  uint64_t claim;
  MPI_Offset bytes; /* of an answer: the place */
};

static void send_note(const struct note *note, int rank, bool inside) {
  struct tm_far_send *send = tm_far_note_new(sizeof *note);
  memcpy(tm_far_note_data(send), note, sizeof *note);
  tm_far_note_send(send, TM_FAR_FILE, rank, inside);
}

static MPI_Offset claim_here(struct tm_file_common *common, MPI_Offset bytes) {
  mti_lock(&common->ilock);
  MPI_Offset place = common->shared;
  common->shared += bytes;
  mti_unlock(&common->ilock);
  return place;
}

MPI_Offset tm_file_claim(struct tm_file_common *common, const char *call, MPI_Offset bytes) {
  if (common->home == 0) return claim_here(common, bytes);
  struct claim claim = {.request = {.kind = TM_COLLECTIVE, .owner = tm_rank_self()}};
  struct tm_request *request = &claim.request;
  send_note(&(struct note){common->home, (uintptr_t)&claim, bytes}, common->home_rank, false);
  tm_requests_wait(&request, 1, 1, call);
  return claim.place;
}

void tm_file_take(int source, const void *data, size_t bytes) {
  struct note note;
  (void)bytes;
  memcpy(&note, data, sizeof note);
  if (note.common == 0) {
    struct claim *claim = (struct claim *)(uintptr_t)note.claim;
    claim->place = note.bytes;
    tm_request_complete(&claim->request);
    return;
  }
  note.bytes = claim_here((struct tm_file_common *)(uintptr_t)note.common, note.bytes);
  note.common = 0;
  send_note(&note, source, true);
}
