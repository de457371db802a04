/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A spawn over nodes, note by note (src/tmpi/comm/spawn_nodes.c): the turn, where
 * new ranks go, the order and the decision, and the answers of other nodes. The test is this node,
 * of three, and the transport; other nodes' notes are made here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "spawned_world.h"
#include "tmpi/comm/spawn.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/far.h"
#include "tmpi/match/match.h"
#include "traced_calls.h"

enum { NODES = 3, LOCAL = 2, RANKS = NODES * LOCAL, MOST = 16, NOTES_MAX = 40 };
enum { ASK_TURN, GIVE_TURN, END_TURN, ORDER, DECISION, ANSWER }; /* steps of notes */

/* What is in front of a note's data. */
struct note {
  uint64_t asker, total, offset;
  int32_t step, value, node;
  char why[TM_SPAWN_TEXT];
};

struct tm_job tm_job;
static struct tm_rank ranks[MOST];
static int spawned_on[MOST], placed[MOST], placed_first, placed_count, added;
static struct tm_world *world;
static struct {
  struct note note;
  int dest;
  bool inside;
  size_t bytes;
  char *data;
} sent[NOTES_MAX];
static int sent_count;
static bool is_prepared, takes_order, has_order;
static void (*at_wait)(void);
static jmp_buf panic;
static char *of_service; /* the order that it has */

/* ---- the rest of the library */

struct tm_far_send *tm_far_note_new(size_t bytes) {
  struct tm_far_send *send = malloc(sizeof *send + bytes);
  assert_non_null(send);
  send->header.bytes = bytes;
  return send;
}

void tm_far_note_send(struct tm_far_send *send, enum tm_far_service service, int dest,
                      bool inside) {
  static const char *const names[] = {"ask", "give", "end", "order", "decision", "answer"};
  size_t bytes = send->header.bytes - sizeof(struct note);
  assert_true(service == TM_FAR_SPAWN && locked == 0 && sent_count < NOTES_MAX);
  assert_true(send->header.bytes <= TM_FAR_NOTE_MAX);
  memcpy(&sent[sent_count].note, send->packed, sizeof(struct note));
  sent[sent_count].dest = dest;
  sent[sent_count].inside = inside;
  sent[sent_count].bytes = bytes;
  sent[sent_count].data = malloc(bytes + 1);
  memcpy(sent[sent_count].data, send->packed + sizeof(struct note), bytes);
  note("%s:%d", names[sent[sent_count].note.step], dest);
  sent_count++;
  free(send);
}

static void forget_notes(void) {
  while (sent_count > 0) free(sent[--sent_count].data);
}

void tm_request_complete(struct tm_request *request) {
  assert_int_equal(locked, 0);
  request->done = 1;
  note("complete");
}

void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  assert_true(count == 1 && wanted == 1 && requests[0]->owner == &ranks[tm_job.first]);
  assert_string_equal(call, "MPI_Comm_spawn");
  note("wait");
  if (at_wait != NULL) at_wait();
  assert_int_equal(requests[0]->done, 1);
}

struct tm_rank *tm_rank_self(void) { return &ranks[tm_job.first]; }
int tm_rank_number(void) { return tm_job.first; }
void tm_ranks_add(int count) { added += count; }

void tm_ranks_place(int first, int count, const int *nodes) {
  placed_first = first;
  placed_count = count;
  memcpy(placed, nodes, (size_t)count * sizeof *nodes);
}

static bool prepare(struct tm_spawn *spawn) {
  note("prepare");
  if (!is_prepared) snprintf(spawn->why, sizeof spawn->why, "not here");
  return is_prepared;
}

static void finish(struct tm_spawn *spawn, bool go) {
  assert_ptr_equal(spawn->world, world);
  note(go ? "go" : "forget");
}

static const char *host_of(int node) {
  static const char *const hosts[NODES] = {"alpha", "beta", "beta"};
  return hosts[node];
}

const struct tm_spawner *tm_job_spawner(void) {
  static const struct tm_spawner spawner = {.prepare = prepare, .finish = finish, .host = host_of};
  return &spawner;
}

