/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank has which pages (src/tmpi/run/mappings.c), without ranks: one thread plays them, and
 * no page is mapped. A plain array of owners is the model. After each call of a long random row
 * every page has the owner that the array says. Then single calls: what reaches the kernel, what is
 * said, and what happens without memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include "captured.h"
#include "os/pthreads.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/streams.h"
#include "traced_calls.h"

enum { RANKS = 3, NOBODY = 7 /* a rank without pages */, PAGES = 48, NONE = -1, KEY = 5 };

static struct tm_program program = {.ranks = 2 /* the least that share an address space */};
struct tm_program *tm_the_program = &program;
static int rank; /* the calling one */
static size_t page;
static char *const base = (char *)0x567000000000;

static __typeof__(mmap) *map_rank;
static __typeof__(munmap) *unmap_rank;
static __typeof__(mremap) *move_rank;
static __typeof__(shmat) *attach_rank;
static __typeof__(shmdt) *detach_rank;

static char *at(int number) { return base + (size_t)number * page; }
static int number_of(const void *address) {
  return address == NULL ? NONE : (int)(((const char *)address - base) / (ptrdiff_t)page);
}

/* ---- the rest of the library */

static int locked;

int mltp_lock(mltp_lock_t *lock) {
  assert_non_null(lock);
  assert_int_equal(locked++, 0);
  return 0;
}

int mltp_unlock(mltp_lock_t *lock) {
  assert_non_null(lock);
  assert_int_equal(--locked, 0);
  errno = EILSEQ; /* the caller may continue on another kernel thread */
  return 0;
}

int tm_rank_number(void) { return rank; }
int tm_streams_meant(int fd) { return fd + 100; }

void tm_set_errno(int error) {
  assert_int_equal(locked, 0);
  errno = error;
}

static char *stack; /* of the pthread that calls; NULL: libc cannot tell */
static bool has_bounds;

pthread_t os_pthread_self(void) { return 0; }

int os_pthread_getattr(pthread_t thread, pthread_attr_t *attr) {
  assert_int_equal(thread, 0);
  if (stack == NULL) return ENOMEM;
  return pthread_attr_init(attr);
}

int __wrap_pthread_attr_getstack(const pthread_attr_t *attr, void **low, size_t *size);
int __wrap_pthread_attr_getstack(const pthread_attr_t *attr, void **low, size_t *size) {
  assert_non_null(attr);
  *low = stack;
  *size = 2 * page;
  return has_bounds ? 0 : EINVAL;
}

int __wrap_pthread_attr_destroy(pthread_attr_t *attr);
int __wrap_pthread_attr_destroy(pthread_attr_t *attr) {
  assert_non_null(attr);
  note("destroyed");
  return 0;
}

static bool memory_is_out;

void *__real_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes) {
  return memory_is_out ? NULL : __real_realloc(block, bytes);
}

/* ---- the kernel: it does what it is asked for, or refuses it */

static int refusal;  /* errno of the next call; 0: it succeeds */
static char *chosen; /* what it gives to the next mapping */
static bool is_traced;

static bool refuses(void) {
  int error = refusal;
  refusal = 0;
  errno = error != 0 ? error : EILSEQ; /* success says nothing of errno */
  return error != 0;
}

void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset) {
  if (is_traced)
    note("mmap:%d,%d,%d,%x,%d,%d", number_of(address), (int)bytes, protection, (unsigned)flags, fd,
         (int)offset);
  if (refuses()) return MAP_FAILED;
  return (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) != 0 ? address : chosen;
}

int __wrap_munmap(void *address, size_t bytes);
int __wrap_munmap(void *address, size_t bytes) {
  if (is_traced) note("munmap:%d,%d", number_of(address), (int)bytes);
  return refuses() ? -1 : 0;
}

void *__wrap_mremap(void *from, size_t old_bytes, size_t bytes, int flags, ...);
void *__wrap_mremap(void *from, size_t old_bytes, size_t bytes, int flags, ...) {
  va_list list;
  va_start(list, flags);
  char *target = va_arg(list, char *);
  va_end(list);
  if (is_traced)
    note("mremap:%d,%d,%d,%x,%d", number_of(from), (int)old_bytes, (int)bytes, (unsigned)flags,
         number_of(target));
  if (refuses()) return MAP_FAILED;
  return (flags & MREMAP_FIXED) != 0 ? target : chosen;
}

