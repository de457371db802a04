/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How nodes meet, connect, end and part: what each gives to the launcher and gets from it, what it
 * does in which order, and what it says when something fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node_launcher.h"

static struct tm_nodes nodes;
static struct tm_node own;
static char why[WHY];

static int prepare(void **state) {
  (void)state;
  stage_reset();
  why[0] = '\0';
  memset(&own, 0, sizeof own);
  strcpy(own.host, "own");
  return 0;
}

static int end(void **state) {
  (void)state;
  free(nodes.list);
  nodes.list = NULL;
  return 0;
}

static enum tm_met meet(void) {
  free(nodes.list);
  nodes.list = NULL;
  events[0] = why[0] = '\0';
  return tm_nodes_module.meet(&own, SECONDS, &nodes, why, sizeof why);
}

static void check_meet(enum tm_met met, const char *reason) {
  enum tm_met has = meet();
  if (has != met || strcmp(why, reason) != 0) fail_msg("%d: %s", has, why);
}

static void a_process_alone_leaves_the_launcher(void **state) {
  (void)state;
  size = 1;
  check_meet(TM_MET, "");
  check_events("init finalize ");
  assert_int_equal(nodes.size, 1);
  assert_int_equal(nodes.own, OWN);
  assert_null(nodes.list);
}

static void a_launcher_that_is_not_there(void **state) {
  static const char *const functions[] = {"Init",   "Finalize", "Get",         "Put",
                                          "Commit", "Fence_nb", "Error_string"};
  (void)state;
  has_library = false;
  check_meet(TM_NO_PMIX, "no library of PMIx: no file");
  has_library = true;
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    char name[32], reason[64];
    snprintf(name, sizeof name, "PMIx_%s", functions[i]);
    snprintf(reason, sizeof reason, "no library of PMIx: no %s", name);
    missing_function = name;
    check_meet(TM_NO_PMIX, reason);
  }
  missing_function = NULL;
  check_events("");
  init_status = PMIX_ERR_NOT_FOUND;
  check_meet(TM_NO_SERVER, "no server of PMIx: NOT_FOUND");
  check_events("init ");
  init_status = PMIX_SUCCESS;
  size_status = PMIX_ERR_NOMEM;
  check_meet(TM_NOT_MET, "size of the job: NOMEM");
  assert_int_equal(nodes.size, 1);
}

static const char *puts_of(bool address, bool link) {
  static char text[200];
  int used = snprintf(text, sizeof text, "put mltp.node %zu own ", sizeof own);
  if (address)
    used += snprintf(text + used, sizeof text - (size_t)used, "put mltp.address 16 at1 ");
  if (link)
    snprintf(text + used, sizeof text - (size_t)used, "put mltp.link %zu ln1 ", sizeof links[0]);
  return text;
}

static void check_published(bool address, bool link, bool listens, const char *then) {
  char expected[400];
  snprintf(expected, sizeof expected, "init %s%s%s", listens ? "listen " : "",
           puts_of(address, link), then);
  check_events(expected);
}

static void nodes_learn_what_the_others_are(void **state) {
  (void)state;
  for (int waits = 0; waits < 2; waits++) {
    waits_left = waits;
    interrupted = 3 * waits;
    check_meet(TM_MET, "");
    check_published(true, true, true, "commit fence ");
    assert_int_equal(nodes.size, NODES);
    assert_int_equal(nodes.own, OWN);
    assert_memory_equal(nodes.list, nodes_list, sizeof nodes_list);
    assert_int_equal(wait_end.tv_sec, NOW + SECONDS);
    assert_int_equal(wait_end.tv_nsec, 999000000);
    assert_string_equal(own.no_transport, "");
  }
  begin_status = PMIX_OPERATION_SUCCEEDED; /* at once, and nothing calls back */
  waits_left = NEVER;
  check_meet(TM_MET, "");
  size = 2;
  check_meet(TM_MET, "");
  assert_memory_equal(nodes.list, nodes_list, 2 * sizeof nodes_list[0]);
}

static void a_node_without_a_transport_says_so(void **state) {
  (void)state;
  links_open = false;
  check_meet(TM_MET, "");
  assert_string_equal(own.no_transport, "no port");
  check_published(true, false, true, "commit fence ");
  ucx_opens = false;
  waits_left = 0;
  check_meet(TM_MET, "");
  assert_string_equal(own.no_transport, "no UCX");
  check_published(false, false, false, "commit fence ");
}

