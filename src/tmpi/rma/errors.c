/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of windows, and the checks that several calls share. */
#include <stdarg.h>
#include <stdio.h>

#include "tmpi/error/code.h"
#include "tmpi/error/errors.h"
#include "tmpi/rank/handle.h"
#include "tmpi/rma/win.h"

struct tm_win *tm_win_of(MPI_Win handle) { return tm_win_in(handle); }

static int fail(struct tm_win *win, const char *call, int code, const char *why) {
  if (win == NULL) return tm_fail(NULL, call, code, "%s", why);
  struct tm_errhandler *handler = tm_errhandler_get(&win->comm->owner->box.ilock, &win->handler);
  const char *name = win->name[0] != '\0' ? win->name : "a window";
  MPI_Win handle = (MPI_Win)win;
  tm_report_by(handler, &handle, name, call, code, why);
  tm_errhandler_release(handler);
  return code;
}

int tm_win_fail(struct tm_win *win, const char *call, int code, const char *format, ...) {
  char why[MPI_MAX_ERROR_STRING];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  return fail(win, call, code, why);
}

int tm_win_fail_code(struct tm_win *win, const char *call, int code) {
  char why[MPI_MAX_ERROR_STRING];
  tm_code_text(code, why);
  return fail(win, call, code, why);
}

void tm_win_refuse(const char *call, MPI_Win handle) {
  tm_enter(call);
  tm_fail(NULL, call, MPI_ERR_WIN, "the window is %s",
          handle == MPI_WIN_NULL ? "MPI_WIN_NULL" : "not valid: freed, or never made");
}

int tm_win_sync_error(struct tm_win *win, const char *call, const char *why) {
  return tm_win_fail(win, call, MPI_ERR_RMA_SYNC, "%s", why);
}

int tm_win_check_assert(struct tm_win *win, const char *call, int assertion, int known) {
  if ((assertion & ~known) == 0) return MPI_SUCCESS;
  return tm_win_fail(win, call, MPI_ERR_ASSERT, "0x%x is no assertion for this call",
                     (unsigned)assertion);
}

int tm_win_refuse_target(struct tm_win *win, const char *call, int target) {
  return tm_win_fail(win, call, MPI_ERR_RANK, "rank %d is not one of the %d there are", target,
                     win->common->size);
}
