/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report says of ranks that wait, word by word: their states are made here, so there is no
 * rank. What would be read of communicators and mailboxes is in tables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "captured.h"
#include "core/internal/process.h"
#include "counted_blocks.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/cause.h"
#include "tmpi/report/location.h"
#include "tmpi/report/text.h"

enum { RANKS = 200, TEXT = 1 << 15, WORLD = 4, OTHER = 5, OF_LIBRARY = 99 };

struct tm_job tm_job;
static struct tm_activity all[RANKS];
static struct tm_rank ranks[RANKS];
static struct tm_member members[RANKS]; /* of each communicator */
static int first_member, member_count;
static char said[TEXT];

/* ---- what is read of ranks */

bool mti_peek(void *to, const void *from, size_t size) {
  if (from == NULL) return false;
  memcpy(to, from, size);
  return true;
}

static const char *name_of(uint64_t context) { return context == WORLD ? "world" : "other"; }

int tm_activity_source(char name[MPI_MAX_OBJECT_NAME], int number, uint64_t context, int source) {
  assert_in_range(number, 0, tm_job.size - 1);
  if (context == OF_LIBRARY) return -1;
  strcpy(name, name_of(context));
  return source;
}

struct tm_member tm_activity_member(int number, uint64_t context) {
  (void)context;
  return members[number];
}

int tm_activity_members(int number, uint64_t context, int **copy) {
  (void)number, (void)context;
  *copy = calloc((size_t)member_count + 1, sizeof **copy);
  for (int i = 0; i < member_count; i++) (*copy)[i] = first_member + i;
  return member_count;
}

void tm_location_name(char *text, size_t size, const void *address) {
  snprintf(text, size, "line %td", (const char *)address - (const char *)all);
}

/* ---- states */

static void start(int size) {
  memset(all, 0, sizeof all);
  memset(ranks, 0, sizeof ranks);
  memset(members, 0, sizeof members);
  tm_job = (struct tm_job){.size = size, .ranks = ranks};
  first_member = 0;
  member_count = size;
  for (int i = 0; i < size; i++) all[i].state = TM_OUTSIDE;
}

/* A rank waits for a message of another one, or for it to be taken. */
static void waits(int rank, enum tm_kind kind, int peer, int tag, uint64_t context) {
  all[rank].state = TM_WAITS;
  all[rank].call = kind == TM_SEND ? "MPI_Ssend" : "MPI_Recv";
  all[rank].what = (struct tm_wanted){.known = true,
                                      .kind = kind,
                                      .peer = peer,
                                      .number = peer,
                                      .tag = tag,
                                      .has_comm = true,
                                      .context = context};
  strcpy(all[rank].what.comm, name_of(context));
}

static void waits_at_window(int rank, int peer) {
  waits(rank, TM_RECV, peer, 0, WORLD);
  all[rank].what.has_window = true;
}

static void has_ended(int rank) { all[rank].state = TM_ENDED; }

static void finalizes(int rank) {
  all[rank].state = TM_WAITS;
  all[rank].call = "MPI_Finalize";
}

/* A rank is in collective `number` of a communicator, and has called these before: the last of the
 * list is its newest. */
static void has_called(int rank, uint64_t context, int number, const char *call, int root) {
  struct tm_member *member = &members[rank];
  (void)context;
  member->found = true;
  member->collectives = number;
  member->recent[number % TM_RECENT] = call;
  if (root >= 0) member->rooted[number % TM_RECENT] = (struct tm_rooted){number, root};
}

static void is_in(int rank, uint64_t context, int number, const char *call, int root) {
  has_called(rank, context, number, call, root);
  all[rank].state = TM_WAITS;
  all[rank].call = call;
  all[rank].what = (struct tm_wanted){
      .known = true, .inner = true, .kind = TM_COLLECTIVE, .has_comm = true, .context = context};
  strcpy(all[rank].what.comm, name_of(context));
}

/* ---- what is printed */

/* What the causes of these states are, as printed. */
static const char *causes(bool still) {
  struct captured captured = captured_begin();
  int before = blocks;
  tm_report_causes(all, still);
  captured_end(&captured, said, sizeof said);
  assert_int_equal(blocks, before);
  return said;
}

#define WHY "tmpi: why: "
#define IN_CIRCLE " wait for each other in a circle: "
#define SEND_FIRST "all send first, and none receives (MPI_Sendrecv, or MPI_Irecv before)\n"

