/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the log says of threads.
 *
 * Relaxed: the calling thread's own why.
 */
#include "core/det/schedule.h"

#include "core/thread/thread.h"

void mt_schedule_log(uint64_t step, uint32_t choice, uint32_t count, const struct mltp_thread *from,
                     const char *call, const struct mltp_thread *to) {
  static unsigned long last_id; /* the thread chosen last, by id, since it may have ended */
  static const char *last_name = "";
  bool ended = from->kind == MT_IDLE;
  if (count == 1 && from == to) return;
  mt_schedule_write(step, choice, count, ended ? last_id : (unsigned long)from->id,
                    ended ? last_name : mt_name(from), call, (unsigned long)to->id, mt_name(to));
  last_id = (unsigned long)to->id;
  last_name = mt_name(to);
}

const char *mt_schedule_reason(const struct mltp_thread *self) {
  static const char *const waits[] = {
      [MT_WHY_NOTHING] = "yield",
      [MT_WHY_LOCK] = "wait for a lock",
      [MT_WHY_COND] = "wait for a condition",
      [MT_WHY_BARRIER] = "wait at a barrier",
      [MT_WHY_SEM] = "wait for a semaphore",
      [MT_WHY_CHANNEL] = "wait for a channel",
      [MT_WHY_SELECT] = "wait in a select",
      [MT_WHY_LATCH] = "wait for a latch",
      [MT_WHY_WAITGROUP] = "wait for a wait group",
      [MT_WHY_ONCE] = "wait for a once",
      [MT_WHY_RDLOCK] = "wait to read",
      [MT_WHY_WRLOCK] = "wait to write",
      [MT_WHY_JOIN] = "wait for an end",
      [MT_WHY_JOIN_TIMED] = "wait for an end",
      [MT_WHY_SLEEP] = "sleep",
      [MT_WHY_FINALIZE] = "wait for all ends",
      [MT_WHY_MESSAGE] = "wait for a message",
      [MT_WHY_SWITCH] = "wait for a message",
      [MT_WHY_AWAIT] = "wait for a word",
  };
  return self->kind == MT_IDLE ? "end" : waits[mt_load_relaxed(&self->why)];
}