static size_t segment_pages; /* of the segment; 0: there is none */

int __wrap_shmctl(int id, int command, struct shmid_ds *about);
int __wrap_shmctl(int id, int command, struct shmid_ds *about) {
  assert_true(id == KEY && command == IPC_STAT);
  about->shm_segsz = segment_pages * page - 1; /* the last page is not full */
  return segment_pages > 0 ? 0 : -1;
}

void *__wrap_shmat(int id, const void *address, int flags);
void *__wrap_shmat(int id, const void *address, int flags) {
  if (is_traced) note("shmat:%d,%d,%x", id, number_of(address), (unsigned)flags);
  if (refuses()) return MAP_FAILED;
  return address != NULL ? (void *)(uintptr_t)address : chosen;
}

int __wrap_shmdt(const void *address);
int __wrap_shmdt(const void *address) {
  if (is_traced) note("shmdt:%d", number_of(address));
  return refuses() ? -1 : 0;
}

/* ---- owners */

enum { FIXED = MAP_FIXED | MAP_PRIVATE, WHERE_FREE = MAP_FIXED_NOREPLACE | MAP_PRIVATE };

static void *map_as(int caller, int flags, int first, int end) {
  rank = caller;
  return map_rank(at(first), (size_t)(end - first) * page, PROT_READ, flags, -1, 0);
}

/* @return whether a rank may have the page. The kernel refuses it then, so nothing changes. */
static bool is_open_to(int caller, int number) {
  refusal = ENOTSUP;
  void *got = map_as(caller, WHERE_FREE, number, number + 1);
  assert_ptr_equal(got, MAP_FAILED);
  refusal = 0;
  assert_true(errno == ENOTSUP || errno == EEXIST || (memory_is_out && errno == ENOMEM));
  return errno != EEXIST;
}

static int owner_of(int number) {
  if (is_open_to(NOBODY, number)) return NONE;
  int owner = 0;
  while (owner < RANKS && !is_open_to(owner, number)) owner++;
  assert_in_range(owner, 0, RANKS - 1);
  return owner;
}

static int model[PAGES];
static char text[2000]; /* that calls have printed */

static void set_model(int first, int end, int owner) {
  for (int i = first; i < end; i++) model[i] = owner;
}

static bool has_other(int first, int end, int caller) {
  bool found = false;
  for (int i = first; i < end; i++) found |= model[i] != NONE && model[i] != caller;
  return found;
}

static void check_owners(void) {
  int caller = rank;
  for (int i = 0; i < PAGES; i++) assert_int_equal(owner_of(i), model[i]);
  rank = caller;
}

static void give_all_back(void) {
  rank = 0;
  assert_int_equal(unmap_rank(base, PAGES * page), 0);
  set_model(0, PAGES, NONE);
  check_owners();
}

/* ---- a random row */

static uint32_t seed;

static int random_below(int end) {
  seed = seed * 1664525 + 1013904223;
  return (int)((uint64_t)(seed >> 8) * (uint32_t)end >> 24);
}

static void map_some(int caller, int first, int end) {
  bool refused = has_other(first, end, caller);
  void *got = map_as(caller, WHERE_FREE, first, end);
  if (refused) {
    assert_true(got == MAP_FAILED && errno == EEXIST);
    return;
  }
  assert_ptr_equal(got, at(first));
  set_model(first, end, caller);
}

static void unmap_some(int caller, int first, int end) {
  rank = caller;
  assert_int_equal(unmap_rank(at(first), (size_t)(end - first) * page), 0);
  set_model(first, end, NONE);
}

/* The kernel chooses pages that are free, whatever the table has there. */
static void map_anywhere(int caller, int first, int end) {
  rank = caller;
  chosen = at(first);
  assert_ptr_equal(map_rank(NULL, (size_t)(end - first) * page, PROT_READ, MAP_PRIVATE, -1, 0),
                   chosen);
  set_model(first, end, NONE);
}

