/* SPDX-License-Identifier: Apache-2.0 */
/* What a program tells mltpd, and what follows from a grant (src/core/sched/share.c): on VPs that
 * nobody runs, with a client of the test's own. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "core/det/det.h"
#include "core/sched/share.h"
#include "core/sched/wake.h"
#include "support/support.h"
#include "support/vp_stage.h"

/* ---- the client */

static struct {
  bool joined, rings_back;
  int join_error;
  uint32_t granted, active, demand, most, switches, first_cpu;
  int joins, leaves, rings, reports, looks, visits;
  const char *where;
} client;

static char message[300];

int __wrap_mt_client_join(const char *where, const struct mt_client_program *program);
int __wrap_mt_client_join(const char *where, const struct mt_client_program *program) {
  CHECK_EQUAL(program->role, MT_PROTO_LIBMLTP);
  client.where = where;
  client.most = program->most;
  client.joins++;
  return client.join_error;
}

void __wrap_mt_client_leave(void);
void __wrap_mt_client_leave(void) { client.leaves++; }

bool __wrap_mt_client_is_joined(void);
bool __wrap_mt_client_is_joined(void) { return client.joined; }

uint32_t __wrap_mt_client_follow(void);
uint32_t __wrap_mt_client_follow(void) { return client.granted; }

bool __wrap_mt_client_report(uint32_t active, uint32_t demand);
bool __wrap_mt_client_report(uint32_t active, uint32_t demand) {
  client.active = active;
  client.demand = demand;
  client.reports++;
  return client.rings_back;
}

void __wrap_mt_client_ring(void);
void __wrap_mt_client_ring(void) {
  CHECK_EQUAL(mt_rt.sleep.ilock, 0);
  client.rings++;
}

void __wrap_mt_client_count(uint32_t switches);
void __wrap_mt_client_count(uint32_t switches) { client.switches += switches; }

void __wrap_mt_client_look(uint64_t at);
void __wrap_mt_client_look(uint64_t at) {
  CHECK_EQUAL(at, now);
  client.looks++;
}

uint32_t __wrap_mt_client_cpus(uint32_t *count);
uint32_t __wrap_mt_client_cpus(uint32_t *count) {
  *count = 3;
  return client.first_cpu;
}

void __wrap_os_affinity_visit(uint32_t first, uint32_t count);
void __wrap_os_affinity_visit(uint32_t first, uint32_t count) {
  CHECK_EQUAL(first, client.first_cpu - 1);
  CHECK_EQUAL(count, 3);
  client.visits++;
}

void __wrap_mt_message(const char *format, ...);
void __wrap_mt_message(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
}

static void stage_share(void) {
  stage(3, 3, 3);
  memset(&client, 0, sizeof client);
  message[0] = '\0';
  mt_options.coordinator = "auto";
  mt_options.backend = MT_BACKEND_NATIVE;
  mt_options.oversubscribe = MT_OVERSUBSCRIBE_NOT;
}

/* ---- joining */

static void programs_that_choose_their_vps_do_not_join(void) {
  stage_share();
  CHECK_EQUAL(mt_share_join(), 0);
  CHECK(client.joins == 1 && client.most == 3 && client.where == mt_options.coordinator);
  mt_options.backend = MT_BACKEND_KERNEL;
  CHECK_EQUAL(mt_share_join(), 0);
  mt_options.backend = MT_BACKEND_NATIVE;
  mt_options.oversubscribe = MT_OVERSUBSCRIBE_NOT + 1;
  CHECK_EQUAL(mt_share_join(), 0);
  mt_options.oversubscribe = MT_OVERSUBSCRIBE_NOT;
  mt_det_on = true;
  CHECK_EQUAL(mt_share_join(), 0);
  mt_det_on = false;
  CHECK_EQUAL(client.joins, 1);
}

