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

/* A switch: the compiler says when one is missing. */
static const char *name_of(enum mt_why why) {
  switch (why) {
    case MT_WHY_NOTHING: return "yield";
    case MT_WHY_LOCK: return "wait for a lock";
    case MT_WHY_COND: return "wait for a condition";
    case MT_WHY_BARRIER: return "wait at a barrier";
    case MT_WHY_SEM: return "wait for a semaphore";
    case MT_WHY_CHANNEL: return "wait for a channel";
    case MT_WHY_SELECT: return "wait in a select";
    case MT_WHY_LATCH: return "wait for a latch";
    case MT_WHY_WAITGROUP: return "wait for a wait group";
    case MT_WHY_ONCE: return "wait for a once";
    case MT_WHY_RDLOCK: return "wait to read";
    case MT_WHY_WRLOCK: return "wait to write";
    case MT_WHY_JOIN:
    case MT_WHY_JOIN_TIMED: return "wait for an end";
    case MT_WHY_SLEEP: return "sleep";
    case MT_WHY_FINALIZE: return "wait for all ends";
    case MT_WHY_MESSAGE:
    case MT_WHY_SWITCH: return "wait for a message";
    case MT_WHY_AWAIT: return "wait for a word";
    case MT_WHY_IO: return "wait for a descriptor or a file";
    case MT_WHY_STACK: return "wait for a stack";
  }
  return "wait";
}

const char *mt_schedule_reason(const struct mltp_thread *self) {
  return self->kind == MT_IDLE ? "end" : name_of((enum mt_why)mt_load_relaxed(&self->why));
}
