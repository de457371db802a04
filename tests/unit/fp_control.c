/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point control: a thread's own with the attribute, its VP's without. */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>

#include "support/support.h"

enum { THREADS = 12 };

static const int modes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};

static mltp_lock_t lock = MLTP_LOCK_INIT;

static void give_way(int way) {
  switch (way % 4) {
    case 0: mltp_sleep(1); break;
    case 1:
      mltp_lock(&lock);
      mltp_yield();
      mltp_unlock(&lock);
      break;
    default: mltp_yield();
  }
}

/* What the hardware does, not what it was set to: 1/3 is not a binary number. In long double
 * x87 computes, else SSE. */
static int rounding_by_hand(void) {
  volatile double one = 1, minus_one = -1, three = 3;
  volatile long double long_one = 1, long_minus_one = -1, long_three = 3;
  volatile double up = one / three, down = minus_one / three;
  volatile long double long_up = long_one / long_three, long_down = long_minus_one / long_three;
  int sse = up == -down ? 0 : up > -down ? FE_UPWARD : FE_DOWNWARD;
  int x87 = long_up == -long_down ? 0 : long_up > -long_down ? FE_UPWARD : FE_DOWNWARD;
  CHECK_EQUAL(sse, x87);
  return sse;
}

static int by_hand(int mode) { return mode == FE_UPWARD || mode == FE_DOWNWARD ? mode : 0; }

static mltp_t *create(mltp_userf_t *func, void *arg, int bound) {
  mltp_attr_t attr = MLTP_ATTR_INIT;
  mltp_t *thread = NULL;
  attr.fp_control = 1;
  attr.bound = bound;
  CHECK_EQUAL(mltp_create(&thread, &attr, func, arg), 0);
  return thread;
}

static void *keep_mode(void *number) {
  const int mode = modes[(intptr_t)number % 4];
  CHECK_EQUAL(fegetround(), FE_TONEAREST);
  CHECK_EQUAL(fesetround(mode), 0);
  for (int i = 0; i < scaled(500); i++) {
    give_way(i);
    CHECK_EQUAL(fegetround(), mode);
    CHECK_EQUAL(rounding_by_hand(), by_hand(mode));
  }
  return NULL;
}

/* Has no control of its own, changes none, and never sees another thread's. */
static void *round_to_nearest(void *number) {
  (void)number;
  for (int i = 0; i < scaled(500); i++) {
    give_way(i);
    CHECK_EQUAL(fegetround(), FE_TONEAREST);
    CHECK_EQUAL(rounding_by_hand(), 0);
  }
  return NULL;
}

