/* SPDX-License-Identifier: Apache-2.0 */
/* Reading schedules, logging decisions. */
#include "base/schedule.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/log.h"
#include "os/os.h"

/* Reads two numbers with a colon between them. @return what follows; NULL: they are not there. */
static const char *read_pair(const char *text, uint64_t *first, uint64_t *second, uint64_t most) {
  text = mt_digits(text, UINT64_MAX, first);
  return text != NULL && *text == ':' ? mt_digits(text + 1, most, second) : NULL;
}

/* Reads the next departure of a list. @return false: that is none. */
static bool read_next(struct mt_schedule *schedule) {
  uint64_t choice, last = schedule->step;
  schedule->choice = 0;
  if (*schedule->rest == '\0') return true;
  const char *end = read_pair(schedule->rest, &schedule->step, &choice, UINT32_MAX);
  if (end == NULL || (*end != '\0' && (*end != ',' || end[1] == '\0'))) return false;
  schedule->rest = end + (*end == ',');
  schedule->choice = (uint32_t)choice;
  return schedule->step > last && choice != 0;
}

static bool is_list(struct mt_schedule schedule) {
  do
    if (!read_next(&schedule)) return false;
  while (schedule.choice != 0);
  return true;
}

/* text: what follows "pct:". */
static bool read_pct(struct mt_schedule *schedule, const char *text) {
  uint64_t depth;
  const char *end = read_pair(text, &depth, &schedule->expected, UINT64_MAX);
  if (end == NULL || *end != '\0' || depth < 1 || depth > MT_PCT_DEPTH_MAX) return false;
  schedule->depth = (int)depth;
  return schedule->expected >= 1;
}

int mt_schedule_read(struct mt_schedule *schedule, const char *text) {
  *schedule = (struct mt_schedule){.kind = MT_SCHEDULE_RANDOM, .rest = text};
  if (strcmp(text, "random") == 0) return 0;
  if (strncmp(text, "pct:", 4) == 0) {
    schedule->kind = MT_SCHEDULE_PCT;
    if (read_pct(schedule, text + 4)) return 0;
  } else {
    schedule->kind = MT_SCHEDULE_LIST;
    if (strcmp(text, "fifo") == 0) schedule->rest = "";
    if (is_list(*schedule)) {
      read_next(schedule);
      return 0;
    }
  }
  mt_message(
      "MLTP_SCHEDULE: bad value '%s' (set it to random, fifo, pct:DEPTH:STEPS with a depth of 1 to "
      "%d, or STEP:CHOICE,STEP:CHOICE,... in the order of steps, or unset it)",
      text, MT_PCT_DEPTH_MAX);
  return EINVAL;
}

uint32_t mt_schedule_next(struct mt_schedule *schedule, uint64_t step) {
  while (schedule->choice != 0 && schedule->step < step) read_next(schedule); /* no choice there */
  return schedule->choice != 0 && schedule->step == step ? schedule->choice : 0;
}

/* ---- the log */

static int log_fd = -1;

int mt_schedule_log_open(const char *path) {
  if (log_fd >= 0) os_close(log_fd);
  log_fd = -1;
  if (strcmp(path, "none") == 0) return 0;
  log_fd = os_open_log(path);
  if (log_fd >= 0) return 0;
  mt_message("MLTP_SCHEDULE_LOG: cannot write '%s' (name a file in a folder you may write to)",
             path);
  return EINVAL;
}

void mt_schedule_write(uint64_t step, uint32_t choice, uint32_t count, unsigned long from,
                       const char *from_name, const char *call, unsigned long to,
                       const char *to_name) {
  if (log_fd < 0 || (count == 1 && from == to)) return;
  mt_print(log_fd, "%lu\t%u\t%u\t%lu\t%s\t%s\t%lu\t%s\n", (unsigned long)step, choice, count, from,
           from_name, call, to, to_name);
}

/* splitmix64 (Steele, Lea, Flood 2014). */
uint64_t mt_schedule_draw(uint64_t *generator) {
  uint64_t z = *generator += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}
