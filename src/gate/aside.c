/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/aside.h"

#include <limits.h>

#include "gate/gate.h"
#include "os/os.h"

enum {
  WATCHED_NS = 32000000, /* for one decision */
  LONG_NS = 2000000,     /* a turn; a convoy's are some microseconds */
  SHORT_NS = 1000000,    /* a turn while the gate stands aside */
  SOME_TURNS = 64,       /* for each look at the clock then, and two for each thread */
  ASIDE_NS = 256000000,
  ASIDE_MOST_NS = 1024000000,
  MANY = INT_MAX / 2 /* permits */
};

bool gt_aside_allowed;

/* All [lock] */
static uint64_t watched_ns, turns; /* since the last decision, while the monitor watched */
static uint64_t seen;              /* gt_gate.turns at the last look */
static uint64_t next_ns; /* for how long the gate stood aside the last time; 0: it did not */
static uint64_t since;   /* while it stands aside: when `seen` was */

void gt_aside_watch(void) { seen = gt_gate.turns; }

uint64_t gt_aside_look(uint64_t passed) {
  watched_ns += passed;
  turns += gt_gate.turns - seen;
  seen = gt_gate.turns;
  bool may = gt_aside_allowed && gt_gate.permits == gt_gate.most;
  if (may && watched_ns < WATCHED_NS) return 0;
  bool are_long = watched_ns * (uint64_t)gt_gate.most >= turns * LONG_NS;
  watched_ns = turns = 0;
  if (!may || !are_long)
    next_ns = 0;
  else
    next_ns = next_ns == 0 ? ASIDE_NS : next_ns < ASIDE_MOST_NS ? 2 * next_ns : ASIDE_MOST_NS;
  return next_ns;
}

void gt_aside_begin(uint64_t now) {
  gt_gate.permits = MANY;
  gt_grant();
  gt_gate.aside = gt_gate.permits == MANY; /* or mltpd has granted fewer at this moment */
  seen = gt_gate.turns;
  since = now;
}

void gt_aside_turn(void) {
  uint64_t some = SOME_TURNS + 2 * (uint64_t)gt_gate.threads;
  if (!gt_gate.aside || gt_gate.turns - seen < some) return;
  uint64_t now = os_now();
  bool are_short = (now - since) * (uint64_t)gt_gate.most < some * SHORT_NS;
  since = now;
  seen = gt_gate.turns;
  if (are_short) gt_aside_end();
}

void gt_aside_end(void) {
  if (!gt_gate.aside) return;
  gt_gate.aside = false;
  gt_gate.permits = gt_gate.most;
}
