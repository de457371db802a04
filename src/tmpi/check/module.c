/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module: what each wrapper does before and after its call.
 *
 * Relaxed: whose call it is, which others read for messages.
 */
#include "tmpi/check/check.h"

#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "os/os.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/location.h"

static struct tm_check_options options;
static const struct tm_seen **current; /* [atomic] of each rank, its main thread */

const struct tm_seen *tm_seen_of(int rank) { return mt_load_relaxed(&current[rank]); }

/* Other threads of a rank come and go beside it. */
static bool is_main_thread(void) { return tm_rank_self()->thread == mltp_self(); }

/* Handles change when their objects are freed, or complete. */
static void keep_handles(struct tm_seen *seen) {
  seen->before = NULL;
  if (seen->object == NULL || seen->makes || seen->count <= 0) return;
  size_t size = (size_t)seen->count * sizeof *seen->before;
  seen->before = seen->count == 1 ? &seen->one : malloc(size);
  if (seen->before != NULL) memcpy(seen->before, seen->object, size);
}

void tm_seen_begin(struct tm_seen *seen) {
  seen->rank = tm_rank_number();
  if (seen->rank < 0) return;
  seen->site = tm_location_caller(seen->site, __builtin_frame_address(0));
  if (options.check) tm_buffers_compare(seen);
  /* count and type are those of both buffers then */
  if (seen->op != 0 && seen->data.buffer == MPI_IN_PLACE) seen->data.buffer = seen->other.buffer;
  seen->outer = tm_seen_of(seen->rank);
  if (is_main_thread()) mt_store_relaxed(&current[seen->rank], seen);
  if (options.check) {
    tm_threads_begin(seen);
    keep_handles(seen);
    tm_buffers_begin(seen);
    tm_order_begin(seen);
    tm_windows_begin(seen);
  }
  if (options.report) seen->start = os_now();
}

int tm_seen_end(struct tm_seen *seen, int error) {
  if (seen->rank < 0) return error;
  if (options.report) tm_traffic_end(seen, os_now());
  if (options.check) {
    tm_threads_end(seen);
    /* a call that fails makes nothing, but a request may have come to its end */
    if (error == MPI_SUCCESS || !seen->makes) tm_leaks_end(seen);
    if (error == MPI_ERR_TRUNCATE) {
      char text[TM_CALL_TEXT];
      tm_describe(text, seen);
      tm_finding_print("rank %d: %s: a message was longer than there is room for", seen->rank,
                       text);
    }
    if (seen->before != &seen->one) free(seen->before);
  }
  if (is_main_thread()) mt_store_relaxed(&current[seen->rank], seen->outer);
  return error;
}

static bool start(const struct tm_check_options *chosen) {
  options = *chosen;
  current = calloc((unsigned)tm_job.most, sizeof(*current));
  if (current == NULL) return false;
  if (options.check) {
    if (!tm_order_start() || !tm_buffers_start() || !tm_threads_start()) return false;
    tm_summary_start();
    tm_type_match_start();
    tm_windows_start();
  }
  return !options.report || tm_traffic_start(&options);
}

static void finish_checks(void) {
  tm_unreceived_finish();
  unsigned leaks = tm_leaks_finish(options.strict);
  if (leaks == 0) return;
  tm_finding_note(
      "%u kind%s of leaks: no mistake%s, so the exit status stays (--check=strict "
      "changes it)",
      leaks, leaks > 1 ? "s" : "", leaks > 1 ? "s" : "");
}

static unsigned finish(bool reports) {
  if (options.check) finish_checks();
  if (options.report && reports) tm_traffic_finish();
  return tm_finding_count();
}

const struct tm_check tm_check = {start, tm_wrapper, tm_traffic_gather, tm_traffic_add, finish};
