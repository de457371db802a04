/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file node_members.h
 * Members of a communicator on several nodes, in tests of its collectives (src/tmpi/coll/nodes*.c):
 * what they send each other, and the teams of the nodes, without the rest of the library. Each
 * member has a stack, and runs until it waits. So a run is the same each time, and a collective
 * that never ends is found at once. Memory is filled with garbage before its
 * use, and nobody may write past its end.
 */
#ifndef TESTS_MPI_NODE_MEMBERS_H
#define TESTS_MPI_NODE_MEMBERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "tmpi/coll/nodes.h"
#include "tmpi/coll/op.h"
#include "tmpi/coll/phase.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/span.h"
#include "tmpi/request/request.h"

enum { MEMBERS_MAX = 48, NODES_MAX = 24, PER_NODE = 100 };

/** An element: what a range of ranks have brought. Two are combined if one follows the other. */
struct range {
  int first, end;
};

/** The same, followed by a gap. */
struct spread_range {
  struct range range;
  int gap;
};

struct member {
  struct tm_comm comm, local_comm;
  ucontext_t context;
  bool ended;
  int sent;            /* messages */
  struct tm_coll coll; /* of the test */
};

/** A message that has not been received yet. */
struct packet {
  struct packet *next;
  int from, to, tag;
  size_t bytes;
  char data[];
};

struct tm_job tm_job;
struct tm_type tm_predefined[TM_PREDEFINED_COUNT];
static struct tm_type ranges, spread_ranges;

static const char *const layouts[] = {"ab",       "aab",   "abb",       "abab",
                                      "aabb",     "abcab", "aaabbcc",   "aabbccdd",
                                      "abcdabcd", "abcde", "aabcdefgh", "aabbccddeeffgg"};

static struct member members[MEMBERS_MAX];
static int count_of_members, count_of_nodes;
static struct tm_group *whole, *local[NODES_MAX];
static struct tm_team teams[NODES_MAX];
static struct tm_publication slots[NODES_MAX][2][MEMBERS_MAX];
static struct tm_pair pairs; /* all teams wait for each other in tm_pair_meet() */

static alignas(16) char stacks[MEMBERS_MAX][32768];
static ucontext_t outside;     /* the test, while members run */
static int running, direction; /* the next that runs is the next rank, or the one before */
static int idle;               /* how many in a row had nothing to do */
static char stopped[300];      /* why no member runs on; empty: they do */

static struct packet *packets;                    /* in the order in which they were sent */
static int sent, largest;                         /* messages of all members; bytes */
static int arrived[NODES_MAX], rounds[NODES_MAX]; /* members at a node's barrier; times it opened */
static int probes, most_awaited;
static int held; /* requests that have been started, and not emptied */

/* ---- memory */

struct block {
  size_t bytes;
  struct block *next, *prev;
  alignas(16) char data[];
};

enum { BEHIND = 64 /* bytes that nobody writes */ };
static char canary[BEHIND];
static struct block blocks = {0, &blocks, &blocks};
static int fails_at; /* blocks before one for which there is no memory; -1: there is for all */

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) {
  if (fails_at >= 0 && fails_at-- == 0) return NULL;
  struct block *block = __real_malloc(sizeof *block + bytes + BEHIND);
  *block = (struct block){bytes, blocks.next, &blocks};
  blocks.next = block->next->prev = block;
  memset(block->data, 0xa5, bytes);
  memset(block->data + bytes, 0x5c, BEHIND);
  return block->data;
}

void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  void *memory = __wrap_malloc(count * size); /* of malloc() a compiler would make calloc() */
  return memory == NULL ? NULL : memset(memory, 0, count * size);
}

void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  if (memory == NULL) return;
  struct block *block = (struct block *)((char *)memory - offsetof(struct block, data));
  assert_memory_equal(block->data + block->bytes, canary, BEHIND);
  block->next->prev = block->prev;
  block->prev->next = block->next;
  memset(block->data, 0xdd, block->bytes);
  __real_free(block);
}

/* ---- members take turns */

static struct member *me(void) { return &members[running]; }

/* The caller waits for something: all others run before it looks again. */
static void give_way(void) {
  if (++idle > 2 * count_of_members && stopped[0] == '\0') strcpy(stopped, "no member runs");
  swapcontext(&me()->context, &outside);
}

