/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locales of ranks, call by call (src/tmpi/run/locales.c). libc's locales are lists of names here,
 * so that none has to be installed: which one a rank gets, what setlocale() says of it, which one
 * the kernel thread has, and that none is kept twice or lost.
 */
#include <langinfo.h>
#include <locale.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "captured.h"
#include "counted_blocks.h"
#include "internal_locks.h"
#include "overridden.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/working_directory.h"
#include "traced_calls.h"

enum { RANKS = 2, CATEGORIES = 13 /* of libc, LC_ALL included */, LOCALES = 60 };

static struct tm_program program = {.ranks = RANKS};
struct tm_program *tm_the_program = &program;
static struct tm_process process;
static struct tm_carried carried[RANKS];
static int rank;
static bool is_pthread;
static char **environment;

int tm_rank_number(void) { return rank; }
bool tm_on_pthread(void) { return is_pthread; }
struct tm_process *tm_process_self(void) { return &process; }
struct tm_carried *tm_carried(void) { return &carried[rank]; }
void tm_carry_hook(void) { note("hook"); }

char **tm_process_environment(const struct tm_process *of) {
  assert_ptr_equal(of, &process);
  return environment;
}

/* ---- libc */

static struct fake {
  bool used;
  char names[CATEGORIES][8];
} fakes[LOCALES];
static int made;      /* locales that are there */
static locale_t here; /* that the kernel thread has */

static struct fake *fake_of(locale_t locale) {
  struct fake *fake = (struct fake *)(void *)locale;
  assert_true(fake >= fakes && fake < fakes + LOCALES && fake->used);
  return fake;
}

static struct fake *fresh(void) {
  int i = 0;
  while (i < LOCALES && fakes[i].used) i++;
  assert_in_range(i, 0, LOCALES - 1);
  fakes[i].used = true;
  made++;
  return &fakes[i];
}

locale_t __wrap_newlocale(int mask, const char *name, locale_t base);
locale_t __wrap_newlocale(int mask, const char *name, locale_t base) {
  if (strcmp(name, "none") == 0) return NULL;
  struct fake *fake = base == NULL ? fresh() : fake_of(base);
  for (int i = 0; i < CATEGORIES; i++)
    if ((mask & 1 << i) != 0) snprintf(fake->names[i], sizeof fake->names[i], "%s", name);
  return (locale_t)(void *)fake;
}

locale_t __wrap_duplocale(locale_t base);
locale_t __wrap_duplocale(locale_t base) {
  struct fake *fake = fresh();
  for (int i = 0; i < CATEGORIES; i++)
    snprintf(fake->names[i], sizeof fake->names[i], "%s",
             base == LC_GLOBAL_LOCALE ? "g" : fake_of(base)->names[i]);
  return (locale_t)(void *)fake;
}

void __wrap_freelocale(locale_t locale);
void __wrap_freelocale(locale_t locale) {
  fake_of(locale)->used = false;
  made--;
}

locale_t __wrap_uselocale(locale_t locale);
locale_t __wrap_uselocale(locale_t locale) {
  locale_t before = here;
  if (locale != NULL) here = locale;
  note("use:%s", locale == LC_GLOBAL_LOCALE ? "global"
                 : locale == NULL           ? "?"
                                            : fake_of(locale)->names[LC_NUMERIC]);
  return before;
}

char *__wrap_nl_langinfo_l(nl_item item, locale_t locale);
char *__wrap_nl_langinfo_l(nl_item item, locale_t locale) {
  assert_int_equal(item, _NL_LOCALE_NAME(item >> 16));
  return fake_of(locale)->names[item >> 16];
}

char *__wrap_setlocale(int category, const char *name);
char *__wrap_setlocale(int category, const char *name) {
  note("libc:%d,%s", category, name != NULL ? name : "?");
  return process.name;
}

static struct lconv conventions = {.decimal_point = (char[]){","}};

struct lconv *__wrap_localeconv(void);
struct lconv *__wrap_localeconv(void) { return &conventions; }

/* ---- the calls of a rank's program */

#define CALL(name) ((__typeof__(name) *)overridden(tm_override_locales, #name))

static const char *set(int category, const char *name) {
  const char *said = CALL(setlocale)(category, name);
  return said != NULL ? said : "refused";
}

static locale_t global, other; /* as in the program */

static int start(void **state) {
  (void)state;
  rank = 0;
  program.ranks = RANKS;
  is_pthread = memory_is_out = false;
  memset(carried, 0, sizeof carried);
  environment = NULL;
  here = global = LC_GLOBAL_LOCALE;
  trace[0] = '\0';
  return 0;
}

