/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives have to agree. Each collective of a communicator has a number, by which its callers
 * find one entry of a table. Each caller compares its call with that of the first arrival. A
 * difference is reported at once and ends the job, since its behaviour is undefined from there on.
 * Of members on several nodes, the table of each node has its own; summary.c compares the nodes.
 */
#include <ctype.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "tmpi/check/check.h"
#include "tmpi/check/signature.h"
#include "tmpi/object/comm.h"
#include "tmpi/report/text.h"

/* What has to be the same for all, beside the call. DATA: of the first data; OTHER: of the others;
 * _AT_ROOT: which are the root's only. */
enum { SAME_DATA = 1, SAME_OTHER = 2, DATA_AT_ROOT = 4, OTHER_AT_ROOT = 8 };

/* Each row is that of its nonblocking and its persistent form, too. */
static const struct collective {
  const char *name;
  int same;
} collectives[] = {
    {"MPI_Allgather", SAME_DATA | SAME_OTHER},
    {"MPI_Allgatherv", 0},
    {"MPI_Allreduce", SAME_DATA},
    {"MPI_Alltoall", SAME_DATA | SAME_OTHER},
    {"MPI_Alltoallv", 0},
    {"MPI_Alltoallw", 0},
    {"MPI_Barrier", 0},
    {"MPI_Bcast", SAME_DATA},
    {"MPI_Cart_create", 0},
    {"MPI_Cart_sub", 0},
    {"MPI_Comm_accept", 0},
    {"MPI_Comm_connect", 0},
    {"MPI_Comm_create", 0},
    {"MPI_Comm_dup", 0},
    {"MPI_Comm_dup_with_info", 0},
    {"MPI_Comm_idup", 0},
    {"MPI_Comm_idup_with_info", 0},
    {"MPI_Comm_spawn", 0},
    {"MPI_Comm_spawn_multiple", 0},
    {"MPI_Comm_split", 0},
    {"MPI_Comm_split_type", 0},
    {"MPI_Dist_graph_create", 0},
    {"MPI_Dist_graph_create_adjacent", 0},
    {"MPI_Exscan", SAME_DATA},
    {"MPI_File_open", 0},
    {"MPI_Finalize", 0},
    {"MPI_Gather", SAME_DATA | SAME_OTHER | OTHER_AT_ROOT},
    {"MPI_Gatherv", 0},
    {"MPI_Graph_create", 0},
    {"MPI_Intercomm_create", 0},
    {"MPI_Intercomm_merge", 0},
    {"MPI_Neighbor_allgather", 0},
    {"MPI_Neighbor_allgatherv", 0},
    {"MPI_Neighbor_alltoall", 0},
    {"MPI_Neighbor_alltoallv", 0},
    {"MPI_Neighbor_alltoallw", 0},
    {"MPI_Reduce", SAME_DATA},
    {"MPI_Reduce_scatter", 0},
    {"MPI_Reduce_scatter_block", SAME_DATA},
    {"MPI_Scan", SAME_DATA},
    {"MPI_Scatter", SAME_DATA | SAME_OTHER | DATA_AT_ROOT},
    {"MPI_Scatterv", 0},
    {"MPI_Win_allocate", 0},
    {"MPI_Win_allocate_shared", 0},
    {"MPI_Win_create", 0},
    {"MPI_Win_create_dynamic", 0},
};

/* A rank that has arrived. */
struct arrival {
  struct tm_seen seen;
  char text[TM_CALL_TEXT]; /* written when something differs */
};

struct phase {
  struct phase *next;
  uint64_t context;
  unsigned number;
  int members, come;
  bool compares; /* arguments, too: all are of one group */
  bool differs;  /* it is being reported, and stays */
  struct tm_signature signature;
  struct arrival *arrivals; /* in the order they came in */
};

enum { BUCKETS = 1024 };

static struct bucket {
  uint32_t ilock;
  struct phase *phases;
} buckets[BUCKETS];

static struct kind {
  const char *name; /* without the suffix of large counts: both forms meet; NULL: no collective */
  int same;
} *kinds; /* of each call */

static int by_name(const void *name, const void *row) {
  return strcmp(name, ((const struct collective *)row)->name);
}

