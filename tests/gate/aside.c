/* SPDX-License-Identifier: Apache-2.0 */
/* When the gate stands aside, and for how long (src/gate/aside.h): histories of turns, by a clock
 * of the test's own. */
#include "gate/aside.c"

#include "support/plain.h"

enum { CPUS = 2, MS = 1000000, TICK_MS = 2, GRANTED = 1000 };

struct gt_gate gt_gate = {.permits = CPUS, .most = CPUS, .threads = 8};
static uint64_t now, due; /* due: threads that gt_grant() lets run */
static int granted_by_daemon;

uint64_t os_now(void) { return now; }

void gt_grant(void) {
  gt_gate.turns += due;
  if (granted_by_daemon > 0) gt_gate.permits = granted_by_daemon;
}

/* Looks at each tick for a time, in which permits change hands every `turn_us`. @return the first
 * answer that is not 0. */
static uint64_t watch(int ms, uint64_t turn_us) {
  gt_aside_watch();
  for (int i = 0; i < ms / TICK_MS; i++) {
    now += TICK_MS * MS;
    gt_gate.turns += TICK_MS * 1000 / turn_us;
    uint64_t length = gt_aside_look(TICK_MS * MS);
    if (length > 0) return length;
  }
  return 0;
}

static void turns_of(uint64_t turn_us, int count) {
  for (int i = 0; i < count; i++) {
    now += turn_us * 1000;
    gt_gate.turns++;
    gt_aside_turn();
  }
}

static void begin(void) {
  CHECK(watch(1000, 2000) > 0);
  gt_aside_begin(now);
  CHECK(gt_gate.aside && gt_gate.permits > GRANTED);
}

int main(void) {
  CHECK(watch(1000, 2000) == 0); /* MLTP_VPS says how many threads may run */
  gt_aside_allowed = true;
  CHECK(watch(1000, 500) == 0); /* a permit changes hands, on the average, each millisecond */
  CHECK(watch(20, 2000) == 0);  /* too early to say */
  const int expected[] = {256, 512, 1024, 1024};
  for (int i = 0; i < 4; i++) {
    CHECK(watch(40, 2000) == (uint64_t)expected[i] * MS);
    gt_aside_begin(now);
    gt_aside_end();
    CHECK(!gt_gate.aside && gt_gate.permits == CPUS);
  }
  CHECK(watch(200, 100) == 0); /* short turns: the next time aside is short again */
  CHECK(watch(1000, 2000) == 256u * MS);
  CHECK(watch(30, 2000) == 0); /* the least time, and the shortest turns that are long */
  CHECK(watch(2, 2000) == 512u * MS);
  CHECK(watch(32, 1000) == 1024u * MS);

  gt_gate.permits = 1; /* mltpd has granted a part of the CPUs */
  CHECK(watch(1000, 2000) == 0);
  gt_gate.permits = CPUS;

  due = GRANTED; /* threads that were ready when it began are no short turns */
  begin();
  turns_of(2000, 10000); /* long ones */
  turns_of(500, 10000);  /* and the shortest of these */
  CHECK(gt_gate.aside);
  turns_of(100, 200); /* short ones end it at once */
  CHECK(!gt_gate.aside && gt_gate.permits == CPUS);

  gt_gate.threads = GRANTED; /* all of them wait at a barrier, each second: no short turns */
  begin();
  for (int i = 0; i < 10; i++) {
    turns_of(1, GRANTED);
    now += 1000 * MS;
  }
  CHECK(gt_gate.aside);
  gt_aside_end();

  CHECK(watch(1000, 2000) > 0);
  granted_by_daemon = 1; /* just when it begins */
  gt_aside_begin(now);
  CHECK(!gt_gate.aside && gt_gate.permits == 1);
}
