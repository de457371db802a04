/* SPDX-License-Identifier: Apache-2.0 */
/* A program of OpenMP that knows nothing of MLTP: each way in which gcc starts a team. Prints a
 * line for each: its name, the size of the team, and whether its sum is right. */
#include <omp.h>
#include <stdio.h>

enum { COUNT = 1000 };
static const long expected = (long)COUNT * (COUNT - 1) / 2;

static long size; /* of the team; each of its threads writes the same */

static void note_size(void) {
#pragma omp atomic write
  size = omp_get_num_threads();
}

static long pieces[COUNT];

static long collect(void) {
  long sum = 0;
  for (long i = 0; i < COUNT; i++) {
    sum += pieces[i];
    pieces[i] = 0;
  }
  return sum;
}

static void tell(const char *name, long sum) {
  printf("%s %ld %s\n", name, size, sum == expected ? "right" : "wrong");
}

/* Without a reduction gcc makes one call of a region and its loop. */
#define LOOP(name, schedule)                                                                       \
  static void loop_##name(void) {                                                                  \
    _Pragma(schedule) for (long i = 0; i < COUNT; i++) {                                           \
      if (i == 0) note_size();                                                                     \
      pieces[i] = i;                                                                               \
    }                                                                                              \
    tell(#name, collect());                                                                        \
  }

LOOP(fixed, "omp parallel for schedule(static, 7)")
LOOP(dynamic, "omp parallel for schedule(monotonic : dynamic, 3)")
LOOP(guided, "omp parallel for schedule(monotonic : guided, 3)")
LOOP(any_dynamic, "omp parallel for schedule(nonmonotonic : dynamic, 3)")
LOOP(any_guided, "omp parallel for schedule(nonmonotonic : guided, 3)")
LOOP(runtime, "omp parallel for schedule(monotonic : runtime)")
LOOP(any_runtime, "omp parallel for schedule(nonmonotonic : runtime)")
LOOP(maybe_runtime, "omp parallel for schedule(runtime)")

static void sections(void) {
  long low = 0, high = 0;
#pragma omp parallel sections
  {
#pragma omp section
    {
      note_size();
      for (long i = 0; i < COUNT / 2; i++) low += i;
    }
#pragma omp section
    for (long i = COUNT / 2; i < COUNT; i++) high += i;
  }
  tell("sections", low + high);
}

/* The reduction of a region with tasks has a call of its own. */
static void tasks(void) {
  long sum = 0;
#pragma omp parallel reduction(task, + : sum)
  {
    note_size();
#pragma omp single
    for (long i = 0; i < COUNT; i++) {
#pragma omp task in_reduction(+ : sum)
      sum += i;
    }
  }
  tell("tasks", sum);
}

/* A team inside of a team, and one whose size the program asks for. */
static void inner(void) {
  long sum = 0;
#pragma omp parallel num_threads(1)
#pragma omp parallel for num_threads(3) reduction(+ : sum)
  for (long i = 0; i < COUNT; i++) {
    note_size();
    sum += i;
  }
  tell("inner", sum);
}

/* With an argument it waits for a line, or the end, of its input. */
int main(int argc, char **argv) {
  (void)argv;
  omp_set_max_active_levels(2);
  loop_fixed();
  loop_dynamic();
  loop_guided();
  loop_any_dynamic();
  loop_any_guided();
  loop_runtime();
  loop_any_runtime();
  loop_maybe_runtime();
  sections();
  tasks();
  inner();
  fflush(stdout);
  return argc > 1 && getchar() == 0;
}
