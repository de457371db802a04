/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tmpirun's command line, word by word (src/tmpi/run/foreign_options.c, parts.c): which words of
 * other launchers become which of ours, which orders are carried out, what is refused, and how the
 * parts behind each ':' are cut.
 */
#include "traced_calls.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "captured.h"
#include "counted_blocks.h"
#include "counted_realloc.h"
#include "tmpi/run/foreign_options.h"
#include "tmpi/run/hosts.h"
#include "tmpi/run/parts.h"
#include "tmpi/run/process.h"

enum { WORDS = 20, MOST = 100 };

/* ---- what orders do */

static int order_error; /* of setenv() and chdir() */
static bool hosts_fail;

int __wrap_setenv(const char *name, const char *value, int replaces);
int __wrap_setenv(const char *name, const char *value, int replaces) {
  assert_int_equal(replaces != 0, 1);
  note("%s=%s", name, value);
  errno = order_error;
  return order_error == 0 ? 0 : -1;
}

int __wrap_chdir(const char *path);
int __wrap_chdir(const char *path) {
  note("cd:%s", path);
  errno = order_error;
  return order_error == 0 ? 0 : -1;
}

void tm_ends_keep_others(void) { note("keep"); }

bool tm_hosts_add(const char *option, const char *list) {
  note("%s,%s", option, list);
  return !hosts_fail;
}

bool tm_hosts_add_file(const char *option, const char *path) {
  note("file:%s,%s", option, path);
  return !hosts_fail;
}

/* ---- lines */

static char words[WORDS][40], *line[WORDS], said[300];

/* Cuts a line at its blanks. @return how many words it has. */
static int cut(const char *text) {
  int count = 0;
  for (const char *at = text; *at != '\0'; at += strspn(at, " ")) {
    size_t length = strcspn(at, " ");
    assert_true(length < sizeof words[0] && count < WORDS);
    memcpy(words[count], at, length);
    words[count][length] = '\0';
    line[count] = words[count];
    at += length;
    count++;
  }
  return count;
}

static bool takes_next(const char *word) {
  return strcmp(word, "-n") == 0 || strcmp(word, "--vps") == 0;
}

/* What a line becomes; NULL: it is refused. */
static const char *becomes_of(const char *text, bool later) {
  static char joined[400];
  char **argv = line;
  int count = cut(text);
  struct captured captured = captured_begin();
  int left = tm_foreign_options(count, &argv, later, takes_next);
  captured_end(&captured, said, sizeof said);
  joined[0] = '\0';
  if (left < 0) {
    assert_ptr_equal(argv, line);
    return NULL;
  }
  for (int i = 0; i < left; i++)
    snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s%s", i > 0 ? " " : "",
             argv[i]);
  __wrap_free(argv);
  assert_string_equal(said, "");
  return joined;
}

static void becomes(const char *text, const char *expected) {
  const char *made = becomes_of(text, false);
  assert_non_null(made);
  assert_string_equal(made, expected);
}

static void refused(const char *text, const char *why) {
  assert_null(becomes_of(text, false));
  assert_string_equal(said, why);
}

static int start(void **state) {
  (void)state;
  order_error = 0;
  hosts_fail = memory_is_out = false;
  allocations_left = -1;
  blocks = 0;
  trace[0] = '\0';
  return 0;
}

static int end(void **state) {
  (void)state;
  assert_int_equal(blocks, 0);
  return 0;
}

/* ---- options of other launchers */

static void test_words_for_ours(void **state) {
  (void)state;
  becomes("tmpirun -np 4 -l prog", "tmpirun -n 4 --label prog");
  becomes("tmpirun --np=4 -c 5 prog", "tmpirun -n 4 -n 5 prog");
  becomes("tmpirun -prepend-rank --tag-output prog", "tmpirun --label --label prog");
  becomes("tmpirun -outfile-pattern a --output-filename=b prog",
          "tmpirun --output a --output b prog");
  becomes("tmpirun", "tmpirun");
}

static void test_words_that_stay(void **state) {
  (void)state;
  becomes("tmpirun -n 4 --vps 2 --check prog -np 3", "tmpirun -n 4 --vps 2 --check prog -np 3");
  becomes("tmpirun --vps -np", "tmpirun --vps -np"); /* it is the next word of --vps */
  becomes("tmpirun -n", "tmpirun -n");
  becomes("tmpirun -- -np 3", "tmpirun -- -np 3");
  becomes("tmpirun ---np - --l --n prog", "tmpirun ---np - --l --n prog");
  becomes("tmpirun -l=x --=x -npx -n p", "tmpirun --label --=x -npx -n p"); /* it takes no word */
}