/* ---- tests */

static void test_nothing_is_done_before_a_rank_has_one(void **state) {
  (void)state;
  tm_locale_apply(&carried[0], false);
  check_trace("");
  assert_ptr_equal(set(LC_NUMERIC, NULL), process.name);
  check_trace("libc:1,? ");
}

static void use_first(const void *unused) {
  (void)unused;
  CALL(uselocale)(newlocale(LC_ALL_MASK, "u", NULL));
  if (strcmp(trace, "hook use:u ") != 0) _exit(98);
}

static void test_the_first_one(void **state) {
  (void)state;
  char text[100];
  assert_true(captured_in_child(use_first, NULL, text, sizeof text)); /* by the other function */
  assert_string_equal(set(LC_ALL, "de"), "de");
  check_trace("hook use:de "); /* VPs follow from now on */
  assert_string_equal(set(LC_ALL, "fr"), "fr");
  check_trace("use:fr ");
  rank = 1;
  assert_ptr_equal(set(LC_ALL, NULL), process.name); /* the other rank has none */
  check_trace("libc:6,? ");
}

#define REST                                                                                       \
  ";LC_TIME=de;LC_COLLATE=de;LC_MONETARY=de;LC_MESSAGES=de;LC_PAPER=de;LC_NAME=de;LC_ADDRESS=de;"  \
  "LC_TELEPHONE=de;LC_MEASUREMENT=de;LC_IDENTIFICATION="

static void test_what_is_said_of_a_locale(void **state) {
  (void)state;
  set(LC_ALL, "de");
  assert_string_equal(set(LC_NUMERIC, "fr"), "fr");
  assert_string_equal(set(LC_CTYPE, NULL), "de");
  assert_string_equal(set(LC_ALL, NULL), "LC_CTYPE=de;LC_NUMERIC=fr" REST "de");
  assert_string_equal(set(LC_NUMERIC, "de"), "de");
  assert_string_equal(set(LC_ALL, NULL), "de");
  assert_string_equal(set(LC_IDENTIFICATION, "x"), "x");
  assert_string_equal(set(LC_ALL, NULL), "LC_CTYPE=de;LC_NUMERIC=de" REST "x");
  fake_of(carried[0].locale)->names[LC_PAPER][0] = '\0';
  assert_string_equal(set(LC_NUMERIC, "de"), "de");
  assert_string_equal(set(LC_PAPER, NULL), "C"); /* libc does not say it */
}

/* As one that nobody has set: as tmpirun's, but for the category. */
static void test_one_category(void **state) {
  (void)state;
  assert_string_equal(set(LC_TIME, "fr"), "fr");
  assert_string_equal(set(LC_CTYPE, NULL), "g");
  assert_string_equal(set(LC_TIME, NULL), "fr");
}

/* The address of a name stays right, and no locale is kept twice. */
static void test_locales_are_kept_once(void **state) {
  (void)state;
  const char *first = set(LC_ALL, "de");
  set(LC_ALL, "fr");
  int there = made, held = blocks;
  for (int i = 0; i < 3; i++) {
    rank = i % 2;
    assert_ptr_equal(set(LC_ALL, "de"), first);
    assert_string_equal(set(LC_ALL, "fr"), "fr");
    assert_string_equal(set(LC_ALL, "none"), "refused");
    assert_string_equal(set(LC_TIME, "none"), "refused");
    assert_string_equal(set(LC_ALL, NULL), "fr");
  }
  memory_is_out = true;
  assert_string_equal(set(LC_ALL, "de"), "refused");
  assert_int_equal(made, there);
  assert_int_equal(blocks, held);
}

static void test_names_from_the_environment(void **state) {
  (void)state;
  char *lists[][4] = {{(char[]){"LC_ALL=a"}, (char[]){"LC_TIME=t"}, (char[]){"LANG=l"}, NULL},
                      {(char[]){"LC_ALL="}, (char[]){"LC_TIME=t"}, (char[]){"LANG=l"}, NULL},
                      {(char[]){"LC_TIMES=x"}, (char[]){"LC_TIM=x"}, (char[]){"LANG=l"}, NULL},
                      {(char[]){"LC_TIME="}, (char[]){"LANG="}, (char[]){"LANGUAGE=x"}, NULL}};
  static const char *const names[] = {"a", "t", "l", "C", "C"};
  for (int i = 0; i < 5; i++) {
    environment = i < 4 ? lists[i] : NULL;
    assert_string_equal(set(LC_TIME, ""), names[i]);
  }
  environment = lists[1];
  assert_string_equal(set(LC_ALL, "de"), "de");
  assert_non_null(strstr(set(LC_ALL, ""), "LC_NUMERIC=l;LC_TIME=t;LC_COLLATE=l;"));
}

