/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choices of seeded runs (src/gate/seed.c), step by step: which thread runs next under each
 * kind of schedule, its clock and timers, and what the log gets. The gate, the schedule and the
 * random numbers are the test's own.
 */
#include "gate/seed.c"

#include <setjmp.h>

#include "support/plain.h"

enum { MANY = 5, STEP = 1000, SECOND = 1000000000, DRAWS_MAX = 64, TEXT = 512 };

struct gt_gate gt_gate;
__thread struct gt_thread gt_me;
struct gt_next gt_next;
struct mt_options mt_options;

static struct gt_thread t[MANY];
static char events[TEXT]; /* what was called, in this order */
static int locked, naps, name_reads;
static jmp_buf livelock;
static struct mt_schedule schedule; /* that MLTP_SCHEDULE says */
static int read_error, log_error;
static uint64_t draws[DRAWS_MAX]; /* the next random numbers */
static int drawn;
static uint32_t list_choice; /* the next one of a list */
static uint64_t list_step;

static void note(const char *text) {
  CHECK(strlen(events) + strlen(text) < sizeof events);
  strcat(events, text);
}

static void check_events(const char *expected) {
  if (strcmp(events, expected) != 0) {
    fprintf(stderr, "events: '%s', not '%s'\n", events, expected);
    exit(1);
  }
  events[0] = '\0';
}

static void note_number(const char *text, const struct gt_thread *of) {
  char number[8] = {of == &gt_me ? '-' : (char)('0' + (of - t)), ' ', '\0'};
  note(text);
  note(number);
}

void gt_lock(struct gt_thread *me) { CHECK(me == &gt_me && locked++ == 0); }

void gt_unlock(struct gt_thread *me) { CHECK(me == &gt_me && --locked == 0); }

void gt_queue_take(struct gt_queue *queue, struct gt_thread *out) {
  CHECK(queue == &gt_gate.queue);
  if (out->prev != NULL)
    out->prev->next = out->next;
  else
    queue->first = out->next;
  if (out->next != NULL)
    out->next->prev = out->prev;
  else
    queue->last = out->prev;
  out->next = out->prev = NULL;
}

void gt_queue_push(struct gt_queue *queue, struct gt_thread *in, bool front) {
  CHECK(queue == &gt_gate.queue);
  in->next = front ? queue->first : NULL;
  in->prev = front ? NULL : queue->last;
  *(in->prev != NULL ? &in->prev->next : &queue->first) = in;
  *(in->next != NULL ? &in->next->prev : &queue->last) = in;
}

static void make_ready(int i) {
  gt_queue_push(&gt_gate.queue, &t[i], false);
  t[i].state = GT_READY;
  gt_gate.ready++;
}

/* While nobody runs, a thread that is made ready asks for a choice. */
void gt_lot_end(struct gt_thread *of, int result) {
  CHECK(result == ETIMEDOUT && of->state == GT_PARKED);
  note_number("timer", of);
  make_ready((int)(of - t));
  if (gt_me.state == GT_PARKED) CHECK(!gt_seed_pick());
}

void gt_switch(struct gt_thread *me, struct gt_thread *to) {
  CHECK(me == &gt_me && locked == 1);
  note_number("switch", to);
}

void gt_await_permit(struct gt_thread *me) {
  CHECK(me == &gt_me && locked == 0);
  note("await ");
}

void gt_thread_name(const struct gt_thread *of, char name[GT_NAME]) {
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
  CHECK(state == PTHREAD_CANCEL_DISABLE); /* it reads a file */
  pthread_setcancelstate(state, NULL);
  snprintf(name, GT_NAME, "%u", of->id);
  name_reads++;
}

void gt_report_deadlock(void) { note("deadlock "); }

void gt_report_livelock(uint64_t steps) {
  EQUAL(steps, mt_options.steps_max);
  longjmp(livelock, 1);
}

int mt_schedule_read(struct mt_schedule *read, const char *text) {
  CHECK(text == mt_options.schedule);
  *read = schedule;
  return read_error;
}

