/* SPDX-License-Identifier: Apache-2.0 */
/*
 * argp_parse() of a rank, and what its parsers call (src/tmpi/run/argument_parser.c), beside
 * libc's: each case runs with both in processes of their own, which have to print the same and to
 * end in the same way. The one difference is whose exit() that is.
 */
#include <argp.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "override_rows.h"
#include "tmpi/run/process.h"

enum { TEXT = 1 << 14, RETURNS = 200 /* and no exit() */, WORDS = 6, LIBC = 0, OURS = 1 };

/* ---- the rest of the library */

static struct tm_process self, *is_self = &self;
static bool has_variables; /* the rank has copies of libc's */
static const char *own_version, *own_address;
static void (*own_hook)(FILE *, struct argp_state *);
static int *exits; /* by our code */

struct tm_process *tm_process_self(void) { return is_self; }

void *tm_process_variable(const struct tm_process *process, const char *name) {
  assert_ptr_equal(process, is_self);
  if (!has_variables) return NULL;
  if (strcmp(name, "argp_program_version") == 0) return &own_version;
  if (strcmp(name, "argp_program_version_hook") == 0) return &own_hook;
  assert_string_equal(name, "argp_program_bug_address");
  return &own_address;
}

void __real_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status) __attribute__((noreturn));
void __wrap_exit(int status) {
  ++*exits;
  __real_exit(status);
}

/* ---- libc's functions and ours */

static struct functions {
  error_t (*parse)(const struct argp *, int, char **, unsigned, int *, void *);
  void (*help)(const struct argp_state *, FILE *, unsigned);
  void (*usage)(const struct argp_state *);
  void (*error)(const struct argp_state *, const char *, ...);
  void (*failure)(const struct argp_state *, int, int, const char *, ...);
} of; /* whose turn it is */

static tm_any *ours(const char *name) { return override_row(tm_override_arguments, name); }

static void choose(int whose) {
  of = (struct functions){argp_parse, argp_state_help, argp_usage, argp_error, argp_failure};
  if (whose == LIBC) return;
  of.parse =
      (error_t(*)(const struct argp *, int, char **, unsigned, int *, void *))ours("argp_parse");
  of.help = (void (*)(const struct argp_state *, FILE *, unsigned))ours("argp_state_help");
  of.usage = (void (*)(const struct argp_state *))ours("argp_usage");
  of.error = (void (*)(const struct argp_state *, const char *, ...))ours("argp_error");
  of.failure =
      (void (*)(const struct argp_state *, int, int, const char *, ...))ours("argp_failure");
}

/* ---- a program's parser */

enum { USE = 'u', HELP = 'h' };

static void give_up(const struct argp_state *state, const char *how) {
  if (strcmp(how, "status") == 0) of.failure(state, 9, ENOENT, "file %s", how);
  if (strcmp(how, "no status") == 0) of.failure(state, 0, ENOENT, "file %s", how);
  if (strcmp(how, "no number") == 0) of.failure(state, 9, 0, "file %s", how);
  if (strcmp(how, "no text") == 0) of.failure(state, 9, ENOENT, NULL);
}

static void show(const struct argp_state *state, const char *how) {
  if (strcmp(how, "nowhere") == 0) of.help(state, NULL, ARGP_HELP_STD_HELP);
  if (strcmp(how, "plain") == 0) of.help(state, stdout, ARGP_HELP_LONG);
  if (strcmp(how, "error") == 0) of.help(state, stdout, ARGP_HELP_SEE | ARGP_HELP_EXIT_ERR);
  if (strcmp(how, "good") == 0) of.help(state, stdout, ARGP_HELP_SEE | ARGP_HELP_EXIT_OK);
}

