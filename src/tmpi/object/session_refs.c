/* SPDX-License-Identifier: Apache-2.0 */
/*
 * References to sessions.
 *
 * Relaxed: references are added by holders.
 */
#include <stdlib.h>

#include "base/atomic.h"
#include "tmpi/object/errhandler.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"

void tm_session_hold(struct tm_session *session) {
  if (session != NULL) mt_add_relaxed(&session->refs, 1);
}

void tm_session_release(struct tm_session *session) {
  /* SN-1 acq_rel: all uses are over; pairs SN-1 */
  if (session == NULL || mt_add_acq_rel(&session->refs, (uint32_t)-1) != 1) return;
  tm_errhandler_release(session->handler);
  tm_info_free(session->info);
  free(session); /* tm_fail() is no success: NOLINT(clang-analyzer-unix.Malloc) */
}
