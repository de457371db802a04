/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of collectives (src/tmpi/coll/message.c), where the test plays the other ranks: what
 * they are tagged with, the first error among them, messages of any length, the context that two
 * groups or several nodes agree on, and the words for a rank that is in another collective.
 */
#include <stdlib.h>

#include "counted_blocks.h"
#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/team.h"
#include "tmpi/request/request.h"
#include "traced_calls.h"

enum { RANK = 3, SIZE = 4, TAG = 17 };

struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_comm comm, local_comm;
static struct tm_coll coll;
static struct tm_type eight = {.magic = TM_TYPE_MAGIC, .size = 8, .ub = 8};
static jmp_buf job_end;
static char last_words[300];
static int errors[4];         /* of the messages in their order */
static int performed;         /* number of them */
static size_t probed;         /* bytes of the message that has come */
static uint64_t other_leader; /* the context that the other group offers */
static char message_that_came;

/* ---- the rest of the library */

void tm_end_job(const char *on, const char *call, int code, const char *why) {
  assert_int_equal(code, MPI_ERR_OTHER);
  snprintf(last_words, sizeof last_words, "%s, %s: %s", on, call, why);
  longjmp(job_end, 1);
}

void tm_panic(const char *format, ...) {
  snprintf(last_words, sizeof last_words, "%s", format);
  longjmp(job_end, 1);
}

void tm_request_borrow_inner(struct tm_request *request, enum tm_kind kind, const void *buffer,
                             size_t count, struct tm_type *type, int peer, int tag,
                             struct tm_comm *on) {
  assert_true(tag == coll.tag && on == coll.comm);
  *request = (struct tm_request){.kind = (uint8_t)kind,
                                 .buffer = (void *)(uintptr_t)buffer,
                                 .count = count,
                                 .type = type,
                                 .peer = peer};
}

static void note_request(const char *what, struct tm_request *request) {
  note("%s:%s%d*%zu", what, request->kind == TM_SEND ? "to" : "from", request->peer,
       request->count);
  request->error = errors[performed++];
}

int tm_request_perform(struct tm_request *request, const char *call) {
  assert_string_equal(call, "MPI_Xyz");
  note_request("performs", request);
  if (request->message != NULL) assert_ptr_equal(request->message, &message_that_came);
  if (request->message != NULL) note("taken");
  return MPI_SUCCESS;
}

int tm_request_start(struct tm_request *request) {
  note_request("starts", request);
  if (request->kind == TM_RECV && request->count == sizeof other_leader)
    memcpy(request->buffer, &other_leader, sizeof other_leader);
  return MPI_SUCCESS;
}

void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  assert_true(requests[0] != NULL && count == wanted);
  assert_string_equal(call, "MPI_Xyz");
  note("waits%d", count);
}

void tm_request_empty(struct tm_request *request) { note("empties%d", request->peer); }

bool tm_mailbox_probe(const struct tm_request *probe, bool take, uint64_t wait_ns, const char *call,
                      struct tm_envelope *found, size_t *bytes, struct tm_message **message) {
  assert_true(take && wait_ns == MLTP_NEVER && call != NULL && found != NULL);
  assert_true(probe->kind == TM_RECV && probe->type == NULL); /* of any length */
  note("probes%d", probe->peer);
  *bytes = probed;
  *message = (struct tm_message *)&message_that_came;
  return true;
}

void tm_part_copy(struct tm_coll *to_coll, const struct tm_part *to, const struct tm_part *from,
                  int sender) {
  assert_true(to_coll == &coll && to->type == &eight && from->at != NULL);
  note("copies%zu-from%d", from->count, sender);
}

void tm_barrier(struct tm_comm *on, const char *call) {
  assert_ptr_equal(on, &comm);
  assert_string_equal(call, "MPI_Xyz");
  note("meets");
}

void tm_bcast(struct tm_coll *on, void *buffer, size_t count, struct tm_type *type, int root) {
  uint64_t context;
  assert_true(type == tm_type_of(MPI_BYTE) && count == sizeof context);
  memcpy(&context, buffer, sizeof context);
  note("%s%d:%d", on->comm == &comm ? "tells" : "tells-own", root, (int)context);
  if (on->comm->rank == root) return;
  context = 99;
  memcpy(buffer, &context, sizeof context);
}

uint64_t tm_context_new(void) {
  note("new");
  return 40;
}

uint64_t tm_context_new_limited(void) {
  note("limited");
  return 50;
}

