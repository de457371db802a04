/* SPDX-License-Identifier: Apache-2.0 */
/* What a dump says of threads in each state (src/debug/dump.c): the threads are copies that nobody
 * runs, and other files answer as the test says. */
#define _GNU_SOURCE /* the runtime's headers want it */
#include "debug/dump.c"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/support.h"

enum { THREADS = 4, CLOCK = 600000000 /* now, in units of mt_clock() */ };

static struct {
  struct mltp_thread threads[THREADS];
  int count;
  bool gone, moved, blocks;
  uint64_t blocked_ns;
  int fd;          /* where the dump goes */
  off_t written;   /* so much was there when the last backtrace was printed */
  const char *low; /* of the last stack that was looked at */
  size_t size;
} world;

uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return (uint64_t)CLOCK << MT_CLOCK_SHIFT; }

void __wrap_mt_descriptors_visit(void (*visit)(const struct mltp_thread *t, void *arg), void *arg);
void __wrap_mt_descriptors_visit(void (*visit)(const struct mltp_thread *t, void *arg), void *arg) {
  for (int i = 0; i < world.count; i++) visit(&world.threads[i], arg);
}

bool __wrap_mt_descriptor_peek(struct mltp_thread *copy, const struct mltp_thread *t);
bool __wrap_mt_descriptor_peek(struct mltp_thread *copy, const struct mltp_thread *t) {
  *copy = *t;
  return !world.gone;
}

bool __wrap_mt_descriptor_unchanged(const struct mltp_thread *copy, const struct mltp_thread *t);
bool __wrap_mt_descriptor_unchanged(const struct mltp_thread *copy, const struct mltp_thread *t) {
  CHECK(copy != t && copy->id == t->id);
  return !world.moved;
}

void __wrap_mt_describe_wait(char *text, const struct mltp_thread *copy,
                             const struct mltp_thread *t);
void __wrap_mt_describe_wait(char *text, const struct mltp_thread *copy,
                             const struct mltp_thread *t) {
  CHECK(copy != t && copy->id == t->id);
  strcpy(text, "a thing");
}

bool __wrap_mt_blocks_in(char *text, size_t size, uint64_t *ns, const struct mltp_thread *t);
bool __wrap_mt_blocks_in(char *text, size_t size, uint64_t *ns, const struct mltp_thread *t) {
  (void)t;
  snprintf(text, size, "read(2)");
  *ns = world.blocked_ns;
  return world.blocks;
}

void __wrap_mt_backtrace_take(struct mt_backtrace *b, const void *ip, const void *bp,
                              const char *low, size_t size);
void __wrap_mt_backtrace_take(struct mt_backtrace *b, const void *ip, const void *bp,
                              const char *low, size_t size) {
  (void)ip, (void)bp;
  b->count = 0;
  world.low = low;
  world.size = size;
}

void __wrap_mt_backtrace_print(const struct mt_backtrace *b, struct mt_printer *to, bool names);
void __wrap_mt_backtrace_print(const struct mt_backtrace *b, struct mt_printer *to, bool names) {
  CHECK_EQUAL(b->count, 0);
  world.written = lseek(world.fd, 0, SEEK_CUR);
  mt_printer_add(to, "    frames%s\n", names ? " by name" : "");
}

/* @return what a dump writes. */
static const char *dumped(int most, bool names) {
  static char text[4000];
  world.fd = memfd_create("dump", MFD_CLOEXEC);
  mt_dump(world.fd, most, names);
  ssize_t length = pread(world.fd, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  close(world.fd);
  return text;
}

/* The lines of the only thread. */
static const char *lines_of(struct mltp_thread *t, enum mt_state state, uint32_t vp) {
  static char text[4000];
  mt_set_where(t, state, vp);
  strcpy(text, dumped(100, false));
  char *end = strstr(text, "  1 threads; ");
  CHECK(end != NULL);
  if (end != NULL) *end = '\0';
  return text;
}

static struct mltp_thread *begin(enum mt_kind kind) {
  memset(&world, 0, sizeof world);
  memset(&mt_rt, 0, sizeof mt_rt);
  mt_rt.vp_count = 4;
  mt_rt.idle.awake = 1;
  world.count = 1;
  world.threads[0].kind = kind;
  world.threads[0].id = 7;
  world.threads[0].parked_at = CLOCK;
  return &world.threads[0];
}

static void threads_that_are_ready(void) {
  struct mltp_thread *t = begin(MT_UNBOUND);
  static const enum mt_state both[] = {MT_READY, MT_MAILED};
  for (int i = 0; i < 2; i++) {
    t->special = 0;
    CHECK_TEXT(lines_of(t, both[i], 2), "  thread 7 '' (unbound): ready on VP 2\n    frames\n");
    t->special = MT_FRESH; /* it has no stack */
    CHECK_TEXT(lines_of(t, both[i], 3), "  thread 7 '' (unbound): not started, ready on VP 3\n");
  }
}

static void threads_that_run(void) {
  struct mltp_thread *t = begin(MT_UNBOUND);
  CHECK_TEXT(lines_of(t, MT_RUNNING, 2), "  thread 7 '' (unbound): runs on VP 2\n");
  world.blocks = true;
  world.blocked_ns = 999999;
  CHECK_TEXT(lines_of(t, MT_RUNNING, 2), "  thread 7 '' (unbound): blocks VP 2 in read(2)\n");
  world.blocked_ns = 10007999999;
  CHECK_TEXT(lines_of(t, MT_RUNNING, 2),
             "  thread 7 '' (unbound): blocks VP 2 in read(2), for 10.0 s\n");
  world.blocked_ns = 1900000000;
  CHECK_TEXT(lines_of(t, MT_RUNNING, 2),
             "  thread 7 '' (unbound): blocks VP 2 in read(2), for 1.9 s\n");
  t->why = MT_WHY_LOCK; /* in the kernel */
  CHECK_TEXT(lines_of(t, MT_RUNNING, 2),
             "  thread 7 '' (unbound): waits for a thing (blocks VP 2)\n");
  t = begin(MT_BOUND);
  CHECK_TEXT(lines_of(t, MT_RUNNING, 0), "  thread 7 '' (bound): runs\n");
}

static void threads_that_wait(void) {
  static const struct {
    uint32_t clock;
    const char *seconds;
  } rows[] = {{0, "0.0"}, {453, "1.9"}, {2386, "10.0"}, {500000000, "2097152.0"}};
  static struct mt_vp vp;
  char expected[200];
  struct mltp_thread *t = begin(MT_UNBOUND);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    t->kind = MT_UNBOUND;
    t->vp = &vp;
    t->parked_at = CLOCK - rows[i].clock;
    snprintf(expected, sizeof expected,
             "  thread 7 '' (unbound): waits for a thing, for at most %s s, last on VP 2\n"
             "    frames\n",
             rows[i].seconds);
    CHECK_TEXT(lines_of(t, MT_PARKED, 2), expected);
    t->kind = MT_FOREIGN; /* it has read the clock itself, and a debugger shows its stack */
    t->vp = NULL;
    snprintf(expected, sizeof expected, "  thread 7 '' (foreign): waits for a thing, for %s s\n",
             rows[i].seconds);
    CHECK_TEXT(lines_of(t, MT_PARKED, 2), expected);
  }
  t->kind = MT_UNBOUND;
  t->special = MT_FRESH; /* for memory for its stack */
  CHECK_TEXT(lines_of(t, MT_PARKED, 1),
             "  thread 7 '' (unbound): waits for a thing, last on VP 1\n");
}

