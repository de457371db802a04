/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of members on several nodes. order.c compares the calls of a node's members. When all
 * of these have come, the node sends a summary of them to the node of the communicator's first
 * member, which compares it with the one that came first. A difference ends the job.
 *
 * A node does not wait for that. Members of two nodes may have met in calls that differ, which is
 * undefined, before the difference is reported.
 *
 * Rejected: waiting, which makes each collective a barrier of all nodes.
 *
 * Relaxed: the exchange chooses the thread that reports a difference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/check/check.h"
#include "tmpi/check/signature.h"
#include "tmpi/match/far.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/span.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/text.h"

enum { BUCKETS = 256, PLACES = 64, CALL_TEXT = 48, COMM_TEXT = 64, SITE_TEXT = 160 };

struct summary {
  uint64_t context, op; /* op: 0 if it is the program's own, or there is none */
  uint32_t number;      /* of the collective */
  int32_t node, nodes;  /* the sender; how many have members */
  int32_t root;         /* TM_NONE: none */
  bool has_data;        /* the signature is of some member's */
  struct tm_signature signature;
  char call[CALL_TEXT], comm[COMM_TEXT], site[SITE_TEXT];
};

/* ---- the node that sends. The name of a place in the program takes long to find. */

static struct place {
  uint32_t ilock;
  const void *site; /* [ilock] NULL: none yet */
  char text[SITE_TEXT];
} places[PLACES];

static void describe_site(char text[SITE_TEXT], const void *site) {
  struct place *place = &places[(uintptr_t)site / 4 % PLACES];
  mti_lock(&place->ilock);
  bool known = site != NULL && place->site == site;
  if (known) memcpy(text, place->text, SITE_TEXT);
  mti_unlock(&place->ilock);
  if (known) return;
  tm_describe_site(text, SITE_TEXT, site);
  mti_lock(&place->ilock);
  place->site = site;
  memcpy(place->text, text, SITE_TEXT);
  mti_unlock(&place->ilock);
}

void tm_summary_send(const struct tm_comm *comm, unsigned number, const char *call,
                     const struct tm_seen *seen, const struct tm_signature *signature) {
  struct summary summary = {.context = comm->context,
                            .op = tm_op_is_predefined(seen->op) ? (uintptr_t)seen->op : 0,
                            .number = number,
                            .node = tm_rank_node(tm_job.first),
                            .nodes = comm->span->nodes,
                            .root = seen->root,
                            .has_data = signature->power != 0,
                            .signature = *signature};
  snprintf(summary.call, sizeof summary.call, "%s", call);
  snprintf(summary.comm, sizeof summary.comm, "%s", tm_text_comm(comm->name));
  describe_site(summary.site, seen->site);
  tm_far_check(&summary, sizeof summary, comm->group->ranks[0]);
}

/* ---- the node that compares */

struct judged {
  struct judged *next;
  struct summary first;
  int come;
};

static struct bucket {
  uint32_t ilock;
  struct judged *list;
} buckets[BUCKETS];

static uint32_t reported; /* [atomic] 1: a difference has been found; relaxed: see above */

/* @return what differs; NULL: nothing. */
static const char *compare(const struct summary *one, const struct summary *other) {
  if (strcmp(one->call, other->call) != 0) return "call different collectives";
  if (one->root != other->root) return "name different roots";
  if (one->op != other->op && one->op != 0 && other->op != 0) return "name different operations";
  bool both = one->has_data && other->has_data;
  return both && !tm_signature_same(&one->signature, &other->signature) ? "have different data"
                                                                        : NULL;
}

static void print_one(const struct summary *s) {
  char root[32] = "", data[48] = "";
  if (s->root != TM_NONE) snprintf(root, sizeof root, "root %d", s->root);
  if (s->has_data)
    snprintf(data, sizeof data, "%s%llu basic element%s", root[0] != '\0' ? ", " : "",
             (unsigned long long)s->signature.count, s->signature.count == 1 ? "" : "s");
  tm_finding_continue("node %d: %s(%s%s%s%s)%s", s->node, s->call, root, data,
                      s->op != 0 ? ", " : "",
                      s->op != 0 ? tm_op_name((MPI_Op)(uintptr_t)s->op) : "", s->site);
}

static void report_difference(const struct summary *one, const struct summary *other,
                              const char *what) {
  tm_finding_print("nodes of %s %s:", one->comm, what);
  print_one(one);
  print_one(other);
  tm_finding_continue("the job ends here (what follows is undefined)");
  tm_job_abort(1);
}

/* The ilock is held. NULL: no memory, and nothing is compared. */
static struct judged *find(struct bucket *bucket, const struct summary *s) {
  struct judged *j = bucket->list;
  while (j != NULL && (j->first.context != s->context || j->first.number != s->number)) j = j->next;
  if (j != NULL) return j;
  j = calloc(1, sizeof *j);
  if (j == NULL) return NULL;
  j->first = *s;
  j->next = bucket->list;
  bucket->list = j;
  return j;
}

static void drop(struct bucket *bucket, struct judged *judged) {
  struct judged **link = &bucket->list;
  while (*link != judged) link = &(*link)->next;
  *link = judged->next;
  free(judged);
}

static void judge(const void *data, size_t bytes) {
  struct summary s, first = {0};
  const char *what = NULL;
  if (bytes != sizeof s) return;
  memcpy(&s, data, sizeof s);
  struct bucket *bucket = &buckets[(s.context * 31 + s.number) % BUCKETS];
  mti_lock(&bucket->ilock);
  struct judged *judged = find(bucket, &s);
  if (judged != NULL) {
    first = judged->first;
    what = compare(&first, &s);
    if (++judged->come == s.nodes) drop(bucket, judged);
  }
  mti_unlock(&bucket->ilock);
  /* relaxed: see above; what comes while the job ends differs as well */
  if (what != NULL && mt_or_relaxed(&reported, 1) == 0) report_difference(&first, &s, what);
}

void tm_summary_start(void) { tm_far_check_hook = judge; }