int mt_schedule_log_open(const char *path) {
  note("log ");
  note(path);
  note(" ");
  return log_error;
}

void mt_schedule_write(uint64_t step, uint32_t choice, uint32_t count, unsigned long from,
                       const char *from_name, const char *call, unsigned long to,
                       const char *to_name) {
  char line[128];
  snprintf(line, sizeof line, "[%d %u/%u %lu %s %s %lu %s]", (int)step, choice, count, from,
           from_name, call, to, to_name);
  note(line);
}

uint32_t mt_schedule_next(struct mt_schedule *of, uint64_t step) {
  CHECK(of->kind == MT_SCHEDULE_LIST);
  list_step = step;
  return list_choice;
}

uint64_t mt_schedule_draw(uint64_t *generator) {
  CHECK(*generator == (uint64_t)mt_options.seed);
  CHECK(drawn < DRAWS_MAX);
  return draws[drawn++];
}

/* A seeded run begins, with a schedule of this kind. */
static void begin(enum mt_schedule_kind kind, int depth, uint64_t expected) {
  memset(&gt_gate, 0, sizeof gt_gate);
  memset(&gt_me, 0, sizeof gt_me);
  memset(t, 0, sizeof t);
  memset(&seed, 0, sizeof seed);
  schedule = (struct mt_schedule){.kind = kind, .depth = depth, .expected = expected};
  mt_options.seed = 7;
  mt_options.steps_max = 0;
  mt_options.schedule_log = "none";
  for (int i = 0; i < MANY; i++) {
    t[i].id = (unsigned)i + 10;
    t[i].deadline = UINT64_MAX;
    t[i].later = gt_gate.all;
    gt_gate.all = &t[i]; /* the newest is the first */
  }
  gt_me.id = 5;
  gt_me.state = GT_RUNS;
  gt_me.deadline = UINT64_MAX;
  drawn = 0;
  EQUAL(gt_seed_start(), 0);
  events[0] = '\0';
}

/* ---- the start */

static void a_run_is_seeded_if_asked_for(void) {
  static const enum mt_schedule_kind kinds[] = {MT_SCHEDULE_RANDOM, MT_SCHEDULE_PCT,
                                                MT_SCHEDULE_LIST};
  for (int kind = 0; kind < 3; kind++)
    for (int number = 0; number < 3; number++) {
      memset(&gt_gate, 0, sizeof gt_gate);
      schedule = (struct mt_schedule){.kind = kinds[kind], .depth = 1, .expected = 9};
      mt_options.seed = number;
      mt_options.schedule = "text";
      mt_options.schedule_log = "none";
      bool is = number != 0 || kinds[kind] != MT_SCHEDULE_RANDOM;
      EQUAL(gt_seed_start(), 0);
      check_events("log none ");
      EQUAL(gt_seeded, is);
      EQUAL(gt_gate.attend, is);
      EQUAL(gt_gate.permits, is);
      EQUAL(gt_gate.most, is);
      CHECK(!seed.logs);
    }
  mt_options.schedule_log = "file";
  EQUAL(gt_seed_start(), 0);
  check_events("log file ");
  CHECK(seed.logs);
  gt_seeded = false;
  read_error = 1;
  EQUAL(gt_seed_start(), 1);
  check_events("");
  read_error = 0;
  log_error = 2;
  EQUAL(gt_seed_start(), 2);
  CHECK(!gt_seeded);
  log_error = 0;
  events[0] = '\0';
}

static void a_new_thread_has_a_place(void) {
  begin(MT_SCHEDULE_PCT, 1, 9);
  t[0].deadline = 0;
  draws[0] = (uint64_t)3 << 33;
  draws[1] = UINT64_MAX;
  gt_seed_enter(&t[0]);
  gt_seed_enter(&t[1]);
  EQUAL(t[0].rank, 3);
  EQUAL(t[1].rank, INT32_MAX);
  CHECK(t[0].deadline == UINT64_MAX);
}