bool tm_spawn_service_order(char *data, int leader, uint64_t asker) {
  note("serve:%d:%d", leader, (int)asker);
  if (takes_order) of_service = data;
  return takes_order;
}

bool tm_spawn_service_decide(bool go, uint64_t asker) {
  note("decide:%d:%d", go, (int)asker);
  return has_order;
}

void tm_panic(const char *format, ...) {
  assert_string_equal(format, "no memory to spawn");
  longjmp(panic, 1);
}

/* ---- a job of three nodes */

static void be_node(int node) { tm_job.first = node * LOCAL; }

static int start(void **state) {
  (void)state;
  tm_job = (struct tm_job){.size = RANKS,
                           .first_size = RANKS,
                           .local = LOCAL,
                           .most = MOST,
                           .ranks = ranks,
                           .spawned_on = spawned_on};
  be_node(0);
  memset(spawned_on, 0, sizeof spawned_on);
  world = world_of_parents(4, 3, 5);
  is_prepared = takes_order = true;
  has_order = false;
  at_wait = NULL;
  added = placed_count = 0;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  check_trace("");
  forget_notes();
  world_drop(world);
  free(of_service);
  of_service = NULL;
  return 0;
}

/* A note of another node's rank. */
static void take(int source, struct note what, const void *data, size_t bytes) {
  char whole[TM_FAR_NOTE_MAX];
  memcpy(whole, &what, sizeof what);
  if (bytes > 0) memcpy(whole + sizeof what, data, bytes);
  tm_spawn_take(source, whole, sizeof what + bytes);
}

/* ---- the turn, on the node of rank 0 */

static void the_turn_goes_round(void **state) {
  int before = blocks;
  (void)state;
  take(2, (struct note){.step = ASK_TURN, .asker = 11}, NULL, 0);
  check_trace("give:2 "); /* at once */
  assert_true(sent[0].note.asker == 11 && sent[0].inside);
  for (int i = 3; i < 6; i++)
    take(i, (struct note){.step = ASK_TURN, .asker = 10u + (unsigned)i}, NULL, 0);
  check_trace("");
  for (int i = 3; i < 6; i++) { /* in their order */
    char expected[20];
    snprintf(expected, sizeof expected, "give:%d ", i);
    take(2, (struct note){.step = END_TURN}, NULL, 0);
    check_trace(expected);
    assert_int_equal(sent[sent_count - 1].note.asker, 10 + i);
  }
  take(2, (struct note){.step = END_TURN}, NULL, 0);
  check_trace("");
  take(4, (struct note){.step = ASK_TURN, .asker = 12}, NULL, 0);
  take(2, (struct note){.step = ASK_TURN, .asker = 13}, NULL, 0);
  take(4, (struct note){.step = END_TURN}, NULL, 0);
  take(2, (struct note){.step = END_TURN}, NULL, 0);
  check_trace("give:4 give:2 ");
  forget_notes();
  assert_int_equal(blocks, before);
  memory_is_out = true;
  if (setjmp(panic) == 0) {
    take(4, (struct note){.step = ASK_TURN}, NULL, 0);
    fail_msg("there was no memory");
  }
  memory_is_out = false;
}

/* ---- a leader */

static char program[] = "program";
static struct tm_command command = {.program = program, .ranks = 4};
static struct tm_spawn spawn;
static int answers[NODES], waits;

/* The other nodes answer all notes of the last step. */
static void answer_all(void) {
  int last = sent_count, step = sent[last - 1].note.step;
  waits++;
  if (step == ASK_TURN) {
    take(0, (struct note){.step = GIVE_TURN, .asker = sent[last - 1].note.asker}, NULL, 0);
    return;
  }
  for (int node = 0; node < NODES; node++)
    if (node != tm_job.first / LOCAL) {
      struct note back = {.step = ANSWER, .asker = sent[last - 1].note.asker, .node = node};
      if (step == ORDER) back.value = answers[node];
      if (step == ORDER) answers[node] = TM_SPAWN_DONE; /* the next time */
      snprintf(back.why, sizeof back.why, "reason %d", node);
      take(node * LOCAL, back, NULL, 0);
    }
}