/* Moves as many pages elsewhere; they may stay. */
static void move_some(int caller, int first, int end) {
  int count = end - first, to = random_below(PAGES - count + 1), way = random_below(3);
  bool overlaps = to < end && first < to + count;
  if (overlaps) return; /* the kernel refuses it */
  rank = caller;
  chosen = at(to);
  int flags = MREMAP_MAYMOVE | (way == 1 ? MREMAP_FIXED : way == 2 ? MREMAP_DONTUNMAP : 0);
  size_t bytes = (size_t)count * page;
  struct captured moves = captured_begin();
  void *got = move_rank(at(first), bytes, bytes, flags, way == 1 ? at(to) : NULL);
  captured_end(&moves, text, sizeof text);
  if (way == 1 && has_other(to, to + count, caller)) {
    assert_true(got == MAP_FAILED && errno == EEXIST);
    return;
  }
  assert_ptr_equal(got, at(to));
  if (way != 2) set_model(first, end, NONE);
  set_model(to, to + count, way == 1 ? caller : NONE);
}

/* Grows or shrinks where it is. */
static void resize_some(int caller, int first, int end) {
  int other = first + 1 + random_below(PAGES - first);
  rank = caller;
  chosen = at(first);
  assert_ptr_equal(move_rank(at(first), (size_t)(end - first) * page,
                             (size_t)(other - first) * page, MREMAP_MAYMOVE),
                   at(first));
  set_model(end < other ? end : other, end < other ? other : end, NONE);
}

static void attach_some(int caller, int first, int end) {
  rank = caller;
  segment_pages = (size_t)(end - first);
  bool refused = has_other(first, end, caller);
  void *got = attach_rank(KEY, at(first), 0);
  if (refused) {
    assert_true(got == MAP_FAILED && errno == EINVAL);
    return;
  }
  assert_ptr_equal(got, at(first));
  set_model(first, end, caller);
  if (random_below(2) == 0) return; /* another mapping takes its place, or another segment */
  assert_int_equal(detach_rank(at(first)), 0);
  set_model(first, end, NONE);
}

static void test_each_page_has_the_owner_of_a_plain_list(void **state) {
  static void (*const calls[])(int, int, int) = {map_some,  map_some,    map_some,    unmap_some,
                                                 move_some, resize_some, attach_some, map_anywhere};
  (void)state;
  set_model(0, PAGES, NONE);
  for (int row = 0; row < 10; row++) {
    for (int i = 0; i < 60; i++) {
      int first = random_below(PAGES), most = 1 + random_below(row % 2 == 0 ? 3 : 12),
          end = first + most < PAGES ? first + most : PAGES;
      calls[random_below(sizeof calls / sizeof calls[0])](random_below(RANKS), first, end);
      check_owners();
    }
    give_all_back();
  }
}

static void test_a_segment_leaves_its_place_with_the_last_call(void **state) {
  (void)state;
  for (int i = 0; i < 40; i++) { /* more than the list of them has room for at first */
    segment_pages = i % 3 == 0 ? 1 : 2;
    rank = 1;
    assert_ptr_equal(attach_rank(KEY, at(40 - i), SHM_REMAP), at(40 - i));
  }
  for (int i = 0; i < 40; i += 3) assert_int_equal(detach_rank(at(40 - i)), 0);
  for (int i = 1; i < 40; i++)
    if (i % 3 != 0) assert_int_equal(detach_rank(at(40 - i)), 0);
  check_owners();
  assert_int_equal(map_as(2, FIXED, 40, 41) == at(40), 1);
  refusal = EINVAL;
  assert_int_equal(detach_rank(at(40)), -1); /* no segment any more: the page stays rank 2's */
  assert_int_equal(errno, EINVAL);
  assert_int_equal(owner_of(40), 2);
  segment_pages = 2;
  rank = 1;
  assert_ptr_equal(attach_rank(KEY, at(20), 0), at(20));
  assert_int_equal(detach_rank(at(20)), 0);
  segment_pages = 1;
  chosen = at(20); /* the next one is smaller, and beside another mapping */
  assert_ptr_equal(attach_rank(KEY, NULL, 0), at(20));
  map_as(1, FIXED, 21, 22);
  assert_int_equal(detach_rank(at(20)), 0);
  assert_int_equal(owner_of(21), 1);
  give_all_back();
}