static void ranks_in_a_circle(void **state) {
  (void)state;
  start(4);
  assert_string_equal(causes(true), "");
  for (int i = 0; i < 3; i++) waits(i, TM_SEND, (i + 1) % 3, 0, WORLD);
  waits(3, TM_SEND, 1, 0, WORLD); /* it waits for them, and is in no circle */
  assert_string_equal(causes(true), WHY "ranks 0 -> 1 -> 2 -> 0" IN_CIRCLE SEND_FIRST);
  waits(1, TM_RECV, 2, 0, WORLD);
  assert_string_equal(
      causes(true), WHY "ranks 0 -> 1 -> 2 -> 0" IN_CIRCLE "each for a message that comes later\n");
  waits(0, TM_RECV, 1, 0, WORLD);
  waits(2, TM_RECV, 0, 0, WORLD);
  assert_string_equal(causes(true),
                      WHY "ranks 0 -> 1 -> 2 -> 0" IN_CIRCLE "all receive first, and none sends\n");
  waits_at_window(2, 0);
  const char *windows = WHY "ranks 0 -> 1 -> 2 -> 0" IN_CIRCLE
                            "for locks or epochs of windows (all ranks must lock in one order)\n";
  assert_string_equal(causes(true), windows);
  tm_job.far = (const struct tm_transport *)ranks; /* several nodes: such causes are the same */
  assert_string_equal(causes(true), windows);
  /* a circle that a rank outside of it leads to */
  start(3);
  waits(0, TM_SEND, 2, 0, WORLD);
  waits(1, TM_SEND, 2, 0, WORLD);
  waits(2, TM_SEND, 1, 0, WORLD);
  assert_string_equal(causes(true), WHY "ranks 2 -> 1 -> 2" IN_CIRCLE SEND_FIRST);
  waits_at_window(1, 1);
  waits_at_window(2, 1);
  assert_string_equal(causes(true), WHY "ranks 1 -> 1" IN_CIRCLE
                                        "for locks or epochs of windows "
                                        "(all ranks must lock in one order)\n");
}

static void what_is_no_circle(void **state) {
  (void)state;
  for (int change = 0; change <= 5; change++) {
    start(2);
    for (int i = 0; i < 2; i++) waits(i, TM_SEND, 1 - i, 0, WORLD);
    struct tm_wanted *what = &all[1].what;
    switch (change) {
      case 1: all[1].state = TM_OUTSIDE; break;
      case 2: what->known = false; break;
      case 3: what->inner = true; break;
      case 4: what->kind = TM_GENERALIZED; break;
      case 5: what->number = 2; break; /* it was spawned after the job was counted */
      default: break;
    }
    tm_job.far = (const struct tm_transport *)ranks;
    assert_string_equal(causes(true),
                        change == 0 ? WHY "ranks 0 -> 1 -> 0" IN_CIRCLE SEND_FIRST : "");
  }
}

static void long_circles_and_many(void **state) {
  (void)state;
  for (int size = TM_CAUSES_MAX; size <= TM_CAUSES_MAX + 1; size++) {
    start(size);
    for (int i = 0; i < size; i++) waits(i, TM_SEND, (i + 1) % size, 0, WORLD);
    assert_string_equal(
        causes(true),
        size == TM_CAUSES_MAX
            ? WHY "ranks 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 0" IN_CIRCLE SEND_FIRST
            : WHY "ranks 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 6 -> 7 -> 8 -> ... (9 ranks)" IN_CIRCLE
                  SEND_FIRST);
  }
  for (int pairs = TM_CAUSES_MAX - 1; pairs <= TM_CAUSES_MAX + 2; pairs++) {
    char expected[TEXT];
    size_t used = 0;
    start(2 * pairs);
    for (int i = 0; i < 2 * pairs; i++) waits(i, TM_SEND, i ^ 1, 0, WORLD);
    for (int i = 0; i < pairs && i < TM_CAUSES_MAX; i++)
      used += (size_t)sprintf(expected + used, WHY "ranks %d -> %d -> %d" IN_CIRCLE SEND_FIRST,
                              2 * i, 2 * i + 1, 2 * i);
    if (pairs > TM_CAUSES_MAX)
      sprintf(expected + used, WHY "and %d circles more\n", pairs - TM_CAUSES_MAX);
    assert_string_equal(causes(true), expected);
  }
}

