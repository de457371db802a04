/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the first node of a job answers: which ports and services there are
 * (src/tmpi/comm/registry.c), and where the shared pointer of a file is
 * (src/tmpi/io/shared_pointer.c). One thread plays both nodes: a rank that asks waits, and
 * meanwhile its note comes to the first node, and the answer back.
 */
#include <stdlib.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "tmpi/comm/registry.h"
#include "tmpi/io/file.h"
#include "tmpi/match/far.h"
#include "tmpi/match/match.h"
#include "tmpi/rank/rank.h"
#include "traced_calls.h"

enum { HOME, OWN, PER_NODE = 3, ASKER = 4, FIRST_CONTEXT = 500 };

struct tm_job tm_job;
static struct tm_rank asker = {.number = ASKER};
static struct tm_far_send *under_way;
static enum tm_far_service service_of_note;
static int dest_of_note;
static uint64_t contexts;

/* ---- the rest of the library */

struct tm_rank *tm_rank_self(void) { return &asker; }
uint64_t tm_context_new(void) { return FIRST_CONTEXT + 2 * contexts++; }

struct tm_far_send *tm_far_note_new(size_t bytes) {
  struct tm_far_send *send = __real_malloc(sizeof *send + bytes);
  *send = (struct tm_far_send){.header.bytes = bytes};
  return send;
}

void tm_far_note_send(struct tm_far_send *send, enum tm_far_service service, int dest,
                      bool inside) {
  assert_true(under_way == NULL && locked == 0);
  assert_int_equal(inside, dest == ASKER); /* the first node answers in a taker */
  under_way = send;
  service_of_note = service;
  dest_of_note = dest;
  note("note to %d", dest);
}

static void deliver(void) {
  struct tm_far_send *send = under_way;
  int source = dest_of_note == ASKER ? HOME : ASKER;
  assert_non_null(send);
  under_way = NULL;
  if (service_of_note == TM_FAR_REGISTRY)
    tm_registry_take(source, send->packed, send->header.bytes);
  else
    tm_file_take(source, send->packed, send->header.bytes);
  __real_free(send);
}

void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  struct tm_request *request = requests[0];
  assert_true(count == 1 && wanted == 1 && request->owner == &asker);
  assert_int_equal(request->kind, TM_COLLECTIVE);
  note("%s waits", call);
  tm_job.first = 0; /* what the first node does */
  deliver();
  tm_job.first = PER_NODE;
  assert_int_equal(request->done, 0);
  deliver();
  assert_int_equal(request->done, 1);
}

void tm_request_complete(struct tm_request *request) { request->done = 1; }

static int start(void **state) {
  (void)state;
  tm_job.local = PER_NODE;
  tm_job.first_size = 2 * PER_NODE;
  tm_job.first = 0;
  memory_is_out = false;
  trace[0] = '\0';
  return 0;
}

/* ---- the registry. Each test closes what it opens. */

static int step(enum tm_registry_step which, const char *service, struct tm_registry_entry *entry) {
  return tm_registry(which, "MPI_X", service, entry);
}

static struct tm_registry_entry open_port(int owner) {
  struct tm_registry_entry entry = {.owner = owner};
  assert_int_equal(step(TM_PORT_OPEN, NULL, &entry), MPI_SUCCESS);
  return entry;
}

static void close_port(struct tm_registry_entry *entry) {
  assert_int_equal(step(TM_PORT_CLOSE, NULL, entry), MPI_SUCCESS);
}

/* On the first node a rank looks for itself; on another one it asks. */
static void check_notes(bool asks) { check_trace(asks ? "note to 0 MPI_X waits note to 4 " : ""); }

static void open_find_and_close(int node) {
  tm_job.first = node * PER_NODE;
  struct tm_registry_entry first = open_port(7), second = open_port(8), found;
  trace[0] = '\0';
  assert_string_not_equal(first.port, second.port);
  assert_true(first.context != second.context && first.context >= FIRST_CONTEXT);
  found = (struct tm_registry_entry){0};
  strcpy(found.port, first.port);
  assert_int_equal(step(TM_PORT_FIND, NULL, &found), MPI_SUCCESS);
  check_notes(node == OWN);
  assert_true(found.owner == 7 && found.context == first.context);
  close_port(&first);
  check_notes(node == OWN);
  assert_int_equal(step(TM_PORT_FIND, NULL, &found), MPI_ERR_PORT);
  assert_int_equal(step(TM_PORT_CLOSE, NULL, &found), MPI_ERR_PORT);
  strcpy(found.port, second.port);
  assert_int_equal(step(TM_PORT_FIND, NULL, &found), MPI_SUCCESS);
  assert_int_equal(found.owner, 8);
  close_port(&second);
  assert_int_equal(blocks, 0);
}

static void a_port_is_found_until_it_is_closed(void **state) {
  (void)state;
  open_find_and_close(HOME);
  open_find_and_close(OWN);
}

