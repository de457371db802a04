/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handlers of pthread_atfork() (src/tmpi/run/fork_handlers.c): a rank calls its own, in the order
 * that POSIX says, and handlers of libraries that ranks share are libc's. No internal lock is held
 * while they run, and a child takes none.
 */
#include "traced_calls.h"

#include <errno.h>
#include <stdbool.h>

#include "counted_blocks.h"
#include "internal_locks.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/run/fork_handlers.h"
#include "tmpi/run/process.h"

struct tm_program *tm_the_program;
static struct tm_process process, other, *caller;
static int object_rank; /* that has the code which registers; -1: none */
static bool is_child;

struct tm_process *tm_process_here(void) { return caller; }
bool tm_process_is_child(void) { return is_child; }

int tm_program_rank_of(const struct tm_program *of, const void *address) {
  assert_true(of == tm_the_program && address == &object_rank);
  return object_rank;
}

static int register_libc(void (*prepare)(void), void (*in_parent)(void), void (*in_child)(void),
                         void *of) {
  note("libc:%d%d%d", prepare != NULL, in_parent != NULL, in_child != NULL);
  assert_ptr_equal(of, &object_rank);
  return 66;
}

void *__wrap_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name) {
  int (*found)(void (*)(void), void (*)(void), void (*)(void), void *) = register_libc;
  assert_null(handle);
  note("dlsym:%s", name);
  return *(void **)&found;
}

/* ---- handlers */

#define HANDLER(name)                                                                              \
  static void name(void) {                                                                         \
    assert_int_equal(locked, 0);                                                                   \
    note(#name);                                                                                   \
  }
HANDLER(prepare_a)
HANDLER(parent_a)
HANDLER(child_a)
HANDLER(prepare_b)
HANDLER(parent_c)
HANDLER(child_c)

static int registers(void (*prepare)(void), void (*in_parent)(void), void (*in_child)(void)) {
  return ((int (*)(void (*)(void), void (*)(void), void (*)(void), void *))overridden(
      tm_override_forks, "__register_atfork"))(prepare, in_parent, in_child, &object_rank);
}

static void registers_more(void) {
  note("more");
  assert_int_equal(registers(prepare_b, NULL, NULL), 0);
}

/* The memory of handlers stays until the rank's is gone. */
static int start(void **state) {
  (void)state;
  process = other = (struct tm_process){0};
  caller = &process;
  object_rank = 2;
  is_child = memory_is_out = false;
  only_lock = NULL;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(locked, 0);
  while (process.at_fork.first != NULL) { /* the next one is its first word */
    void *first = process.at_fork.first;
    process.at_fork.first = *(struct tm_fork_handler **)first;
    __wrap_free(first);
  }
  assert_int_equal(blocks, 0);
  return 0;
}

static void test_the_order_of_handlers(void **state) {
  (void)state;
  assert_int_equal(registers(prepare_a, parent_a, child_a), 0);
  assert_int_equal(registers(prepare_b, NULL, NULL), 0);
  assert_int_equal(registers(NULL, parent_c, child_c), 0);
  tm_fork_prepare(&process);
  check_trace("prepare_b prepare_a ");
  tm_fork_in_parent(&process);
  check_trace("parent_a parent_c ");
  tm_fork_in_child(&process);
  check_trace("child_a child_c ");
  tm_fork_prepare(&other); /* which has none */
  tm_fork_in_parent(&other);
  tm_fork_in_child(&other);
  check_trace("");
}

static void test_a_handler_registers_another(void **state) {
  (void)state;
  assert_int_equal(registers(registers_more, registers_more, NULL), 0);
  tm_fork_prepare(&process);
  check_trace("more "); /* the new one comes before it */
  tm_fork_in_parent(&process);
  check_trace("more ");
  tm_fork_prepare(&process);
  check_trace("prepare_b prepare_b more ");
}

/* Another thread may have held the lock, which is not there any more. */
static void test_a_child_takes_no_lock(void **state) {
  static const uint32_t none = 0;
  (void)state;
  is_child = true;
  only_lock = &none;
  assert_int_equal(registers(prepare_a, parent_a, child_a), 0);
  tm_fork_prepare(&process);
  tm_fork_in_child(&process);
  check_trace("prepare_a child_a ");
}

static void test_no_memory(void **state) {
  (void)state;
  memory_is_out = true;
  assert_int_equal(registers(prepare_a, parent_a, child_a), ENOMEM);
  tm_fork_prepare(&process);
  check_trace("");
}

static void test_handlers_of_the_process(void **state) {
  (void)state;
  object_rank = -1;
  assert_int_equal(registers(prepare_a, NULL, child_a), 66);
  check_trace("dlsym:__register_atfork libc:101 ");
  object_rank = 0;
  assert_int_equal(registers(prepare_a, NULL, NULL), 0); /* rank 0 is one */
  caller = NULL;
  assert_int_equal(registers(NULL, parent_a, NULL), 66);
  check_trace("libc:010 ");
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, start, end)
  const struct CMUnitTest tests[] = {
      ROW(test_the_order_of_handlers),   ROW(test_a_handler_registers_another),
      ROW(test_a_child_takes_no_lock),   ROW(test_no_memory),
      ROW(test_handlers_of_the_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
