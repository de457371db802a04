/* SPDX-License-Identifier: Apache-2.0 */
/* How the gate starts, in a program and in a child of fork(), and what a call finds that comes
 * there (traced_threads.h). */
#include "traced_threads.h"

/* ---- entries */

static void entries(void) {
  stage(false);
  off();
  CHECK(gt_enter() == NULL && gt_enter_again() == NULL);
  TRACE("");
  gt_next.create = NULL;
  CHECK(gt_enter() == NULL);
  TRACE("find");
  stage_new(); /* a new thread, while the gate is off */
  CHECK(gt_enter() == NULL && gt_enter_again() == NULL);
  TRACE("");
  for (int state = GT_NEW; state <= GT_ENDED; state++)
    for (int locked = 0; locked < 2; locked++) {
      static const char *const again[] = {"", "quit", "quit", "quit", "back", "", ""};
      stage(false);
      gt_me.state = (uint32_t)state;
      gt_me.locked = locked;
      gt_me.lent = 1;
      CHECK(gt_enter_slow() == &gt_me && gt_enter_again_slow() == &gt_me);
      TRACE("");
      EQUAL(gt_me.lent, 0); /* it has left a call by a jump */
      gt_me.open = 0;
      gt_me.lent = 1;
      bool back = state == GT_CAUGHT && !locked;
      if (state == GT_NEW) continue;
      CHECK(gt_enter() == (back ? &gt_me : NULL));
      TRACE("");
      bool enters = back || (again[state][0] != '\0' && !locked);
      CHECK(gt_enter_again() == (enters ? &gt_me : NULL));
      TRACE(locked ? "" : again[state]);
      EQUAL(gt_me.lent, !back);
    }
  stage(false);
  stage_new();
  CHECK(gt_enter() == &gt_me);
  TRACE("asks ( begin ) key permit");
  EQUAL(gt_me.id, 1);
  EQUAL(gt_gate.threads, 1);
}

/* ---- children of fork() */

static void a_child_has_one_thread(void) {
  for (int state = GT_NEW; state <= GT_ENDED; state++) {
    bool known = state != GT_NEW && state != GT_ENDED;
    for (int seeded = 0; seeded < 2; seeded++) {
      stage(seeded);
      *gt_mark = 0;
      gt_me.handle = 4;
      link_thread(&gt_me);
      for (int i = 0; i < 3; i++) t[i].handle = (pthread_t)i + 1, link_thread(&t[i]);
      gt_gate.joined = gt_gate.aside = true;
      gt_gate.permits = 1;
      gt_gate.most = 3;
      beginnings = (struct beginning *)&world;
      gt_me.state = (uint32_t)state;
      gt_begin_child();
      TRACE(known ? "no client no monitor no seed no once forget"
                  : "no client no monitor no seed no once");
      CHECK(*gt_mark == 1 && !gt_gate.joined && !gt_gate.aside && joins_later == !seeded);
      EQUAL(gt_gate.permits, 3);
      EQUAL(gt_me.tid, TID + 1);
      EQUAL(gt_gate.threads, known ? 1 : 4);
      if (!known) continue;
      CHECK(gt_gate.all == &gt_me && gt_me.earlier == NULL && gt_me.later == NULL);
      CHECK(gt_thread_find(4) == &gt_me && gt_thread_find(1) == NULL && beginnings == NULL);
    }
  }
  stage(false); /* a handler that interrupted the gate */
  *gt_mark = 0;
  gt_me.locked = true;
  gt_gate.joined = true;
  gt_begin_child();
  TRACE("later");
  CHECK(*gt_mark == 1 && gt_gate.joined);
}

/* ---- start */

static void begin_start(void) {
  stage(false);
  is_on = false;
  end_key = 0;
  stage_new();
  memset(&mt_options, 0, sizeof mt_options);
  gt_mark = &no_mark;
}

static void the_gate_starts(void) {
  static const char *const starts =
      "key_create atfork warns joins:6 quick asks ( begin ) key permit";
  begin_start();
  start();
  TRACE(starts);
  CHECK(at_end == at_destructors && gt_mark == &no_mark && is_on && gt_aside_allowed);
  CHECK(gt_gate.permits == 6 && gt_gate.most == 6 && !gt_gate.joined);
  for (int i = 0; i < 4; i++) {
    begin_start();
    gt_next.create = NULL;
    world.has_mark = true;
    world.is_joined = i % 2;
    world.join_error = i / 2 * ENOENT;
    mt_options.vps = 4;
    start();
    TRACE("find key_create atfork warns joins:4 quick asks ( begin ) key permit");
    CHECK(gt_mark == &mark && is_on && !gt_aside_allowed && gt_gate.joined == (i == 1));
    CHECK(gt_gate.permits == 4 && gt_gate.most == 4);
  }
  begin_start();
  mt_options.vps = 1;
  start();
  TRACE("key_create atfork warns joins:1 quick asks ( begin ) key permit");
  CHECK(gt_gate.permits == 1 && gt_gate.most == 1);
  begin_start();
  mt_options.seed = 1;
  start();
  TRACE("key_create atfork warns quick asks ( seed begin ) key permit");
  CHECK(!gt_aside_allowed);
  CHECK(setenv("MLTP_ACCESSES", "1", 1) == 0);
  begin_start();
  start();
  TRACE(starts); /* it takes a seed */
  begin_start();
  mt_options.seed = 1;
  start();
  TRACE("key_create atfork warns steps quick asks ( seed begin ) key permit");
}

static void the_gate_stays_off(void) {
  begin_start();
  world.other_libc = true;
  start();
  TRACE("message");
  CHECK(!is_on);
  begin_start();
  world.no_key = true;
  start();
  TRACE("key_create");
  CHECK(!is_on);
}

static void a_bad_option_ends_the_program(void) {
  for (int i = 0; i < 3; i++) {
    siginfo_t ended;
    pid_t child = fork();
    if (child == 0) {
      begin_start();
      world.bad_options = i == 0;
      world.bad_seed = i == 1;
      world.step_error = i == 2 ? EPERM : 0;
      mt_options.seed = 1; /* MLTP_ACCESSES is set */
      start();
      _exit(0);
    }
    CHECK(waitid(P_PID, (id_t)child, &ended, WEXITED) == 0);
    CHECK(ended.si_code == CLD_EXITED && ended.si_status == 2);
  }
}

static void the_program_steps_from_main_on(void) {
  stage(false);
  ANSWER(9);
  EQUAL(__libc_start_main(mains, 3, (char **)&world, nothing, NULL, nothing, &mark), 9);
  TRACE("step start_main");
  CHECK(stepped == (uintptr_t)mains);
  gt_next.start_main = NULL; /* before any other call */
  EQUAL(__libc_start_main(mains, 3, (char **)&world, nothing, NULL, nothing, &mark), 0);
  TRACE("find step start_main");
}

int main(void) {
  entries();
  a_child_has_one_thread();
  the_gate_starts();
  the_gate_stays_off();
  a_bad_option_ends_the_program();
  the_program_steps_from_main_on();
}
