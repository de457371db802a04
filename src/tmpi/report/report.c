/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that do the same share one line, with the backtrace of the first. Where ranks differ in
 * values alone, such as a tag that each computes from its number, the line leaves the values open,
 * as few of them as will do, and prints those of the first few ranks. So a report is short whatever
 * the number of ranks; tmpirun --full prints all.
 */
#include "tmpi/report/report.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "core/internal/process.h"
#include "tmpi/report/activity.h"
#include "tmpi/report/cause.h"
#include "tmpi/report/location.h"
#include "tmpi/report/text.h"

/* At most, without --full: groups, backtraces, frames of each, ranks of a group with their values.
 */
enum { GROUPS_MAX = 8, TRACES_MAX = 3, FRAMES_MAX = 8, VALUES_SHOWN = 3 };

/* A rank's line; sorted, those of a group stand together. */
struct line {
  int number;
  int group; /* the first rank of its group */
  char text[TM_ACTIVITY_TEXT];
};

static int by_text(const void *a, const void *b) {
  const struct line *one = a, *other = b;
  int order = strcmp(one->text, other->text);
  return order != 0 ? order : (one->number > other->number) - (one->number < other->number);
}

static int by_group(const void *a, const void *b) {
  const struct line *one = a, *other = b;
  if (one->group != other->group) return one->group > other->group ? 1 : -1;
  return (one->number > other->number) - (one->number < other->number);
}

/* Sorts ranks into groups, in the order of their first ranks. @return the number of groups. */
static int sort(struct line *lines, const struct tm_activity *activity, int fold) {
  int groups = 0;
  for (int i = 0; i < tm_job.size; i++) {
    lines[i].number = i;
    tm_text_activity(lines[i].text, &activity[i], fold);
  }
  qsort(lines, (size_t)tm_job.size, sizeof *lines, by_text);
  for (int i = 0; i < tm_job.size; i++) {
    bool same = i > 0 && strcmp(lines[i].text, lines[i - 1].text) == 0;
    lines[i].group = same ? lines[i - 1].group : lines[i].number;
    groups += !same;
  }
  qsort(lines, (size_t)tm_job.size, sizeof *lines, by_group);
  return groups;
}

/* Prints the values of the first few ranks of a group, where the line leaves them open. */
static void print_values(const struct line *lines, int count, const struct tm_activity *activity,
                         int fold) {
  char values[TM_ACTIVITY_TEXT];
  for (int i = 0; i < count && i < VALUES_SHOWN; i++) {
    tm_text_folded(values, &activity[lines[i].number], fold);
    if (values[0] == '\0') return;
    fprintf(stderr, "%s rank %d: %s", i == 0 ? ":" : ";", lines[i].number, values);
  }
  if (count > VALUES_SHOWN) fputs("; ...", stderr);
}

static void print_group(const struct line *lines, int count, const struct tm_activity *activity,
                        int fold) {
  char who[TM_RANKS_TEXT];
  bool *set = calloc((unsigned)tm_job.size, sizeof *set);
  if (set == NULL) return;
  for (int i = 0; i < count; i++) set[lines[i].number] = true;
  bool many = tm_text_ranks(who, set, tm_job.size) > 1;
  free(set);
  const struct tm_activity *first = &activity[lines[0].number];
  const char *does = first->state == TM_ENDED   ? (many ? "have" : "has")
                     : first->state == TM_WAITS ? (many ? "wait" : "waits")
                                                : (many ? "are" : "is");
  fprintf(stderr, "tmpi:   %s %s %s", who, does, lines[0].text);
  if (first->state == TM_WAITS) print_values(lines, count, activity, fold);
  fputc('\n', stderr);
}

/* @return how many lines follow of the same group, this one counted. */
static int count_group(const struct line *lines, int at) {
  int end = at + 1;
  while (end < tm_job.size && lines[end].group == lines[at].group) end++;
  return end - at;
}

