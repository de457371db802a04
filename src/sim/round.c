/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounds: the sim steps of all ready threads in parallel, with the same results as one by one.
 *
 * Threads that become ready during a step come after all threads that are ready already, in the
 * order of the steps that woke them. So the ready queue at one moment can run as a round. Each step
 * notes its effects (effects.c). When all steps are over, their effects are done in the order of
 * the queue; the threads ready then are the next round. Steps may touch other shared data only when
 * all steps before theirs are over (mltp_sim_ordered()). The earliest step that is not over never
 * waits, so all steps end.
 *
 * Protocol: a round's steps are `steps`; `earliest` and their flags are under `ilock`. The thread
 * that ends the last step is alone. It sees everything that the others noted, since each has taken
 * the lock afterwards. It resumes hosts only when they are parked: each holds its `parking` from
 * before its step is over. tests/models/round.pml explores it.
 */
#include <stdlib.h>

#include "core/internal/locks.h"
#include "core/internal/park.h"
#include "sim/effects.h"

struct sm_effect {
  enum sm_what what;
  void *object;
};

struct sm_step {
  struct sm_effect *effects; /* the step's own, until it is over */
  size_t count, room;
  struct mltp_thread *waits; /* [ilock] parked in mltp_sim_ordered() */
  bool over;                 /* [ilock] */
  bool in_order;             /* the step's own: those before it are over */
};

static struct {
  uint32_t ilock;
  struct sm_step *steps;
  size_t count, room;
  size_t earliest; /* [ilock] that is not over */
} sm_round;

void sm_note(enum sm_what what, void *object) {
  struct sm_step *step = sm_host_here()->step;
  if (step->count == step->room) {
    step->room = step->room * 2 + 8;
    step->effects = sm_grow(step->effects, step->room * sizeof *step->effects, "what a step does");
  }
  step->effects[step->count++] = (struct sm_effect){what, object};
}

static void do_effects(void) {
  mltp_sim_parallel = 0;
  for (size_t i = 0; i < sm_round.count; i++) {
    struct sm_step *step = &sm_round.steps[i];
    for (size_t k = 0; k < step->count; k++)
      sm_effect(step->effects[k].what, step->effects[k].object);
    step->count = 0;
  }
}

bool sm_step_over(struct sim_host *host, bool stays) {
  struct sm_step *step = host->step;
  if (stays) mti_lock(&host->parking);
  mti_lock(&sm_round.ilock);
  step->over = true;
  while (sm_round.earliest < sm_round.count && sm_round.steps[sm_round.earliest].over)
    sm_round.earliest++;
  bool last = sm_round.earliest == sm_round.count;
  struct mltp_thread *waiting = NULL;
  if (!last) {
    waiting = sm_round.steps[sm_round.earliest].waits;
    sm_round.steps[sm_round.earliest].waits = NULL;
  }
  mti_unlock(&sm_round.ilock);
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
  struct sm_step *step = sm_host_here()->step;
  if (step->in_order) return;
  step->in_order = true;
  mti_lock(&sm_round.ilock);
  if (&sm_round.steps[sm_round.earliest] == step) {
    mti_unlock(&sm_round.ilock);
    return;
  }
  step->waits = mltp_self();
  mti_park_unlock(&sm_round.ilock, "its place in the order of the simulation");
}

static void make_room(size_t count) {
  if (count <= sm_round.room) return;
  sm_round.steps =
      sm_grow(sm_round.steps, 2 * count * sizeof *sm_round.steps, "the steps of a round");
  for (size_t i = sm_round.room; i < 2 * count; i++) sm_round.steps[i] = (struct sm_step){0};
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
    struct sm_step *step = &sm_round.steps[i++];
    step->over = step->in_order = false;
    t->host->step = step;
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
    mti_park_unlock(&here->parking, "its step in the simulation");
}

void sm_round_free(void) {
  for (size_t i = 0; i < sm_round.room; i++) free(sm_round.steps[i].effects);
  free(sm_round.steps);
  sm_round.steps = NULL;
  sm_round.room = 0;
}
