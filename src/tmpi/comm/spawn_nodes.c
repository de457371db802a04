/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leader of a spawn, and what nodes tell each other of it: spawn.h.
 *
 * A new rank goes to the node that has the fewest ranks so far, whether they have ended or not; of
 * several, to the leader's own node or the next one. The ranks of one command are then in the order
 * of nodes, so the members of a node follow one another, like the first ranks of the job.
 * Rejected: all on the leader's node, since programs that begin with one rank spawn the others.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/comm/spawn.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/far.h"
#include "tmpi/match/match.h"
#include "tmpi/rank/rank.h"

enum { HOME = 0 /* the rank whose node gives the turn */ };

enum step {
  ASK_TURN,
  GIVE_TURN,
  END_TURN,
  ORDER,    /* a piece of it follows */
  DECISION, /* value: whether the ranks start */
  ANSWER    /* value: enum tm_spawn_answer */
};

struct note {
  uint64_t asker;         /* of the leader */
  uint64_t total, offset; /* of an order: its bytes, and where the piece begins */
  int32_t step, value;
  int32_t node; /* that answers */
  char why[TM_SPAWN_TEXT];
};

/* A leader that waits, on its stack. */
struct asker {
  struct tm_request request; /* complete: all answers are here */
  int missing;               /* [lock: transport's] answers; as: */
  enum tm_spawn_answer worst;
  int node; /* that refuses, and */
  char why[TM_SPAWN_TEXT];
};

static bool *ended; /* [turn] by node: its ranks have; NULL: not needed so far */

/* ---- notes */

static int own_node(void) { return tm_rank_node(tm_job.first); }

/* To the node of a rank. data: follows; NULL: nothing does. */
static void send_note(const struct note *note, const char *data, size_t bytes, int rank,
                      bool inside) {
  struct tm_far_send *send = tm_far_note_new(sizeof *note + bytes);
  char *to = tm_far_note_data(send);
  memcpy(to, note, sizeof *note);
  if (bytes > 0) memcpy(to + sizeof *note, data, bytes);
  tm_far_note_send(send, TM_FAR_SPAWN, rank, inside);
}

void tm_spawn_answer(enum tm_spawn_answer answer, const char *why, int leader, uint64_t asker,
                     bool inside) {
  struct note note = {.asker = asker, .step = ANSWER, .value = (int32_t)answer, .node = own_node()};
  snprintf(note.why, sizeof note.why, "%s", why);
  send_note(&note, NULL, 0, leader, inside);
}

static struct asker new_asker(int answers) {
  return (struct asker){.request = {.kind = TM_COLLECTIVE, .owner = tm_rank_self()},
                        .missing = answers};
}

static void wait_for(struct asker *asker, const char *call) {
  struct tm_request *request = &asker->request;
  tm_requests_wait(&request, 1, 1, call);
}

/* ---- the turn */

/* A leader that waits for it. */
struct waiter {
  struct waiter *next;
  int rank;
  uint64_t asker;
};

static struct {
  uint32_t ilock;
  bool taken;                  /* [ilock] */
  struct waiter *first, *last; /* [ilock] */
} turn;                        /* on the node of HOME */

/* @return whether a leader has it at once. */
static bool ask_turn(int rank, uint64_t asker) {
  struct waiter *waiter = malloc(sizeof *waiter);
  if (waiter == NULL) tm_panic("no memory to spawn");
  *waiter = (struct waiter){NULL, rank, asker};
  mti_lock(&turn.ilock);
  bool given = !turn.taken;
  turn.taken = true;
  if (!given) {
    *(turn.first != NULL ? &turn.last->next : &turn.first) = waiter;
    turn.last = waiter;
  }
  mti_unlock(&turn.ilock);
  if (given) free(waiter);
  return given;
}

static void give_turn(int rank, uint64_t asker, bool inside) {
  if (tm_rank_is_here(rank))
    tm_request_complete(&((struct asker *)(uintptr_t)asker)->request);
  else
    send_note(&(struct note){.step = GIVE_TURN, .asker = asker}, NULL, 0, rank, inside);
}

static void end_turn(bool inside) {
  mti_lock(&turn.ilock);
  struct waiter *next = turn.first;
  if (next != NULL) turn.first = next->next;
  turn.taken = next != NULL;
  mti_unlock(&turn.ilock);
  if (next == NULL) return;
  give_turn(next->rank, next->asker, inside);
  free(next);
}

static void wait_for_turn(const char *call) {
  struct asker asker = new_asker(0);
  if (!tm_rank_is_here(HOME))
    send_note(&(struct note){.step = ASK_TURN, .asker = (uintptr_t)&asker}, NULL, 0, HOME, false);
  else if (ask_turn(tm_rank_number(), (uintptr_t)&asker))
    return;
  wait_for(&asker, call);
}