/* ---- choices */

static void random_choices(void) {
  begin(MT_SCHEDULE_RANDOM, 0, 0);
  for (int i = 0; i < 3; i++) make_ready(i);
  draws[0] = 4; /* of 4: the caller and three */
  gt_seed_point(&gt_me, "call");
  check_events("");
  draws[1] = 5;
  gt_seed_point(&gt_me, "call");
  check_events("switch0 await ");
  draws[2] = 7;
  gt_seed_point(&gt_me, "call");
  check_events("switch2 await ");
  EQUAL(seed.clock, 3 * STEP);
  EQUAL(gt_gate.turns, 3);
  draws[3] = 5; /* of 3 */
  CHECK(gt_seed_pick());
  CHECK(gt_gate.queue.first == &t[2] && t[2].next == &t[0] && t[0].next == &t[1]);
  draws[4] = 3;
  CHECK(gt_seed_pick());
  CHECK(gt_gate.queue.first == &t[2] && gt_gate.queue.last == &t[1]);
}

static void choices_of_a_list(void) {
  begin(MT_SCHEDULE_LIST, 0, 0);
  make_ready(0);
  make_ready(1);
  list_choice = 2;
  gt_seed_point(&gt_me, "call");
  check_events("switch1 await ");
  EQUAL(list_step, 1);
  list_choice = 3; /* it does not fit */
  gt_seed_point(&gt_me, "call");
  check_events("");
  list_choice = 1;
  CHECK(gt_seed_pick());
  CHECK(gt_gate.queue.first == &t[1]);
  EQUAL(list_step, 3);
  list_choice = 2;
  CHECK(gt_seed_pick());
  CHECK(gt_gate.queue.first == &t[1]);
  EQUAL(drawn, 0);
}

static void choices_by_rank(void) {
  enum { EXPECTED = 10 };
  draws[0] = 2; /* the highest falls at step 3, and at 6 */
  draws[1] = 15;
  begin(MT_SCHEDULE_PCT, 3, EXPECTED);
  EQUAL(drawn, 2);
  for (int i = 0; i < 3; i++) {
    t[i].rank = 10 * (i + 1);
    make_ready(i);
  }
  gt_me.rank = 30;
  gt_seed_point(&gt_me, "call"); /* of equals the first */
  check_events("");
  gt_me.rank = 29;
  gt_seed_point(&gt_me, "call");
  check_events("switch2 await ");
  gt_seed_point(&gt_me, "call");
  check_events("");
  EQUAL(t[2].rank, -1);
  CHECK(gt_seed_pick());
  CHECK(gt_gate.queue.first == &t[1]);
  gt_me.rank = 19;
  gt_seed_point(&gt_me, "call");
  check_events("switch1 await ");
  gt_seed_point(&gt_me, "call"); /* now the thread of rank 20 falls */
  EQUAL(t[1].rank, -2);
  check_events("");
  gt_seed_yield(&gt_me);
  EQUAL(gt_me.rank, -3);
  gt_seed_point(&gt_me, "call");
  check_events("switch0 await ");
  EQUAL(drawn, 2);
  seed.step = 20 * EXPECTED - 2;
  gt_seed_point(&gt_me, "call");
  check_events("switch0 await ");
  draws[2] = 4; /* the run is much longer than expected */
  gt_seed_point(&gt_me, "call");
  check_events("");
  EQUAL(drawn, 3);
}

static void a_run_that_is_too_long(void) {
  begin(MT_SCHEDULE_LIST, 0, 0);
  list_choice = 0;
  mt_options.steps_max = 3;
  for (int i = 0; i < 2; i++) gt_seed_point(&gt_me, "call");
  bool ended = setjmp(livelock) != 0;
  if (!ended) gt_seed_point(&gt_me, "call");
  CHECK(ended);
  locked = 0;
}

/* ---- time */

