/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left when all ranks have ended, word by word (src/tmpi/check/leaks.c, unreceived.c):
 * objects that nobody has freed, and messages that nobody has received. Calls are made here, and
 * one thread plays all ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "counted_blocks.h"
#include "said.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/object/comm.h"
#include "tmpi/rank/rank.h"
#include "tmpi/report/text.h"
#include "traced_calls.h"

enum { RANKS = 3, LISTED_MAX = 20 };

const char *const tm_calls[] = {"MPI_Comm_dup",
                                "MPI_Comm_free",
                                "MPI_Start",
                                "MPI_Startall",
                                "MPI_Wait",
                                "MPI_Request_get_status",
                                "MPI_Request_get_status_all"};
enum { COMM_DUP, COMM_FREE, START, STARTALL, WAIT, GET_STATUS, GET_STATUS_ALL };

/* ---- the rest of the library */

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank ranks[RANKS];
static struct tm_comm world = {.context = 4, .name = "world"};

void tm_describe_site(char *text, size_t size, const void *site) {
  snprintf(text, size, " at %zu", (size_t)(uintptr_t)site);
}

void tm_describe_data(char *text, size_t size, size_t count, MPI_Datatype type) {
  assert_ptr_equal(type, MPI_INT);
  snprintf(text, size, "%zu MPI_INT", count);
}

int tm_text_ranks(char text[TM_RANKS_TEXT], const bool *set, int size) {
  int count = 0, used = sprintf(text, "ranks");
  for (int i = 0; i < size; i++)
    if (set[i]) used += sprintf(text + used, " %d", (count++, i));
  return count;
}

const char *tm_text_comm(const char *name) { return name[0] != '\0' ? name : "a communicator"; }

MPI_Datatype tm_type_handle(const struct tm_type *type) {
  return (MPI_Datatype)(uintptr_t)(TM_PREDEFINED_FIRST + (type - tm_predefined));
}

static struct tm_request request; /* that the stand-ins below get */

void tm_buffers_end(const struct tm_seen *seen, const void *handle) {
  assert_true(seen->makes && handle != NULL);
  note("memory");
}

void tm_buffers_start_send(const struct tm_seen *seen, const struct tm_request *handle) {
  assert_true(seen->rank == 1 && handle == &request);
  note("sends");
}

void tm_buffers_drop(int rank, const void *handle) {
  assert_true(rank == 1 || handle != &request);
  note("drops");
}

void tm_windows_end(const struct tm_seen *seen, const void *handle) {
  assert_true(seen->makes && handle != NULL);
  note("window");
}

void tm_windows_complete(const void *handle) {
  assert_non_null(handle);
  note("completes");
}

static int start(void **state) {
  (void)state;
  tm_job = (struct tm_job){.size = RANKS, .first_size = RANKS, .local = RANKS, .ranks = ranks};
  struct tm_type *integer = &tm_predefined[(uintptr_t)MPI_INT - TM_PREDEFINED_FIRST];
  *integer = (struct tm_type){.magic = TM_TYPE_MAGIC, .predefined = true};
  said[0] = '\0';
  return 0;
}

/* ---- objects */

static char objects[40]; /* their handles */

static void makes(int rank, int kind, int site, void *handle) {
  struct tm_seen seen = {.call = COMM_DUP,
                         .rank = rank,
                         .kind = kind,
                         .site = (const void *)(uintptr_t)site,
                         .makes = true,
                         .object = &handle,
                         .count = 1};
  tm_leaks_end(&seen);
}

/* A call that leaves `after` where these handles were. */
static void changes(int rank, int kind, int count, void **before, void **after) {
  struct tm_seen seen = {.call = COMM_FREE,
                         .rank = rank,
                         .kind = kind,
                         .object = after,
                         .before = before,
                         .count = count};
  tm_leaks_end(&seen);
}

static void ends(int rank, int kind, void *handle) {
  void *none = NULL;
  changes(rank, kind, 1, &handle, &none);
}