/* No member runs on. */
static void stop(const char *why) __attribute__((noreturn));
static void stop(const char *why) {
  snprintf(stopped, sizeof stopped, "%s", why);
  setcontext(&outside);
  abort();
}

static void (*body)(struct member *member);

static void run_member(void) {
  body(me());
  me()->ended = true;
  idle = 0;
}

static void start_member(struct member *member) {
  member->ended = false;
  member->sent = 0;
  member->coll = tm_coll_begin(&member->comm, "MPI_X");
  getcontext(&member->context);
  member->context.uc_stack.ss_sp = stacks[member - members];
  member->context.uc_stack.ss_size = sizeof stacks[0];
  member->context.uc_link = &outside;
  makecontext(&member->context, run_member, 0);
}

/* Has all members do the same, in turns. */
static void run_all(void (*function)(struct member *member)) {
  body = function;
  idle = sent = largest = probes = most_awaited = held = 0;
  memset(arrived, 0, sizeof arrived);
  stopped[0] = '\0';
  for (int i = 0; i < count_of_members; i++) start_member(&members[i]);
  for (int ended = 0; ended < count_of_members && stopped[0] == '\0';) {
    running = (running + direction + count_of_members) % count_of_members;
    if (me()->ended) continue;
    swapcontext(&outside, &me()->context);
    ended += me()->ended;
  }
}

/** Has all do the same, with no message left. */
static void run(void (*function)(struct member *member)) {
  run_all(function);
  assert_string_equal(stopped, "");
  assert_null(packets);
  assert_int_equal(held, 0);
}

/** Forgets messages that nobody receives. */
static void drop_packets(void) {
  while (packets != NULL) {
    struct packet *packet = packets;
    packets = packet->next;
    __real_free(packet);
  }
}

/** Has all do the same again and again, each time without memory for the next block. The member
 * that wants it must say so. @return how many blocks there are. */
static int starve(void (*function)(struct member *member)) {
  struct block *before = blocks.next;
  for (int nth = 0;; nth++) {
    fails_at = nth;
    run_all(function);
    bool ended = stopped[0] == '\0';
    fails_at = -1;
    drop_packets();
    memset(slots, 0, sizeof slots);
    for (int i = 0; i < count_of_members; i++) {
      members[i].comm.collectives = members[i].local_comm.collectives = 0;
      members[i].local_comm.phases = 0;
    }
    while (blocks.next != before) __wrap_free(blocks.next->data);
    if (ended) return nth;
    stopped[strlen("no memory for a ")] = '\0';
    assert_string_equal(stopped, "no memory for a ");
  }
}

void tm_panic(const char *format, ...) {
  char text[sizeof stopped];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  stop(text);
}

void tm_end_job(const char *on, const char *call, int code, const char *why) {
  char text[sizeof stopped];
  snprintf(text, sizeof text, "%s %s %d: %s", on, call, code, why);
  stop(text);
}

/* ---- messages: a send leaves a copy */

void tm_request_borrow_inner(struct tm_request *request, enum tm_kind kind, const void *buffer,
                             size_t count, struct tm_type *type, int peer, int tag,
                             struct tm_comm *comm) {
  assert_ptr_equal(comm, &me()->comm);
  assert_in_range(peer, 0, count_of_members - 1);
  *request = (struct tm_request){.magic = TM_REQUEST_MAGIC,
                                 .kind = (uint8_t)kind,
                                 .comm = comm,
                                 .buffer = tm_sendbuf(buffer),
                                 .count = count,
                                 .type = type,
                                 .peer = peer,
                                 .tag = tag};
}

int tm_request_start(struct tm_request *request) {
  held++;
  if (request->kind == TM_RECV) return MPI_SUCCESS;
  struct packet **last = &packets;
  size_t bytes = request->count * request->type->size;
  struct packet *packet = __real_malloc(sizeof *packet + bytes);
  while (*last != NULL) last = &(*last)->next;
  *last = packet;
  packet->next = NULL;
  packet->from = running;
  packet->to = request->peer;
  packet->tag = request->tag;
  packet->bytes = bytes;
  tm_type_pack(packet->data, request->buffer, request->type, 0, bytes);
  request->done = 1;
  members[running].sent++;
  sent++;
  if ((int)bytes > largest) largest = (int)bytes;
  idle = 0;
  return MPI_SUCCESS;
}