static void threads_that_have_ended(void) {
  struct mltp_thread *t = begin(MT_UNBOUND);
  CHECK_TEXT(lines_of(t, MT_DONE, 0), "  thread 7 '' (unbound): ended, not joined yet\n");
  world.gone = true;
  CHECK_TEXT(dumped(100, true), "  0 threads; 4 VPs, 1 awake\n");
}

static void stacks_of_backtraces(void) {
  static char main_stack[64];
  struct mt_stack stack = {.low = main_stack + 8, .class_log2 = MT_STACK_CLASS_MAX};
  struct mltp_thread *t = begin(MT_UNBOUND);
  mt_rt.main_low = main_stack;
  mt_rt.main_size = sizeof main_stack;
  lines_of(t, MT_READY, 0);
  CHECK(world.low == main_stack && world.size == sizeof main_stack);
  t->stack = &stack;
  lines_of(t, MT_READY, 0);
  CHECK(world.low == stack.low && world.size == (size_t)1 << MT_STACK_CLASS_MAX);
  stack.class_log2++; /* the memory has other content by now */
  CHECK_TEXT(lines_of(t, MT_READY, 0), "  thread 7 '' (unbound): ready on VP 0\n");
  stack.class_log2 = MT_STACK_CLASS_MIN;
  world.moved = true;
  CHECK_TEXT(lines_of(t, MT_READY, 0),
             "  thread 7 '' (unbound): ready on VP 0\n    it has moved on since\n");
}

static void backtraces_are_counted(void) {
  begin(MT_UNBOUND);
  world.count = 3;
  for (int i = 0; i < 3; i++) {
    world.threads[i].id = (uint64_t)i;
    mt_set_where(&world.threads[i], MT_READY, 0);
  }
  CHECK_TEXT(dumped(2, false),
             "  thread 0 '' (unbound): ready on VP 0\n    frames\n"
             "  thread 1 '' (unbound): ready on VP 0\n    frames\n"
             "  thread 2 '' (unbound): ready on VP 0\n"
             "  3 threads; 4 VPs, 1 awake; further backtraces are left out\n");
  CHECK_EQUAL(world.written, 0); /* a dump is one write(2), if it fits */
  CHECK(strstr(dumped(4, true), "frames by name\n  3 threads; 4 VPs, 1 awake\n") != NULL);
  CHECK(world.written > 0); /* looking for a name may fault */
}

/* Another dump has the room: each line is written by itself, and the room stays taken. */
static void a_dump_beside_another(void) {
  struct mltp_thread *t = begin(MT_UNBOUND);
  char alone[400];
  strcpy(alone, lines_of(t, MT_READY, 1));
  CHECK(!room_taken);
  room_taken = true;
  CHECK_TEXT(lines_of(t, MT_READY, 1), alone);
  CHECK(world.written > 0 && room_taken);
  room_taken = false;
  world.fd = memfd_create("dump", MFD_CLOEXEC);
  mltp_dump(world.fd);
  char text[400] = "";
  CHECK(pread(world.fd, text, sizeof text - 1, 0) > 0);
  CHECK_TEXT(text,
             "mltp: all threads:\n  thread 7 '' (unbound): ready on VP 1\n    frames by name\n"
             "  1 threads; 4 VPs, 1 awake\n");
  close(world.fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST_BARE(threads_that_are_ready), TEST_BARE(threads_that_run),
      TEST_BARE(threads_that_wait),      TEST_BARE(threads_that_have_ended),
      TEST_BARE(stacks_of_backtraces),   TEST_BARE(backtraces_are_counted),
      TEST_BARE(a_dump_beside_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
