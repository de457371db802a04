/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pack_steps.h
 * The packer of stacks (src/core/memory/pack.c) in a program in which the kernel, its faults and
 * the threads are the test's. Stacks are of 16 KiB and lie in one part, at addresses without
 * memory; the pages of that part are numbered.
 *
 *   fill:N=c fill:N   a page gets a content, or zeroes   take:N put:N   it leaves its stack,
 * returns watch:C:MIB       a chunk is watched from now on     own:N          its zero byte is
 * written
 */
#ifndef TESTS_UNIT_PACK_STEPS_H
#define TESTS_UNIT_PACK_STEPS_H

#define _GNU_SOURCE
#include <errno.h>
#include <setjmp.h>

#include "core/memory/pack.c"

#include "support/noted_message.h"

enum {
  CLASS = 14,
  STRIDE = 1 << CLASS,
  STACK_PAGES = STRIDE / MT_PAGE,
  MIB = 1 << 20,
  MS = 1000000,
  PART = 0,
  PAGES = 512,
  THREADS = 80,
  WAITS = 16,
  CHUNK_STACKS = 4096 /* of 64 MiB */
};

static const uintptr_t BASE = 0x7f0000000000;
static const size_t PART_SIZE = (size_t)608 * MIB; /* nine chunks and a half */

static alignas(MT_PAGE) char stage[(STAGE + 2) * MT_PAGE];

/* A page of a stack, with one byte that is not zero, or none. */
struct page {
  uintptr_t at;
  bool there;
  int refusal; /* of the kernel, to move it */
  char byte;
};

enum { LONG = 'l' /* its page has a long code */ };

static struct {
  struct page pages[PAGES];
  int page_count, fills, fills_left, fill_error, put_error, watch_error, naps;
  uintptr_t touched[4];
  size_t touched_count;
  uint64_t now, cpu_ns, visit_ns, waits[WAITS];
  int wait_count, wait_most, early;
  struct mltp_thread threads[THREADS];
  int thread_count;
} world;

/* What start() meets. */
static struct {
  int open, commit, watch, move, second_move, store, thread, hooks;
  bool no_memory, moves_nothing;
  size_t limit, page_size;
  int moves;
} starts;

static jmp_buf fatal;

static struct page *page_at(uintptr_t at) {
  CHECK_EQUAL(at % MT_PAGE, 0);
  for (int i = 0; i < world.page_count; i++)
    if (world.pages[i].at == at) return &world.pages[i];
  world.pages[world.page_count] = (struct page){.at = at};
  return &world.pages[world.page_count++];
}

static unsigned long number_of(uintptr_t at) { return (at - BASE) / MT_PAGE; }

static inline uintptr_t top_of(int stack) {
  return BASE + (uintptr_t)(stack + 1) * STRIDE - MT_PAGE;
}

static void make_content(char *content, char byte) {
  memset(content, byte == LONG ? LONG : 0, MT_PAGE);
  content[0] = byte;
}

/* ---- the kernel */

int __wrap_os_faults_fill(const struct os_faults *faults, void *at, const void *content,
                          size_t size);
int __wrap_os_faults_fill(const struct os_faults *faults, void *at, const void *content,
                          size_t size) {
  char byte = *(const char *)content;
  CHECK(faults == &pack.faults && size == MT_PAGE);
  if (world.fills_left == 0) return world.fill_error;
  world.fills_left--;
  world.fills++;
  struct page *page = page_at((uintptr_t)at);
  if (!page->there) *page = (struct page){.at = page->at, .there = true, .byte = byte};
  if (byte != 0)
    note("fill:%lu=%c", number_of(page->at), byte);
  else
    note("fill:%lu", number_of(page->at));
  return 0;
}

static bool is_staged(const void *at) {
  return at >= (void *)stage && at < (void *)(stage + sizeof stage);
}

/* start() moves a page of the stage to another. */
static int move_on_stage(char *to, const char *from) {
  int error = ++starts.moves == 2 ? starts.second_move : starts.move;
  CHECK(to == stage && from == bell() + MT_PAGE);
  if (error == 0 && !starts.moves_nothing) memcpy(to, from, MT_PAGE);
  return error;
}

int __wrap_os_faults_move(const struct os_faults *faults, void *to, void *from, size_t size);
int __wrap_os_faults_move(const struct os_faults *faults, void *to, void *from, size_t size) {
  CHECK(faults == &pack.faults && size == MT_PAGE);
  if (is_staged(to) && is_staged(from)) return move_on_stage(to, from);
  struct page *page = page_at((uintptr_t)(is_staged(to) ? from : to));
  if (!is_staged(to)) {
    if (world.put_error != 0) return world.put_error;
    note("put:%lu", number_of(page->at));
    page->there = true;
    return 0;
  }
  if (page->refusal != 0) return page->refusal;
  if (!page->there) return ENOENT;
  note("take:%lu", number_of(page->at));
  world.cpu_ns += 5;
  make_content(to, page->byte);
  page->there = false;
  return 0;
}