static void leave_turn(void) {
  if (tm_rank_is_here(HOME))
    end_turn(false);
  else
    send_note(&(struct note){.step = END_TURN}, NULL, 0, HOME, false);
}

/* ---- the leader */

static bool may_have(int node, const char *host) {
  if (ended != NULL && ended[node]) return false;
  if (host == NULL) return true;
  return strcmp(host, "localhost") == 0 ? node == own_node()
                                        : strcmp(host, tm_job_spawner()->host(node)) == 0;
}

/* @return the node for a rank of a command; -1: none may have it. ranks: that nodes have. */
static int choose_node(const char *host, const int *ranks) {
  int best = -1, count = tm_node_count();
  for (int i = 0; i < count; i++) {
    int node = (own_node() + i) % count;
    if (may_have(node, host) && (best < 0 || ranks[node] < ranks[best])) best = node;
  }
  return best;
}

/* Chooses the nodes of a command's ranks. @return false: none may have them. */
static bool choose_of(const struct tm_command *command, int *nodes, int *ranks, int *chosen) {
  int count = tm_node_count();
  memset(chosen, 0, (size_t)count * sizeof *chosen);
  for (int i = 0; i < command->ranks; i++) {
    int node = choose_node(command->host, ranks);
    if (node < 0) return false;
    ranks[node]++;
    chosen[node]++;
  }
  for (int node = 0; node < count; node++)
    for (int i = 0; i < chosen[node]; i++) *nodes++ = node;
  return true;
}

__attribute__((format(printf, 2, 3))) static bool refuse(struct tm_spawn *spawn, const char *format,
                                                         ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(spawn->why, sizeof spawn->why, format, arguments);
  va_end(arguments);
  return false;
}

/* @return false, and why. nodes: of each new rank. ranks: room for twice the number of nodes. */
static bool choose(struct tm_spawn *spawn, int *nodes, int *ranks) {
  int count = tm_node_count();
  for (int i = 0; i < count; i++) ranks[i] = tm_job.local;
  for (int i = tm_job.first_size; i < spawn->first; i++) ranks[tm_rank_node(i)]++;
  for (int i = 0; i < spawn->count; i++) {
    const struct tm_command *command = &spawn->commands[i];
    if (!choose_of(command, nodes, ranks, ranks + count))
      return refuse(spawn,
                    "info 'host': '%.60s' is the host of no node of this job whose ranks run "
                    "(leave it out)",
                    command->host);
    nodes += command->ranks;
  }
  return true;
}

static void send_order(const char *data, size_t bytes, int node, const struct asker *asker) {
  enum { PIECE = TM_FAR_NOTE_MAX - sizeof(struct note) };
  struct note note = {.step = ORDER, .asker = (uintptr_t)asker, .total = bytes};
  for (; note.offset < bytes; note.offset += PIECE) {
    size_t left = bytes - note.offset;
    send_note(&note, data + note.offset, left < PIECE ? left : PIECE, node * tm_job.local, false);
  }
}

/* @return the worst answer of the nodes, and why. */
static enum tm_spawn_answer prepare(struct tm_spawn *spawn, const char *data, size_t bytes,
                                    const char *call) {
  struct asker asker = new_asker(tm_node_count() - 1);
  for (int i = 0; i < tm_node_count(); i++)
    if (i != own_node()) send_order(data, bytes, i, &asker);
  bool good = tm_job_spawner()->prepare(spawn);
  wait_for(&asker, call);
  if (!good) return TM_SPAWN_REFUSED;
  if (asker.worst == TM_SPAWN_REFUSED)
    refuse(spawn, "node %d (%.60s): %.230s", asker.node, tm_job_spawner()->host(asker.node),
           asker.why);
  return asker.worst;
}

static void decide(struct tm_spawn *spawn, bool go, const char *call) {
  struct asker asker = new_asker(tm_node_count() - 1);
  const struct note note = {.step = DECISION, .asker = (uintptr_t)&asker, .value = go};
  for (int i = 0; i < tm_node_count(); i++)
    if (i != own_node()) send_note(&note, NULL, 0, i * tm_job.local, false);
  tm_job_spawner()->finish(spawn, go);
  wait_for(&asker, call);
}

/* Tries with the nodes whose ranks have not ended, as far as is known. */
static enum tm_spawn_answer lead(struct tm_spawn *spawn, int *nodes, int *ranks, const char *call) {
  size_t bytes = 0;
  if (!choose(spawn, nodes, ranks)) return TM_SPAWN_REFUSED;
  char *data = tm_order_write(spawn, nodes, &bytes);
  if (data == NULL) {
    refuse(spawn, "no memory for the command (free some)");
    return TM_SPAWN_REFUSED;
  }
  tm_ranks_place(spawn->first, spawn->world->group->size, nodes);
  enum tm_spawn_answer answer = prepare(spawn, data, bytes, call);
  free(data);
  decide(spawn, answer == TM_SPAWN_DONE, call);
  return answer;
}