static void nodes_do_not_meet_if_a_launcher_refuses(void **state) {
  (void)state;
  bad_put = "mltp.node";
  check_meet(TM_NOT_MET, "other nodes have not come: NOMEM");
  check_published(false, false, true, "");
  bad_put = "mltp.address";
  check_meet(TM_NOT_MET, "other nodes have not come: NOMEM");
  check_published(true, false, true, "");
  bad_put = "mltp.link";
  check_meet(TM_NOT_MET, "other nodes have not come: NOMEM");
  check_published(true, true, true, "");
  bad_put = NULL;
  commit_status = PMIX_ERR_NOT_FOUND;
  check_meet(TM_NOT_MET, "other nodes have not come: NOT_FOUND");
  check_published(true, true, true, "commit ");
  commit_status = PMIX_SUCCESS;
  begin_status = PMIX_ERR_PARTIAL_SUCCESS; /* it has not begun, so no other node is the reason */
  check_meet(TM_NOT_MET, "other nodes have not come: PARTIAL");
}

static void nodes_that_do_not_come_are_named(void **state) {
  static const struct {
    bool silent[NODES];
    int gone;
    pmix_status_t status;
    const char *reason;
  } all[] = {
      {{0}, -1, PMIX_ERR_NOMEM, "other nodes have not come: NOMEM"},
      {{0}, -1, PMIX_ERR_PARTIAL_SUCCESS, "the process of another node is gone: PARTIAL"},
      {{0}, 0, PMIX_ERR_NOMEM, "the process of node 0 (host0) is gone: NOMEM"},
      {{0}, 3, PMIX_ERR_NOMEM, "the process of node 3 (host3) is gone: NOMEM"},
      {{false, true}, -1, PMIX_ERR_NOMEM, "other nodes have not come: NOMEM"}, /* it is this one */
      {{true}, -1, PMIX_ERR_NOMEM, "nothing has come from node 0 (host0): NOMEM"},
      {{false, false, true}, -1, PMIX_ERR_NOMEM, "nothing has come from node 2 (host2): NOMEM"},
      {{true, true, true},
       -1,
       PMIX_ERR_NOMEM,
       "nothing has come from node 0 (host0) and 1 others: NOMEM"},
      {{true, false, true, true},
       -1,
       PMIX_ERR_NOMEM,
       "nothing has come from node 0 (host0) and 2 others: NOMEM"},
      {{true, false, true}, 3, PMIX_ERR_NOMEM, "the process of node 3 (host3) is gone: NOMEM"},
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    prepare(state);
    for (int k = 0; k < NODES; k++) has_link[k] = !all[i].silent[k];
    gone = all[i].gone;
    end_status = all[i].status;
    check_meet(TM_NOT_MET, all[i].reason);
  }
  prepare(state);
  waits_left = NEVER;
  check_meet(TM_NOT_MET, "other nodes have not come: TIMEOUT");
  has_link[2] = hosts_known = false;
  check_meet(TM_NOT_MET, "nothing has come from node 2 (host unknown): TIMEOUT");
  hosts_known = host_is_number = true;
  check_meet(TM_NOT_MET, "nothing has come from node 2 (host unknown): TIMEOUT");
  has_link[2] = other_size = true; /* an address of another version */
  bad_node = gone = 2;
  check_meet(TM_NOT_MET, "other nodes have not come: TIMEOUT");
}

static void what_is_not_known_of_a_node(void **state) {
  for (int node = 0; node < NODES; node++)
    for (int how = 0; how < 3; how++) {
      prepare(state);
      bad_get = "mltp.node";
      bad_node = node;
      other_type = how == 1;
      other_size = how == 2;
      check_meet(TM_NOT_MET, how == 0 ? "what a node is: NOT_FOUND" : "what a node is: TYPE");
    }
}

/* ---- connections */

static bool connect_all(void) {
  struct tm_nodes job = {.size = size, .own = OWN, .list = nodes_list};
  events[0] = why[0] = '\0';
  return tm_nodes_module.connect(&job, SECONDS, why, sizeof why);
}

static void check_no_connection(const char *reason, const char *order) {
  if (connect_all()) fail_msg("connected: %s", events);
  assert_string_equal(why, reason);
  check_events(order);
}

#define CONNECTED "prepare link 0 ucx 0 link 1 ucx 1 link 2 ucx 2 link 3 ucx 3 "