/* ---- messages */

static int own[2];

static void the_first_error_of_a_collective_stays(void **state) {
  (void)state;
  tm_coll_send(&coll, own, 2, &eight, 1);
  assert_int_equal(coll.error, MPI_SUCCESS);
  errors[1] = MPI_ERR_TRUNCATE;
  errors[2] = MPI_ERR_OTHER;
  tm_coll_recv(&coll, own, 2, &eight, 2);
  assert_int_equal(coll.error, MPI_ERR_TRUNCATE);
  tm_coll_send(&coll, own, 1, &eight, 0);
  tm_coll_recv(&coll, own, 0, &eight, 0);
  assert_int_equal(coll.error, MPI_ERR_TRUNCATE);
  check_trace("performs:to1*2 performs:from2*2 performs:to0*1 performs:from0*0 ");
}

/* The receive is there before the other side sends. */
static void an_exchange_receives_first(void **state) {
  (void)state;
  errors[0] = MPI_ERR_TRUNCATE;
  errors[1] = MPI_ERR_OTHER;
  tm_coll_exchange(&coll, own, 1, &eight, 2, own + 1, 3, &eight, 1);
  check_trace("starts:from1*3 starts:to2*1 waits2 empties1 empties2 ");
  assert_int_equal(coll.error, MPI_ERR_TRUNCATE);
}

static void a_message_of_the_expected_length_needs_no_memory(void **state) {
  (void)state;
  const struct tm_part part = {own, 2, &eight};
  probed = 16;
  memory_is_out = true;
  struct tm_passed whole = tm_coll_recv_whole(&coll, &part, 1);
  memory_is_out = false;
  assert_true(whole.memory == NULL && whole.part.at == own && whole.part.count == 2);
  check_trace("probes1 performs:from1*2 taken ");
}

/* It is passed on as it came, and the caller has of it what fits. */
static void another_length_is_received_whole(void **state) {
  (void)state;
  const struct tm_part part = {own, 2, &eight};
  for (probed = 0; probed <= 17; probed += 17) {
    struct tm_passed whole = tm_coll_recv_whole(&coll, &part, 1);
    assert_true(whole.memory != NULL && whole.part.at == whole.memory);
    assert_true(whole.part.count == probed && whole.part.type == tm_type_of(MPI_BYTE));
    check_trace(probed == 0 ? "probes1 performs:from1*0 taken copies0-from1 "
                            : "probes1 performs:from1*17 taken copies17-from1 ");
    free(whole.memory);
  }
  probed = 17;
  memory_is_out = true;
  if (setjmp(job_end) == 0) tm_coll_recv_whole(&coll, &part, 1);
  memory_is_out = false;
  assert_string_equal(last_words, "no memory for a message of %zu bytes");
  check_trace("probes1 ");
}

/* ---- tags */

/* A program's tags reach neither the collectives' numbers, wildcards, nor what follows. */
static void a_tag_of_the_program_has_a_number_of_its_own(void **state) {
  (void)state;
  static const int tags[] = {
      0, 1, 2, TM_COLL_TAGS, INT32_MAX - 4, INT32_MAX - 3, INT32_MAX - 2, INT32_MAX - 1, INT32_MAX};
  enum { TAGS = sizeof tags / sizeof tags[0] };
  int seen[TAGS];
  for (int i = 0; i < TAGS; i++) {
    struct tm_coll tagged = tm_coll_tagged(&comm, "MPI_Abc", tags[i]);
    seen[i] = tagged.tag;
    assert_true(tagged.comm == &comm && tagged.error == MPI_SUCCESS);
    assert_string_equal(tagged.call, "MPI_Abc");
    assert_true(seen[i] < MPI_ANY_TAG || seen[i] == TM_COLL_TAGS || seen[i] == TM_COLL_TAGS + 1);
    assert_true(tagged.sender == 0 && tagged.sent == 0 && tagged.room == 0);
    for (int k = 0; k < i; k++) assert_int_not_equal(seen[k], seen[i]);
  }
}

/* ---- contexts */

static void of_two_groups(int rank) {
  comm.inter = true;
  comm.rank = local_comm.rank = rank;
}