static void two_ranks_that_do_not_fit(void **state) {
  (void)state;
  for (int sender = 0; sender < 2; sender++) {
    char expected[300];
    start(2);
    waits(sender, TM_SEND, 1 - sender, 3, WORLD);
    waits(1 - sender, TM_RECV, sender, 4, WORLD);
    sprintf(expected,
            WHY "rank %d sends to rank %d with tag 3, which receives from it with tag 4\n", sender,
            1 - sender);
    assert_string_equal(causes(true), expected);
    waits(1 - sender, TM_RECV, sender, 3, OTHER);
    sprintf(expected, WHY "rank %d sends to rank %d on world, which receives from it on other\n",
            sender, 1 - sender);
    assert_string_equal(causes(true), expected);
    all[sender].what.has_window = true;
    assert_non_null(strstr(causes(true), "ranks 0 -> 1 -> 0" IN_CIRCLE "for locks or epochs"));
    all[sender].what.has_window = false;
    all[1 - sender].what.has_window = true;
    assert_non_null(strstr(causes(true), "ranks 0 -> 1 -> 0" IN_CIRCLE "for locks or epochs"));
  }
}

static void messages_to_oneself(void **state) {
  (void)state;
  start(5);
  waits(2, TM_SEND, 2, 0, WORLD);
  assert_string_equal(causes(true), WHY
                      "rank 2 waits for a receive of its own, which it cannot post while waiting "
                      "(MPI_Sendrecv, or MPI_Irecv before)\n");
  waits(1, TM_RECV, 1, 0, WORLD);
  waits(3, TM_SEND, 3, 0, WORLD);
  waits(4, TM_RECV, 4, 0, WORLD);
  assert_string_equal(
      causes(true), WHY
      "ranks 2-3 wait each for a receive of their own, which they cannot post while "
      "waiting (MPI_Sendrecv, or MPI_Irecv before)\n" WHY
      "ranks 1, 4 wait each for a message of their own, which they cannot send "
      "while waiting (MPI_Sendrecv, or MPI_Isend before)\n");
  start(2);
  waits(0, TM_RECV, 0, 0, WORLD);
  assert_non_null(strstr(causes(true), WHY "rank 0 waits for a message of its own"));
}

static void ranks_that_will_not_come(void **state) {
  (void)state;
  start(2);
  waits(1, TM_RECV, 0, 0, WORLD);
  has_ended(0);
  assert_string_equal(causes(true), WHY "rank 1 waits for rank 0, which has ended\n");
  start(5);
  waits(0, TM_RECV, 1, 0, WORLD);
  waits(2, TM_SEND, 1, 0, WORLD);
  waits(3, TM_SEND, 4, 0, WORLD);
  has_ended(1);
  finalizes(4);
  assert_string_equal(causes(true), WHY "ranks 0, 2 wait for rank 1, which has ended\n" WHY
                                        "rank 3 waits for rank 4, which is in MPI_Finalize\n");
  all[4].state = TM_OUTSIDE; /* that is what it last called */
  all[1].state = TM_ELSEWHERE;
  assert_string_equal(causes(true), "");
  for (int peers = TM_CAUSES_MAX; peers <= TM_CAUSES_MAX + 1; peers++) {
    start(2 * peers);
    for (int i = 0; i < peers; i++) {
      waits(2 * i, TM_RECV, 2 * i + 1, 0, WORLD);
      has_ended(2 * i + 1);
    }
    causes(true);
    int lines = 0;
    for (const char *at = said; (at = strstr(at, ", which has ended\n")) != NULL; at++) lines++;
    assert_int_equal(lines, TM_CAUSES_MAX);
  }
}

