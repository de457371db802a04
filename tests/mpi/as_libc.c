/* SPDX-License-Identifier: Apache-2.0 */
/* What each rank has of its own in place of libc's (src/tmpi/private), linked into this program:
 * the same results as libc's, call by call. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <getopt.h>
#include <locale.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include <cmocka.h>

/* Libc's function of that name, behind ours. */
#define LIBC(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* ---- random numbers */

static void random_numbers_are_the_same(void **state) {
  (void)state;
  char ours[256], theirs[256];
  assert_int_equal(random(), LIBC(random)()); /* without a seed */
  for (unsigned seed = 0; seed < 100; seed++) {
    srandom(seed);
    LIBC(srandom)(seed);
    for (int i = 0; i < 50; i++) assert_int_equal(random(), LIBC(random)());
    srand(seed);
    LIBC(srand)(seed);
    for (int i = 0; i < 50; i++) assert_int_equal(rand(), LIBC(rand)());
  }
  for (size_t size = 8; size <= sizeof ours; size *= 2) {
    char *our_old = initstate(7, ours, size), *their_old = LIBC(initstate)(7, theirs, size);
    assert_int_equal(random(), LIBC(random)());
    assert_ptr_equal(setstate(our_old), ours);
    assert_ptr_equal(LIBC(setstate)(their_old), theirs);
    assert_int_equal(random(), LIBC(random)());
  }
  assert_null(initstate(7, ours, 4));
  assert_null(LIBC(initstate)(7, theirs, 4));
}

static void numbers_of_48_bits_are_the_same(void **state) {
  (void)state;
  unsigned short ours[3] = {1, 2, 3}, theirs[3] = {1, 2, 3}, seed[3] = {9, 8, 7};
  unsigned short parameters[7] = {1, 2, 3, 4, 5, 6, 7};
  assert_true(drand48() == LIBC(drand48)());
  for (long start = -3; start < 100; start++) {
    srand48(start);
    LIBC(srand48)(start);
    assert_true(drand48() == LIBC(drand48)() && erand48(ours) == LIBC(erand48)(theirs));
    assert_int_equal(lrand48(), LIBC(lrand48)());
    assert_int_equal(mrand48(), LIBC(mrand48)());
    assert_int_equal(nrand48(ours), LIBC(nrand48)(theirs));
    assert_int_equal(jrand48(ours), LIBC(jrand48)(theirs));
  }
  assert_memory_equal(seed48(seed), LIBC(seed48)(seed), sizeof seed);
  assert_int_equal(lrand48(), LIBC(lrand48)());
  lcong48(parameters);
  LIBC(lcong48)(parameters);
  assert_int_equal(lrand48(), LIBC(lrand48)());
}

/* ---- options: random ones */

struct given {
  int values[64], count;
  char arguments[64][16];
  char *words[16]; /* in the order they are left in */
  char said[500];
};

static int flag;
static const struct option longs[] = {
    {"size", required_argument, NULL, 's'},  {"loud", no_argument, &flag, 7},
    {"level", optional_argument, NULL, 'e'}, {"lever", optional_argument, NULL, 'e'},
    {"b", no_argument, NULL, 'B'},           {NULL, 0, NULL, 0}};

typedef int getopt_function(int, char *const[], const char *);
typedef int getopt_long_function(int, char *const[], const char *, const struct option *, int *);

static void add(struct given *given, int value) { given->values[given->count++] = value; }

/* Goes through all words; NULL: the plain function, else that of long options. */
static void parse(struct given *given, int argc, const char *shorts, getopt_function *plain,
                  getopt_long_function *with_longs) {
  size_t size;
  char *said = NULL;
  FILE *before = stderr;
  optind = 0;
  optopt = -1;
  stderr = open_memstream(&said, &size);
  for (int value = 0; value != -1 && given->count < 59;) {
    int index = -1;
    flag = 0;
    value = with_longs != NULL ? with_longs(argc, given->words, shorts, longs, &index)
                               : plain(argc, given->words, shorts);
    snprintf(given->arguments[given->count], sizeof given->arguments[0], "%s",
             optarg != NULL ? optarg : "(none)");
    add(given, value);
    add(given, optind);
    add(given, index);
    add(given, flag);
    add(given, value == '?' || value == ':' ? optopt : 0);
  }
  fclose(stderr);
  stderr = before;
  snprintf(given->said, sizeof given->said, "%s", said);
  free(said);
  for (char *s = given->said; (s = strstr(s, "; possibilities")) != NULL;) /* we do not list them */
    memmove(s, strchr(s, '\n'), strlen(strchr(s, '\n')) + 1);
}