static void each_node_connects_to_each(void **state) {
  (void)state;
  assert_int_equal(meet(), TM_MET);
  assert_true(connect_all());
  check_events(CONNECTED "links 60 settle 60 fence ");
  assert_int_equal(wait_end.tv_sec, NOW + 1); /* it waits for 1 ms at a time */
  assert_int_equal(wait_end.tv_nsec, 0);
  waits_left = 4; /* meanwhile the others may need it */
  assert_true(connect_all());
  check_events(CONNECTED "links 60 settle 60 fence late progress late progress late progress ");
  begin_status = PMIX_OPERATION_SUCCEEDED;
  assert_true(connect_all());
  check_events(CONNECTED "links 60 settle 60 fence ");
}

static void a_node_that_cannot_be_connected_is_named(void **state) {
  (void)state;
  assert_int_equal(meet(), TM_MET);
  no_prepare = "no memory";
  check_no_connection("no memory", "prepare ");
  no_prepare = NULL;
  bad_connect = 2;
  check_no_connection("node 2 (host2): no link", "prepare link 0 ucx 0 link 1 ucx 1 link 2 ");
  bad_connect = -1;
  bad_ucx_connect = 0;
  check_no_connection("node 0 (host0): no path", "prepare link 0 ucx 0 ");
  bad_ucx_connect = -1;
  bad_node = 3;
  bad_get = "mltp.link";
  check_no_connection("node 3 (host3): NOT_FOUND",
                      "prepare link 0 ucx 0 link 1 ucx 1 link 2 ucx 2 ");
  bad_get = "mltp.address";
  check_no_connection("node 3 (host3): NOT_FOUND",
                      "prepare link 0 ucx 0 link 1 ucx 1 link 2 ucx 2 link 3 ");
  bad_get = NULL;
  no_start = "node 3 has not called";
  check_no_connection("node 3 has not called", CONNECTED "links 60 ");
  no_start = NULL;
  no_settle = "nodes do not answer"; /* another one may be gone, and tells why */
  check_no_connection("nodes do not answer", CONNECTED "links 60 settle 60 reason ");
}

static void another_node_may_not_connect(void **state) {
  (void)state;
  assert_int_equal(meet(), TM_MET);
  begin_status = PMIX_ERR_NOMEM;
  check_no_connection("another node has not connected: NOMEM",
                      CONNECTED "links 60 settle 60 fence ");
  begin_status = PMIX_SUCCESS;
  end_status = PMIX_ERR_PARTIAL_SUCCESS;
  check_no_connection("another node has not connected: PARTIAL",
                      CONNECTED "links 60 settle 60 fence reason ");
  waits_left = NEVER;
  assert_false(tm_nodes_module.connect(
      &(struct tm_nodes){.size = size, .own = OWN, .list = nodes_list}, 1, why, sizeof why));
  assert_string_equal(why, "another node has not connected: TIMEOUT");
  int looked = 0;
  for (const char *at = events; (at = strstr(at, "progress")) != NULL; at++) looked++;
  assert_int_equal(looked, 1000);
}

static void on_late(void) {}

static bool begin(void) {
  events[0] = why[0] = '\0';
  return tm_nodes_module.start(SECONDS, on_late, why, sizeof why);
}

static void nodes_start_together(void **state) {
  (void)state;
  assert_int_equal(meet(), TM_MET);
  assert_true(begin());
  check_events("serve rest fence ");
  assert_ptr_equal(rest_late, on_late);
  assert_int_equal(wait_end.tv_sec, NOW + SECONDS);
  begin_status = PMIX_ERR_NOMEM;
  assert_false(begin());
  check_events("serve rest fence ");
  assert_string_equal(why, "another node has not started: NOMEM");
  begin_status = PMIX_SUCCESS;
  end_status = PMIX_ERR_PARTIAL_SUCCESS;
  assert_false(begin());
  check_events("serve rest fence reason ");
  assert_string_equal(why, "another node has not started: PARTIAL");
  ucx_starts = false;
  assert_false(begin());
  check_events("serve ");
  assert_string_equal(why, "no kernel thread for messages between nodes");
}

/* ---- the end */

static void check_end(bool expected, const char *reason, const char *order) {
  events[0] = why[0] = '\0';
  looks = naps = 0;
  if (tm_nodes_module.end(why, sizeof why) != expected) fail_msg("%s: %s", events, why);
  assert_string_equal(why, reason);
  check_events(order);
}

