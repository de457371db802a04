/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Broadcasts of many bytes, which the root offers and the others copy (src/tmpi/coll/offer.c):
 * which ranks the root tells, when it continues, and what a rank with less room gets. While the
 * root waits, the test plays the others.
 */
#include <stdlib.h>

#include "tmpi/coll/offer.h"
#include "tmpi/match/match.h"
#include "tmpi/request/request.h"
#include "traced_calls.h"

enum { SIZE = 4, ROOT = 2, BYTES = 40 };

struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_comm comms[SIZE];
static struct tm_coll colls[SIZE];
static struct tm_type of_root = {.size = 1}, of_others = {.size = 1};
static char sent[BYTES], got[SIZE][BYTES + 1];
static size_t room[SIZE];
static uintptr_t address; /* of the offer */
static struct tm_request *over;
static int completed, tag; /* tag: of the messages */

/* ---- the rest of the library */

void tm_request_borrow_inner(struct tm_request *request, enum tm_kind kind, const void *buffer,
                             size_t count, struct tm_type *type, int peer, int number,
                             struct tm_comm *comm) {
  assert_true(kind == TM_RECV && buffer == NULL && count == 0 && comm == &comms[ROOT]);
  assert_true(type == tm_type_of(MPI_BYTE) && peer == MPI_ANY_SOURCE);
  tag = number;
  over = request;
}

void tm_coll_send(struct tm_coll *coll, const void *buffer, size_t count, struct tm_type *type,
                  int dest) {
  assert_true(coll->comm == &comms[ROOT] && coll->tag == tag && type == tm_type_of(MPI_BYTE));
  assert_int_equal(count, sizeof address);
  memcpy(&address, buffer, sizeof address);
  note("tells%d", dest);
}

void tm_coll_recv(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type,
                  int source) {
  assert_true(coll->tag == tag && type == tm_type_of(MPI_BYTE) && count == sizeof address);
  assert_int_equal(source, ROOT);
  memcpy(buffer, &address, sizeof address);
}

void tm_type_copy_pieces(void *to, const struct tm_type *to_type, const void *from,
                         const struct tm_type *from_type, size_t bytes) {
  assert_true(to_type == &of_others && from_type == &of_root && from == sent);
  memcpy(to, from, bytes);
}

void tm_request_complete(struct tm_request *request) {
  assert_ptr_equal(request, over);
  completed++;
}

/* The others come while the root waits. */
void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  assert_true(requests[0] == over && count == 1 && wanted == 1);
  assert_string_equal(call, "MPI_Xyz");
  note("waits");
  for (int i = 0; i < SIZE; i++) {
    if (i == ROOT) continue;
    assert_int_equal(completed, 0); /* the root waits for the last one */
    tm_bcast_offered(&colls[i], got[i], room[i], &of_others, ROOT);
    note("%d", i);
  }
  assert_int_equal(completed, 1);
}

/* ---- */

static void broadcast(int number) {
  for (int i = 0; i < SIZE; i++) {
    comms[i] = (struct tm_comm){.rank = i, .size = SIZE};
    colls[i] = (struct tm_coll){.comm = &comms[i], .call = "MPI_Xyz", .tag = number};
    room[i] = BYTES;
    memset(got[i], -1, sizeof got[i]);
  }
  completed = 0;
  for (int i = 0; i < BYTES; i++) sent[i] = (char)(i + number);
}

static int start(void **state) {
  (void)state;
  tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST] =
      (struct tm_type){.magic = TM_TYPE_MAGIC, .predefined = true, .size = 1};
  trace[0] = '\0';
  return 0;
}

/* It tells the next rank first. */
static void the_root_waits_until_all_have_copied(void **state) {
  (void)state;
  broadcast(1);
  tm_bcast_offered(&colls[ROOT], sent, BYTES, &of_root, ROOT);
  check_trace("tells3 tells0 tells1 waits 0 1 3 ");
  for (int i = 0; i < SIZE; i++) {
    assert_true(colls[i].error == MPI_SUCCESS && colls[i].tag == 1 && colls[i].comm == &comms[i]);
    if (i != ROOT) assert_memory_equal(got[i], sent, BYTES);
  }
}

static void a_rank_with_less_room_gets_an_error_and_what_fits(void **state) {
  (void)state;
  broadcast(2);
  room[1] = BYTES - 1;
  room[3] = BYTES + 1;
  tm_bcast_offered(&colls[ROOT], sent, BYTES, &of_root, ROOT);
  trace[0] = '\0';
  for (int i = 0; i < SIZE; i++)
    assert_int_equal(colls[i].error, i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
  assert_true(colls[1].sender == ROOT && colls[1].sent == BYTES && colls[1].room == BYTES - 1);
  assert_memory_equal(got[1], sent, BYTES - 1);
  assert_int_equal(got[1][BYTES - 1], -1);
  assert_memory_equal(got[3], sent, BYTES);
  assert_int_equal(got[3][BYTES], -1);
}

/* A rank that is wrongly in another collective takes no address for data. */
static void an_offer_has_a_tag_that_no_other_message_has(void **state) {
  (void)state;
  static const int numbers[] = {0, 1, 2, TM_COLL_TAGS - 3};
  int seen[4];
  for (int i = 0; i < 4; i++) {
    broadcast(numbers[i]);
    tm_bcast_offered(&colls[ROOT], sent, BYTES, &of_root, ROOT);
    trace[0] = '\0';
    seen[i] = tag;
    assert_true(tag >= TM_COLL_TAGS + 2); /* tm_coll_tagged() has two */
    for (int k = 0; k < i; k++) assert_int_not_equal(seen[k], seen[i]);
    for (int k = 0; k < SIZE; k++) assert_int_equal(colls[k].tag, numbers[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(the_root_waits_until_all_have_copied, start),
      cmocka_unit_test_setup(a_rank_with_less_room_gets_an_error_and_what_fits, start),
      cmocka_unit_test_setup(an_offer_has_a_tag_that_no_other_message_has, start),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