static error_t parse(int key, char *text, struct argp_state *state) {
  switch (key) {
    case 'n': *(int *)state->input = atoi(text); return atoi(text) == 7 ? EINVAL : 0;
    case 'k': return ENOMEM;
    case 'e': of.error(state, "bad %s", text); return 0;
    case 'f': give_up(state, text); return 0;
    case USE: of.usage(state); return 0;
    case HELP: show(state, text); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const struct argp_option options[] = {{"number", 'n', "N", 0, "a number", 0},
                                             {"key", 'k', NULL, 0, "fails", 0},
                                             {"error", 'e', "TEXT", 0, "an error", 0},
                                             {"fail", 'f', "HOW", 0, "a failure", 0},
                                             {"use", USE, NULL, 0, "a line", 0},
                                             {"show", HELP, "HOW", 0, "help", 0},
                                             {0}};
static const struct argp whole = {options, parse, "WORD", "Parses.", NULL, NULL, NULL};
static const struct argp deaf = {options, NULL, "WORD", "Parses.", NULL, NULL, NULL};

static void print_version(FILE *stream, struct argp_state *state) {
  fprintf(stream, "version of %s\n", state->name);
}

/* ---- a case in both ways */

static struct {
  const struct argp *argp;
  unsigned flags;
  const char *words[WORDS];
  int *end;
  void (*call)(void); /* NULL: argp_parse() */
} now;

static int number, end;
static bool is_end_asked;

static int run(void) {
  char *words[WORDS] = {(char *)"program"};
  int count = 1;
  if (now.call != NULL) {
    now.call();
    return 0;
  }
  for (; now.words[count - 1] != NULL; count++) words[count] = (char *)now.words[count - 1];
  error_t error = of.parse(now.argp, count, words, now.flags, now.end, &number);
  printf("returned %d, %d, %d\n", error, number, end);
  return 0;
}

/* @return how it ends; RETURNS: by itself. */
static int run_by(int whose, char text[TEXT]) {
  int file = memfd_create("printed", 0), status;
  assert_true(file >= 0);
  fflush(NULL);
  *exits = 0;
  pid_t child = fork();
  if (child == 0) {
    bool theirs = whose == OURS && has_variables; /* those of the process are not the rank's */
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    setvbuf(stdout, NULL, _IONBF, 0);
    argp_program_version = theirs ? "tmpirun" : own_version;
    argp_program_bug_address = theirs ? "tmpirun" : own_address;
    argp_program_version_hook = theirs ? NULL : own_hook;
    choose(whose);
    run();
    _exit(RETURNS);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  ssize_t length = pread(file, text, TEXT - 1, 0);
  assert_true(length >= 0);
  text[length] = '\0';
  close(file);
  return WEXITSTATUS(status);
}

/* @return how it ends in both ways, where exit() is ours. */
static int compare(void) {
  static char libc[TEXT], own[TEXT];
  int expected = run_by(LIBC, libc), status = run_by(OURS, own);
  assert_string_equal(own, libc);
  assert_int_equal(status, expected);
  assert_int_equal(*exits, status != RETURNS && is_self != NULL);
  return status;
}

/* The words of a command line, separated by '|'. */
static int parse_line(const struct argp *argp, unsigned flags, const char *line) {
  static char copy[200];
  int count = 0;
  snprintf(copy, sizeof copy, "%s", line);
  memset(&now, 0, sizeof now);
  now.argp = argp;
  now.flags = flags;
  now.end = is_end_asked ? &end : NULL; /* then more words are no error */
  for (char *word = strtok(copy, "|"); word != NULL; word = strtok(NULL, "|"))
    now.words[count++] = word;
  return compare();
}

/* ---- command lines */

enum { BAD = 64 /* argp_err_exit_status */ };

/* @return the status: `usual` without flags. A program that asks not to exit is not ended. */
static void check_line(const char *line, int usual) {
  static const unsigned flags[] = {ARGP_NO_ERRS, ARGP_NO_EXIT,
                                   ARGP_NO_HELP, ARGP_NO_EXIT | ARGP_NO_HELP,
                                   ARGP_NO_ARGS, ARGP_SILENT};
  assert_int_equal(parse_line(&whole, 0, line), usual);
  is_end_asked = true;
  parse_line(&whole, 0, line);
  is_end_asked = false;
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    int status = parse_line(&whole, flags[i], line);
    if ((flags[i] & ARGP_NO_EXIT) != 0) assert_int_equal(status, RETURNS);
  }
}

static void command_lines(void **state) {
  static const struct {
    const char *line;
    int status;
  } rows[] = {{"", RETURNS},
              {"-n|3", RETURNS},
              {"-n|7", RETURNS},
              {"-k", RETURNS},
              {"-x", BAD},
              {"--none", BAD},
              {"more", BAD},
              {"-n", BAD},
              {"--help", 0},
              {"-?", 0},
              {"--usage", 0},
              {"-e|x", BAD},
              {"-u", BAD},
              {"-f|status", 9},
              {"-f|no status", RETURNS},
              {"-f|no number", 9},
              {"-f|no text", 9},
              {"-h|nowhere", RETURNS},
              {"-h|plain", RETURNS},
              {"-h|error", BAD},
              {"-h|good", 0},
              {"-V", BAD}};
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    check_line(rows[i].line, rows[i].status);
}

static void parsers_that_are_missing(void **state) {
  static const char *const lines[] = {"", "more", "--help", "-V"};
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    parse_line(NULL, 0, lines[i]);
    parse_line(&deaf, 0, lines[i]);
  }
}

/* A version makes an option, as a text or as a function. */
static void versions_and_addresses(void **state) {
  (void)state;
  for (has_variables = false;; has_variables = true) {
    own_version = "1.2";
    assert_int_equal(parse_line(&whole, 0, "-V"), 0);
    assert_int_equal(parse_line(&whole, 0, "--version"), 0);
    assert_int_equal(parse_line(&whole, ARGP_NO_HELP, "-V"), BAD);
    own_hook = print_version;
    assert_int_equal(parse_line(&whole, 0, "-V"), 0);
    own_version = NULL;
    assert_int_equal(parse_line(&whole, 0, "-V"), 0);
    own_hook = NULL;
    assert_int_equal(parse_line(&whole, 0, "-V"), BAD);
    own_address = "<own@example.org>";
    assert_int_equal(parse_line(&whole, 0, "--help"), 0);
    own_address = NULL;
    if (has_variables) break;
  }
  has_variables = false;
}

/* What is not of a rank is libc's, with its exit(). */
static void threads_of_no_rank(void **state) {
  (void)state;
  is_self = NULL;
  assert_int_equal(parse_line(&whole, 0, "--help"), 0);
  is_self = &self;
}

/* ---- calls without a parser; libc's crash where they print help */

static void fail_by_status(void) { give_up(NULL, "status"); }
static void fail_without(void) { give_up(NULL, "no status"); }
static void help_nowhere(void) { show(NULL, "nowhere"); }

static void calls_without_a_state(void **state) {
  static void (*const calls[])(void) = {fail_by_status, fail_without, help_nowhere};
  (void)state;
  memset(&now, 0, sizeof now);
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
    now.call = calls[i];
    compare();
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(command_lines),          cmocka_unit_test(parsers_that_are_missing),
      cmocka_unit_test(versions_and_addresses), cmocka_unit_test(threads_of_no_rank),
      cmocka_unit_test(calls_without_a_state),
  };
  exits = mmap(NULL, sizeof *exits, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (exits == MAP_FAILED) return 1;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