/* ---- single calls */

/* A mapping that the kernel places there takes the page over. */
static void test_the_first_range_of_a_program_may_come_from_a_move(void **state) {
  (void)state;
  rank = 1;
  assert_ptr_equal(move_rank(at(2), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(4)), at(4));
  chosen = at(4);
  assert_ptr_equal(map_rank(NULL, page, PROT_READ, MAP_PRIVATE, -1, 0), at(4));
  set_model(0, PAGES, NONE);
  check_owners();
}

static void test_a_byte_of_a_page_is_the_page(void **state) {
  (void)state;
  rank = 1;
  assert_ptr_equal(map_rank(at(3), 1, PROT_READ, FIXED, -1, 0), at(3));
  assert_ptr_equal(map_rank(at(6), page + 1, PROT_READ, FIXED, -1, 0), at(6));
  model[3] = model[6] = model[7] = 1;
  check_owners();
  assert_int_equal(unmap_rank(at(6), 1), 0);
  model[6] = NONE;
  check_owners();
  give_all_back();
}

static void test_calls_reach_the_kernel_as_they_are(void **state) {
  (void)state;
  is_traced = true;
  rank = 1;
  assert_ptr_equal(map_rank(at(1), 3, PROT_EXEC, FIXED, 9, 12288), at(1));
  check_trace("mmap:1,3,4,12,109,12288 ");
  chosen = at(5);
  assert_ptr_equal(map_rank(at(1), 3, PROT_EXEC, MAP_SHARED, 9, 4096), at(5));
  check_trace("mmap:1,3,4,1,109,4096 ");
  refusal = EINVAL;
  assert_ptr_equal(map_rank(at(1) + 1, 3, PROT_EXEC, FIXED, 9, 0), MAP_FAILED);
  assert_int_equal(errno, EINVAL);
  check_trace("mmap:1,3,4,12,109,0 ");
  refusal = EACCES;
  assert_ptr_equal(map_rank(at(3), page, PROT_READ, FIXED, 9, 0), MAP_FAILED);
  assert_int_equal(errno, EACCES);
  assert_int_equal(unmap_rank(at(1), 7), 0);
  refusal = EPERM;
  assert_int_equal(unmap_rank(at(2), 8), -1);
  assert_int_equal(errno, EPERM);
  trace[0] = '\0';
  chosen = at(9);
  assert_ptr_equal(move_rank(at(2), 7, 8, MREMAP_MAYMOVE), at(9));
  check_trace("mremap:2,7,8,1,-1 ");
  assert_ptr_equal(move_rank(at(2), 7, 8, MREMAP_MAYMOVE | MREMAP_FIXED, at(4)), at(4));
  check_trace("mremap:2,7,8,3,4 ");
  assert_ptr_equal(move_rank(at(2), 7, 7, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, at(3)), at(9));
  check_trace("mremap:2,7,7,5,3 ");
  refusal = EFAULT;
  assert_ptr_equal(move_rank(at(2), 7, 8, 0), MAP_FAILED);
  assert_int_equal(errno, EFAULT);
  trace[0] = '\0';
  segment_pages = 1;
  assert_ptr_equal(attach_rank(KEY, at(20) + 5, SHM_RND | SHM_REMAP), at(20));
  assert_ptr_equal(attach_rank(KEY, NULL, SHM_RDONLY), at(9));
  rank = 2; /* no rank has the address NULL */
  assert_ptr_equal(attach_rank(KEY, NULL, SHM_RDONLY), at(9));
  rank = 1;
  assert_int_equal(detach_rank(at(20)), 0);
  check_trace("shmat:5,20,6000 shmat:5,-1,1000 shmat:5,-1,1000 shmdt:20 ");
  assert_ptr_equal(attach_rank(KEY, at(20) + 5, 0), at(20) + 5);
  trace[0] = '\0';
  segment_pages = 0; /* whose size is not known */
  assert_ptr_equal(attach_rank(KEY, at(20) + 5, SHM_RND), at(20) + 5);
  check_trace("shmat:5,20,2000 ");
  give_all_back();
}

