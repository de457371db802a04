/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ranks of other nodes do, for one report of all. An activity points to texts of its node;
 * they go with it. All nodes have the same version of the library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/report/activity.h"
#include "tmpi/report/location.h"
#include "tmpi/report/report.h"

enum { CALL_TEXT = 48, WHERE_TEXT = 160 };

struct gathered {
  bool is_known; /* it has come */
  int number;    /* of the rank */
  struct tm_activity activity;
  char call[CALL_TEXT];   /* "": none */
  char where[WHERE_TEXT]; /* "": not known */
};

static struct gathered *all; /* by number of the rank; NULL: none has come */

static void pack(struct gathered *to, const struct tm_activity *activity, int number) {
  to->is_known = true;
  to->number = number;
  to->activity = *activity;
  to->activity.frame = to->activity.site = NULL;
  if (activity->call != NULL) snprintf(to->call, sizeof to->call, "%s", activity->call);
  if (activity->site != NULL) tm_location_name(to->where, sizeof to->where, activity->site);
}

void *tm_report_gather(size_t *bytes) {
  mti_lock(&tm_job.size_ilock); /* no rank is added while they are counted */
  struct tm_activity *activity = calloc((size_t)tm_job.size, sizeof *activity);
  struct gathered *packed = calloc((size_t)tm_job.here, sizeof *packed), *to = packed;
  *bytes = 0;
  if (activity != NULL && packed != NULL) {
    tm_activity_read_all(activity);
    for (int i = tm_job.first; i < tm_job.size; i = tm_rank_next_here(i, tm_job.size))
      pack(to++, &activity[i], i);
    *bytes = (size_t)tm_job.here * sizeof *packed;
  }
  mti_unlock(&tm_job.size_ilock);
  free(activity);
  return packed;
}

void tm_report_add(const void *gathered, size_t bytes) {
  if (all == NULL) all = calloc((size_t)tm_job.most, sizeof *all);
  for (const struct gathered *at = gathered; all != NULL && bytes >= sizeof *at; at++) {
    if (at->number >= 0 && at->number < tm_job.most) all[at->number] = *at;
    bytes -= sizeof *at;
  }
}

bool tm_gathered_read(struct tm_activity *activity, int number) {
  if (all == NULL || !all[number].is_known) return false;
  struct gathered *from = &all[number];
  from->call[CALL_TEXT - 1] = from->where[WHERE_TEXT - 1] = '\0';
  *activity = from->activity;
  activity->call = from->call[0] != '\0' ? from->call : NULL;
  activity->where = from->where[0] != '\0' ? from->where : NULL;
  return true;
}

void tm_gathered_forget(void) {
  free(all);
  all = NULL;
}