static void test_words_without_a_meaning(void **state) {
  (void)state;
  becomes("tmpirun -v --bind-to core -map-by=node --mca btl self -oversubscribe -tune=a b prog -q",
          "tmpirun prog -q");
  check_trace("");
}

static void test_orders(void **state) {
  (void)state;
  becomes("tmpirun -x A=1=2 -x B --genv C 3 -env=D 4 -x E= prog", "tmpirun prog");
  check_trace("A=1=2 C=3 D=4 E= ");
  assert_string_equal(line[2], "A=1=2"); /* the words are those of ps(1) again */
  becomes("tmpirun -wdir a --wd=b -dir c -disable-auto-cleanup prog", "tmpirun prog");
  check_trace("cd:a cd:b cd:c keep ");
  becomes("tmpirun -host a,b --hosts=c -H d -hostfile e -f f -machinefile g --default-hostfile h p",
          "tmpirun p");
  check_trace(
      "-host,a,b --hosts,c -H,d file:-hostfile,e file:-f,f file:-machinefile,g "
      "file:--default-hostfile,h ");
}

static void test_orders_that_fail(void **state) {
  (void)state;
  order_error = ENOENT;
  refused("tmpirun -wdir a prog",
          "tmpirun: -wdir: 'a': No such file or directory (name a folder)\n");
  order_error = EINVAL;
  refused("tmpirun -x =1 prog", "tmpirun: -x: '': Invalid argument (give a name and a value)\n");
  refused("tmpirun -genv A 1 prog",
          "tmpirun: -genv: 'A': Invalid argument (give a name and a value)\n");
  hosts_fail = true; /* it has said why */
  refused("tmpirun -host a prog", "");
  refused("tmpirun -f a prog", "");
}

static void test_options_that_are_refused(void **state) {
  (void)state;
  refused("tmpirun -configfile a prog",
          "tmpirun: -configfile: refused: no option of tmpirun (write its programs with : between "
          "them)\n");
  refused("tmpirun --xterm prog",
          "tmpirun: --xterm: refused: no option of tmpirun (gdb --args tmpirun ... debugs all "
          "ranks)\n");
  refused("tmpirun -np", "tmpirun: -np: 1 word must follow (tmpirun --help)\n");
  refused("tmpirun --genv A", "tmpirun: --genv: 2 words must follow (tmpirun --help)\n");
  refused("tmpirun --mca=a", "tmpirun: --mca: 2 words must follow (tmpirun --help)\n");
  memory_is_out = true;
  refused("tmpirun prog", "tmpirun: no memory for the command line (free some)\n");
}

static void test_orders_behind_the_first_program(void **state) {
  (void)state;
  assert_string_equal(becomes_of(": -np 2 --bind-to core prog", true), ": -n 2 prog");
  assert_null(becomes_of(": -x A=1 prog", true));
  assert_string_equal(
      said,
      "tmpirun: -x: refused: no option of tmpirun (in front of the first program it "
      "holds for all ranks)\n");
  assert_null(becomes_of(": -gdb prog", true));
  assert_string_equal(said,
                      "tmpirun: -gdb: refused: no option of tmpirun (gdb --args tmpirun ... debugs "
                      "all ranks)\n");
  check_trace("");
}

/* ---- parts */

static struct tm_parts parts;

/* Adds the parts of a line from its first ':' on. */
static bool add_rest(const char *text) {
  int count = cut(text), first = tm_parts_cut(count, line);
  struct captured captured = captured_begin();
  bool added = tm_parts_add_rest(&parts, first, count, line, MOST, takes_next);
  captured_end(&captured, said, sizeof said);
  return added;
}

/* The first one is the test's; the others' words are in blocks of foreign_options.c from a ':' on.
 */
static void drop_parts(void) {
  for (int i = 1; i < parts.count; i++) {
    char **argv = parts.list[i].argv;
    while (strcmp(*argv, ":") != 0) argv--;
    __wrap_free(argv);
  }
  __wrap_free(parts.list);
  parts = (struct tm_parts){0};
}

static void add_wrong(const void *text) {
  int count = cut(text);
  if (tm_parts_add_rest(&parts, tm_parts_cut(count, line), count, line, MOST, takes_next))
    _exit(98);
}

/* In a child: tmpirun ends, and frees nothing. */
static void refused_part(const char *text, const char *why) {
  assert_true(captured_in_child(add_wrong, text, said, sizeof said));
  assert_string_equal(said, why);
}

