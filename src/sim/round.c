/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds: the turns of all ready threads in parallel, so that nobody can tell.
 *
 * Threads that become ready during a turn come after all that are ready already, in the order
 * of the turns that made them so. So the ready queue at one moment can be run as a round: each turn
 * notes its effects (effects.c), and when all turns are over their effects are done in the order of
 * the queue; what is ready then is the next sm_round. What turns share otherwise they may touch
 * only when all turns before theirs are over (mltp_sim_ordered()): the earliest turn that is not
 * over never waits, so all end.
 *
 * Protocol: a round's turns are `turns`; `earliest` and their flags are under `guard`. Whoever ends
 * the last turn is alone, and sees all that the others noted since each has taken the guard after
 * it. It resumes hosts only when they are parked: each holds its `parking` from before its turn is
 * over. tests/models/round.pml explores it.
 */
#include <stdlib.h>

#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "sim/effects.h"

struct sm_effect {
  enum sm_what what;
  void *object;
};

struct sm_turn {
  struct sm_effect *effects; /* the turn's own, until it is over */
  size_t count, room;
  struct mltp_thread *waits; /* [guard] parked in mltp_sim_ordered() */
  bool over;                 /* [guard] */
  bool in_order;             /* the turn's own: those before it are over */
};

static struct {
  uint32_t guard;
  struct sm_turn *turns;
  size_t count, room;
  size_t earliest; /* [guard] that is not over */
} sm_round;

void sm_note(enum sm_what what, void *object) {
  struct sm_turn *turn = sm_host_here()->turn;
  if (turn->count == turn->room) {
    turn->room = turn->room * 2 + 8;
    turn->effects = sm_grow(turn->effects, turn->room * sizeof *turn->effects, "what a turn does");
  }
  turn->effects[turn->count++] = (struct sm_effect){what, object};
}

static void do_effects(void) {
  mltp_sim_parallel = 0;
  for (size_t i = 0; i < sm_round.count; i++) {
    struct sm_turn *turn = &sm_round.turns[i];
    for (size_t k = 0; k < turn->count; k++)
      sm_effect(turn->effects[k].what, turn->effects[k].object);
    turn->count = 0;
  }
}

bool sm_turn_over(struct sim_host *host, bool stays) {
  struct sm_turn *turn = host->turn;
  if (stays) mti_lock(&host->parking);
  mti_lock(&sm_round.guard);
  turn->over = true;
  while (sm_round.earliest < sm_round.count && sm_round.turns[sm_round.earliest].over)
    sm_round.earliest++;
  bool last = sm_round.earliest == sm_round.count;
  struct mltp_thread *waiting = NULL;
  if (!last) {
    waiting = sm_round.turns[sm_round.earliest].waits;
    sm_round.turns[sm_round.earliest].waits = NULL;
  }
  mti_unlock(&sm_round.guard);
  if (waiting != NULL) mti_resume(waiting);
  if (!last) {
    if (stays) mti_park_unlock(&host->parking, "the end of its round in the simulation");
    return false;
  }
  if (stays) mti_unlock(&host->parking);
  do_effects();
  return true;
}

void mltp_sim_ordered(void) {
  if (SM_LIKELY(!mltp_sim_parallel)) return;
  struct sm_turn *turn = sm_host_here()->turn;
  if (turn->in_order) return;
  turn->in_order = true;
  mti_lock(&sm_round.guard);
  if (&sm_round.turns[sm_round.earliest] == turn) {
    mti_unlock(&sm_round.guard);
    return;
  }
  turn->waits = mltp_self();
  mti_park_unlock(&sm_round.guard, "its place in the order of the simulation");
}

static void make_room(size_t count) {
  if (count <= sm_round.room) return;
  sm_round.turns =
      sm_grow(sm_round.turns, 2 * count * sizeof *sm_round.turns, "the turns of a round");
  for (size_t i = sm_round.room; i < 2 * count; i++) sm_round.turns[i] = (struct sm_turn){0};
  sm_round.room = 2 * count;
}

static void assign_turns(void) {
  sm_round.count = 0;
  for (const struct sim_thread *t = sm.ready; t != NULL; t = t->next) sm_round.count++;
  make_room(sm_round.count);
  sm_round.earliest = 0;
  size_t i = 0;
  for (struct sim_thread *t = sm.ready; t != NULL; t = t->next) {
    if (t->host == NULL) t->host = sm_host_for(t);
    struct sm_turn *turn = &sm_round.turns[i++];
    turn->over = turn->in_order = false;
    t->host->turn = turn;
  }
}

void sm_round_start(struct sim_host *here) {
  if (here != NULL) mti_lock(&here->parking);
  assign_turns();
  struct sim_thread *t = sm.ready;
  sm.ready = NULL;
  sm.ready_end = &sm.ready;
  mltp_sim_parallel = 1;
  bool mine = false;
  for (struct sim_thread *next; t != NULL; t = next) {
    next = t->next; /* it may have ended as soon as it is resumed */
    if (t->host == here)
      mine = true;
    else
      sm_host_resume(t->host);
  }
  if (here == NULL) return;
  if (mine)
    mti_unlock(&here->parking);
  else
    mti_park_unlock(&here->parking, "its turn in the simulation");
}

void sm_round_free(void) {
  for (size_t i = 0; i < sm_round.room; i++) free(sm_round.turns[i].effects);
  free(sm_round.turns);
  sm_round.turns = NULL;
  sm_round.room = 0;
}