static void options_are_found_alike(void **state) {
  (void)state;
  static char words[][8] = {"-a",      "-b",     "-ab",   "-n",      "-n5",     "5",   "--",
                            "-",       "word",   "--b",   "--size",  "--siz=3", "--s", "--loud",
                            "--loud=", "--lev",  "--l",   "--level", "-x",      "-:",  "-level",
                            "-loud",   "-size",  "-s=1",  "--nope",  "-c",      "-cx", "-;",
                            "",        "--leve", "-abn7", "other"};
  static const char *const shorts[] = {"abn:", "+abn:", "-abn:c::", ":abn:", "+:abc::", "l:s", ""};
  enum { WORDS = sizeof words / sizeof words[0], SHORTS = sizeof shorts / sizeof shorts[0] };
  unsigned seed = 1;
  for (int i = 0; i < 200000; i++) {
    static struct given ours, theirs;
    memset(&ours, 0, sizeof ours);
    memset(&theirs, 0, sizeof theirs);
    int argc = 1 + rand_r(&seed) % 6, kind = rand_r(&seed) % 3;
    const char *letters = shorts[rand_r(&seed) % SHORTS];
    opterr = rand_r(&seed) % 2;
    if (rand_r(&seed) % 4 == 0)
      setenv("POSIXLY_CORRECT", "1", 1);
    else
      unsetenv("POSIXLY_CORRECT");
    static char program[] = "program";
    ours.words[0] = theirs.words[0] = program;
    for (int k = 1; k < argc; k++) ours.words[k] = theirs.words[k] = words[rand_r(&seed) % WORDS];
    getopt_long_function *our_longs = kind == 0 ? NULL : kind == 1 ? getopt_long : getopt_long_only;
    getopt_long_function *their_longs = kind == 0   ? NULL
                                        : kind == 1 ? LIBC(getopt_long)
                                                    : LIBC(getopt_long_only);
    parse(&ours, argc, letters, getopt, our_longs);
    parse(&theirs, argc, letters, LIBC(getopt), their_longs);
    if (strcmp(ours.said, theirs.said) == 0 &&
        memcmp(&ours, &theirs, offsetof(struct given, said)) == 0)
      continue;
    for (int k = 0; k < argc; k++) print_error("%s, ", theirs.words[k]);
    print_error("by kind %d of '%s', found other options than by libc\n", kind, letters);
    print_error("ours: %slibc's: %s", ours.said, theirs.said);
    assert_int_equal(ours.count, theirs.count);
    for (int k = 0; k < ours.count; k++) {
      assert_int_equal(ours.values[k], theirs.values[k]);
      assert_string_equal(ours.arguments[k], theirs.arguments[k]);
    }
    fail();
  }
}

/* ---- others */

static void words_are_cut_alike(void **state) {
  (void)state;
  char ours[] = ",,one,two;;three;", theirs[] = ",,one,two;;three;";
  const char *our_part = strtok(ours, ",;"), *their_part = LIBC(strtok)(theirs, ",;");
  for (; their_part != NULL; our_part = strtok(NULL, ",;"), their_part = LIBC(strtok)(NULL, ",;"))
    assert_string_equal(our_part, their_part);
  assert_null(our_part);
}

static void times_are_the_same(void **state) {
  (void)state;
  static const char *const zones[] = {"UTC", "CET-1CEST,M3.5.0,M10.5.0/3", "XXX+11:30"};
  for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
    setenv("TZ", zones[i], 1);
    for (time_t t = -1000000000; t < 4000000000; t += 98765432) {
      struct tm ours = *gmtime(&t), theirs = *LIBC(gmtime)(&t);
      assert_string_equal(asctime(&ours), LIBC(asctime)(&theirs));
      assert_string_equal(ctime(&t), LIBC(ctime)(&t));
      ours = *localtime(&t);
      theirs = *LIBC(localtime)(&t);
      assert_string_equal(asctime(&ours), LIBC(asctime)(&theirs));
      assert_int_equal(ours.tm_isdst, theirs.tm_isdst);
    }
  }
}

static void the_hash_table_keeps_what_it_is_given(void **state) {
  (void)state;
  int value;
  char key[] = "key", other[] = "other";
  assert_int_not_equal(hcreate(10), 0);
  assert_ptr_equal(hsearch((ENTRY){key, &value}, ENTER)->data, &value);
  assert_ptr_equal(hsearch((ENTRY){key, NULL}, FIND)->data, &value);
  assert_null(hsearch((ENTRY){other, NULL}, FIND));
  hdestroy();
}

/* Whole characters, their parts, and what is none; from a fresh state each time, or not. */
static void characters_are_as_long(void **state) {
  (void)state;
  static const char *const texts[] = {"a",    "\xc3\xa4", "\xe2\x82\xac", "\xc3", "\xe2\x82",
                                      "\xff", ""};
  if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) skip();
  for (int fresh = 0; fresh < 2; fresh++)
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
      for (size_t size = 0; size <= strlen(texts[i]) + 1; size++) {
        wchar_t ours = 0, theirs = 0;
        if (fresh) assert_int_equal(mblen(NULL, 0), LIBC(mblen)(NULL, 0));
        assert_int_equal(mblen(texts[i], size), LIBC(mblen)(texts[i], size));
        if (fresh) assert_int_equal(mbtowc(NULL, NULL, 0), LIBC(mbtowc)(NULL, NULL, 0));
        assert_int_equal(mbtowc(&ours, texts[i], size), LIBC(mbtowc)(&theirs, texts[i], size));
        assert_int_equal(ours, theirs);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_numbers_are_the_same),
      cmocka_unit_test(numbers_of_48_bits_are_the_same),
      cmocka_unit_test(options_are_found_alike),
      cmocka_unit_test(words_are_cut_alike),
      cmocka_unit_test(times_are_the_same),
      cmocka_unit_test(the_hash_table_keeps_what_it_is_given),
      cmocka_unit_test(characters_are_as_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