void __wrap_os_faults_own(const struct os_faults *faults, const void *zero);
void __wrap_os_faults_own(const struct os_faults *faults, const void *zero) {
  uintptr_t at = (uintptr_t)zero & ~(uintptr_t)(MT_PAGE - 1);
  CHECK(faults == &pack.faults && (uintptr_t)zero - at >= MT_PAGE - MT_CACHE_LINE);
  note("own:%lu", number_of(at));
  page_at(at)->refusal = 0;
}

int __wrap_os_faults_watch(const struct os_faults *faults, void *address, size_t size);
int __wrap_os_faults_watch(const struct os_faults *faults, void *address, size_t size) {
  CHECK(faults == &pack.faults);
  if (address == stage) {
    CHECK_EQUAL(size, sizeof stage - MT_PAGE);
    return starts.watch;
  }
  CHECK_EQUAL(((uintptr_t)address - BASE) % ((uintptr_t)64 * MIB), 0);
  note("watch:%lu:%zu", ((uintptr_t)address - BASE) / ((uintptr_t)64 * MIB), size / MIB);
  return world.watch_error;
}

/* The time is over when it returns, unless it returns early. */
size_t __wrap_os_faults_wait(const struct os_faults *faults, uintptr_t *addresses, size_t most,
                             uint64_t deadline);
size_t __wrap_os_faults_wait(const struct os_faults *faults, uintptr_t *addresses, size_t most,
                             uint64_t deadline) {
  size_t count = world.touched_count;
  CHECK(faults == &pack.faults && most == FAULTS);
  memcpy(addresses, world.touched, sizeof world.touched);
  world.touched_count = 0;
  world.cpu_ns += 7;
  if (world.wait_count < WAITS) world.waits[world.wait_count++] = deadline;
  if (world.wait_count != world.early && deadline > world.now) world.now = deadline;
  if (world.wait_count == world.wait_most) pack.ends = 1;
  return count;
}

void __wrap_os_faults_fatal(const char *call, int error, const char *remedy);
void __wrap_os_faults_fatal(const char *call, int error, const char *remedy) {
  CHECK_TEXT(remedy, "give the process more memory");
  note("%s:%d", call, error);
  longjmp(fatal, 1);
}

int __wrap_os_faults_open(struct os_faults *faults, const char *name);
int __wrap_os_faults_open(struct os_faults *faults, const char *name) {
  CHECK(faults == &pack.faults);
  CHECK_TEXT(name, "mltp-packer");
  note("open");
  faults->fd = starts.open == 0 ? 9 : -1;
  return starts.open;
}

void __wrap_os_faults_close(struct os_faults *faults);
void __wrap_os_faults_close(struct os_faults *faults) {
  if (faults->fd >= 0) note("close");
  faults->fd = -1;
}

void *__real_os_reserve(size_t size);
void *__wrap_os_reserve(size_t size);
void *__wrap_os_reserve(size_t size) {
  if (size != sizeof stage) return __real_os_reserve(size); /* of the store */
  return starts.no_memory ? NULL : stage;
}

void __real_os_release(void *address, size_t size);
void __wrap_os_release(void *address, size_t size);
void __wrap_os_release(void *address, size_t size) {
  if (address != stage) {
    __real_os_release(address, size);
    return;
  }
  CHECK_EQUAL(size, sizeof stage);
  note("release");
}

void __real_os_trim(void *address, size_t size);
void __wrap_os_trim(void *address, size_t size);
void __wrap_os_trim(void *address, size_t size) {
  if (address == stage)
    note("trim:%zu", size / MT_PAGE);
  else
    __real_os_trim(address, size);
}

uint64_t __wrap_os_now(void);
uint64_t __wrap_os_now(void) { return world.now; }

uint64_t __wrap_os_thread_cpu_time(void);
uint64_t __wrap_os_thread_cpu_time(void) { return world.cpu_ns; }

void __wrap_os_nap(uint64_t ns);
void __wrap_os_nap(uint64_t ns) {
  CHECK(ns == MS || ns == NAP_NS);
  world.naps++;
  moves = 0;
}

size_t __wrap_os_page_size(void);
size_t __wrap_os_page_size(void) { return starts.page_size; }

size_t __wrap_os_address_space_limit(void);
size_t __wrap_os_address_space_limit(void) { return starts.limit; }

int __wrap_os_fork_hooks(void (*before)(void), void (*after)(void));
int __wrap_os_fork_hooks(void (*before)(void), void (*after)(void)) {
  CHECK(before == before_fork && after == after_fork);
  note("hooks");
  return starts.hooks;
}