static const struct collective *row_of(const char *name) {
  return bsearch(name, collectives, sizeof collectives / sizeof collectives[0],
                 sizeof collectives[0], by_name);
}

/* Removes what a name ends with. @return whether it does. */
static bool remove_end(char *name, const char *end) {
  size_t length = strlen(name), more = strlen(end);
  bool ends = length > more && strcmp(name + length - more, end) == 0;
  if (ends) name[length - more] = '\0';
  return ends;
}

/* @return the row of a call, whatever its form is; NULL: it is no collective. */
static const struct collective *collective_of(const char *call) {
  char name[64];
  snprintf(name, sizeof name, "%s", call);
  remove_end(name, "_c");
  const struct collective *row = row_of(name);
  if (row != NULL) return row;
  if (!remove_end(name, "_init")) { /* MPI_Ibcast is MPI_Bcast */
    char *first = name + strlen("MPI_");
    if (*first != 'I') return NULL;
    memmove(first, first + 1, strlen(first));
    *first = (char)toupper((unsigned char)*first);
  }
  return row_of(name);
}

/* @return the name of a call, or of its other form if it is the one with large counts: names are
 * sorted, so that the other one comes before it. */
static const char *name_of(int call) {
  const char *name = tm_calls[call];
  size_t length = strlen(name) - strlen("_c");
  if (strcmp(name + length, "_c") != 0) return name;
  int other = 0;
  while (strncmp(tm_calls[other], name, length) != 0 || tm_calls[other][length] != '\0') other++;
  return tm_calls[other];
}

bool tm_order_start(void) {
  kinds = calloc((unsigned)tm_call_count, sizeof *kinds);
  if (kinds == NULL) return false;
  for (int i = 0; i < tm_call_count; i++) {
    const struct collective *row = collective_of(tm_calls[i]);
    if (row == NULL) continue;
    kinds[i] = (struct kind){name_of(i), row->same};
  }
  return true;
}

/* ---- phase */

static struct bucket *bucket_of(uint64_t context, unsigned number) {
  return &buckets[(context * 31 + number) % BUCKETS];
}

/* Of both groups of an intercommunicator. */
static int members_here(const struct tm_comm *comm) {
  int here = comm->size + (comm->inter ? comm->remote->size : 0);
  if (tm_job.far == NULL) return here;
  here = 0;
  for (int i = 0; i < comm->size; i++) here += tm_rank_is_here(comm->group->ranks[i]);
  for (int i = 0; comm->inter && i < comm->remote->size; i++)
    here += tm_rank_is_here(comm->remote->ranks[i]);
  return here;
}

/* The phase of a number; made for the first to come. NULL: no memory, and nothing is compared. */
static struct phase *find(struct bucket *bucket, const struct tm_comm *comm, unsigned number) {
  struct phase *m = bucket->phases;
  while (m != NULL && (m->context != comm->context || m->number != number)) m = m->next;
  if (m != NULL) return m;
  m = calloc(1, sizeof *m);
  if (m == NULL) return NULL;
  m->context = comm->context;
  m->number = number;
  m->members = members_here(comm);
  m->compares = !comm->inter;
  m->arrivals = calloc((unsigned)m->members, sizeof *m->arrivals);
  if (m->arrivals == NULL) {
    free(m);
    return NULL;
  }
  m->next = bucket->phases;
  bucket->phases = m;
  return m;
}

/* All have come. */
static void drop(struct bucket *bucket, struct phase *phase) {
  struct phase **link = &bucket->phases;
  while (*link != phase) link = &(*link)->next;
  *link = phase->next;
  free(phase->arrivals);
  free(phase);
}

/* ---- comparing */

static bool signature_of(const struct tm_data *data, struct tm_signature *signature) {
  if (data->count < 0 || data->buffer == MPI_IN_PLACE) return false; /* the type may be anything */
  const struct tm_type *type = tm_type_of(data->type);
  if (type == NULL) return false;
  *signature = tm_signature_of(type, (uint64_t)data->count);
  return true;
}

/* The data a caller has to say something about: both, one, or none. @return whether they are all
 * the same; *first: one of them, *any: there is one. */
