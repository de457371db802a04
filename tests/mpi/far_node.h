/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file far_node.h
 * What is around messages between nodes (src/tmpi/match/far.c, far_cancel.c) in their tests: the
 * transport, the rest of the library, and a node of three. Its ranks are 2 and 3, of which 3 calls;
 * a message comes from rank 4, and others go to rank 5. The linker hands allocations to it.
 */
#ifndef TESTS_MPI_FAR_NODE_H
#define TESTS_MPI_FAR_NODE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <mltp/mltp.h>

#include "core/internal/process.h"
#include "internal_locks.h"
#include "tmpi/match/entries.h"
#include "tmpi/match/far.h"
#include "tmpi/match/match.h"
#include "tmpi/match/meet.h"
#include "tmpi/match/rank_wait.h"
#include "traced_calls.h"

enum { RANKS = 6, LOCAL = 2, SELF = 3, SENDER = 4, FAR = 5, CONTEXT = 9, KEPT = 7 };
enum { MOST = TM_FAR_EAGER_MAX + 1 };

void (*tm_match_hook)(const struct tm_request *recv, const struct tm_envelope *envelope,
                      const struct tm_type *type, size_t count);
struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_rank ranks[RANKS];
static struct tm_type flat, spread;
static struct tm_comm comm;
static struct mltp_thread *const thread = (struct mltp_thread *)&comm;
static char out[2 * MOST], in[2 * MOST];
static int blocks;                /* that the files have and have not freed */
static int allocations_left = -1; /* before one fails; -1: none does */
static jmp_buf panic;
static void *made[4]; /* while one is to fail */
static int made_count;
static bool is_over, is_outside, is_freed, is_starved;
static struct mltp_thread *waits;
static struct tm_far_send *last; /* that the transport has */
static void (*at_malloc)(void), (*at_note)(void), (*at_park)(void);
static void (*at_idle)(bool sleeps);

static bool fails(void) { return allocations_left >= 0 && allocations_left-- == 0; }

static void *counted(void *block) {
  blocks++;
  if (is_starved) made[made_count++] = block;
  return block;
}

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
  if (at_malloc != NULL) at_malloc();
  return fails() ? NULL : counted(__real_malloc(bytes));
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : counted(__real_calloc(count, size));
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block) {
  blocks -= block != NULL;
  for (int i = 0; i < made_count; i++)
    if (made[i] == block) made[i] = NULL;
  __real_free(block);
}

/* ---- the transport */

static bool transport_send(struct tm_far_send *send, int node, bool inside) {
  note("send %d%s", node, inside ? " inside" : "");
  assert_true(locked == 0 && !send->held && send->next == NULL);
  send->header.sequence = KEPT;
  if (send->number != NULL) *send->number = KEPT;
  last = send;
  if (at_note != NULL) at_note();
  return is_over;
}

static void transport_fetch(void *announced, void *to, struct tm_far_fetch *fetch, bool inside) {
  note("fetch%s%s", to == in ? " direct" : "", inside ? " inside" : "");
  assert_true(announced == &ranks && locked == 0);
  assert_int_equal(fetch->node, 2);
  assert_null(fetch->ended);
  memcpy(to, out, fetch->bytes);
  tm_far_fetched(fetch);
}

static void transport_answer(int node, uint64_t answer, bool inside) {
  assert_int_equal(locked, 0);
  note("answer %d %d%s", node, (int)answer, inside ? " inside" : "");
}

static void transport_drop(void *announced, bool inside) {
  assert_true(announced == &ranks && inside);
  note("drop");
}

static bool transport_poll(int looks) {
  note("poll %d", looks);
  return false;
}

static void transport_rest(void) { note("rest"); }
static bool transport_hold(struct tm_request *request) { return tm_far_hold(request); }

static const struct tm_transport transport = {.send = transport_send,
                                              .fetch = transport_fetch,
                                              .answer = transport_answer,
                                              .drop = transport_drop,
                                              .hold = transport_hold,
                                              .poll = transport_poll,
                                              .rest = transport_rest};

/* ---- the rest of the library */

void mti_set_idle_hook(void (*hook)(bool sleeps)) { at_idle = hook; }
struct tm_rank *tm_rank_self(void) { return is_outside ? NULL : &ranks[SELF]; }
mltp_t *mltp_self(void) { return NULL; }

void mltp_await_store(uint32_t *word, uint32_t value) {
  assert_int_equal(*word, 1);
  *word = value;
  note("end");
}

struct mltp_thread *mti_self(const char *call) {
  assert_string_equal(call, "MPI_Cancel");
  return thread;
}

void mti_park_unlock(uint32_t *lock, const char *text) {
  assert_string_equal(text, "MPI_Cancel");
  note("park");
  mti_unlock(lock);
  at_park();
}

void mti_resume_on(struct mltp_thread *t, int vp, uint32_t *ticks) {
  assert_true(t == thread && vp == 5 && ticks == &ranks[SELF].box.home_points && locked == 0);
  note("resume");
}

void tm_request_complete(struct tm_request *request) {
  assert_int_equal(locked, 0);
  request->done = 1;
  note("complete");
}

