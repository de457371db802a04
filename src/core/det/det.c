/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deterministic mode: its switch, its clock and its random numbers. All of it happens on the one
 * VP, so nothing here is shared.
 */
#include "core/det/det.h"

#include <errno.h>

#include "base/log.h"
#include "base/options.h"
#include "core/det/state.h"
#include "instrument/debug_hooks.h"

#define NO_CLASS UINT32_MAX

enum {
  STEP_NS = 1000,       /* what the clock gains at each scheduling point */
  START_NS = 1000000000 /* so that "a while ago" is a time, too */
};

struct mt_det_state mt_det;
bool mt_det_on;
uint32_t mt_det_inlined_lock = NO_CLASS, mt_det_inlined_standard = NO_CLASS;

uint64_t mt_det_draw(void) { return mt_schedule_draw(&mt_det.generator); }

/* A later runtime of the same process continues where the last one stopped. */
static void restart(void) {
  mt_det.generator = (uint64_t)mt_options.seed;
  mt_det.seed = mt_options.seed;
  mt_det.step = 0;
  mt_det.clock = START_NS;
  mt_det.lowest = 0;
  for (int i = 0; i < mt_det.schedule.depth - 1; i++)
    mt_det.falls[i] = 1 + mt_det_draw() % mt_det.schedule.expected;
}

int mt_det_init(void) {
  bool was_on = mt_det_on && mt_det.seed == mt_options.seed;
  int error = mt_schedule_read(&mt_det.schedule, mt_options.schedule);
  if (error == 0) error = mt_schedule_log_open(mt_options.schedule_log);
  if (error != 0) return error;
  mt_det_on = mt_options.seed != 0 || mt_det.schedule.kind != MT_SCHEDULE_RANDOM;
  mt_det_inlined_lock = mt_det_on ? NO_CLASS : MLTP_LOCK_REACTIVE;
  bool is_standard = mt_det_inlined_lock == (uint32_t)mt_options.lock;
  mt_det_inlined_standard = is_standard ? MLTP_LOCK_STANDARD : NO_CLASS;
  if (!mt_det_on) return 0;
  mt_options.backend = MT_BACKEND_NATIVE;
  if (!was_on) restart();
  return 0;
}

void mt_det_enter(struct mltp_thread *t) { t->priority = (int32_t)(mt_det_draw() >> 33); }

uint64_t mt_det_now(void) { return mt_det.clock; }

uint64_t mt_det_to_os(uint64_t deadline) {
  if (deadline == MLTP_NEVER) return deadline;
  return os_now() + (deadline > mt_det.clock ? deadline - mt_det.clock : 0);
}

void mt_det_advance(void) {
  mt_det.clock += STEP_NS;
  if (++mt_det.step == (uint64_t)mt_options.steps_max) mt_debug.livelock(mt_det.step);
}