static void requests_that_were_not_started(void **state) {
  (void)state;
  start(3);
  waits(0, TM_RECV, 1, 0, WORLD);
  all[1].unstarted = (struct tm_unstarted){true, true, 0, 7};
  all[2].unstarted = (struct tm_unstarted){true, true, 0, 7}; /* nobody waits for that rank */
  assert_string_equal(causes(true), WHY
                      "rank 1 has waited for a persistent send to rank 0, tag 7, "
                      "that it has not started (MPI_Start())\n");
  all[1].unstarted.sends = false;
  assert_string_equal(causes(true), WHY
                      "rank 1 has waited for a persistent receive from rank 0, "
                      "tag 7, that it has not started (MPI_Start())\n");
  all[1].unstarted.is = false;
  assert_string_equal(causes(true), "");
  start(2);
  waits(1, TM_RECV, 0, 0, WORLD);
  all[0].unstarted = (struct tm_unstarted){true, true, 1, 7};
  assert_string_equal(causes(true), WHY
                      "rank 0 has waited for a persistent send to rank 1, tag 7, "
                      "that it has not started (MPI_Start())\n");
  start(2 * TM_CAUSES_MAX + 2);
  for (int i = 0; i <= TM_CAUSES_MAX; i++) {
    waits(2 * i, TM_RECV, 2 * i + 1, 0, WORLD);
    all[2 * i + 1].unstarted.is = true;
  }
  int lines = 0;
  for (const char *at = causes(true); (at = strchr(at, '\n')) != NULL; at++) lines++;
  assert_int_equal(lines, TM_CAUSES_MAX);
}

static void nobody_is_left_to_send(void **state) {
  (void)state;
  start(3);
  waits(1, TM_RECV, MPI_ANY_SOURCE, 0, WORLD);
  all[1].what.number = -1;
  has_ended(0);
  finalizes(2);
  assert_string_equal(causes(true), WHY
                      "rank 1 waits for a message from any rank, and every other rank has ended or "
                      "is in MPI_Finalize: fewer messages were sent than it receives\n");
  all[1].what.kind = TM_SEND;
  assert_string_equal(causes(true), "");
  all[1].what.kind = TM_RECV;
  all[1].what.peer = 0;
  assert_string_equal(causes(true), "");
  all[1].what.peer = MPI_ANY_SOURCE;
  tm_job.far = (const struct tm_transport *)ranks;
  assert_string_equal(causes(true), "");
  tm_job.far = NULL;
  for (int other = 0; other <= 2; other += 2) {
    all[0].state = all[2].state = TM_ENDED;
    all[other].state = TM_OUTSIDE;
    assert_string_equal(causes(true), "");
  }
}

static struct tm_message message(uint64_t context, int source, int tag) {
  struct tm_message m;
  memset(&m, 0, sizeof m);
  m.entry.entry.envelope = (struct tm_envelope){context, source, tag};
  return m;
}

static void messages_that_have_come(void **state) {
  (void)state;
  const char *tags = WHY
      "rank 0 has sent rank 1 a message with tag 5 on world, which nobody "
      "receives: rank 1 waits for tag 6 on world\n";
  const char *sender = WHY
      "rank 2 has sent rank 1 a message with tag 6 on world, which waits "
      "there: rank 1 receives from rank 0\n";
  start(3);
  waits(1, TM_RECV, 0, 6, WORLD);
  ranks[1].box.inline_slot.envelope = (struct tm_envelope){WORLD, 0, 5};
  assert_string_equal(causes(true), "");
  ranks[1].box.inline_slot.full = 1;
  assert_string_equal(causes(true), tags);
  tm_job.far = (const struct tm_transport *)ranks;
  assert_string_equal(causes(true), "");
  tm_job.far = NULL;
  all[1].what.tag = MPI_ANY_TAG;
  all[1].what.context = OTHER;
  strcpy(all[1].what.comm, "other");
  assert_string_equal(
      causes(true), WHY
      "rank 0 has sent rank 1 a message with tag 5 on world, which nobody receives: "
      "rank 1 waits for any tag on other\n");
  for (int i = 0; i < 4; i++) { /* it waits for something else */
    waits(1, TM_RECV, 0, 6, WORLD);
    if (i == 0) all[1].what.known = false;
    if (i == 1) all[1].what.inner = true;
    if (i == 2) all[1].what.has_window = true;
    if (i == 3) all[1].what.kind = TM_SEND;
    assert_null(strstr(causes(true), "has sent"));
  }
  /* the library's own, one of another rank, and the one that does not fit */
  struct tm_message own = message(OF_LIBRARY, 0, 5), second = message(WORLD, 2, 7),
                    third = message(WORLD, 0, 5), last = message(WORLD, 0, 4);
  waits(1, TM_RECV, 0, 6, WORLD);
  ranks[1].box.inline_slot.full = 0;
  ranks[1].box.arrived.earliest = &own.entry;
  own.entry.later = &second.entry;
  second.entry.later = &third.entry;
  third.entry.later = &last.entry;
  assert_string_equal(causes(true), tags);
  second.entry.later = NULL;
  assert_string_equal(causes(true), "");
  second.entry.entry.envelope.tag = 6;
  assert_string_equal(causes(true), sender);
  second.entry.entry.envelope.context = OTHER;
  assert_string_equal(causes(true), "");
  all[1].what.context = OTHER;
  all[1].what.tag = MPI_ANY_TAG;
  assert_non_null(strstr(causes(true), "which waits there"));
  all[1].what.number = -1; /* it takes any rank's */
  all[1].what.peer = MPI_ANY_SOURCE;
  second.entry.entry.envelope = (struct tm_envelope){WORLD, 2, 5};
  all[1].what.tag = 6;
  assert_string_equal(
      causes(true), WHY
      "rank 2 has sent rank 1 a message with tag 5 on world, which nobody receives: "
      "rank 1 waits for tag 6 on world\n");
  start(2 * TM_CAUSES_MAX + 2);
  for (int i = 0; i <= TM_CAUSES_MAX; i++) {
    waits(2 * i, TM_RECV, 2 * i + 1, 0, WORLD);
    ranks[2 * i].box.inline_slot.full = 1;
    ranks[2 * i].box.inline_slot.envelope = (struct tm_envelope){WORLD, 2 * i + 1, 5};
  }
  int lines = 0;
  for (const char *at = causes(true); (at = strchr(at, '\n')) != NULL; at++) lines++;
  assert_int_equal(lines, TM_CAUSES_MAX);
}