static bool lead(void) {
  spawn = (struct tm_spawn){.commands = &command, .count = 1, .world = world};
  at_wait = answer_all;
  world->group->size = command.ranks;
  bool good = tm_spawn_on_nodes(&spawn, "MPI_Comm_spawn");
  world->group->size = 4;
  return good;
}

static void ranks_start_on_all_nodes(void **state) {
  (void)state;
  assert_true(lead());
  check_trace("order:2 order:4 prepare wait complete decision:2 decision:4 go wait complete ");
  assert_true(spawn.first == RANKS && placed_first == RANKS && placed_count == 4);
  assert_memory_equal(placed, ((int[]){0, 0, 1, 2}), 4 * sizeof(int));
  assert_true(sent[0].note.offset == 0 && sent[0].note.total == sent[0].bytes && !sent[0].inside);
  assert_true(sent[2].note.value == 1 && sent[3].note.value == 1);
  int first, count;
  assert_memory_equal(tm_order_nodes(sent[0].data, &first, &count), placed, 4 * sizeof(int));
}

static void end_of_another(void) {
  at_wait = answer_all;
  take(2, (struct note){.step = END_TURN}, NULL, 0);
}

/* Another node's leader has the turn. */
static void a_leader_that_waits(void **state) {
  (void)state;
  take(2, (struct note){.step = ASK_TURN, .asker = 11}, NULL, 0);
  at_wait = end_of_another;
  spawn = (struct tm_spawn){.commands = &command, .count = 1, .world = world};
  assert_true(tm_spawn_on_nodes(&spawn, "MPI_Comm_spawn"));
  check_trace(
      "give:2 wait complete order:2 order:4 prepare wait complete "
      "decision:2 decision:4 go wait complete ");
  take(2, (struct note){.step = ASK_TURN, .asker = 12}, NULL, 0);
  take(2, (struct note){.step = END_TURN}, NULL, 0);
  check_trace("give:2 "); /* it has given the turn back */
}

/* On another node than that of rank 0 the turn is asked for, and given back. */
static void a_leader_elsewhere(void **state) {
  (void)state;
  be_node(1);
  assert_true(lead());
  check_trace(
      "ask:0 wait complete order:0 order:4 prepare wait complete "
      "decision:0 decision:4 go wait complete end:0 ");
  assert_memory_equal(placed, ((int[]){0, 1, 1, 2}), 4 * sizeof(int));
}

/* Nodes with few ranks get them first; of equal ones the leader's, and the next. */
static void nodes_of_new_ranks(void **state) {
  static const struct {
    int own, count, spawned[4], nodes[6];
  } rows[] = {{0, 1, {-1}, {0}},
              {1, 1, {-1}, {1}},
              {2, 2, {-1}, {0, 2}},
              {1, 2, {-1}, {1, 2}},
              {0, 6, {-1}, {0, 0, 1, 1, 2, 2}},
              {0, 2, {0, 1, -1}, {0, 2}},
              {0, 4, {0, 0, 0, -1}, {1, 1, 2, 2}},
              {2, 3, {2, 2, 0, -1}, {0, 1, 1}}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int spawned = 0;
    be_node(rows[i].own);
    for (; rows[i].spawned[spawned] >= 0; spawned++) spawned_on[spawned] = rows[i].spawned[spawned];
    tm_job.size = RANKS + spawned;
    command.ranks = rows[i].count;
    assert_true(lead());
    assert_int_equal(placed_first, RANKS + spawned);
    for (int r = 0; r < rows[i].count; r++)
      if (placed[r] != rows[i].nodes[r]) fail_msg("row %zu: rank %d on %d", i, r, placed[r]);
    trace[0] = '\0';
    forget_notes();
  }
  command.ranks = 4;
}