static void check_part(int i, int ranks, int argc, const char *first) {
  assert_true(parts.list[i].ranks == ranks && parts.list[i].argc == argc);
  assert_string_equal(parts.list[i].argv[0], first);
}

static void test_parts_are_cut_at_colons(void **state) {
  (void)state;
  assert_int_equal(tm_parts_cut(cut("a b : c"), line), 2);
  assert_int_equal(tm_parts_cut(cut(": c"), line), 0);
  assert_int_equal(tm_parts_cut(cut("a b"), line), 2);
  assert_int_equal(tm_parts_cut(0, line), 0);
  assert_int_equal(tm_parts_cut(2, (char *[]){"a:", "::"}), 2);
}

static void test_parts_and_their_ranks(void **state) {
  static const int parts_of_ranks[] = {0, 0, 1, 1, 1, 2, 3, 3};
  char *first[] = {"first"};
  (void)state;
  assert_int_equal(tm_parts_ranks(&parts), 0);
  assert_true(tm_parts_add(&parts, 2, 1, first));
  assert_true(add_rest("prog : -n 3 a x y : b : -n 7 --np 2 -v c z"));
  assert_string_equal(said, "");
  assert_int_equal(parts.count, 4);
  check_part(0, 2, 1, "first");
  check_part(1, 3, 3, "a");
  check_part(2, 1, 1, "b");
  check_part(3, 2, 2, "c");
  assert_string_equal(parts.list[3].argv[1], "z");
  assert_int_equal(tm_parts_ranks(&parts), 8);
  for (int rank = 0; rank < 8; rank++)
    assert_int_equal(tm_parts_of(&parts, rank), parts_of_ranks[rank]);
  assert_int_equal(tm_parts_of(&parts, 100), 3); /* spawned later */
  drop_parts();
  assert_true(add_rest("prog"));
  assert_int_equal(parts.count, 0);
}

static void test_there_is_room_for_so_many_ranks(void **state) {
  (void)state;
  assert_true(tm_parts_add(&parts, 98, 1, line));
  assert_true(add_rest("prog : -n 1 a : -n 1 b"));
  drop_parts();
  assert_true(tm_parts_add(&parts, 98, 1, line));
  refused_part("prog : -n 3 a", "tmpirun: -n: '3' is no number from 1 to 2 (tmpirun --help)\n");
  drop_parts();
}

static void test_wrong_parts(void **state) {
  static const struct {
    const char *line, *why;
  } rows[] = {
      {"prog :", "tmpirun: no program behind a ':' (tmpirun --help)\n"},
      {"prog : : a", "tmpirun: no program behind a ':' (tmpirun --help)\n"},
      {"prog : -n 2", "tmpirun: no program behind a ':' (tmpirun --help)\n"},
      {"prog : -n 0 a", "tmpirun: -n: '0' is no number from 1 to 100 (tmpirun --help)\n"},
      {"prog : -n x a", "tmpirun: -n: 'x' is no number from 1 to 100 (tmpirun --help)\n"},
      {"prog : -n",
       "tmpirun: -n: not behind a ':', where only -n is an option (give it before the "
       "first program)\n"},
      {"prog : --vps 2 a",
       "tmpirun: --vps: not behind a ':', where only -n is an option (give it "
       "before the first program)\n"},
      {"prog : -gdb a",
       "tmpirun: -gdb: refused: no option of tmpirun (gdb --args tmpirun ... "
       "debugs all ranks)\n"},
  };
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) refused_part(rows[i].line, rows[i].why);
}

static void test_no_memory_for_parts(void **state) {
  (void)state;
  struct captured captured = captured_begin();
  memory_is_out = true;
  assert_false(tm_parts_add(&parts, 1, 1, line));
  captured_end(&captured, said, sizeof said);
  assert_string_equal(said, "tmpirun: no memory for the command line (free some)\n");
  assert_int_equal(parts.count, 0);
}

int main(void) {
#define ROW(test) cmocka_unit_test_setup_teardown(test, start, end)
  const struct CMUnitTest tests[] = {
      ROW(test_words_for_ours),
      ROW(test_words_that_stay),
      ROW(test_words_without_a_meaning),
      ROW(test_orders),
      ROW(test_orders_that_fail),
      ROW(test_options_that_are_refused),
      ROW(test_orders_behind_the_first_program),
      ROW(test_parts_are_cut_at_colons),
      ROW(test_parts_and_their_ranks),
      ROW(test_there_is_room_for_so_many_ranks),
      ROW(test_wrong_parts),
      ROW(test_no_memory_for_parts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