static void objects_that_are_freed_are_no_leaks(void **state) {
  (void)state;
  void *three[] = {&objects[0], &objects[1], &objects[2]}, *after[] = {NULL, &objects[1], NULL};
  for (int i = 0; i < 3; i++) makes(0, TM_COMM, 7, three[i]);
  changes(0, TM_COMM, 3, three, after);
  assert_int_equal(tm_leaks_finish(false), 1);
  check_said("~ranks 0: 1 communicator was not freed, of MPI_Comm_dup() at 7 (MPI_Comm_free)\n");
  changes(0, TM_COMM, 3, NULL, after); /* there was no memory for what was there before */
  ends(1, TM_COMM, &objects[1]);       /* of another rank, or kind */
  ends(0, TM_GROUP, &objects[1]);
  makes(0, TM_NO_OBJECT, 7, &objects[3]);
  assert_int_equal(tm_leaks_finish(true), 0);
  check_said("!ranks 0: 1 communicator was not freed, of MPI_Comm_dup() at 7 (MPI_Comm_free)\n");
  ends(0, TM_COMM, &objects[1]);
  assert_int_equal(tm_leaks_finish(false), 0);
  check_said("");
  /* handles that are no objects of the program */
  static struct tm_type lasting = {.magic = TM_TYPE_MAGIC, .lasting = true};
  makes(0, TM_TYPE, 7, &lasting);
  makes(0, TM_COMM, 7, MPI_COMM_WORLD);
  makes(0, TM_COMM, 7, (void *)(uintptr_t)0xfff);
  void *world_handle = MPI_COMM_WORLD, *none = NULL;
  changes(0, TM_COMM, 1, &world_handle, &none);
  assert_int_equal(tm_leaks_finish(false), 0);
  check_said("");
  makes(0, TM_COMM, 7, (void *)(uintptr_t)0x1000);
  assert_int_equal(tm_leaks_finish(false), 1);
  said[0] = '\0';
  ends(0, TM_COMM, (void *)(uintptr_t)0x1000);
}

/* Equal leaks of several ranks are one line; kinds and places are apart. */
static void leaks_in_words(void **state) {
  (void)state;
  static const char *const words[] = {"",          "communicator",  "group",       "datatype",
                                      "operation", "error handler", "info object", "",
                                      "window",    "file"};
  static const char *const remedies[] = {"",         "Comm_free",       "Group_free", "Type_free",
                                         "Op_free",  "Errhandler_free", "Info_free",  "",
                                         "Win_free", "File_close"};
  static struct tm_type type = {.magic = TM_TYPE_MAGIC};
  for (int kind = TM_COMM; kind < TM_OBJECTS; kind++) {
    char expected[200];
    void *handle = kind == TM_TYPE ? (void *)&type : &objects[0];
    if (kind == TM_REQUEST) continue;
    makes(0, kind, 7, handle);
    assert_int_equal(tm_leaks_finish(false), 1);
    sprintf(expected, "~ranks 0: 1 %s was not freed, of MPI_Comm_dup() at 7 (MPI_%s)\n",
            words[kind], remedies[kind]);
    check_said(expected);
    ends(0, kind, handle);
  }
  makes(0, TM_COMM, 7, &objects[0]);
  makes(2, TM_COMM, 7, &objects[1]);
  makes(2, TM_COMM, 7, &objects[2]);
  makes(1, TM_COMM, 8, &objects[3]);
  makes(1, TM_GROUP, 7, &objects[4]);
  assert_int_equal(tm_leaks_finish(false), 3);
  check_said(
      "~ranks 0 2: 3 communicators were not freed, of MPI_Comm_dup() at 7 (MPI_Comm_free)\n"
      "~ranks 1: 1 group was not freed, of MPI_Comm_dup() at 7 (MPI_Group_free)\n"
      "~ranks 1: 1 communicator was not freed, of MPI_Comm_dup() at 8 (MPI_Comm_free)\n");
  memory_is_out = true;
  makes(0, TM_COMM, 9, &objects[5]);
  assert_int_equal(tm_leaks_finish(false), 0);
  memory_is_out = false;
  allocations_left = 1; /* but for the set of ranks */
  assert_int_equal(tm_leaks_finish(false), 0);
  check_said("");
  int before = blocks;
  tm_leaks_finish(false);
  assert_int_equal(blocks, before);
  said[0] = '\0';
  ends(0, TM_COMM, &objects[0]);
  for (int i = 1; i < 3; i++) ends(2, TM_COMM, &objects[i]);
  ends(1, TM_COMM, &objects[3]);
  assert_int_equal(blocks, before - 4);
  ends(1, TM_GROUP, &objects[4]);
  assert_int_equal(tm_leaks_finish(false), 0);
  check_said("");
}