static bool read_data(const struct tm_seen *seen, int same, bool is_root,
                      struct tm_signature *first, bool *any) {
  struct tm_signature data, other;
  bool has_data =
      (same & SAME_DATA) && (is_root || !(same & DATA_AT_ROOT)) && signature_of(&seen->data, &data);
  bool has_other = (same & SAME_OTHER) && (is_root || !(same & OTHER_AT_ROOT)) &&
                   signature_of(&seen->other, &other);
  *any = has_data || has_other;
  if (has_data) *first = data;
  if (!has_data && has_other) *first = other;
  return !(has_data && has_other) || tm_signature_same(&data, &other);
}

bool tm_op_is_predefined(MPI_Op op) { return op != 0 && (uintptr_t)op < 0x1000; }

/* @return what differs from the first call; NULL: nothing. */
static const char *compare(struct phase *m, const struct tm_seen *seen, int rank) {
  const struct tm_seen *first = &m->arrivals[0].seen;
  struct tm_signature signature;
  bool any;
  if (kinds[seen->call].name != kinds[first->call].name) return "call different collectives";
  if (!m->compares) return NULL;
  if (seen->root != first->root) return "name different roots";
  if (seen->op != first->op && tm_op_is_predefined(seen->op) && tm_op_is_predefined(first->op))
    return "name different operations";
  int same = kinds[seen->call].same;
  if (!read_data(seen, same, seen->root == rank, &signature, &any))
    return "send other data than they receive";
  if (!any) return NULL;
  if (m->signature.power == 0) m->signature = signature; /* the first to say something */
  return tm_signature_same(&signature, &m->signature) ? NULL : "have different data";
}

/* ---- telling */

/* Waits for the end of the job. A rank that continued would do what is undefined. */
__attribute__((noreturn)) static void wait_for_end(void) {
  static uint32_t ilock;
  for (;;) {
    mti_lock(&ilock);
    mti_park_unlock(&ilock, "end of the job, by --check");
  }
}

static void print(const struct phase *m, int come, const struct tm_comm *comm, const char *what) {
  char who[TM_RANKS_TEXT];
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  for (int i = 0; i < come; i++) tm_describe(m->arrivals[i].text, &m->arrivals[i].seen);
  tm_finding_print("ranks of %s %s:", tm_text_comm(comm->name), what);
  for (int i = 0; set != NULL && i < come; i++) {
    bool printed = false;
    for (int k = 0; k < i && !printed; k++)
      printed = strcmp(m->arrivals[k].text, m->arrivals[i].text) == 0;
    if (printed) continue;
    memset(set, 0, (unsigned)tm_job.size * sizeof *set);
    for (int k = i; k < come; k++)
      set[m->arrivals[k].seen.rank] |= strcmp(m->arrivals[k].text, m->arrivals[i].text) == 0;
    tm_text_ranks(who, set, tm_job.size);
    tm_finding_continue("%s: %s", who, m->arrivals[i].text);
  }
  free(set);
  tm_finding_continue(
      "%d of %d ranks%s have come so far; the job ends here (what follows is undefined)", come,
      m->members, tm_job.far != NULL ? " of this node" : "");
  tm_job_abort(1);
}

void tm_order_begin(const struct tm_seen *seen) {
  if (kinds[seen->call].name == NULL) return;
  bool ends = strcmp(tm_calls[seen->call], "MPI_Finalize") == 0;
  struct tm_comm *comm = tm_comm_of(ends ? MPI_COMM_WORLD : seen->comm);
  if (comm == NULL) return; /* the call says so */
  struct bucket *bucket = bucket_of(comm->context, ++comm->checked);
  mti_lock(&bucket->ilock);
  struct phase *m = find(bucket, comm, comm->checked);
  const char *different = NULL;
  int come = 0;
  bool first = false, stops = false, agree = false;
  struct tm_signature signature = {0};
  if (m != NULL) {
    m->arrivals[m->come++].seen = *seen;
    different = compare(m, seen, comm->rank);
    first = different != NULL && !m->differs;
    m->differs |= different != NULL;
    stops = m->differs;
    come = m->come;
    agree = !m->differs && come == m->members;
    signature = m->signature;
    if (agree) drop(bucket, m);
  }
  mti_unlock(&bucket->ilock);
  if (agree && tm_comm_spans(comm))
    tm_summary_send(comm, comm->checked, kinds[seen->call].name, seen, &signature);
  if (first) print(m, come, comm, different);
  if (stops) wait_for_end();
}