static void the_clock_is_the_run_s_own(void) {
  const struct timespec second = {1000, 5}, epoch = {1700000000, 7}, before = {1000, 0},
                        long_before = {-1, 999999999}, never = {2000, 0};
  begin(MT_SCHEDULE_LIST, 0, 0);
  EQUAL(gt_seed_now(CLOCK_MONOTONIC), (uint64_t)1000 * SECOND);
  EQUAL(gt_seed_now(CLOCK_REALTIME), (uint64_t)1700000000 * SECOND);
  list_choice = 0;
  gt_seed_point(&gt_me, "call");
  EQUAL(gt_seed_now(CLOCK_MONOTONIC), (uint64_t)1000 * SECOND + STEP);
  EQUAL(gt_seed_now(CLOCK_REALTIME), (uint64_t)1700000000 * SECOND + STEP);
  EQUAL(gt_seed_deadline(&second, CLOCK_MONOTONIC), 5);
  EQUAL(gt_seed_deadline(&epoch, CLOCK_REALTIME), 7);
  EQUAL(gt_seed_deadline(&before, CLOCK_MONOTONIC), 0);
  EQUAL(gt_seed_deadline(&long_before, CLOCK_MONOTONIC), 0);
  EQUAL(gt_seed_deadline(&never, CLOCK_MONOTONIC), (uint64_t)1000 * SECOND);
  EQUAL(gt_seed_deadline(&never, CLOCK_REALTIME), 0);
  CHECK(gt_seed_deadline(NULL, CLOCK_REALTIME) == UINT64_MAX);
  const struct timespec far = {GT_SEED_LONGEST_S, 0}, near = {GT_SEED_LONGEST_S - 1, 0};
  EQUAL(gt_seed_deadline(&near, CLOCK_MONOTONIC), (uint64_t)(GT_SEED_LONGEST_S - 1001) * SECOND);
  CHECK(gt_seed_deadline(&far, CLOCK_MONOTONIC) == UINT64_MAX);
}

static void park(int i, uint64_t deadline) {
  t[i].state = GT_PARKED;
  t[i].deadline = deadline;
}

static void timers_end_in_their_order(void) {
  begin(MT_SCHEDULE_LIST, 0, 0);
  list_choice = 0;
  park(0, 2 * STEP);
  park(1, 2 * STEP);
  park(2, STEP + 1);
  park(3, UINT64_MAX);
  t[4].deadline = 1; /* it does not wait any longer */
  gt_seed_point(&gt_me, "call");
  check_events("");
  gt_seed_point(&gt_me, "call");
  check_events("timer2 timer0 timer1 "); /* of the same time the oldest first */
  EQUAL(gt_gate.ready, 3);
}

static void time_passes_while_nobody_runs(void) {
  begin(MT_SCHEDULE_LIST, 0, 0);
  gt_me.state = GT_PARKED;
  CHECK(!gt_seed_pick());
  check_events("deadlock ");
  EQUAL(seed.step, 0);
  park(0, UINT64_MAX);
  CHECK(!gt_seed_pick());
  check_events("deadlock ");
  park(1, SECOND);
  park(2, SECOND + STEP);
  park(3, SECOND + STEP + 1);
  CHECK(gt_seed_pick());
  check_events("timer1 timer2 ");
  EQUAL(seed.clock, SECOND + STEP);
  CHECK(gt_gate.queue.first == &t[1]);
  CHECK(gt_seed_pick()); /* threads are ready: the clock makes a step */
  check_events("timer3 ");
  EQUAL(seed.clock, SECOND + 2 * STEP);
  for (int i = 1; i <= 3; i++) gt_queue_take(&gt_gate.queue, &t[i]);
  gt_gate.ready = 0;
  park(4, STEP); /* it is over already */
  CHECK(gt_seed_pick());
  check_events("timer4 ");
  EQUAL(seed.clock, SECOND + 3 * STEP);
}

/* ---- the log */

