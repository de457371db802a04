/* SPDX-License-Identifier: Apache-2.0 */
/* Members wait for epochs and locks; win.h has the protocol. */
#include <mltp/mltp.h>

#include "core/internal/locks.h"
#include "core/internal/thread.h"
#include "tmpi/match/rank_wait.h"
#include "tmpi/rma/win.h"

enum { CALLS_PER_YIELD = 8 /* a yield costs more than a call does */ };

struct tm_win_wait tm_win_waiter(const struct tm_win *win, enum tm_win_wait_for what) {
  return (struct tm_win_wait){.magic = TM_WIN_WAIT_MAGIC,
                              .what = what,
                              .win = win,
                              .target = -1,
                              .origin = win->comm->rank};
}

void tm_win_enqueue(struct tm_win_queue *queue, struct tm_win_wait *wait) {
  if (queue->first == NULL) queue->end = &queue->first;
  *queue->end = wait;
  queue->end = &wait->next;
}

void tm_win_take(struct tm_win_queue *queue, struct tm_win_wait **woken) {
  struct tm_win_wait *first = queue->first;
  queue->first = first->next;
  first->next = *woken;
  *woken = first;
}

void tm_win_park(struct tm_win_wait *wait, uint32_t *ilock, const char *call) {
  tm_mailbox_park(wait->win->comm->owner, ilock, wait, call);
}

struct tm_win_wait *tm_win_both(struct tm_win_wait *first, struct tm_win_wait *second) {
  struct tm_win_wait **end = &first;
  while (*end != NULL) end = &(*end)->next;
  *end = second;
  return first;
}

/* What comes with a lock may release it, so a waiter that is woken may bring others. They are not
 * woken in its place, as a stack of a thousand calls would have no room. */
void tm_win_wake(struct tm_win_wait *woken, bool inside) {
  while (woken != NULL) {
    struct tm_win_wait *next = woken->next; /* the record ends with the wait */
    if (woken->asker != 0)
      next = tm_win_both(tm_win_grant(woken, inside), next);
    else
      tm_resume(&woken->win->comm->owner->box, woken->thread);
    woken = next;
  }
}

void tm_win_breathe(struct tm_win *win) {
  if (++win->syncs % CALLS_PER_YIELD == 0) tm_yield();
}