static void names_of_ports_tell_of_their_owners(void **state) {
  char expected[40];
  int number;
  (void)state;
  struct tm_registry_entry first = open_port(3), second = open_port(3);
  assert_int_equal(sscanf(first.port, "tmpi-port:3:%d", &number), 1);
  snprintf(expected, sizeof expected, "tmpi-port:3:%d", number + 1);
  assert_string_equal(second.port, expected);
  close_port(&first);
  close_port(&second);
}

static struct tm_registry_entry named(const char *port) {
  struct tm_registry_entry entry = {0};
  strcpy(entry.port, port);
  return entry;
}

static void publish_and_forget(int node) {
  struct tm_registry_entry sea = named("port of sea"), sun = named("port of sun"),
                           found = named("");
  tm_job.first = node * PER_NODE;
  assert_int_equal(step(TM_SERVICE_NAME, "sea", &sea), MPI_SUCCESS);
  trace[0] = '\0';
  assert_int_equal(step(TM_SERVICE_NAME, "sun", &sun), MPI_SUCCESS);
  check_notes(node == OWN);
  assert_int_equal(step(TM_SERVICE_NAME, "sea", &sun), MPI_ERR_SERVICE); /* it has its name */
  assert_int_equal(blocks, 2);
  assert_int_equal(step(TM_SERVICE_FIND, "sea", &found), MPI_SUCCESS);
  assert_string_equal(found.port, "port of sea");
  found = named("");
  assert_int_equal(step(TM_SERVICE_FIND, "moon", &found), MPI_ERR_NAME);
  assert_string_equal(found.port, "");
  assert_int_equal(step(TM_SERVICE_FORGET, "moon", &found), MPI_ERR_SERVICE);
  assert_int_equal(step(TM_SERVICE_FORGET, "sea", &sun), MPI_ERR_SERVICE); /* of another port */
  assert_int_equal(step(TM_SERVICE_FORGET, "sea", &sea), MPI_SUCCESS);
  assert_int_equal(step(TM_SERVICE_FIND, "sea", &found), MPI_ERR_NAME);
  found = named("");
  assert_int_equal(step(TM_SERVICE_FORGET, "sun", &found), MPI_SUCCESS); /* of any port */
  assert_int_equal(blocks, 0);
}

static void a_service_has_one_name(void **state) {
  (void)state;
  publish_and_forget(HOME);
  publish_and_forget(OWN);
}

/* A port and a service of one name are not the same. */
static void ports_are_no_services(void **state) {
  (void)state;
  struct tm_registry_entry port = open_port(1), entry = named(port.port);
  assert_int_equal(step(TM_SERVICE_FIND, port.port, &entry), MPI_ERR_NAME);
  assert_int_equal(step(TM_SERVICE_NAME, "wind", &entry), MPI_SUCCESS);
  close_port(&port);
  assert_int_equal(step(TM_PORT_FIND, NULL, &entry), MPI_ERR_PORT);
  assert_int_equal(step(TM_SERVICE_FORGET, "wind", &entry), MPI_SUCCESS);
}

static void without_memory_nothing_is_registered(void **state) {
  struct tm_registry_entry entry = named("port");
  (void)state;
  memory_is_out = true;
  assert_int_equal(step(TM_PORT_OPEN, NULL, &entry), MPI_ERR_NO_MEM);
  tm_job.first = PER_NODE;
  assert_int_equal(step(TM_SERVICE_NAME, "sea", &entry), MPI_ERR_NO_MEM);
  assert_int_equal(step(TM_SERVICE_FIND, "sea", &entry), MPI_ERR_NAME);
}

/* ---- the shared pointer */

static void each_claim_follows_the_last(void **state) {
  struct tm_file_common first = {.shared = 1000};
  struct tm_file_common other = {.home = (uintptr_t)&first, .home_rank = 2, .shared = -1};
  (void)state;
  assert_int_equal(tm_file_claim(&first, "MPI_File_read_shared", 30), 1000);
  check_trace("");
  assert_int_equal(tm_file_claim(&other, "MPI_File_read_shared", 5), 1030);
  check_trace("note to 2 MPI_File_read_shared waits note to 4 ");
  assert_int_equal(tm_file_claim(&first, "MPI_File_read_shared", 0), 1035);
  assert_int_equal(first.shared, 1035);
  assert_int_equal(other.shared, -1);
}

#define STEP(test) cmocka_unit_test_setup(test, start)

int main(void) {
  const struct CMUnitTest tests[] = {
      STEP(a_port_is_found_until_it_is_closed),
      STEP(names_of_ports_tell_of_their_owners),
      STEP(a_service_has_one_name),
      STEP(ports_are_no_services),
      STEP(without_memory_nothing_is_registered),
      STEP(each_claim_follows_the_last),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