static struct packet **find_packet(const struct tm_request *request) {
  struct packet **at = &packets;
  while (*at != NULL &&
         ((*at)->to != running || (*at)->from != request->peer || (*at)->tag != request->tag))
    at = &(*at)->next;
  return at;
}

/* Of a receive that has been started. */
static void await(struct tm_request *request) {
  struct packet **at = find_packet(request);
  while (request->done == 0 && *at == NULL) {
    give_way();
    at = find_packet(request);
  }
  if (request->done != 0) return;
  struct packet *packet = *at;
  *at = packet->next;
  size_t room = request->count * request->type->size;
  request->bytes = packet->bytes < room ? packet->bytes : room;
  request->error = packet->bytes > room ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
  tm_type_unpack(request->buffer, request->type, 0, packet->data, request->bytes);
  request->done = 1;
  idle = 0;
  __real_free(packet);
}

void tm_requests_wait(struct tm_request *const *requests, int count, int wanted, const char *call) {
  assert_string_equal(call, "MPI_X");
  assert_int_equal(count, wanted);
  if (count > most_awaited) most_awaited = count;
  for (int i = 0; i < count; i++) await(requests[i]);
}

int tm_request_perform(struct tm_request *request, const char *call) {
  tm_request_start(request);
  tm_requests_wait(&request, 1, 1, call);
  held--; /* it is its caller's */
  return MPI_SUCCESS;
}

void tm_request_empty(struct tm_request *request) {
  assert_true(request->magic == TM_REQUEST_MAGIC && request->done);
  request->magic = 0;
  held--;
}

void tm_request_withdraw(struct tm_request *request) {
  assert_true(request->kind == TM_RECV && request->done == 0);
  request->cancelled = true;
  request->done = 1;
}

bool tm_mailbox_probe(const struct tm_request *probe, bool take, uint64_t wait_ns, const char *call,
                      struct tm_envelope *found, size_t *bytes, struct tm_message **message) {
  struct packet **at;
  assert_true(take && wait_ns == MLTP_NEVER && probe->type == NULL && found != NULL &&
              call != NULL);
  while (*(at = find_packet(probe)) == NULL) give_way();
  *bytes = (*at)->bytes;
  *message = NULL; /* it stays in the list, where the receive finds it */
  probes++;
  return true;
}

/* ---- collectives of the members of a node, by way of what each names */

static const void *named[MEMBERS_MAX]; /* by rank in the communicator of all */

static int own_node(void) { return me()->comm.span->own; }

static void meet_on_node(void) {
  int node = own_node(), round = rounds[node];
  idle = 0;
  if (++arrived[node] == local[node]->size) {
    arrived[node] = 0;
    rounds[node]++;
  }
  while (rounds[node] == round) give_way();
}

void tm_pair_meet(const struct tm_coll *coll) {
  assert_ptr_equal(coll->comm, &me()->local_comm);
  coll->comm->phases++;
  meet_on_node();
}

void tm_barrier(struct tm_comm *comm, const char *call) {
  assert_string_equal(call, "MPI_X");
  if (comm == &me()->comm) {
    struct tm_coll coll = tm_coll_begin(comm, call);
    tm_nodes_barrier(&coll);
  } else {
    assert_ptr_equal(comm, &me()->local_comm);
    meet_on_node();
  }
}

/* What a member of the caller's node has named. */
static const void *named_by(int local_rank) {
  return named[tm_group_find(whole, local[own_node()]->ranks[local_rank])];
}

void tm_bcast(struct tm_coll *coll, void *buffer, size_t count, struct tm_type *type, int root) {
  const struct tm_part own = {buffer, count, type};
  if (coll->comm == &me()->comm) {
    tm_nodes_bcast(coll, buffer, count, type, root);
    return;
  }
  assert_ptr_equal(coll->comm, &me()->local_comm);
  assert_in_range(root, 0, coll->comm->size - 1);
  named[running] = &own;
  meet_on_node();
  if (coll->comm->rank != root) tm_part_copy(coll, &own, named_by(root), root);
  meet_on_node();
}