int __wrap_os_priority_raise(void);
int __wrap_os_priority_raise(void) { return 5; }

void __wrap_os_priority_restore(int before);
void __wrap_os_priority_restore(int before) { note("priority:%d", before); }

void __wrap_os_signals_off(void);
void __wrap_os_signals_off(void) { note("no signals"); }

int __wrap_os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                           void *(*func)(void *), void *arg);
int __wrap_os_thread_start(pthread_t *thread, struct os_affinity *affinity, bool elsewhere,
                           void *(*func)(void *), void *arg) {
  CHECK(thread == &pack.thread && affinity != NULL && !elsewhere && func == packer && arg == NULL);
  return starts.thread;
}

void __wrap_os_thread_join(pthread_t thread);
void __wrap_os_thread_join(pthread_t thread) {
  (void)thread;
  note(pack.runs && pack.ends == 0 ? "join one that works" : "join");
}

/* The packer works while its creator waits. */
int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline);
int __wrap_os_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline) {
  CHECK(word == &pack.state && expected == STARTING && deadline == UINT64_MAX);
  CHECK(packer(&world) == &world);
  return 0;
}

void __wrap_os_futex_wake(uint32_t *word, int count);
void __wrap_os_futex_wake(uint32_t *word, int count) {
  CHECK(word == &pack.state && *word != STARTING && count == 1);
  note("wakes");
}

/* ---- the library */

void __wrap_mt_descriptors_visit(void (*visit)(const struct mltp_thread *t, void *arg), void *arg);
void __wrap_mt_descriptors_visit(void (*visit)(const struct mltp_thread *t, void *arg), void *arg) {
  for (int i = 0; i < world.thread_count; i++) visit(&world.threads[i], arg);
  world.cpu_ns += world.visit_ns;
}

int __wrap_mt_stacks_part(uintptr_t at, uintptr_t *base, size_t *size);
int __wrap_mt_stacks_part(uintptr_t at, uintptr_t *base, size_t *size) {
  if (at < BASE || at >= BASE + PART_SIZE) return -1;
  *base = BASE;
  *size = PART_SIZE;
  return PART;
}

size_t __wrap_mt_stack_stride(int class_log2);
size_t __wrap_mt_stack_stride(int class_log2) { return (size_t)1 << class_log2; }

int __wrap_mt_stacks_commit(void *address, size_t size);
int __wrap_mt_stacks_commit(void *address, size_t size) {
  CHECK(address == stage && size == sizeof stage);
  return starts.commit;
}

int __real_mt_store_init(size_t most);
int __wrap_mt_store_init(size_t most);
int __wrap_mt_store_init(size_t most) {
  note("store:%zu", most / MIB);
  return starts.store != 0 ? starts.store : __real_mt_store_init(most);
}

/* ---- stages */

static inline void begin(void) {
  mt_store_free();
  memset(&pack, 0, sizeof pack);
  memset(&world, 0, sizeof world);
  memset(&starts, 0, sizeof starts);
  memset(stage, 0, sizeof stage);
  CHECK_EQUAL(__real_mt_store_init((size_t)16 * MIB), 0);
  pack.stage = stage;
  pack.faults = (struct os_faults){9, 9};
  world.fills_left = INT32_MAX;
  world.now = (uint64_t)1000 << MT_CLOCK_SHIFT;
  starts.limit = SIZE_MAX;
  starts.page_size = MT_PAGE;
  forks = moves = 0;
  mt_rt.stack_class = CLASS;
  mt_options.pack_ms = 100;
  mt_options.backend = MT_BACKEND_NATIVE;
  trace[0] = '\0';
}

/* The topmost pages of a stack are there. */
static inline void has_pages(int stack, int count, char byte) {
  for (int i = 0; i < count; i++) {
    struct page *page = page_at(top_of(stack) - (uintptr_t)i * MT_PAGE);
    page->there = true;
    page->byte = byte;
  }
}

/* The topmost pages of these stacks are packed. */
static inline void pack_stacks(int first, int count) {
  static alignas(MT_PAGE) char content[MT_PAGE];
  uint8_t code[MT_PAGE_CODE_MOST];
  make_content(content, 'c');
  size_t size = mt_page_encode(code, content);
  for (int i = first; i < first + count; i++) CHECK(mt_store_put(top_of(i), CLASS, code, size));
}

static inline bool is_packed(uintptr_t page) {
  unsigned tag;
  return mt_store_find(page, &tag) != NULL;
}

/* A thread touches the topmost page of a stack. @return how many pages came. */
static inline int touch(int stack) {
  world.fills = 0;
  world.touched[0] = top_of(stack) + 123;
  world.touched_count = 1;
  serve(0);
  return world.fills;
}

#endif
