/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of windows that ranks wait at: which members hold the lock, or have not called what would
 * end the wait. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/process.h"
#include "tmpi/report/activity.h"
#include "tmpi/report/text.h"
#include "tmpi/rma/win.h"

/* A window as a report sees it. */
struct window {
  struct tm_win_wait wait;
  struct tm_win own;
  struct tm_win_common common;
  bool *set; /* ranks of the job */
  int first; /* of them; -1: none */
};

static bool peek_win(struct tm_win *copy, const struct tm_win *win) {
  return win != NULL && mti_peek(copy, win, sizeof *copy) && copy->magic == TM_WIN_MAGIC;
}

static void add(struct window *w, int member) {
  int number = -1;
  if (!mti_peek(&number, &w->own.group->ranks[member], sizeof number)) return;
  if (number < 0 || number >= tm_job.size) return;
  w->set[number] = true;
  if (w->first < 0 || number < w->first) w->first = number;
}

static bool peek_view(const struct window *w, int member, struct tm_win *view) {
  const struct tm_win *at = NULL;
  /* a pointer is what is read: NOLINTNEXTLINE(bugprone-sizeof-expression) */
  return mti_peek(&at, &w->own.common->views[member], sizeof at) && peek_win(view, at);
}

/* Members that hold a lock of the kinds given, of the target; target -1: of any. */
static void add_holders(struct window *w, int target, int kinds, bool all) {
  struct tm_win view;
  for (int i = 0; i < w->common.size; i++) {
    if (!peek_view(w, i, &view)) continue;
    bool holds = all && view.all_locked && !view.all_nocheck;
    if (target < 0) holds |= kinds != 0 && view.exclusives > 0;
    uint8_t access = 0;
    if (target >= 0 && mti_peek(&access, &view.access[target], sizeof access))
      holds |= (access & kinds) != 0 && (access & TM_LOCK_DEFERRED) == 0;
    if (holds) add(w, i);
  }
}

/* The member that holds the exclusive lock of a target on this node, on whichever node it is. */
static void add_exclusive_holder(struct window *w, int target) {
  struct tm_win view;
  if (peek_view(w, target, &view) && view.exclusive_holder >= 0) add(w, view.exclusive_holder);
}

/* Members whose mark in an array of the waiter's view has a value. */
static void add_marked(struct window *w, const uint8_t *marks, uint8_t value) {
  uint8_t mark;
  for (int i = 0; i < w->common.size; i++)
    if (mti_peek(&mark, &marks[i], sizeof mark) && mark == value) add(w, i);
}

static const char *window_name(const struct window *w) {
  return w->own.name[0] != '\0' ? w->own.name : "a window";
}

/* Writes which ranks have to act. A copy of what changes may show none.
 * @return whether they are many. */
static bool write_ranks(char text[TM_RANKS_TEXT], const struct window *w) {
  bool calls = w->wait.what == TM_FOR_POST || w->wait.what == TM_FOR_COMPLETE;
  if (w->first >= 0) return tm_text_ranks(text, w->set, tm_job.size) > 1;
  strcpy(text, w->common.far != NULL ? "a rank of another node"
               : calls               ? "an unknown rank"
                                     : "other waiters come first, and nobody");
  return false;
}

static void describe(struct window *w, char text[TM_WINDOW_TEXT]) {
  char who[TM_RANKS_TEXT];
  int target = w->wait.target, number = -1;
  bool lock = w->wait.what == TM_FOR_LOCK || w->wait.what == TM_FOR_GATE;
  if (lock) mti_peek(&number, &w->own.group->ranks[target], sizeof number);
  switch (w->wait.what) {
    case TM_FOR_LOCK:
      add_holders(w, target, TM_LOCKED_EXCLUSIVE | (w->wait.exclusive ? TM_LOCKED_SHARED : 0),
                  false);
      if (w->first < 0) add_exclusive_holder(w, target);
      break;
    case TM_FOR_GATE: add_holders(w, -1, 0, true); break;
    case TM_FOR_ALL: add_holders(w, -1, TM_LOCKED_EXCLUSIVE, false); break;
    case TM_FOR_POST: add_marked(w, w->own.posts, TM_AWAITED); break;
    case TM_FOR_COMPLETE: add_marked(w, w->own.exposed, 1); break;
  }
  bool many = write_ranks(who, w);
  if (lock)
    snprintf(text, TM_WINDOW_TEXT, "%s %s a lock of rank %d on %s", who, many ? "hold" : "holds",
             number, window_name(w));
  else if (w->wait.what == TM_FOR_ALL)
    snprintf(text, TM_WINDOW_TEXT, "%s %s exclusive locks on %s", who, many ? "hold" : "holds",
             window_name(w));
  else
    snprintf(text, TM_WINDOW_TEXT, "%s %s not called MPI_Win_%s on %s", who, many ? "have" : "has",
             w->wait.what == TM_FOR_POST ? "post" : "complete", window_name(w));
}

void tm_activity_read_window(struct tm_wanted *what, const void *waits_for) {
  struct window w = {.first = -1};
  if (waits_for == NULL || !mti_peek(&w.wait, waits_for, sizeof w.wait) ||
      w.wait.magic != TM_WIN_WAIT_MAGIC || !peek_win(&w.own, w.wait.win) ||
      !mti_peek(&w.common, w.own.common, sizeof w.common))
    return;
  w.set = calloc((unsigned)tm_job.size, sizeof *w.set);
  if (w.set == NULL || w.common.size > tm_job.size || w.wait.target >= w.common.size) {
    free(w.set);
    return;
  }
  describe(&w, what->window);
  free(w.set);
  what->known = what->has_window = true;
  what->number = w.first;
}