static void members_that_are_missing(void **state) {
  (void)state;
  start(5);
  for (int i = 0; i < 5; i++) is_in(i, WORLD, 3, "MPI_Barrier", -1);
  has_called(4, WORLD, 2, "MPI_Bcast", 0);
  members[4].recent[3 % TM_RECENT] = NULL;
  all[4].state = TM_OUTSIDE;
  assert_string_equal(causes(true), WHY "rank 4 has not called MPI_Barrier on world\n");
  assert_string_equal(causes(false), WHY "rank 4 has not called MPI_Barrier on world\n");
  has_ended(4);
  assert_string_equal(causes(true),
                      WHY "rank 4 has not called MPI_Barrier on world, and has ended\n");
  members[2].found = false;
  all[2].state = TM_OUTSIDE;
  assert_string_equal(causes(true),
                      WHY "ranks 2, 4 have not called MPI_Barrier on world, and some have ended\n");
  has_ended(2);
  assert_string_equal(causes(true),
                      WHY "ranks 2, 4 have not called MPI_Barrier on world, and have ended\n");
  first_member = 1; /* a communicator of some */
  member_count = 3;
  all[0].state = TM_OUTSIDE;
  all[1].what.comm[0] = '\0';
  assert_string_equal(causes(true),
                      WHY "rank 2 has not called MPI_Barrier on a communicator, and has ended\n");
  tm_job.far = (const struct tm_transport *)ranks;
  assert_string_equal(causes(true), "");
  /* the end, where some wait for others */
  start(3);
  for (int i = 0; i < 3; i++) is_in(i, WORLD, 1, "MPI_Finalize", -1);
  waits(1, TM_RECV, 2, 0, WORLD);
  members[1].collectives = 0;
  members[1].recent[1] = NULL;
  assert_string_equal(causes(true), WHY "rank 1 waits for rank 2, which is in MPI_Finalize\n");
  all[1].state = TM_OUTSIDE;
  assert_string_equal(causes(true), WHY "rank 1 has not called MPI_Finalize on world\n");
}