/* With the turn. */
static bool spawn_ranks(struct tm_spawn *spawn, const char *call) {
  int count = spawn->world->group->size, room = tm_job.most - tm_job.size;
  spawn->first = tm_job.size;
  if (count > room)
    return refuse(spawn, "%d ranks are too many: %d can be added to %d (tmpirun --spare)", count,
                  room, tm_job.size);
  int *nodes = calloc((size_t)count, sizeof *nodes);
  int *ranks = calloc(2 * (size_t)tm_node_count(), sizeof *ranks);
  if (ended == NULL) ended = calloc((size_t)tm_node_count(), sizeof *ended);
  bool has_memory = nodes != NULL && ranks != NULL && ended != NULL;
  enum tm_spawn_answer answer = has_memory ? TM_SPAWN_ENDED : TM_SPAWN_REFUSED;
  while (answer == TM_SPAWN_ENDED) answer = lead(spawn, nodes, ranks, call);
  free(nodes);
  free(ranks);
  if (!has_memory) return refuse(spawn, "no memory for %d more ranks (fewer ranks)", count);
  return answer == TM_SPAWN_DONE;
}

bool tm_spawn_on_nodes(struct tm_spawn *spawn, const char *call) {
  wait_for_turn(call);
  bool good = spawn_ranks(spawn, call);
  leave_turn();
  return good;
}

/* ---- other nodes. With the transport's lock */

static struct {
  char *data; /* NULL: there is none, or the service has it */
  size_t bytes;
  int count; /* of the new ranks */
} incoming;  /* the order that has come */

/* The service's prepare() looks at the rest. */
static void take_order(int leader, uint64_t asker) {
  int first;
  const int *nodes = tm_order_nodes(incoming.data, &first, &incoming.count);
  if (tm_job.spawned_on == NULL || first + incoming.count > tm_job.most) {
    tm_spawn_answer(TM_SPAWN_REFUSED, "it has kept no room for more ranks (tmpirun --spare)",
                    leader, asker, true);
    return;
  }
  bool any = false;
  tm_ranks_place(first, incoming.count, nodes);
  for (int i = 0; i < incoming.count; i++) any |= nodes[i] == own_node();
  if (!any) {
    tm_spawn_answer(TM_SPAWN_DONE, "", leader, asker, true);
  } else if (tm_spawn_service_order(incoming.data, leader, asker)) {
    incoming.data = NULL;
  } else {
    tm_spawn_answer(TM_SPAWN_ENDED, "", leader, asker, true);
  }
}

static void take_piece(const struct note *note, const char *data, size_t bytes, int leader) {
  if (note->offset == 0) {
    incoming.data = malloc(note->total);
    if (incoming.data == NULL) tm_message_panic(note->total);
  }
  memcpy(incoming.data + note->offset, data, bytes);
  if (note->offset + bytes == note->total) take_order(leader, note->asker);
}

static void take_decision(const struct note *note, int leader) {
  free(incoming.data);
  incoming.data = NULL;
  if (tm_spawn_service_decide(note->value != 0, note->asker)) return;
  if (note->value != 0) tm_ranks_add(incoming.count);
  tm_spawn_answer(TM_SPAWN_DONE, "", leader, note->asker, true);
}

static void take_answer(const struct note *note) {
  struct asker *asker = (struct asker *)(uintptr_t)note->asker;
  enum tm_spawn_answer answer = (enum tm_spawn_answer)note->value;
  if (answer == TM_SPAWN_ENDED) ended[note->node] = true;
  if (answer > asker->worst) {
    asker->worst = answer;
    asker->node = note->node;
    memcpy(asker->why, note->why, sizeof asker->why);
  }
  if (--asker->missing == 0) tm_request_complete(&asker->request);
}

void tm_spawn_take(int source, const void *data, size_t bytes) {
  struct note note;
  memcpy(&note, data, sizeof note);
  switch ((enum step)note.step) {
    case ASK_TURN:
      if (ask_turn(source, note.asker)) give_turn(source, note.asker, true);
      return;
    case GIVE_TURN: tm_request_complete(&((struct asker *)(uintptr_t)note.asker)->request); return;
    case END_TURN: end_turn(true); return;
    case ORDER:
      take_piece(&note, (const char *)data + sizeof note, bytes - sizeof note, source);
      return;
    case DECISION: take_decision(&note, source); return;
    case ANSWER: take_answer(&note); return;
  }
}