static void a_refusal_is_said_unless_the_daemon_is_any(void) {
  static const struct {
    int error;
    const char *remedy;
  } rows[] = {
      {EACCES, "a daemon of your own"}, {EPROTO, "of this version"}, {ENOENT, "start mltpd there"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    stage_share();
    check_case("row %zu", i);
    client.join_error = rows[i].error;
    CHECK_EQUAL(mt_share_join(), 0);
    CHECK_TEXT(message, "");
    mt_options.coordinator = "/there";
    CHECK_EQUAL(mt_share_join(), rows[i].error);
    CHECK(strstr(message, "cannot join /there: ") != NULL);
    CHECK(strstr(message, rows[i].remedy) != NULL);
  }
}

static void another_number_is_asked_for_anew(void) {
  stage_share();
  mt_share_set_most(5);
  CHECK(mt_rt.most == 5 && client.joins == 0 && client.leaves == 0);
  client.joined = true;
  mt_share_set_most(6);
  CHECK(mt_rt.most == 6 && client.joins == 1 && client.leaves == 1 && client.most == 6);
}

static void the_smaller_number_counts(void) {
  stage_share();
  client.granted = 2;
  CHECK_EQUAL(mt_share_target(), 2);
  client.granted = 4;
  CHECK_EQUAL(mt_share_target(), 3);
  client.granted = UINT32_MAX;
  CHECK_EQUAL(mt_share_target(), 3);
}

/* ---- reports */

static void vps_that_are_awake_are_reported(void) {
  stage_share();
  mt_rt.most = 8;
  mt_share_report();
  CHECK(client.active == 3 && client.demand == 3);
  mt_rt.hungry = true;
  mt_share_report();
  CHECK(client.active == 3 && client.demand == 8 && !mt_rt.ring_due);
  mt_rt.idle.awake = -1; /* for a moment at the end */
  mt_rt.hungry = false;
  client.rings_back = true;
  mt_share_report();
  CHECK(client.active == 0 && client.demand == 0 && mt_rt.ring_due);
  mt_share_ring_if_due();
  CHECK(client.rings == 1 && !mt_rt.ring_due);
  mt_share_ring_if_due();
  CHECK_EQUAL(client.rings, 1);
}

static void work_that_waits_for_a_grant_is_reported_once(void) {
  stage_share();
  mt_rt.most = 4;
  client.rings_back = true;
  mt_share_refused(); /* there is no daemon */
  CHECK(client.reports == 0 && !mt_rt.hungry);
  client.joined = true;
  mt_rt.most = 3; /* it has all that it wants */
  mt_share_refused();
  CHECK(client.reports == 0 && !mt_rt.hungry);
  mt_rt.most = 4;
  mt_share_refused();
  CHECK(client.reports == 1 && client.demand == 4 && mt_rt.hungry && client.rings == 1);
  mt_share_refused();
  CHECK_EQUAL(client.reports, 1);
  CHECK_EQUAL(mt_rt.sleep.ilock, 0);
}

static void a_vp_looks_ten_times_a_second(void) {
  stage_share();
  mt_store_relaxed(&vps[0].points.tick, 5);
  vps[0].sleep.counted_tick = 2;
  vps[0].sleep.share_look_at = now + 1;
  mt_share_look(&vps[0], now);
  CHECK_EQUAL(client.looks, 0);
  now++;
  mt_share_look(&vps[0], now);
  CHECK(client.looks == 1 && client.switches == 3 && client.visits == 0);
  CHECK_EQUAL(vps[0].sleep.counted_tick, 5);
  CHECK_EQUAL(vps[0].sleep.share_look_at, now + 100 * ms);
  client.first_cpu = 1;
  now += 100 * ms;
  mt_share_look(&vps[0], now);
  CHECK(client.looks == 2 && client.switches == 3 && client.visits == 1);
  vps[0].sleep.status = MT_VP_ASLEEP; /* it is where its waker wants it */
  now += 100 * ms;
  mt_share_look(&vps[0], now);
  CHECK(client.looks == 3 && client.visits == 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(programs_that_choose_their_vps_do_not_join),
      TEST_BARE(a_refusal_is_said_unless_the_daemon_is_any),
      TEST_BARE(another_number_is_asked_for_anew),
      TEST_BARE(the_smaller_number_counts),
      TEST_BARE(vps_that_are_awake_are_reported),
      TEST_BARE(work_that_waits_for_a_grant_is_reported_once),
      TEST_BARE(a_vp_looks_ten_times_a_second),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
