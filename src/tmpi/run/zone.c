/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time zone of a rank, which TZ in its environment says. libc has one for the process. Once a
 * rank has changed TZ, each call that depends on it gives libc the caller's zone first, under an
 * internal lock; none of these calls waits. The variables tzname, daylight and timezone are the
 * rank's own (src/tmpi/private/zone.c).
 *
 * Relaxed: `changed` only goes up, and a rank that changes TZ sees it.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

static uint32_t changed; /* [atomic] 1: a rank has changed TZ */
static uint32_t ilock;   /* libc's zone is the holder's */

static void note_change(void) { mt_store_relaxed(&changed, 1); }

static const char *own_zone(const struct tm_process *process) {
  for (char **list = tm_process_environment(process); list != NULL && *list != NULL; list++)
    if (strncmp(*list, "TZ=", 3) == 0) return *list + 3;
  return NULL;
}

/* @return whether leave() has something to do. */
static bool enter(void) {
  const struct tm_process *process = tm_process_self();
  if (process == NULL || !mt_load_relaxed(&changed)) return false;
  mti_lock(&ilock);
  const char *own = own_zone(process), *now = getenv("TZ");
  if (own == NULL && now != NULL) unsetenv("TZ");
  if (own != NULL && (now == NULL || strcmp(own, now) != 0)) setenv("TZ", own, 1);
  tzset();
  return true;
}

static void leave(bool entered) {
  if (entered) mti_unlock(&ilock);
}

/* Names stay: libc keeps each that it has met. */
static void read_zone(char **names, int *has_summer, long *seconds_west) {
  bool entered = enter();
  if (!entered) tzset();
  memcpy(names, tzname, sizeof tzname);
  *has_summer = daylight;
  *seconds_west = timezone;
  leave(entered);
}

static time_t mktime_rank(struct tm *time) {
  bool entered = enter();
  time_t result = mktime(time);
  leave(entered);
  return result;
}

static struct tm *localtime_rank(const time_t *time, struct tm *to) {
  bool entered = enter();
  struct tm *result = localtime_r(time, to);
  leave(entered);
  return result;
}

static char *ctime_rank(const time_t *time, char *text) {
  struct tm parts;
  if (localtime_rank(time, &parts) == NULL) return NULL;
  return asctime_r(&parts, text); /* as ctime_r() is defined: NOLINT(bugprone-unsafe-functions) */
}

static size_t strftime_rank(char *text, size_t size, const char *format, const struct tm *time) {
  bool entered = enter();
  size_t length = strftime(text, size, format, time);
  leave(entered);
  return length;
}

const struct tm_override tm_override_zone[] = {
    {"tm_zone_changed", (tm_any *)note_change},
    {"tm_zone_read", (tm_any *)read_zone},
    {"tm_zone_mktime", (tm_any *)mktime_rank},
    {"localtime_r", (tm_any *)localtime_rank},
    {"ctime_r", (tm_any *)ctime_rank},
    {"strftime", (tm_any *)strftime_rank},
    {NULL, NULL},
};
