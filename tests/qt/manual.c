/* SPDX-License-Identifier: Apache-2.0 */
/* What the manual of QuickThreads promises: how threads start, what a helper gets, where it runs,
 * what QT_BLOCK() returns, and that a thread finds all as it left it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <qt.h>

enum { STACK = 64 << 10 };

static char *stack;
static qt_t *main_sp, *thread_sp;

static bool on_stack(const void *address) {
  return (const char *)address >= stack && (const char *)address < stack + STACK;
}

static int set_up(void **state) {
  (void)state;
  stack = aligned_alloc(QT_STKALIGN, QT_STKROUNDUP(STACK));
  return stack == NULL;
}

static int tear_down(void **state) {
  (void)state;
  free(stack);
  return 0;
}

/* Stores the suspended thread in the variable that a1 points to; returns a0. */
static void *note(qt_t *old, void *a0, void *a1) {
  *(qt_t **)a1 = old;
  return a0;
}

/* The same, and looks where it runs: a0. */
static void *note_and_look(qt_t *old, void *a0, void *a1) {
  *(bool *)a0 = on_stack(__builtin_frame_address(0));
  *(qt_t **)a1 = old;
  return a0;
}

/* ---- one argument */

static struct {
  void *pu, *pt, *result;
  qt_userf_t *userf;
  bool on_stack;
} seen;

static void *user(void *pu) {
  seen.on_stack = on_stack(__builtin_frame_address(0));
  return (char *)pu + 1;
}

static void only(void *pu, void *pt, qt_userf_t *userf) {
  seen.pu = pu;
  seen.pt = pt;
  seen.userf = userf;
  seen.result = userf(pu);
  QT_ABORT(note, NULL, &thread_sp, main_sp);
}

static void a_thread_starts_with_its_three_pointers(void **state) {
  (void)state;
  char argument[2], package;
  bool helper_on_new_stack = false;
  qt_t *sp = QT_ARGS(QT_SP(stack, STACK), argument, &package, user, only);
  assert_true(on_stack(sp));
  QT_BLOCK(note_and_look, &helper_on_new_stack, &main_sp, sp);
  assert_ptr_equal(seen.pu, argument);
  assert_ptr_equal(seen.pt, &package);
  assert_true(seen.userf == user);
  assert_ptr_equal(seen.result, argument + 1);
  assert_true(seen.on_stack);
  assert_true(helper_on_new_stack);
  assert_false(on_stack(main_sp)); /* the one that was suspended is main */
  assert_true(on_stack(thread_sp));
}

static void it_takes_no_more_than_the_promised_bytes(void **state) {
  (void)state;
  memset(stack, 0x5a, STACK);
  QT_ARGS(QT_SP(stack, STACK), NULL, NULL, user, only);
  for (int i = 0; i < STACK - QT_STKBASE; i++) assert_int_equal(stack[i], 0x5a);
}

/* ---- back and forth */

static void echo(void *pu, void *pt, qt_userf_t *userf) {
  (void)pt, (void)userf;
  char *value = pu;
  while (value != NULL) value = QT_BLOCK(note, value + 1, &thread_sp, main_sp);
  QT_ABORT(note, stack, &thread_sp, main_sp);
}

static void block_returns_what_the_helper_of_the_other_returned(void **state) {
  (void)state;
  char text[100];
  qt_t *sp = QT_ARGS(QT_SP(stack, STACK), &text[10], NULL, user, echo);
  assert_ptr_equal(QT_BLOCK(note, NULL, &main_sp, sp), &text[11]);
  for (int i = 20; i < 30; i++)
    assert_ptr_equal(QT_BLOCKI(note, &text[i], &main_sp, thread_sp), &text[i + 1]);
  assert_ptr_equal(QT_BLOCK(note, NULL, &main_sp, thread_sp), stack);
}

/* Enough values that the compiler keeps some in every register that calls preserve. from: where
 * the thread on the caller's stack is noted; to: the other; NULL: there is none. */
static double busy(double by, qt_t **from, qt_t **to) {
  double a = by, b = by * 2, c = by * 3, d = by * 4, e = by * 5, f = by * 6, g = by * 7, h = by * 8;
  long i = (long)by, j = i + 1, k = i + 2, l = i + 3, m = i + 4, n = i + 5;
  for (int turn = 0; turn < 10; turn++) {
    if (to != NULL) QT_BLOCK(note, NULL, from, *to);
    a += by, b += a, c += b, d += c, e += d, f += e, g += f, h += g;
    i += j, j += k, k += l, l += m, m += n, n += i;
  }
  return a + b + c + d + e + f + g + h + (double)(i + j + k + l + m + n);
}

static void be_busy(void *pu, void *pt, qt_userf_t *userf) {
  (void)pt, (void)userf;
  *(double *)pu = busy(-3, &thread_sp, &main_sp);
  QT_ABORT(note, NULL, &thread_sp, main_sp);
}

static void registers_are_each_threads_own(void **state) {
  (void)state;
  double theirs = 0;
  thread_sp = QT_ARGS(QT_SP(stack, STACK), &theirs, NULL, user, be_busy);
  double ours = busy(3, &main_sp, &thread_sp);
  QT_BLOCK(note, NULL, &main_sp, thread_sp);
  assert_true(ours == busy(3, NULL, NULL));
  assert_true(theirs == busy(-3, NULL, NULL));
}

/* ---- any arguments */

static struct {
  int integers[10];
  double doubles[9];
  void *pointer, *started, *cleaned, *result;
} got;

static void startup(void *pt) { got.started = pt; }

static void *vuser(int arg0, ...) {
  va_list list;
  va_start(list, arg0);
  got.integers[0] = arg0;
  for (int i = 1; i < 10; i++) got.integers[i] = va_arg(list, int);
  for (int i = 0; i < 8; i++) got.doubles[i] = va_arg(list, double);
  got.pointer = va_arg(list, void *);
  va_end(list);
  return &got;
}

static void cleanup(void *pt, void *result) {
  got.cleaned = pt;
  got.result = result;
  QT_ABORT(note, NULL, &thread_sp, main_sp);
}

static qt_t *make(void *pt, int nbytes, ...) {
  va_list list;
  va_start(list, nbytes);
  qt_t *sp = QT_VARGS(QT_SP(stack, STACK), nbytes, list, pt, startup, vuser, cleanup);
  va_end(list);
  return sp;
}

static void any_arguments_arrive_between_startup_and_cleanup(void **state) {
  (void)state;
  int package;
  qt_t *sp = make(&package, 19 * 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5,
                  7.5, (void *)stack);
  QT_BLOCK(note, NULL, &main_sp, sp);
  for (int i = 0; i < 10; i++) assert_int_equal(got.integers[i], i);
  for (int i = 0; i < 8; i++) assert_true(got.doubles[i] == i + 0.5);
  assert_ptr_equal(got.pointer, stack);
  assert_ptr_equal(got.started, &package);
  assert_ptr_equal(got.cleaned, &package);
  assert_ptr_equal(got.result, &got);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_thread_starts_with_its_three_pointers, set_up, tear_down),
      cmocka_unit_test_setup_teardown(it_takes_no_more_than_the_promised_bytes, set_up, tear_down),
      cmocka_unit_test_setup_teardown(block_returns_what_the_helper_of_the_other_returned, set_up,
                                      tear_down),
      cmocka_unit_test_setup_teardown(registers_are_each_threads_own, set_up, tear_down),
      cmocka_unit_test_setup_teardown(any_arguments_arrive_between_startup_and_cleanup, set_up,
                                      tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