/* Nothing is noted of a call that failed, and nothing of it leaves its place. */
static void test_calls_that_the_kernel_refuses(void **state) {
  (void)state;
  map_as(1, FIXED, 4, 8);
  set_model(4, 8, 1);
  refusal = ENOMEM;
  assert_ptr_equal(map_as(1, FIXED, 10, 11), MAP_FAILED);
  refusal = ENOMEM;
  assert_int_equal(unmap_rank(at(4), page), -1);
  refusal = ENOMEM;
  assert_ptr_equal(move_rank(at(4), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(10)), MAP_FAILED);
  refusal = ENOMEM;
  assert_ptr_equal(map_rank(at(4), page, PROT_READ, MAP_PRIVATE, -1, 0), MAP_FAILED);
  segment_pages = 1;
  refusal = ENOMEM;
  assert_ptr_equal(attach_rank(KEY, at(10), SHM_REMAP), MAP_FAILED);
  check_owners();
  assert_ptr_equal(attach_rank(KEY, at(10), SHM_REMAP), at(10));
  model[10] = 1;
  refusal = EIDRM;
  assert_int_equal(detach_rank(at(10)), -1);
  assert_int_equal(errno, EIDRM);
  check_owners();
  assert_int_equal(detach_rank(at(10)), 0);
  model[10] = NONE;
  check_owners();
  give_all_back();
}

static struct captured captured;
/* Checks what was printed since captured_begin(). call: NULL: nothing. */
static void check_said(const void *got, const char *call, int where) {
  char expected[400] = "";
  captured_end(&captured, text, sizeof text);
  assert_ptr_equal(got, MAP_FAILED);
  if (call != NULL)
    snprintf(expected, sizeof expected,
             "tmpi: rank 2: %s at %p, where rank 0 has mapped memory: all ranks have one address "
             "space, so the call fails (let the kernel choose the address)\n",
             call, (void *)at(where));
  assert_string_equal(text, expected);
}

/* A program that asks whether the place is free gets its answer and no message. */
static void test_calls_that_would_replace_memory_of_others_say_so(void **state) {
  (void)state;
  map_as(0, FIXED, 4, 8);
  segment_pages = 2;
  captured = captured_begin();
  check_said(map_as(2, FIXED, 7, 9), "mmap: MAP_FIXED", 7);
  captured = captured_begin();
  check_said(attach_rank(KEY, at(3) + 2, SHM_REMAP | SHM_RND), "shmat: SHM_REMAP", 3);
  captured = captured_begin();
  check_said(move_rank(at(20), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(4)),
             "mremap: MREMAP_FIXED", 4);
  captured = captured_begin();
  check_said(map_as(2, WHERE_FREE, 4, 5), NULL, 0);
  captured = captured_begin();
  check_said(attach_rank(KEY, at(4), 0), NULL, 0);
  give_all_back();
}

/* A pthread of rank 2 gets a stack in which rank 1 has mapped a guard. */
static void test_a_new_pthread_owns_its_stack(void **state) {
  (void)state;
  map_as(1, FIXED, 4, 8);
  set_model(4, 8, 1);
  rank = 2;
  stack = NULL;
  tm_mappings_start_pthread();
  stack = at(5);
  has_bounds = false;
  tm_mappings_start_pthread();
  check_trace("destroyed ");
  check_owners();
  has_bounds = true;
  tm_mappings_start_pthread();
  check_trace("destroyed ");
  set_model(5, 7, NONE);
  check_owners();
  give_all_back();
}