void tm_reduce(struct tm_coll *coll, const void *from, void *to, size_t count, struct tm_type *type,
               const struct tm_op *op, int root) {
  int last = coll->comm->size - 1;
  assert_ptr_equal(coll->comm, &me()->local_comm);
  assert_in_range(root, 0, last);
  named[running] = from;
  meet_on_node();
  if (coll->comm->rank == root) {
    tm_type_copy(to, type, named_by(last), type, count * type->size);
    for (int i = last - 1; i >= 0 && count > 0; i--) tm_op_apply(op, named_by(i), to, count, type);
  }
  meet_on_node();
}

/* ---- barriers of teams, which the members do without: phase.h calls them in headers */

static void no_barrier(void) __attribute__((noreturn));
static void no_barrier(void) { tm_panic("a barrier of a team"); }

void mti_preempt(const char *call) { (void)call, no_barrier(); }
void mti_lock(uint32_t *lock) { (void)lock, no_barrier(); }
void mti_unlock(uint32_t *lock) { (void)lock, no_barrier(); }
void mti_wait_unlock(mltp_waitq_t *queue, const char *text) {
  (void)queue, (void)text, no_barrier();
}
void mti_resume_all(mltp_waitq_t *queue) { (void)queue, no_barrier(); }
uint32_t mti_vp_ticks(int vp) { (void)vp, no_barrier(); }
mltp_t *mltp_self(void) { no_barrier(); }
void tm_deferred_release(struct tm_rank *rank) { (void)rank, no_barrier(); }
bool tm_user_code_lend_slow(struct tm_rank *rank) { (void)rank, no_barrier(); }
void tm_user_code_take(struct tm_rank *rank) { (void)rank, no_barrier(); }
void tm_team_barrier_spin(struct tm_team_barrier *barrier, const struct tm_coll *coll) {
  (void)barrier, (void)coll, no_barrier();
}
void tm_team_barrier_release(struct tm_team_barrier *barrier, bool at_home) {
  (void)barrier, (void)at_home, no_barrier();
}

/* ---- the rest of the library */

uint64_t tm_context_new(void) { return 1000 + (uint64_t)running; }
uint64_t tm_context_new_limited(void) { return 2000 + (uint64_t)running; }

int tm_group_find(struct tm_group *group, int number) {
  for (int i = 0; i < group->size; i++)
    if (group->ranks[i] == number) return i;
  return MPI_UNDEFINED;
}

struct tm_group *tm_group_new(int size) {
  struct tm_group *group = malloc(sizeof *group + (size_t)size * sizeof group->ranks[0]);
  group->size = size;
  return group;
}

struct tm_part tm_part_of(const struct tm_parts *parts, int rank) {
  MPI_Count count = tm_parts_count(parts, rank);
  ptrdiff_t at = tm_counts_given(parts->displs) ? tm_counts_at(parts->displs, rank) : rank * count;
  assert_null(parts->types);
  return (struct tm_part){(char *)parts->base + at * tm_type_extent(parts->type), (size_t)count,
                          parts->type};
}

void tm_part_copy(struct tm_coll *coll, const struct tm_part *to, const struct tm_part *from,
                  int sender) {
  size_t room = to->count * to->type->size, bytes = from->count * from->type->size;
  if (bytes > room) tm_coll_too_long(coll, sender, bytes, room);
  tm_type_copy(to->at, to->type, from->at, from->type, bytes < room ? bytes : room);
}

void *tm_elements_new(size_t count, const struct tm_type *type, void **base) {
  *base = malloc(count * (size_t)tm_type_extent(type) + 1);
  if (*base == NULL) tm_panic("no memory for a test");
  return *base;
}

static const struct tm_op *const follows = (const struct tm_op *)&tm_job; /* the operation */

void tm_op_apply(const struct tm_op *op, const void *in, void *inout, size_t count,
                 struct tm_type *type) {
  assert_true(op == follows && count > 0);
  for (size_t i = 0; i < count; i++) {
    size_t at = i * (size_t)tm_type_extent(type);
    const struct range *lower = (const struct range *)((const char *)in + at);
    struct range *upper = (struct range *)((char *)inout + at);
    *upper = lower->end == upper->first ? (struct range){lower->first, upper->end}
                                        : (struct range){-1, -2};
  }
}

/* ---- the communicator */

