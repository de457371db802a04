/* SPDX-License-Identifier: Apache-2.0 */
/* The variables that say a rank's time zone. tmpirun's side (run/zone.c) reads the zone. */
#define _GNU_SOURCE
#include <time.h>

char *tzname[2];
int daylight;
long timezone;
extern char *__tzname[2] __attribute__((alias("tzname")));
extern int __daylight __attribute__((alias("daylight")));
extern long __timezone __attribute__((alias("timezone")));

/* tmpirun's. */
void tm_zone_read(char **names, int *has_summer, long *seconds_west);
time_t tm_zone_mktime(struct tm *time);

void tzset(void) { tm_zone_read(tzname, &daylight, &timezone); }

time_t mktime(struct tm *time) {
  time_t result = tm_zone_mktime(time);
  tzset();
  return result;
}

time_t timelocal(struct tm *time) { return mktime(time); }

__attribute__((constructor)) static void start(void) { tzset(); }