static void a_node_waits_for_the_others_at_the_end(void **state) {
  static const char gone2[] = "node 2 (host2) has gone away before its ranks had ended";
  (void)state;
  assert_int_equal(meet(), TM_MET);
  check_end(true, "", "fence ended stop ");
  assert_int_equal(looks, 1);
  assert_int_equal(wait_end.tv_sec, NOW + 5);
  waits_left = 4;
  check_end(true, "", "fence ended late late late stop ");
  assert_int_equal(looks, 4);
  links_lost = 2; /* it has ended after all others had come */
  waits_left = 0;
  check_end(true, "", "fence ended stop ");
  waits_left = NEVER;
  check_end(false, gone2, "fence ended late stop ");
  lost_after = 2;
  check_end(false, gone2, "fence ended late late late stop ");
  ucx_lost = 3; /* the connection knows better */
  check_end(false, gone2, "fence ended late late late stop ");
  links_lost = -1;
  ucx_lost = 2;
  check_end(false, gone2, "fence ended late late late stop ");
  ucx_lost = 0;
  check_end(false, "node 0 (host0) has gone away before its ranks had ended",
            "fence ended late late late stop ");
  links_lost = 0;
  ucx_lost = 2;
  check_end(false, "node 0 (host0) has gone away before its ranks had ended",
            "fence ended late late late stop ");
}

static void a_launcher_that_does_not_wait(void **state) {
  (void)state;
  assert_int_equal(meet(), TM_MET);
  begin_status = PMIX_OPERATION_SUCCEEDED;
  check_end(true, "", "fence ended stop ");
  assert_int_equal(naps, 0);
  begin_status = PMIX_ERR_NOMEM;
  check_end(false, "the launcher does not answer: NOMEM", "fence ended stop finalize ");
  assert_int_equal(naps, 3000); /* no node is lost */
  begin_status = PMIX_SUCCESS;
  end_status = PMIX_ERR_PARTIAL_SUCCESS;
  links_lost = 3;
  lost_after = 10; /* it knows first */
  check_end(false, "node 3 (host3) has gone away before its ranks had ended", "fence ended stop ");
  assert_int_equal(naps, 9);
  assert_int_equal(looks, 11);
  links_lost = 0;
  check_end(false, "node 0 (host0) has gone away before its ranks had ended", "fence ended stop ");
  assert_int_equal(naps, 9);
  assert_int_equal(looks, 11);
  links_lost = 3;
  lost_after = 0;
  check_end(false, "node 3 (host3) has gone away before its ranks had ended", "fence ended stop ");
  assert_int_equal(naps, 0);
}

static void nodes_part(void **state) {
  (void)state;
  assert_int_equal(meet(), TM_MET);
  events[0] = '\0';
  tm_nodes_module.leave(0);
  check_events("finalize ");
  tm_nodes_module.leave(1);
  check_events("fence finalize ");
  assert_int_equal(wait_end.tv_sec, NOW + 1);
  waits_left = NEVER; /* in any case */
  tm_nodes_module.part(7);
  check_events("fence late finalize ");
  assert_int_equal(wait_end.tv_sec, NOW + 7);
  fence_ended(PMIX_SUCCESS, NULL); /* later, which is not the end of the next one */
  tm_nodes_module.leave(1);
  check_events("fence late finalize ");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_process_alone_leaves_the_launcher, prepare, end),
      cmocka_unit_test_setup_teardown(a_launcher_that_is_not_there, prepare, end),
      cmocka_unit_test_setup_teardown(nodes_learn_what_the_others_are, prepare, end),
      cmocka_unit_test_setup_teardown(a_node_without_a_transport_says_so, prepare, end),
      cmocka_unit_test_setup_teardown(nodes_do_not_meet_if_a_launcher_refuses, prepare, end),
      cmocka_unit_test_setup_teardown(nodes_that_do_not_come_are_named, prepare, end),
      cmocka_unit_test_setup_teardown(what_is_not_known_of_a_node, prepare, end),
      cmocka_unit_test_setup_teardown(each_node_connects_to_each, prepare, end),
      cmocka_unit_test_setup_teardown(a_node_that_cannot_be_connected_is_named, prepare, end),
      cmocka_unit_test_setup_teardown(another_node_may_not_connect, prepare, end),
      cmocka_unit_test_setup_teardown(nodes_start_together, prepare, end),
      cmocka_unit_test_setup_teardown(a_node_waits_for_the_others_at_the_end, prepare, end),
      cmocka_unit_test_setup_teardown(a_launcher_that_does_not_wait, prepare, end),
      cmocka_unit_test_setup_teardown(nodes_part, prepare, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