/* Where one rank runs, or the caller belongs to none, calls are the kernel's. */
static void test_calls_of_no_rank_and_of_the_only_one(void **state) {
  (void)state;
  map_as(1, FIXED, 0, PAGES);
  set_model(0, PAGES, 1);
  segment_pages = 1;
  for (int i = 0; i < 2; i++) {
    rank = i == 0 ? -1 : 0;
    program.ranks = i == 0 ? 2 : 1;
    chosen = stack = at(1);
    assert_ptr_equal(map_rank(at(2), page, PROT_READ, FIXED, -1, 0), at(2));
    assert_ptr_equal(map_rank(NULL, page, PROT_READ, MAP_PRIVATE, -1, 0), at(1));
    assert_int_equal(unmap_rank(at(3), page), 0);
    assert_ptr_equal(move_rank(at(4), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(5)), at(5));
    assert_ptr_equal(attach_rank(KEY, at(6) + 1, SHM_RND), at(6) + 1);
    assert_int_equal(detach_rank(at(7)), 0);
    tm_mappings_start_pthread();
    program.ranks = 2;
    check_owners();
  }
  give_all_back();
}

/* Each second page, as many as the list has room for: the next range needs more. */
static void fill_list(void) {
  int count = 0;
  memory_is_out = false;
  assert_ptr_equal(map_as(1, FIXED, 0, 1), at(0));
  memory_is_out = true;
  while (map_as(1, FIXED, 2 * count, 2 * count + 1) != MAP_FAILED) count++;
  assert_int_equal(errno, ENOMEM);
  assert_true(count > 2 && 2 * count < PAGES);
  for (int i = 0; i < PAGES; i++) model[i] = i < 2 * count && i % 2 == 0 ? 1 : NONE;
  check_owners();
}

/* Nothing of another rank is replaced: a call fails, or a range that has left stays in the list. */
static void test_no_memory_for_the_list(void **state) {
  (void)state;
  is_traced = true;
  fill_list();
  rank = 2;
  trace[0] = '\0';
  segment_pages = 1;
  assert_ptr_equal(move_rank(at(40), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(42)),
                   MAP_FAILED);
  assert_int_equal(errno, ENOMEM);
  assert_ptr_equal(attach_rank(KEY, at(44), 0), MAP_FAILED);
  assert_int_equal(errno, ENOMEM);
  check_trace(""); /* the kernel was not asked */
  is_traced = false;
  assert_int_equal(unmap_rank(at(2), page), 0);
  chosen = at(4);
  assert_ptr_equal(map_rank(NULL, page, PROT_READ, MAP_PRIVATE, -1, 0), chosen);
  chosen = at(41);
  assert_ptr_equal(move_rank(at(6), page, page, MREMAP_MAYMOVE), chosen);
  assert_ptr_equal(move_rank(at(6), page, page, MREMAP_MAYMOVE | MREMAP_FIXED, at(8)), MAP_FAILED);
  check_owners();
  memory_is_out = false;
  give_all_back();
}

static int start(void **state) {
  (void)state;
  is_traced = false;
  trace[0] = '\0';
  return 0;
}

static void find_functions(void) {
  const struct tm_override *table = tm_override_mappings;
  page = (size_t)sysconf(_SC_PAGESIZE);
  map_rank = (__typeof__(mmap) *)overridden(table, "mmap");
  assert_ptr_equal((__typeof__(mmap) *)overridden(table, "mmap64"), map_rank);
  unmap_rank = (__typeof__(munmap) *)overridden(table, "munmap");
  move_rank = (__typeof__(mremap) *)overridden(table, "mremap");
  attach_rank = (__typeof__(shmat) *)overridden(table, "shmat");
  detach_rank = (__typeof__(shmdt) *)overridden(table, "shmdt");
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup(name, start)
  const struct CMUnitTest tests[] = {
      ROW(test_the_first_range_of_a_program_may_come_from_a_move), /* the first one */
      ROW(test_no_memory_for_the_list), /* early: the list never becomes smaller */
      ROW(test_a_byte_of_a_page_is_the_page),
      ROW(test_each_page_has_the_owner_of_a_plain_list),
      ROW(test_a_segment_leaves_its_place_with_the_last_call),
      ROW(test_calls_reach_the_kernel_as_they_are),
      ROW(test_calls_that_the_kernel_refuses),
      ROW(test_calls_that_would_replace_memory_of_others_say_so),
      ROW(test_a_new_pthread_owns_its_stack),
      ROW(test_calls_of_no_rank_and_of_the_only_one),
  };
  find_functions();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