static void test_wrong_categories(void **state) {
  (void)state;
  assert_ptr_equal(set(13, "de"), process.name);
  assert_ptr_equal(set(-1, "de"), process.name);
  check_trace("libc:13,de libc:-1,de ");
  assert_null(carried[0].locale);
}

/* What a rank sets by uselocale() it may free: a handler of it gets that of setlocale(). */
static void test_locales_of_threads(void **state) {
  (void)state;
  other = newlocale(LC_ALL_MASK, "u", NULL);
  assert_ptr_equal(CALL(uselocale)(NULL), global);
  check_trace("");
  assert_ptr_equal(CALL(uselocale)(other), global);
  check_trace("use:u ");
  assert_ptr_equal(CALL(uselocale)(NULL), other);
  set(LC_ALL, "de");
  check_trace("use:u ");
  tm_locale_apply(&carried[0], true);
  tm_locale_apply(&carried[0], false);
  tm_locale_apply(&carried[1], false);
  check_trace("use:de use:u use:global ");
  is_pthread = true; /* it has its own, and its rank's of setlocale() */
  tm_locale_apply(&carried[0], false);
  assert_ptr_equal(CALL(uselocale)(NULL), global);
  assert_ptr_equal(CALL(uselocale)(other), global);
  check_trace("use:de use:u ");
  assert_ptr_equal(CALL(uselocale)(global), other);
  check_trace("use:de ");
  is_pthread = false;
  assert_ptr_equal(CALL(uselocale)(global), other);
  check_trace("use:de ");
  assert_ptr_equal(CALL(uselocale)(NULL), global);
  freelocale(other);
}

static void test_copies_of_the_rank_s(void **state) {
  (void)state;
  locale_t copy = CALL(duplocale)(global);
  assert_string_equal(fake_of(copy)->names[LC_TIME], "g");
  freelocale(copy);
  set(LC_ALL, "de");
  copy = CALL(duplocale)(global);
  assert_string_equal(fake_of(copy)->names[LC_TIME], "de");
  set(LC_ALL, "fr");
  locale_t second = CALL(duplocale)(copy);
  assert_string_equal(fake_of(second)->names[LC_TIME], "de");
  freelocale(copy);
  freelocale(second);
}

static void test_conventions_are_the_rank_s_own(void **state) {
  (void)state;
  struct lconv *own = CALL(localeconv)();
  assert_ptr_equal(own, &carried[0].conventions);
  assert_string_equal(own->decimal_point, ",");
  rank = 1;
  assert_ptr_equal(CALL(localeconv)(), &carried[1].conventions);
}

static void test_calls_of_no_rank_and_of_the_only_one(void **state) {
  (void)state;
  other = newlocale(LC_ALL_MASK, "u", NULL);
  for (int i = 0; i < 2; i++) {
    rank = i == 0 ? -1 : 0;
    program.ranks = i == 0 ? RANKS : 1;
    here = other;
    trace[0] = '\0';
    assert_ptr_equal(set(LC_ALL, "de"), process.name);
    assert_ptr_equal(CALL(uselocale)(global), other);
    assert_ptr_equal(CALL(localeconv)(), &conventions);
    check_trace("libc:6,de use:global ");
    locale_t copy = CALL(duplocale)(other);
    assert_string_equal(fake_of(copy)->names[LC_TIME], "u");
    freelocale(copy);
  }
  freelocale(other);
}

static int end(void **state) {
  (void)state;
  assert_int_equal(locked, 0);
  return 0;
}

int main(void) {
#define ROW(name) cmocka_unit_test_setup_teardown(name, start, end)
  const struct CMUnitTest tests[] = {
      ROW(test_nothing_is_done_before_a_rank_has_one), /* the first one */
      ROW(test_the_first_one),                         /* the second one */
      ROW(test_what_is_said_of_a_locale),
      ROW(test_one_category),
      ROW(test_locales_are_kept_once),
      ROW(test_names_from_the_environment),
      ROW(test_wrong_categories),
      ROW(test_locales_of_threads),
      ROW(test_copies_of_the_rank_s),
      ROW(test_conventions_are_the_rank_s_own),
      ROW(test_calls_of_no_rank_and_of_the_only_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