void tm_request_end(struct tm_request *request) {
  assert_int_equal(locked, 0);
  request->done = 1;
  note("end");
}

struct mltp_thread *tm_request_mark_done(struct tm_request *request, bool *freed) {
  assert_int_equal(locked, 1);
  request->done = 1;
  *freed = is_freed;
  note("done");
  return waits;
}

void tm_request_drop(struct tm_request *request) {
  assert_true(locked == 0 && request->done == 1);
  note("dropped");
}

void tm_buffer_return(struct tm_buffer *buffer, size_t bytes) {
  assert_ptr_equal(buffer, &comm);
  note("return %zu", bytes);
}

int tm_fail(struct tm_comm *on, const char *call, int code, const char *format, ...) {
  assert_true(on == &comm && call != NULL && format != NULL);
  return code;
}

int tm_short_error(const struct tm_type *type, size_t bytes) {
  assert_non_null(type);
  return bytes % 4 == 0 ? MPI_SUCCESS : MPI_ERR_TYPE;
}

void tm_type_pack(void *to, const void *from, const struct tm_type *type, size_t skip,
                  size_t bytes) {
  size_t step = type == &spread ? 2 : 1;
  assert_int_equal(skip, 0);
  for (size_t i = 0; i < bytes; i++) ((char *)to)[i] = ((const char *)from)[step * i];
}

void tm_type_unpack(void *to, const struct tm_type *type, size_t skip, const void *from,
                    size_t bytes) {
  size_t step = type == &spread ? 2 : 1;
  assert_int_equal(skip, 0);
  for (size_t i = 0; i < bytes; i++) ((char *)to)[step * i] = ((const char *)from)[i];
}

void tm_type_release(struct tm_type *type) { fail_msg("%p", (void *)type); }
bool tm_user_code_lend_slow(struct tm_rank *rank) { return rank == NULL; }
void tm_user_code_take(struct tm_rank *rank) { fail_msg("%p", (void *)rank); }

void tm_deferred_remove(struct tm_mailbox *box, struct tm_message *m) {
  fail_msg("%p %p", (void *)box, (void *)m);
}

void tm_panic(const char *format, ...) {
  assert_true(allocations_left < 0 && strncmp(format, "no memory for a message", 23) == 0);
  longjmp(panic, 1);
}

static void take_file(int source, const void *data, size_t bytes) {
  assert_ptr_equal(data, out);
  note("file %d %zu", source, bytes);
}

static void take_window(const struct tm_far_header *header, const void *data, void *announced) {
  assert_true(data == out && announced == &ranks);
  note("window %d", header->source);
}

tm_far_taker *const tm_far_takers[TM_FAR_SERVICES] = {[TM_FAR_FILE] = take_file};
tm_far_announced_taker *const tm_far_announced = take_window;

/* ---- two nodes */

static int start(void **state) {
  (void)state;
  memset(ranks, 0, sizeof ranks);
  for (int i = 0; i < RANKS; i++) ranks[i].number = i;
  ranks[SELF].box.home = 5;
  tm_job = (struct tm_job){
      .size = RANKS, .first_size = RANKS, .local = LOCAL, .ranks = ranks, .first = LOCAL};
  flat = (struct tm_type){.size = 1, .dense = true};
  spread = (struct tm_type){.size = 1};
  struct tm_type *byte = &tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST];
  *byte = (struct tm_type){.magic = TM_TYPE_MAGIC, .size = 1, .dense = true};
  for (size_t i = 0; i < sizeof out; i++) out[i] = (char)(i % 251);
  memset(in, -1, sizeof in);
  trace[0] = '\0';
  is_over = is_outside = is_freed = false;
  waits = NULL;
  at_malloc = at_note = at_park = NULL;
  last = NULL;
  blocks = 0;
  tm_far_start(&transport);
  return 0;
}

static int end(void **state) {
  (void)state;
  tm_queue_free(&ranks[SELF].box.posted);
  tm_queue_free(&ranks[SELF].box.arrived);
  check_trace("");
  assert_int_equal(blocks, 0);
  return 0;
}

#define NODES(test) cmocka_unit_test_setup_teardown(test, start, end)

static struct tm_request send_of(size_t bytes, struct tm_type *type, enum tm_mode mode) {
  return (struct tm_request){.kind = TM_SEND,
                             .mode = (uint8_t)mode,
                             .owner = &ranks[SELF],
                             .entry.envelope = {CONTEXT, SELF, 4},
                             .buffer = out,
                             .count = bytes,
                             .type = type,
                             .dest = &ranks[FAR],
                             .buffered = (struct tm_buffer *)&comm};
}

static struct tm_far_header header_of(size_t bytes, uint64_t answer) {
  return (struct tm_far_header){.context = CONTEXT,
                                .bytes = bytes,
                                .answer = answer,
                                .sequence = KEPT,
                                .source = SENDER,
                                .tag = 4,
                                .dest = SELF,
                                .node = 2};
}

/* A message comes. */
static void leave(size_t bytes, uint64_t answer, void *announced, uint64_t sequence, int tag) {
  struct tm_far_header header = header_of(bytes, answer);
  header.sequence = sequence;
  header.tag = tag;
  tm_far_arrive(&header, out, announced);
}

#endif
