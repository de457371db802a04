/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel thread runs a thread, and in which call of the kernel it is
 * (src/core/vp/kernel_thread.c): on VPs that nobody runs. The kernel's answers are the test's. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "core/vp/kernel_thread.h"
#include "support/support.h"
#include "support/vp_stage.h"

static enum os_task_state task_state; /* what the kernel says of the kernel thread of VP 1 */
static long task_call;

enum os_task_state __wrap_os_task_state(const struct os_task *task);
enum os_task_state __wrap_os_task_state(const struct os_task *task) {
  CHECK_EQUAL(task->tid, TASK + 1);
  return task_state;
}

long __wrap_os_task_call(const struct os_task *task);
long __wrap_os_task_call(const struct os_task *task) {
  CHECK_EQUAL(task->tid, TASK + 1);
  return task_call;
}

static struct mltp_thread thread;
static char text[64];
static uint64_t ns;

static void place(uint32_t vp, uint32_t state) { thread.where = vp << MT_STATE_BITS | state; }

/* A thread that runs on VP 1, which was caught in read(2) 12 ms ago. */
static void set(void) {
  stage(3, 3, 3);
  memset(&thread, 0, sizeof thread);
  thread.kind = MT_UNBOUND;
  place(1, MT_RUNNING);
  vps[1].sleep.status = MT_VP_CAUGHT;
  vps[1].handover.caught_at = begin - 12 * ms;
  task_state = OS_TASK_SLEEPS;
  task_call = SYS_read;
  ns = 77;
}

static bool blocks(void) {
  text[0] = '\0';
  return mt_blocks_in(text, sizeof text, &ns, &thread);
}

static void a_caught_vp_says_for_how_long(void) {
  set();
  CHECK(blocks());
  CHECK_TEXT(text, "read(2)");
  CHECK_EQUAL(ns, 12 * ms);
  vps[1].handover.caught_at = begin + 1; /* caught after the look at the clock */
  CHECK(blocks());
  CHECK_EQUAL(ns, 0);
}

static void a_vp_that_announced_its_call_does_not(void) {
  set();
  vps[1].sleep.status = MT_VP_BLOCKED;
  CHECK(blocks());
  CHECK_TEXT(text, "read(2)");
  CHECK_EQUAL(ns, 0);
}

static void calls_without_a_name(void) {
  set();
  task_call = 0x7fff;
  CHECK(blocks());
  CHECK_TEXT(text, "system call 32767");
  task_call = -1; /* a page fault, or the kernel does not say */
  CHECK(blocks());
  CHECK_TEXT(text, "the kernel");
}

static void a_vp_that_runs_is_in_no_call(void) {
  set();
  task_state = OS_TASK_RUNS;
  CHECK(!blocks());
  set();
  task_state = OS_TASK_UNKNOWN; /* without /proc its own word counts */
  CHECK(blocks());
  static const uint32_t others[] = {MT_VP_AWAKE, MT_VP_ASLEEP};
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
    set();
    check_case("status %u", others[i]);
    vps[1].sleep.status = others[i];
    CHECK(!blocks());
  }
}

static void only_a_running_thread_has_a_kernel_thread(void) {
  set();
  CHECK_EQUAL(mt_task_of(&thread), TASK + 1);
  place(1, MT_READY);
  CHECK(mt_task_of(&thread) == 0 && !blocks());
  set();
  thread.kind = MT_BOUND;
  CHECK(mt_task_of(&thread) == 0 && !blocks());
  set();
  place(3, MT_RUNNING); /* a snapshot from before the number of VPs was less */
  CHECK(mt_task_of(&thread) == 0 && !blocks());
  set();
  mt_rt.vps[1] = NULL; /* the runtime ends */
  CHECK(mt_task_of(&thread) == 0 && !blocks());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(a_caught_vp_says_for_how_long),
      TEST_BARE(a_vp_that_announced_its_call_does_not),
      TEST_BARE(calls_without_a_name),
      TEST_BARE(a_vp_that_runs_is_in_no_call),
      TEST_BARE(only_a_running_thread_has_a_kernel_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