static void requests_that_are_not_complete_are_mistakes(void **state) {
  (void)state;
  request = (struct tm_request){.kind = TM_RECV};
  makes(1, TM_REQUEST, 7, &request);
  check_trace("memory window ");
  assert_int_equal(tm_leaks_finish(false), 0);
  const char *mistake =
      "!ranks 1: 1 request was not completed, of MPI_Comm_dup() at 7 (MPI_Wait)\n";
  check_said(mistake);
  request.persistent = request.active = true;
  assert_int_equal(tm_leaks_finish(false), 0);
  check_said(mistake);
  request.active = false;
  assert_int_equal(tm_leaks_finish(false), 1);
  check_said("~ranks 1: 1 request was not freed, of MPI_Comm_dup() at 7 (MPI_Request_free)\n");
  ends(1, TM_REQUEST, &request);
  check_trace("drops completes ");
  assert_int_equal(tm_leaks_finish(false), 0);
  ends(1, TM_COMM, &objects[0]);
  check_trace("");
}

/* Requests that one place has made, which are not in the same state. */
static void requests_in_two_states_are_two_lines(void **state) {
  (void)state;
  struct tm_request of[] = {{.persistent = true}, {.kind = TM_RECV}, {.persistent = true}};
  for (int rank = 0; rank < RANKS; rank++) makes(rank, TM_REQUEST, 7, &of[rank]);
  assert_int_equal(tm_leaks_finish(false), 1);
  check_said(
      "~ranks 0 2: 2 requests were not freed, of MPI_Comm_dup() at 7 (MPI_Request_free)\n"
      "!ranks 1: 1 request was not completed, of MPI_Comm_dup() at 7 (MPI_Wait)\n");
  for (int rank = 0; rank < RANKS; rank++) ends(rank, TM_REQUEST, &of[rank]);
  check_trace(
      "memory window memory window memory window drops completes drops completes drops "
      "completes ");
}

/* As many as a long run leaves: each is counted. */
static void many_objects(void **state) {
  (void)state;
  enum { MANY = 2000 };
  static char handles[MANY];
  for (int i = 0; i < MANY; i++) makes(0, TM_COMM, 7, &handles[i]);
  assert_int_equal(tm_leaks_finish(false), 1);
  check_said(
      "~ranks 0: 2000 communicators were not freed, of MPI_Comm_dup() at 7 (MPI_Comm_free)\n");
  for (int i = 0; i < MANY; i++) ends(0, TM_COMM, &handles[i]);
  assert_int_equal(tm_leaks_finish(false), 0);
  check_said("");
}

/* What becomes of a request that a call leaves where it was. */
static void requests_that_stay(void **state) {
  (void)state;
  static const struct {
    int call, kind, object;
    bool persistent, active, done;
    const char *noted;
  } rows[] = {{START, TM_SEND, TM_REQUEST, true, true, false, "sends "},
              {STARTALL, TM_SEND, TM_REQUEST, true, true, false, "sends "},
              {START, TM_RECV, TM_REQUEST, true, true, false, ""},
              {WAIT, TM_SEND, TM_REQUEST, true, true, false, ""}, /* it was not complete */
              {WAIT, TM_SEND, TM_REQUEST, true, false, false, "drops "},
              {WAIT, TM_SEND, TM_REQUEST, false, false, false, ""},
              {START, TM_SEND, TM_WIN, true, true, false, ""},
              {GET_STATUS, TM_RECV, TM_REQUEST, false, false, false, ""},
              {GET_STATUS, TM_RECV, TM_REQUEST, false, false, true, "drops completes "},
              {GET_STATUS_ALL, TM_RECV, TM_REQUEST, false, false, true, "drops completes "}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    void *handles[] = {NULL, &request};
    request = (struct tm_request){.kind = rows[i].kind,
                                  .persistent = rows[i].persistent,
                                  .active = rows[i].active,
                                  .done = rows[i].done};
    struct tm_seen seen = {.call = rows[i].call,
                           .rank = 1,
                           .kind = rows[i].object,
                           .object = handles,
                           .before = handles,
                           .count = 2};
    tm_leaks_end(&seen);
    check_trace(rows[i].noted);
    seen.object = NULL;
    tm_leaks_end(&seen);
    check_trace("");
  }
}