/* Leaves as few values open as make few enough groups. @return which; *groups: how many. */
static int fold(struct line *lines, const struct tm_activity *activity, int *groups) {
  static const int folds[] = {0,
                              TM_FOLD_PEER,
                              TM_FOLD_PEER | TM_FOLD_TAG,
                              TM_FOLD_PEER | TM_FOLD_BYTES,
                              TM_FOLD_COMM,
                              TM_FOLD_PEER | TM_FOLD_TAG | TM_FOLD_BYTES,
                              TM_FOLD_PEER | TM_FOLD_TAG | TM_FOLD_BYTES | TM_FOLD_COMM};
  int at = 0, last = (int)(sizeof folds / sizeof *folds) - 1;
  while ((*groups = sort(lines, activity, folds[at])) > GROUPS_MAX && !tm_job.full_reports &&
         at < last)
    at++;
  return folds[at];
}

static void print_groups(struct line *lines, const struct tm_activity *activity) {
  int groups, open = fold(lines, activity, &groups), printed = 0, at = 0;
  int most = tm_job.full_reports ? groups : GROUPS_MAX;
  for (int count; at < tm_job.size && printed < most; at += count, printed++) {
    count = count_group(lines, at);
    print_group(&lines[at], count, activity, open);
  }
  if (at < tm_job.size)
    fprintf(stderr, "tmpi:   and the other %d ranks in %d other ways\n", tm_job.size - at,
            groups - printed);
  if (open != 0 || at < tm_job.size) fputs("tmpi:   (tmpirun --full reports each rank)\n", stderr);
}

static void print(struct line *lines, const struct tm_activity *activity, bool still) {
  int most = tm_job.full_reports ? INT_MAX : TRACES_MAX;
  print_groups(lines, activity);
  tm_report_causes(activity, still);
  for (int i = 0, traces = 0; i < tm_job.size && traces < most; i += count_group(lines, i)) {
    const struct tm_activity *first = &activity[lines[i].number];
    if (first->frame == NULL) continue;
    fprintf(stderr, "tmpi: rank %d:\n", lines[i].number);
    tm_location_trace(first->frame, tm_job.full_reports ? INT_MAX : FRAMES_MAX);
    traces++;
  }
}

void tm_report(const char *title, bool still) {
  static uint32_t busy;
  if (mt_swap_acquire(&busy, 1) != 0) return; /* RP-1 acquire: the one before; pairs RP-2 */
  mti_lock(&tm_job.size_ilock);               /* no rank is added while the report counts them */
  struct line *lines = calloc((size_t)tm_job.size, sizeof *lines);
  struct tm_activity *activity = calloc((size_t)tm_job.size, sizeof *activity);
  fprintf(stderr, "tmpi: %s of %d ranks:\n", title, tm_job.size);
  if (lines != NULL && activity != NULL) {
    tm_activity_read_all(activity);
    print(lines, activity, still);
  } else {
    fputs("tmpi:   no memory to tell of them (fewer ranks)\n", stderr);
  }
  mti_unlock(&tm_job.size_ilock);
  free(lines);
  free(activity);
  mt_store_release(&busy, 0); /* RP-2 release: what it has written; pairs RP-1 */
}

/* What a rank outside of MPI waits for is in the dump of all threads. */
static bool report_deadlock(void) {
  bool all_printed = true;
  tm_job_flush();
  tm_report("deadlock", true);
  tm_gathered_forget();
  int status, rank = tm_job_failure(&status);
  if (rank >= 0 && status != 0) { /* the others wait for it, directly or through another rank */
    fprintf(stderr, "tmpi: rank %d ended with status %d, and so does the job\n", rank, status);
    tm_job_abort(status);
  }
  for (int i = 0; i < tm_job.size; i++) {
    struct tm_activity activity;
    tm_activity_read(&activity, i);
    all_printed &= activity.state != TM_OUTSIDE;
  }
  return all_printed;
}

void tm_report_start(void) { mti_set_deadlock_hook(report_deadlock); }