static void changes_and_choices_are_in_the_log(void) {
  static const struct {
    int why;
    const char *wait;
  } waits[] = {{GT_WHY_NOTHING, "yield"},
               {GT_WHY_MUTEX, "wait for a mutex"},
               {GT_WHY_COND, "wait for a condition"},
               {GT_WHY_SEM, "wait for a semaphore"},
               {GT_WHY_BARRIER, "wait at a barrier"},
               {GT_WHY_RDLOCK, "wait to read"},
               {GT_WHY_WRLOCK, "wait to write"},
               {GT_WHY_SPIN, "wait for a spin lock"},
               {GT_WHY_ONCE, "wait for a once"},
               {GT_WHY_WORD, "wait for a word"},
               {GT_WHY_JOIN, "wait for an end"},
               {GT_WHY_SLEEP, "sleep"}};
  begin(MT_SCHEDULE_LIST, 0, 0);
  seed.logs = true;
  list_choice = 0;
  name_reads = 0;
  gt_seed_point(&gt_me, "call"); /* the first thread comes from none */
  check_events("");
  gt_seed_point(&gt_me, "call"); /* nothing was chosen */
  check_events("");
  make_ready(0);
  gt_seed_point(&gt_me, "call");
  check_events("[3 0/2 5 5 call 5 5]");
  list_choice = 1;
  gt_seed_point(&gt_me, "other");
  check_events("[4 1/2 5 5 other 10 10]switch0 await ");
  EQUAL(name_reads, 2); /* each once */
  int state;
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &state);
  EQUAL(state, PTHREAD_CANCEL_ENABLE);
  list_choice = 0;
  CHECK(gt_seed_pick()); /* the same one again */
  check_events("");
  seed.last = 5;
  strcpy(seed.last_name, "5");
  for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
    char expected[128];
    gt_me.state = GT_PARKED;
    gt_me.why = (uint32_t)waits[i].why;
    seed.last = 5;
    strcpy(seed.last_name, "5");
    CHECK(gt_seed_pick());
    snprintf(expected, sizeof expected, "[%d 0/1 5 5 %s 10 10]", (int)seed.step, waits[i].wait);
    check_events(expected);
  }
  static const struct {
    enum gt_state state;
    const char *call;
  } states[] = {{GT_ENDED, "end"}, {GT_CALL, "call"}};
  for (int i = 0; i < 2; i++) {
    char expected[128];
    gt_me.state = states[i].state;
    seed.last = 5;
    strcpy(seed.last_name, "5");
    CHECK(gt_seed_pick());
    snprintf(expected, sizeof expected, "[%d 0/1 5 5 %s 10 10]", (int)seed.step, states[i].call);
    check_events(expected);
  }
  seed.last = 5;
  gt_seed_forget(); /* a child of the process */
  check_events("log none ");
  CHECK(gt_seed_pick());
  check_events("");
}

/* ---- threads that begin */

/* The thread comes while the caller naps. */
static int nap(const struct timespec *time, struct timespec *left) {
  CHECK(left == NULL && time->tv_sec == 0 && time->tv_nsec == 20000 && locked == 0);
  if (++naps == 3) gt_gate.all = &t[1];
  return 0;
}

static void a_creator_waits_for_its_thread(void) {
  begin(MT_SCHEDULE_LIST, 0, 0);
  gt_next.nanosleep = nap;
  naps = 0;
  gt_seed_await_thread(&gt_me, t[2].id); /* it is there */
  EQUAL(naps, 0);
  EQUAL(gt_gate.turns, 1);
  gt_gate.all = &t[0]; /* another one */
  gt_seed_await_thread(&gt_me, t[1].id);
  EQUAL(naps, 3);
  EQUAL(gt_gate.turns, 5);
}

int main(void) {
  a_run_is_seeded_if_asked_for();
  a_new_thread_has_a_place();
  random_choices();
  choices_of_a_list();
  choices_by_rank();
  a_run_that_is_too_long();
  the_clock_is_the_run_s_own();
  timers_end_in_their_order();
  time_passes_while_nobody_runs();
  changes_and_choices_are_in_the_log();
  a_creator_waits_for_its_thread();
  return 0;
}