/* ---- messages */

static struct tm_message messages[LISTED_MAX + 2];
static int message_count;

static struct tm_message *arrive(int rank, uint64_t context, int source, int tag, size_t count) {
  struct tm_message *message = &messages[message_count++], *last = NULL;
  *message = (struct tm_message){.bytes = 4 * count, .count = count, .type = tm_type_of(MPI_INT)};
  message->entry.entry.envelope = (struct tm_envelope){context, source, tag};
  for (struct tm_message_entry *e = ranks[rank].box.arrived.earliest; e != NULL; e = e->later)
    last = (struct tm_message *)e;
  *(last != NULL ? &last->entry.later : &ranks[rank].box.arrived.earliest) = &message->entry;
  return message;
}

static void nothing_has_arrived(void) {
  for (int i = 0; i < RANKS; i++)
    ranks[i] = (struct tm_rank){.number = i, .comms = i < 2 ? &world : NULL};
  message_count = 0;
}

static void messages_that_nobody_has_received(void **state) {
  (void)state;
  nothing_has_arrived();
  tm_unreceived_finish();
  check_said("");
  for (int i = 0; i < 2; i++) arrive(1, 4, 0, 3, 2);
  arrive(1, 4, 2, 3, 2);
  arrive(1, 4, 2, 5, 2);
  arrive(1, 4, 2, 5, 1);
  arrive(1, 4, 2, 5, 1)->type = NULL;
  arrive(1, 5, 2, 5, 1);              /* of a collective */
  arrive(1, 4 | 1ULL << 32, 2, 5, 1); /* of the library's own */
  arrive(2, 6, 2, 5, 1);              /* on one that the rank has freed */
  tm_unreceived_finish();
  check_said(
      "!rank 1: 2 messages were never received: 2 MPI_INT from rank 0 of world, tag 3\n"
      "!rank 1: 1 message was never received: 2 MPI_INT from rank 2 of world, tag 3\n"
      "!rank 1: 1 message was never received: 2 MPI_INT from rank 2 of world, tag 5\n"
      "!rank 1: 1 message was never received: 1 MPI_INT from rank 2 of world, tag 5\n"
      "!rank 1: 1 message was never received: 4 bytes from rank 2 of world, tag 5\n"
      "!rank 2: 1 message was never received: 1 MPI_INT from rank 2 of a communicator, "
      "tag 5\n");
}

static void no_more_messages_are_listed_than_can_be_read(void **state) {
  (void)state;
  for (int count = LISTED_MAX - 1; count <= LISTED_MAX + 1; count++) {
    int lines = 0;
    nothing_has_arrived();
    for (int i = 0; i < count; i++) arrive(i < LISTED_MAX - 1 ? 0 : 1, 4, 0, i, 1);
    tm_unreceived_finish();
    for (const char *at = said; (at = strchr(at, '!')) != NULL; at++) lines++;
    assert_int_equal(lines, count < LISTED_MAX ? count : LISTED_MAX);
    assert_int_equal(strstr(said, "+there may be more messages that were never received\n") != NULL,
                     count >= LISTED_MAX);
    said[0] = '\0';
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(objects_that_are_freed_are_no_leaks),
      cmocka_unit_test(leaks_in_words),
      cmocka_unit_test(requests_that_are_not_complete_are_mistakes),
      cmocka_unit_test(requests_in_two_states_are_two_lines),
      cmocka_unit_test(many_objects),
      cmocka_unit_test(requests_that_stay),
      cmocka_unit_test(messages_that_nobody_has_received),
      cmocka_unit_test(no_more_messages_are_listed_than_can_be_read),
  };
  return cmocka_run_group_tests(tests, start, NULL);
}