static void two_groups_take_the_smaller_context(void **state) {
  (void)state;
  of_two_groups(0);
  coll.tag = 1;
  other_leader = 39;
  assert_int_equal(tm_context_agree(&comm, "MPI_Xyz"), 39);
  check_trace("new starts:from0*8 starts:to0*8 waits2 empties0 empties0 tells-own0:39 ");
  coll.tag = 2;
  other_leader = 51;
  assert_int_equal(tm_context_agree_limited(&comm, "MPI_Xyz"), 50);
  check_trace("limited starts:from0*8 starts:to0*8 waits2 empties0 empties0 tells-own0:50 ");
  of_two_groups(1);
  assert_int_equal(tm_context_agree(&comm, "MPI_Xyz"), 99);
  check_trace("tells-own0:0 ");
}

static void the_first_rank_tells_the_others_a_context(void **state) {
  (void)state;
  comm.team = (struct tm_team *)&own;
  assert_int_equal(tm_context_agree(&comm, "MPI_Xyz"), 99);
  check_trace("tells0:0 ");
  comm.rank = 0;
  assert_int_equal(tm_context_agree(&comm, "MPI_Xyz"), 40);
  assert_int_equal(tm_context_agree_limited(&comm, "MPI_Xyz"), 50);
  check_trace("new tells0:40 limited tells0:50 ");
}

/* Its barriers count as collectives, too; four in a row at least, of 64. */
static void several_nodes_meet_now_and_then(void **state) {
  (void)state;
  int barriers = 0;
  comm.rank = 0;
  for (int number = 0; number < 256; number++) {
    comm.collectives = number;
    assert_int_equal(tm_context_agree(&comm, "MPI_Xyz"), 40);
    bool meets = trace[0] == 'm';
    assert_true(meets == (number % 64 < 4));
    barriers += meets;
    trace[0] = '\0';
  }
  assert_int_equal(barriers, 16);
}

/* ---- another collective */

static struct tm_team *team_of(struct tm_publication *slots) {
  struct tm_team *team = calloc(1, sizeof *team);
  for (int i = 0; i < SIZE; i++) slots[i] = (struct tm_publication){.number = TAG, .exchange = 5};
  team->size = SIZE;
  team->slots[0] = team->slots[1] = slots;
  team->slot_stride = sizeof *slots;
  comm.team = team;
  return team;
}

static void check_last_words(int rank, const char *expected) {
  char whole[300];
  snprintf(whole, sizeof whole,
           "%s of it is in another collective, or names another root (all ranks have to make the "
           "same calls in the same order; tmpirun --check prints the call of each)",
           expected);
  if (setjmp(job_end) == 0) tm_not_published(&coll, 5, rank);
  assert_string_equal(last_words, whole);
}

static void a_rank_in_another_collective_is_named(void **state) {
  (void)state;
  struct tm_publication slots[SIZE];
  struct tm_team *team = team_of(slots);
  check_last_words(-1, "a communicator, MPI_Xyz: another rank");
  check_last_words(2, "a communicator, MPI_Xyz: rank 2");
  check_last_words(0, "a communicator, MPI_Xyz: rank 0");
  slots[SIZE - 1].exchange = 4;
  strcpy(comm.name, "x"); /* also a short name */
  check_last_words(-1, "x, MPI_Xyz: rank 3");
  slots[0].number = TAG - 1;
  check_last_words(-1, "x, MPI_Xyz: rank 0");
  comm.name[0] = '\0';
  free(team);
}

static int start(void **state) {
  (void)state;
  local_comm = (struct tm_comm){.rank = RANK, .size = SIZE};
  comm = (struct tm_comm){.rank = RANK, .size = SIZE, .local_comm = &local_comm};
  coll = (struct tm_coll){.comm = &comm, .call = "MPI_Xyz", .tag = TAG};
  tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST] =
      (struct tm_type){.magic = TM_TYPE_MAGIC, .predefined = true, .size = 1};
  memset(errors, 0, sizeof errors);
  performed = 0;
  trace[0] = last_words[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  return 0;
}

#define MESSAGES(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      MESSAGES(the_first_error_of_a_collective_stays),
      MESSAGES(an_exchange_receives_first),
      MESSAGES(a_message_of_the_expected_length_needs_no_memory),
      MESSAGES(another_length_is_received_whole),
      MESSAGES(a_tag_of_the_program_has_a_number_of_its_own),
      MESSAGES(two_groups_take_the_smaller_context),
      MESSAGES(the_first_rank_tells_the_others_a_context),
      MESSAGES(several_nodes_meet_now_and_then),
      MESSAGES(a_rank_in_another_collective_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