static void hosts_of_new_ranks(void **state) {
  static const struct {
    const char *host;
    int own, nodes[4];
  } rows[] = {{"alpha", 1, {0, 0, 0, 0}},
              {"beta", 0, {1, 1, 2, 2}},
              {"localhost", 0, {0, 0, 0, 0}},
              {"localhost", 2, {2, 2, 2, 2}}};
  (void)state;
  for (int i = 0; i < 4; i++) {
    be_node(rows[i].own);
    command.host = rows[i].host;
    assert_true(lead());
    assert_memory_equal(placed, rows[i].nodes, sizeof rows[i].nodes);
    forget_notes();
  }
  be_node(0);
  trace[0] = '\0';
  command.host = "gamma";
  assert_false(lead());
  assert_non_null(strstr(spawn.why, "info 'host': 'gamma' is the host of no node"));
  check_trace("");
  command.host = NULL;
}

/* Each command has a host, and its ranks are in the order of nodes. */
static void several_commands(void **state) {
  const struct tm_command commands[] = {{.program = program, .ranks = 2, .host = "beta"},
                                        {.program = program, .ranks = 2}};
  (void)state;
  spawn = (struct tm_spawn){.commands = commands, .count = 2, .world = world};
  at_wait = answer_all;
  assert_true(tm_spawn_on_nodes(&spawn, "MPI_Comm_spawn"));
  assert_memory_equal(placed, ((int[]){1, 2, 0, 0}), 4 * sizeof(int));
  trace[0] = '\0';
}

static void room_for_ranks(void **state) {
  (void)state;
  command.ranks = MOST - RANKS;
  assert_true(lead());
  command.ranks++;
  trace[0] = '\0';
  assert_false(lead());
  check_trace("");
  assert_non_null(strstr(spawn.why, "11 ranks are too many: 10 can be added to 6"));
  command.ranks = 4;
}

static void nodes_that_refuse(void **state) {
  (void)state;
  answers[1] = answers[2] = TM_SPAWN_REFUSED;
  assert_false(lead());
  assert_string_equal(spawn.why, "node 1 (beta): reason 1"); /* the first that answers */
  check_trace("order:2 order:4 prepare wait complete decision:2 decision:4 forget wait complete ");
  assert_int_equal(sent[3].note.value, 0);
  is_prepared = false;
  answers[2] = TM_SPAWN_REFUSED;
  assert_false(lead());
  assert_string_equal(spawn.why, "not here");
  trace[0] = '\0';
}

/* A node whose ranks have ended is not asked for ranks again; another's refusal counts more. */
static void nodes_that_have_ended(void **state) {
  (void)state;
  answers[1] = TM_SPAWN_ENDED;
  assert_true(lead());
  check_trace(
      "order:2 order:4 prepare wait complete decision:2 decision:4 forget wait complete "
      "order:2 order:4 prepare wait complete decision:2 decision:4 go wait complete ");
  assert_memory_equal(placed, ((int[]){0, 0, 2, 2}), 4 * sizeof(int));
  forget_notes();
  answers[1] = TM_SPAWN_ENDED;
  answers[2] = TM_SPAWN_REFUSED;
  assert_false(lead());
  assert_string_equal(spawn.why, "node 2 (beta): reason 2");
  trace[0] = '\0';
}

/* An order that is larger than a note goes in pieces. */
static void a_large_order(void **state) {
  enum { PIECE = TM_FAR_NOTE_MAX - sizeof(struct note) };
  static char large[2 * TM_FAR_NOTE_MAX];
  (void)state;
  memset(large, 'x', sizeof large - 1);
  command.program = large;
  for (size_t cut = 0; cut < 2; cut++) {
    assert_true(lead());
    size_t total = sent[0].note.total, offset = 0;
    int pieces = (int)((total + PIECE - 1) / PIECE);
    for (int i = 0; i < 2 * pieces; i++) {
      assert_true(sent[i].note.step == ORDER && sent[i].dest == (i < pieces ? 2 : 4));
      if (i == pieces) offset = 0;
      assert_int_equal(sent[i].note.offset, offset);
      size_t left = total - offset;
      assert_int_equal(sent[i].bytes, left < PIECE ? left : PIECE);
      offset += sent[i].bytes;
      assert_int_equal(sent[i].note.total, total);
    }
    assert_int_equal(offset, total);
    /* the second time it fills all its pieces */
    large[strlen(large) - (total % PIECE)] = '\0';
    forget_notes();
  }
  command.program = program;
  trace[0] = '\0';
}

