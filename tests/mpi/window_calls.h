/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file window_calls.h
 * Errors of calls on windows in step tests: what a call refuses is in the trace, "[why] ".
 */
#ifndef TESTS_MPI_WINDOW_CALLS_H
#define TESTS_MPI_WINDOW_CALLS_H

#include "tmpi/rma/win.h"
#include "traced_calls.h"

int tm_win_fail(struct tm_win *win, const char *call, int code, const char *format, ...) {
  char text[100];
  va_list list;
  assert_true(win != NULL && call != NULL);
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  note("[%s]", text);
  return code;
}

int tm_win_fail_code(struct tm_win *win, const char *call, int code) {
  return tm_win_fail(win, call, code, "%d", code);
}

int tm_win_sync_error(struct tm_win *win, const char *call, const char *why) {
  return tm_win_fail(win, call, MPI_ERR_RMA_SYNC, "%s", why);
}

void tm_win_refuse(const char *call, MPI_Win handle) {
  assert_true(call != NULL && handle != MPI_WIN_NULL);
  note("refused");
}

int tm_win_refuse_target(struct tm_win *win, const char *call, int target) {
  return tm_win_fail(win, call, MPI_ERR_RANK, "no target %d", target);
}

int tm_win_check_assert(struct tm_win *win, const char *call, int assertion, int known) {
  assert_true(win != NULL && call != NULL);
  return (assertion & ~known) == 0 ? MPI_SUCCESS : MPI_ERR_ASSERT;
}

void tm_win_settle(struct tm_win *win, const char *call) {
  assert_true(win->notes != NULL && call != NULL);
  note(win->start != NULL ? "settles a start" : "settles");
}

#endif
