/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file vp_idle.h
 * src/core/sched/idle.c on VPs that nobody runs. Stand-ins note what is asked of them (noted.h). A
 * number behind a name is a time since the begin.
 */
#ifndef TESTS_VP_IDLE_H
#define TESTS_VP_IDLE_H

#include "core/sched/idle.c"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "support/noted.h"
#include "support/support.h"
#include "support/vp_stage.h"

enum { SPIN_NS = 1000, THREADS = 8 };

static struct mltp_thread threads[THREADS];

/* ---- the stand-ins */

static void note_time(const char *word, uint64_t time) {
  if (time == MLTP_NEVER)
    note("%s:never", word);
  else
    note("%s:%d", word, (int)(time - begin));
}

/* What they answer. */
static struct {
  bool steals, claims, can_give, starts, is_found;
  int sleep_result;
  uint64_t deadline;
} world;

static void idle_hook(bool sleeps) { note(sleeps ? "hook:sleeps" : "hook"); }

/* A function of the library that is only noted. */
#define NOTED(name, parameters, condition, word)                                                   \
  void __wrap_##name parameters;                                                                   \
  void __wrap_##name parameters {                                                                  \
    CHECK(condition);                                                                              \
    note(word);                                                                                    \
  }

#define NOTED_TIME(name, parameters, word)                                                         \
  void __wrap_##name parameters;                                                                   \
  void __wrap_##name parameters { note_time(word, time); }

NOTED_TIME(mt_timers_run_due, (uint64_t time), "timers")
NOTED_TIME(mt_look_now, (uint64_t time), "silence")
NOTED_TIME(mt_poll_now, (struct mt_vp * vp __attribute__((unused)), uint64_t time), "poll")
NOTED_TIME(mt_share_look, (struct mt_vp * vp __attribute__((unused)), uint64_t time), "share")
NOTED_TIME(mt_judge_theft, (struct mt_vp * vp __attribute__((unused)), uint64_t time), "theft")
NOTED_TIME(mt_poll_judge, (struct mt_vp * vp __attribute__((unused)), uint64_t time), "judge")
NOTED(mt_share_follow, (void), true, "follow")
NOTED(mt_locality_note, (struct mt_vp * vp), vp == &vps[1], "here")
NOTED(mt_timers_watch, (struct mt_vp * vp), vp == &vps[1], "watch")
NOTED(mt_stacks_give, (struct mt_vp * vp), vp == &vps[1], "give")
NOTED(mt_vp_hand_off, (struct mt_vp * vp), vp == &vps[1], "hand_off")
NOTED(mt_stacks_owner_sleeps, (const struct mt_vp *vp), vp == &vps[1], "stacks")
NOTED(mt_finalizer_check, (void), mt_rt.idle.sleeping != 0, "finalizer")
NOTED(mt_watchdog_check, (struct mt_vp * vp), vp == &vps[1], "check")
NOTED(os_affinity_restore, (struct os_affinity * mask), mask == &vps[1].sleep.affinity, "restore")
NOTED(mt_wake_one, (void), true, "wake")
NOTED(mt_fence_heavy, (void), true, "fence")
NOTED(mt_share_refused, (void), true, "refused")

void __wrap_mt_stacks_trim(uint64_t time, bool busy);
void __wrap_mt_stacks_trim(uint64_t time, bool busy) {
  CHECK(busy);
  note_time("trim", time);
}

bool __wrap_mt_try_steal(struct mt_vp *vp, uint64_t time, bool again);
bool __wrap_mt_try_steal(struct mt_vp *vp, uint64_t time, bool again) {
  CHECK(vp == &vps[1]);
  note_time(again ? "steal_again" : "steal", time);
  return world.steals;
}

bool __wrap_mt_stacks_can_be_given(const struct mt_vp *vp);
bool __wrap_mt_stacks_can_be_given(const struct mt_vp *vp) {
  CHECK(vp == &vps[1]);
  return world.can_give;
}

/* The threads of this test never run: there is no stack for them, or they have ended. */
struct mltp_thread *__wrap_mt_prepare_special(struct mt_vp *vp, struct mltp_thread *t);
struct mltp_thread *__wrap_mt_prepare_special(struct mt_vp *vp, struct mltp_thread *t) {
  CHECK_EQUAL(vp->runq.inside, 1);
  note("run:%d", (int)(t - threads));
  return world.starts ? &vp->idle : NULL;
}

uint64_t __wrap_mt_watchdog_deadline(const struct mt_vp *vp);
uint64_t __wrap_mt_watchdog_deadline(const struct mt_vp *vp) {
  CHECK(vp == &vps[1] && mt_rt.sleep.ilock != 0);
  return world.deadline;
}

bool __wrap_mt_poll_claim(struct mt_vp *vp);
bool __wrap_mt_poll_claim(struct mt_vp *vp) {
  CHECK(vp == &vps[1] && mt_rt.sleep.ilock != 0);
  return world.claims;
}

int __wrap_mt_poll_sleep(struct mt_vp *vp, uint64_t deadline);
int __wrap_mt_poll_sleep(struct mt_vp *vp, uint64_t deadline) {
  CHECK(vp == &vps[1] && mt_rt.sleep.ilock == 0 && vp->sleep.rests);
  note_time("sleep_in_poller", deadline);
  return world.sleep_result;
}

int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline);
int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  CHECK(word == &vps[1].sleep.futex && mt_rt.sleep.ilock == 0 && vps[1].sleep.rests);
  CHECK_EQUAL(expected, *word);
  note_time("sleep", deadline);
  return world.sleep_result;
}

void __wrap_mt_tuning_learn(enum mt_tunable which, uint64_t sample);
void __wrap_mt_tuning_learn(enum mt_tunable which, uint64_t sample) {
  CHECK_EQUAL(which, MT_WAKE_NS);
  note_time("learn", begin + sample);
}

/* ---- stages */

static void clear(void) {
  memset(threads, 0, sizeof threads);
  memset(&world, 0, sizeof world);
  world.deadline = MLTP_NEVER;
  for (int i = 0; i < THREADS; i++) threads[i].special = 1;
  at_note = NULL;
  trace[0] = '\0';
  mt_stack_waiters = 0;
  mt_client_view.seen = *mt_client_view.granted;
  mt_tuning.value[MT_IDLE_SPIN_NS] = SPIN_NS;
  mt_tuning.value[MT_SCAN_PAUSES] = 4;
  mt_tuning.value[MT_INBOX_PAUSES] = 2;
}

/* VP 1 is idle. target: VPs that may be awake; cpus: how many CPUs there are. */
static inline struct mt_vp *stage_idle(int count, int target, int cpus) {
  stage(count, target, cpus);
  clear();
  mt_rt.poll.idle = idle_hook;
  mt_rt.handover.look_at = MLTP_NEVER;
  return &vps[1];
}

static inline void push(int vp, int thread) { mt_runq_push(&vps[vp], &threads[thread]); }

static inline void post(int vp, int thread) {
  threads[thread].next = NULL;
  vps[vp].runq.inbox = &threads[thread];
}

/* ---- what wakes VP 1 */

static bool is_sleep(const char *word) { return strncmp(word, "sleep", 5) == 0; }

static inline void wake_up(const char *word) {
  if (!is_sleep(word)) return;
  vps[1].sleep.woken_at = now - 40;
  vps[1].sleep.status = MT_VP_AWAKE;
}

#endif