static void members_that_have_called_others(void **state) {
  (void)state;
  start(4);
  for (int i = 0; i < 4; i++) is_in(i, WORLD, 1, i == 2 ? "MPI_Reduce" : "MPI_Gather", 1);
  const char *differ = WHY
      "ranks 0-1, 3 called MPI_Gather on world where rank 2 called MPI_Reduce "
      "(all ranks must call the same collectives in the same order)\n";
  assert_string_equal(causes(true), differ);
  for (int number = 2; number <= TM_RECENT; number++) { /* it is remembered for so long */
    for (int i = 0; i < 4; i++) is_in(i, WORLD, number, "MPI_Barrier", -1);
    assert_string_equal(causes(true), differ);
  }
  for (int i = 0; i < 4; i++) is_in(i, WORLD, TM_RECENT + 1, "MPI_Barrier", -1);
  const char *all_called = WHY
      "all ranks have called MPI_Barrier on world: roots, counts or types "
      "may differ (tmpirun --check compares them)\n";
  assert_string_equal(causes(true), all_called);
  assert_string_equal(causes(false), "");
  for (int i = 0; i < 4; i++) is_in(i, WORLD, TM_RECENT + 2, "MPI_Bcast", i < 1 ? 3 : 0);
  assert_string_equal(causes(true), WHY
                      "rank 0 called MPI_Bcast on world with root 3 where ranks 1-3 called it with "
                      "root 0 (all ranks must name the same root)\n");
  members[0].rooted[(TM_RECENT + 2) % TM_RECENT].number = 2; /* an older one's: it has none */
  assert_non_null(strstr(causes(true), "MPI_Bcast on world with root -1 where"));
  /* the earliest of several collectives is the one that ranks wait in */
  start(3);
  is_in(0, WORLD, 5, "MPI_Barrier", -1);
  is_in(1, WORLD, 4, "MPI_Scan", -1);
  members[0].recent[4] = "MPI_Scan";
  is_in(2, WORLD, 5, "MPI_Barrier", -1);
  members[2].recent[4] = "MPI_Scan";
  all[2].state = TM_OUTSIDE;
  assert_string_equal(causes(true), WHY
                      "all ranks have called MPI_Scan on world: roots, counts or types may differ "
                      "(tmpirun --check compares them)\n");
}

static void each_communicator_is_looked_at_once(void **state) {
  (void)state;
  start(2);
  is_in(0, WORLD, 1, "MPI_Barrier", -1);
  is_in(1, OTHER, 1, "MPI_Barrier", -1);
  causes(true);
  assert_non_null(strstr(said, "all ranks have called MPI_Barrier on world"));
  assert_non_null(strstr(said, "all ranks have called MPI_Barrier on other"));
  for (int count = TM_CAUSES_MAX; count <= TM_CAUSES_MAX + 1; count++) {
    start(count);
    for (int i = 0; i < count; i++) is_in(i, 10 + (uint64_t)i, 1, "MPI_Barrier", -1);
    int lines = 0;
    for (const char *at = causes(true); (at = strchr(at, '\n')) != NULL; at++) lines++;
    assert_int_equal(lines, TM_CAUSES_MAX);
  }
}

/* A rank that was spawned after the report counted the job's waits for one of its ranks. */
static void ranks_that_were_not_counted_are_left_out(void **state) {
  (void)state;
  start(1);
  waits(1, TM_RECV, 0, 0, WORLD);
  has_ended(0);
  assert_string_equal(causes(true), "");
  all[0].state = TM_OUTSIDE;
  all[0].unstarted.is = true;
  assert_string_equal(causes(true), "");
}

/* What needs no memory is still printed. */
static void a_report_without_memory(void **state) {
  (void)state;
  start(7);
  waits(0, TM_SEND, 1, 0, WORLD);
  waits(1, TM_SEND, 0, 0, WORLD);
  waits(2, TM_RECV, 2, 0, WORLD);
  waits(3, TM_RECV, 4, 0, WORLD);
  has_ended(4);
  waits(5, TM_RECV, 6, 0, WORLD);
  all[6].unstarted = (struct tm_unstarted){true, true, 5, 7};
  memory_is_out = true;
  causes(true);
  memory_is_out = false;
  assert_string_equal(said, WHY
                      "rank 6 has waited for a persistent send to rank 5, tag 7, "
                      "that it has not started (MPI_Start())\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_in_a_circle),
      cmocka_unit_test(what_is_no_circle),
      cmocka_unit_test(long_circles_and_many),
      cmocka_unit_test(two_ranks_that_do_not_fit),
      cmocka_unit_test(messages_to_oneself),
      cmocka_unit_test(ranks_that_will_not_come),
      cmocka_unit_test(requests_that_were_not_started),
      cmocka_unit_test(nobody_is_left_to_send),
      cmocka_unit_test(messages_that_have_come),
      cmocka_unit_test(members_that_are_missing),
      cmocka_unit_test(members_that_have_called_others),
      cmocka_unit_test(each_communicator_is_looked_at_once),
      cmocka_unit_test(ranks_that_were_not_counted_are_left_out),
      cmocka_unit_test(a_report_without_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