/* ---- a node that gets an order */

static char *written; /* an order of two ranks on these nodes */
static size_t written_bytes;

static void write_order(int first, int node) {
  const int nodes[] = {node, node, node, node};
  spawn = (struct tm_spawn){.commands = &command, .count = 1, .first = first, .world = world};
  written = tm_order_write(&spawn, nodes, &written_bytes);
  assert_non_null(written);
}

/* In two pieces, of which the second has what is left. */
static void send_order(int first, int node) {
  trace[0] = '\0';
  write_order(first, node);
  size_t half = written_bytes / 2;
  struct note piece = {.step = ORDER, .asker = 9, .total = written_bytes};
  take(4, piece, written, half);
  check_trace("");
  piece.offset = half;
  take(4, piece, written + half, written_bytes - half);
  free(written);
}

static void decide(int go) {
  take(4, (struct note){.step = DECISION, .asker = 10, .value = go}, NULL, 0);
}

static void check_answer(int value, const char *why) {
  const struct note *last = &sent[sent_count - 1].note;
  assert_true(last->value == value && last->node == 1 && sent[sent_count - 1].inside);
  assert_string_equal(last->why, why);
}

static void orders_for_others(void **state) {
  (void)state;
  be_node(1);
  for (int go = 0; go < 2; go++) {
    send_order(7, 2);
    check_trace("answer:4 ");
    check_answer(TM_SPAWN_DONE, "");
    assert_int_equal(sent[sent_count - 1].note.asker, 9);
    assert_true(placed_first == 7 && placed_count == 4 && placed[3] == 2);
    decide(go);
    check_trace(go ? "decide:1:10 answer:4 " : "decide:0:10 answer:4 ");
    check_answer(TM_SPAWN_DONE, "");
    assert_int_equal(sent[sent_count - 1].note.asker, 10);
    assert_int_equal(added, go ? 4 : 0);
  }
}

static void orders_for_this_node(void **state) {
  (void)state;
  be_node(1);
  send_order(7, 1);
  check_trace("serve:4:9 ");
  write_order(7, 1);
  assert_memory_equal(of_service, written, written_bytes);
  free(written);
  has_order = true; /* which answers */
  decide(1);
  check_trace("decide:1:10 ");
  assert_int_equal(added, 0);
  free(of_service);
  of_service = NULL;
  has_order = takes_order = false; /* its ranks have ended */
  send_order(7, 1);
  check_trace("serve:4:9 answer:4 ");
  check_answer(TM_SPAWN_ENDED, "");
  decide(0);
  check_trace("decide:0:10 answer:4 ");
}

static void orders_without_room(void **state) {
  static const char why[] = "it has kept no room for more ranks (tmpirun --spare)";
  (void)state;
  be_node(1);
  send_order(MOST - 4, 2);
  check_answer(TM_SPAWN_DONE, "");
  decide(0);
  send_order(MOST - 3, 2);
  check_answer(TM_SPAWN_REFUSED, why);
  decide(0);
  tm_job.spawned_on = NULL;
  send_order(7, 2);
  check_answer(TM_SPAWN_REFUSED, why);
  decide(0);
  trace[0] = '\0';
}

#define JOB(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      JOB(the_turn_goes_round), JOB(ranks_start_on_all_nodes), JOB(a_leader_elsewhere),
      JOB(a_leader_that_waits), JOB(nodes_of_new_ranks),       JOB(hosts_of_new_ranks),
      JOB(several_commands),    JOB(room_for_ranks),           JOB(nodes_that_refuse),
      JOB(a_large_order),       JOB(orders_for_others),        JOB(orders_for_this_node),
      JOB(orders_without_room), JOB(nodes_that_have_ended),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