static void make_types(void) {
  static struct tm_block one_byte = {0, 1, 1, 0}, one_range = {0, sizeof(struct range), 1, 0};
  struct tm_type *byte = &tm_predefined[(uintptr_t)MPI_BYTE - TM_PREDEFINED_FIRST];
  struct tm_type type = {.magic = TM_TYPE_MAGIC, .dense = true, .block_count = 1, .repeats = 1};
  *byte = ranges = spread_ranges = type;
  byte->blocks = &one_byte;
  byte->size = 1;
  byte->ub = byte->true_ub = 1;
  ranges.blocks = spread_ranges.blocks = &one_range;
  ranges.size = spread_ranges.size = sizeof(struct range);
  ranges.ub = ranges.true_ub = spread_ranges.true_ub = sizeof(struct range);
  spread_ranges.ub = sizeof(struct spread_range);
  spread_ranges.dense = false;
}

/** Members on nodes: a letter for each rank, in the order of the alphabet. */
static void begin(const char *nodes) {
  memset(canary, 0x5c, sizeof canary);
  make_types();
  memset(members, 0, sizeof members);
  fails_at = -1;
  direction = 1;
  count_of_nodes = 0;
  count_of_members = (int)strlen(nodes);
  tm_job.local = PER_NODE;
  tm_job.first_size = PER_NODE * NODES_MAX;
  whole = tm_group_new(count_of_members);
  for (int i = 0; i < count_of_members; i++) {
    int node = nodes[i] - 'a';
    if (node == count_of_nodes) {
      local[count_of_nodes++] = tm_group_new(count_of_members);
      local[node]->size = 0;
    }
    members[i].local_comm.rank = local[node]->size;
    whole->ranks[i] = node * PER_NODE + local[node]->size;
    local[node]->ranks[local[node]->size++] = whole->ranks[i];
  }
  for (int i = 0; i < count_of_members; i++) {
    struct member *member = &members[i];
    int node = nodes[i] - 'a';
    member->comm.rank = i;
    member->comm.size = count_of_members;
    member->comm.group = member->comm.remote = whole;
    member->comm.span = tm_span_new(whole, i);
    member->comm.local_comm = &member->local_comm;
    member->local_comm.size = local[node]->size;
    member->local_comm.group = member->local_comm.remote = local[node];
    if (local[node]->size > 1) member->local_comm.team = &teams[node];
    teams[node] = (struct tm_team){.pair = &pairs,
                                   .slots = {slots[node][0], slots[node][1]},
                                   .slot_stride = sizeof(struct tm_publication),
                                   .size = local[node]->size};
  }
}

static void end(void) {
  for (int i = 0; i < count_of_members; i++) free(members[i].comm.span);
  for (int i = 0; i < count_of_nodes; i++) free(local[i]);
  free(whole);
  assert_ptr_equal(blocks.next, &blocks); /* none is left */
}

/* ---- buffers: each member has one to send and one to fill */

static struct spread_range *out[MEMBERS_MAX], *in[MEMBERS_MAX];

static void have_buffers(size_t elements) {
  for (int i = 0; i < count_of_members; i++) {
    out[i] = malloc(elements * sizeof *out[i] + 1);
    in[i] = malloc(elements * sizeof *in[i] + 1);
  }
}

static void drop_buffers(void) {
  for (int i = 0; i < count_of_members; i++) {
    free(out[i]);
    free(in[i]);
  }
}

static struct range *element(struct spread_range *base, const struct tm_type *of, size_t i) {
  return (struct range *)((char *)base + i * (size_t)tm_type_extent(of));
}

/* An element that says whose it is. */
static struct range mark(int rank, size_t i) { return (struct range){rank, (int)i}; }

static void check_mark(const struct range *at, int rank, size_t i) {
  if (at->first != rank || at->end != (int)i)
    fail_msg("%d %d is not %d %zu", at->first, at->end, rank, i);
}

/* The gaps of received elements still have what memory is filled with. */
static void check_gaps(struct spread_range *base, size_t elements) {
  unsigned char gap[sizeof base->gap];
  memset(gap, 0xa5, sizeof gap);
  for (size_t i = 0; i < elements; i++) assert_memory_equal(&base[i].gap, gap, sizeof gap);
}

#endif
