/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deadlock of ranks on several nodes.
 *
 * The deadlock check of a node finds that none of its threads can run, and that only a message of
 * another node may change that. The node then sends a suspicion to node 0, once a second. When all
 * nodes have sent one, node 0 asks each, in two rounds, whether it rests, and what it has counted:
 * the events that it has sent to other nodes, and the events that have come (tm_ucx_rests()). The
 * second round begins when the first is over. If all nodes rest in both, and all four sums are
 * equal, then between the rounds all nodes rested at once and nothing was under way: nobody will
 * ever run.
 *
 * A node that does not rest in a round has to send its next suspicion first, so a node that
 * computes for long is not asked again and again. A node whose ranks have ended rests for good.
 *
 * Node 0 gathers what the ranks of all nodes do, and prints one report. It does so too when the
 * time of the job is over: the node that notices that first tells node 0.
 *
 * Rejected: one round, which may count a message at its receiver and not at its sender; a ring of
 * nodes, whose rounds take as many steps as there are nodes.
 *
 * The thread of links.c runs all but tm_rest_ended() and suspect(), so the state has one owner.
 * Relaxed: a flag that a later note of the same thread follows.
 */
#include <mltp/mltp.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/nodes/nodes.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/report.h"

#define LATE_NS 5000000000    /* until node 0 asks what the ranks do */
#define REPORT_NS 60000000000 /* from then on, until it has reported */

static struct {
  int size;           /* [const] number of nodes */
  uint32_t ended;     /* [atomic] 1: the ranks of this node have; relaxed: see above */
  uint32_t asked;     /* [atomic] 1: node 0 gathers what the ranks do; relaxed: a hint */
  void (*late)(void); /* [const] reports a time-out, and ends the job */
  bool *suspected;    /* [owner] of node 0: by number of the node */
  bool reported;      /* [owner] */
  bool is_late;       /* [owner] the report is one of a time-out */
  uint32_t round;     /* [owner] number of the last round; the rest is of it: */
  bool second;        /* [owner] */
  int left;           /* [owner] nodes that have not answered */
  bool all_rest;      /* [owner] all that have answered rest */
  bool any_waits;     /* [owner] one of them has ranks */
  uint64_t went, came, first_sum;
} rest;

/* In the idle context of a VP. */
static bool suspect(void) {
  tm_links_send(0, &(struct tm_note){.kind = TM_NOTE_SUSPECT});
  return true;
}

/* A rank that has failed ends the job soon, with its status. */
static bool still(void) {
  int status, rank = tm_job_failure(&status);
  if (rank >= 0) return false;
  return mt_load_relaxed(&rest.ended) != 0 || mti_still_rests(); /* relaxed: see above */
}

static void answer(uint32_t round) {
  struct tm_note note = {.kind = TM_NOTE_STATE, .round = round};
  note.ended = mt_load_relaxed(&rest.ended); /* relaxed: see above */
  note.rests = tm_ucx_rests(&note.went, &note.came, still);
  tm_links_send(0, &note);
}

/* ---- node 0 */

static void ask(bool second) {
  rest.round++;
  rest.second = second;
  rest.left = rest.size;
  rest.all_rest = true;
  rest.any_waits = false;
  rest.went = rest.came = 0;
  for (int i = 0; i < rest.size; i++)
    tm_links_send(i, &(struct tm_note){.kind = TM_NOTE_ASK, .round = rest.round});
}

static void note_suspicion(int node) {
  rest.suspected[node] = true;
  if (rest.left > 0 || rest.reported) return;
  for (int i = 0; i < rest.size; i++)
    if (!rest.suspected[i]) return;
  ask(false);
}

static void report(void) {
  if (rest.is_late) rest.late();
  if (!mti_deadlock_report()) return;
  tm_job_tell(MLTP_EXIT_DEADLOCK, "deadlock");
  _exit(MLTP_EXIT_DEADLOCK);
}

/* Its answers are those of nodes 1 and on. */
static void gather(void) {
  rest.reported = true;
  mt_or_relaxed(&rest.asked, 1); /* relaxed: a hint */
  rest.left = rest.size - 1;
  for (int i = 1; i < rest.size; i++) tm_links_send(i, &(struct tm_note){.kind = TM_NOTE_GATHER});
}

static void end_round(void) {
  if (!rest.all_rest || !rest.any_waits || rest.went != rest.came) return;
  if (!rest.second) {
    rest.first_sum = rest.went;
    ask(true);
  } else if (rest.went == rest.first_sum) {
    gather();
  }
}

static void note_state(int node, const struct tm_note *note) {
  if (note->round != rest.round || rest.reported) return;
  rest.all_rest &= note->rests != 0;
  rest.any_waits |= note->ended == 0;
  rest.went += note->went;
  rest.came += note->came;
  if (note->rests == 0) rest.suspected[node] = false;
  if (--rest.left == 0) end_round();
}

static void note_gathered(int node, uint64_t bytes) {
  void *gathered = malloc(bytes);
  if (gathered == NULL || !tm_links_read(node, gathered, bytes)) {
    free(gathered); /* the connection tells why */
    return;
  }
  tm_report_add(gathered, bytes);
  free(gathered);
  if (--rest.left == 0) report();
}

/* A node whose time is over before node 0 has begun reports for itself. */
static void note_late(void) {
  if (rest.reported || rest.late == NULL) return;
  rest.is_late = true;
  gather();
}

/* ---- all nodes */

static void send_activities(void) {
  size_t bytes = 0;
  mt_or_relaxed(&rest.asked, 1); /* relaxed: a hint */
  void *gathered = tm_report_gather(&bytes);
  tm_job_flush(); /* what the program has printed comes before the report */
  tm_links_write(0, &(struct tm_note){.kind = TM_NOTE_GATHERED, .bytes = bytes}, gathered);
  free(gathered);
}

void tm_rest_note(int node, const struct tm_note *note) {
  if (note->kind == TM_NOTE_SUSPECT)
    note_suspicion(node);
  else if (note->kind == TM_NOTE_ASK)
    answer(note->round);
  else if (note->kind == TM_NOTE_STATE)
    note_state(node, note);
  else if (note->kind == TM_NOTE_GATHER)
    send_activities();
  else if (note->kind == TM_NOTE_GATHERED)
    note_gathered(node, note->bytes);
  else if (note->kind == TM_NOTE_LATE)
    note_late();
  else if (note->kind == TM_NOTE_COUNTS)
    tm_counts_note(node, note->bytes);
}

bool tm_rest_prepare(const struct tm_nodes *nodes) {
  rest.size = nodes->size;
  rest.suspected = calloc((size_t)nodes->size, sizeof *rest.suspected);
  return rest.suspected != NULL;
}

void tm_rest_start(void (*late)(void)) {
  rest.late = late;
  mti_set_deadlock_elsewhere(suspect);
}

/* On a busy machine the report takes long. If it came twice, the second would not have the ranks of
 * other nodes. */
void tm_rest_late(void) {
  tm_links_send(0, &(struct tm_note){.kind = TM_NOTE_LATE});
  os_nap(LATE_NS);
  if (mt_load_relaxed(&rest.asked) != 0) os_nap(REPORT_NS); /* relaxed: a hint */
}

void tm_rest_ended(void) {
  mt_or_relaxed(&rest.ended, 1); /* relaxed: see above */
  suspect();
}