static void each_thread_keeps_its_rounding_mode(void) {
  mltp_t *threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    threads[i] = i % 3 == 0 ? spawn(round_to_nearest, NULL)
                            : create(keep_mode, (void *)i, i % 3 == 1 && i > THREADS / 2);
  round_to_nearest(NULL);
  for (int i = 0; i < THREADS; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  CHECK_EQUAL(fegetround(), FE_TONEAREST);
}

static void *mode_at_start(void *unused) {
  (void)unused;
  intptr_t found = fegetround();
  fesetround(FE_DOWNWARD); /* and ends like this: no other thread may inherit it */
  return (void *)found;
}

/* Creates one thread while it rounds differently, and tells how that one rounds. */
static void *create_upward(void *bound) {
  fesetround(FE_UPWARD);
  mltp_t *thread = create(mode_at_start, NULL, bound != NULL);
  fesetround(FE_TOWARDZERO);
  void *found = NULL;
  CHECK_EQUAL(mltp_join(thread, &found), 0);
  CHECK_EQUAL(fegetround(), FE_TOWARDZERO);
  return found;
}

static void a_thread_starts_with_its_creators(void) {
  for (intptr_t bound = 0; bound < 2; bound++) {
    check_case("%s", kind_names[bound]);
    for (int i = 0; i < 50; i++) {
      void *found = NULL;
      CHECK_EQUAL(mltp_join(create(create_upward, (void *)bound, 0), &found), 0);
      CHECK_EQUAL((intptr_t)found, FE_UPWARD);
    }
  }
  CHECK_EQUAL(fegetround(), FE_TONEAREST);
}

static void *unmask(void *unused) {
  CHECK(feenableexcept(FE_DIVBYZERO | FE_INVALID) >= 0);
  for (int i = 0; i < scaled(200); i++) {
    give_way(i);
    CHECK_EQUAL(fegetexcept(), FE_DIVBYZERO | FE_INVALID);
    volatile long double third = 1.0L / 3; /* x87, which raises what is pending */
    CHECK(third < 1);
  }
  return unused;
}

/* Divides by zero, which would be SIGFPE with the other's masks. */
static void *divide_by_zero(void *unused) {
  for (int i = 0; i < scaled(200); i++) {
    volatile double zero = 0, infinite = 1 / zero;
    volatile long double long_zero = 0, long_infinite = 1 / long_zero;
    CHECK(infinite > 0 && long_infinite > 0);
    give_way(i);
    CHECK_EQUAL(fegetexcept(), 0);
  }
  return unused;
}

static void exception_masks_belong_to_the_thread(void) {
  mltp_t *threads[] = {create(unmask, NULL, 0), spawn(divide_by_zero, NULL),
                       create(divide_by_zero, NULL, 0), create(unmask, NULL, 0)};
  for (int i = 0; i < 4; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
  CHECK_EQUAL(fegetexcept(), 0);
}

#if defined(__x86_64__)
static void raise_flag(int flag) {
  volatile double zero = 0, one = 1, huge = 1e308, result;
  switch (flag) {
    case FE_DIVBYZERO: result = one / zero; break;
    case FE_INVALID: result = zero / zero; break;
    case FE_OVERFLOW: result = huge * huge; break; /* and inexact */
    case FE_INEXACT: result = one / (one + one + one); break;
    default: result = one;
  }
  (void)result;
}

/* Some flags are kept in a thread's record, and others need none. */
static void *keep_flags(void *number) {
  const int flags[] = {0, FE_INEXACT, FE_DIVBYZERO, FE_OVERFLOW | FE_INEXACT, FE_INVALID};
  const int own = flags[(intptr_t)number % 5];
  for (int i = 0; i < scaled(500); i++) {
    feclearexcept(FE_ALL_EXCEPT);
    give_way(i);
    CHECK_EQUAL(fetestexcept(FE_ALL_EXCEPT), 0);
    raise_flag(own & ~(own & FE_OVERFLOW ? FE_INEXACT : 0));
    give_way(i + 1);
    CHECK_EQUAL(fetestexcept(FE_ALL_EXCEPT), own);
  }
  return NULL;
}

static void flags_of_sse_belong_to_the_thread(void) {
  mltp_t *threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++)
    threads[i] = i % 4 == 3 ? spawn(round_to_nearest, NULL) : create(keep_flags, (void *)i, 0);
  for (int i = 0; i < THREADS; i++) CHECK_EQUAL(mltp_join(threads[i], NULL), 0);
}
#endif

/* On aarch64 trapping is optional: many cores and qemu leave the bits at 0. */
static void test_if_exceptions_trap(void **state) {
  if (feenableexcept(FE_DIVBYZERO) < 0) {
    print_message("skipped: no floating-point exception traps on this processor\n");
    skip();
  }
  fedisableexcept(FE_DIVBYZERO);
  test_in_runtime(state);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(each_thread_keeps_its_rounding_mode),
      TEST(a_thread_starts_with_its_creators),
#if defined(__x86_64__) /* on aarch64 flags stay with the kernel thread */
      TEST(flags_of_sse_belong_to_the_thread),
#endif
      {"exception_masks_belong_to_the_thread", test_if_exceptions_trap, NULL, NULL,
       (void *)exception_masks_belong_to_the_thread},
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
