/* SPDX-License-Identifier: Apache-2.0 */
/*
 * argp_parse() and the functions that a parser calls. libc's end the process by an exit() of its
 * own, thus all ranks, and no handlers of theirs run. Besides, libc looks for the program's version
 * in variables of the process, and these are tmpirun's.
 *
 * libc's functions do the work, with the flag that they shall not exit. Then they leave out the
 * exit that follows --help and its like, so these options are here, as libc has them. Left out are
 * two that libc hides, --program-name and --HANG.
 */
#include <argp.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tmpi/loader/program.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

/* A call of argp_parse() by a program that wants it to exit. */
struct parse {
  struct argp top; /* of `children`: the program's and those of the options below; a parser finds it
                      as the root */
  struct argp_child children[4];
  struct argp own; /* the program's, but for its function */
  argp_parser_t parser;
  error_t returned; /* by that, other than ARGP_ERR_UNKNOWN */
};

/* A text of the program's as it is. Marks the top of struct parse, which has none. */
static char *keep(int key, const char *text, void *input) {
  (void)key, (void)input;
  return (char *)(uintptr_t)text;
}

static bool is_ours(const struct argp *argp) { return argp != NULL && argp->help_filter == keep; }

static bool exits(const struct argp_state *state) {
  return state == NULL || is_ours(state->root_argp) || (state->flags & ARGP_NO_EXIT) == 0;
}

static bool is_silent(const struct argp_state *state, const FILE *stream) {
  return stream == NULL || (state != NULL && (state->flags & ARGP_NO_ERRS) != 0);
}

/* ---- what a parser calls */

static void help(const struct argp_state *state, FILE *stream, unsigned flags) {
  argp_state_help(state, stream, flags & ~(unsigned)(ARGP_HELP_EXIT_ERR | ARGP_HELP_EXIT_OK));
  if (is_silent(state, stream) || !exits(state)) return;
  if ((flags & ARGP_HELP_EXIT_ERR) != 0) exit(argp_err_exit_status);
  if ((flags & ARGP_HELP_EXIT_OK) != 0) exit(EXIT_SUCCESS);
}

static void show_usage(const struct argp_state *state) { help(state, stderr, ARGP_HELP_STD_USAGE); }

static void report_error(const struct argp_state *state, const char *format, ...) {
  FILE *stream = state != NULL ? state->err_stream : stderr;
  va_list arguments;
  if (is_silent(state, stream)) return;
  flockfile(stream);
  fprintf(stream, "%s: ", state != NULL ? state->name : program_invocation_short_name);
  va_start(arguments, format);
  vfprintf(stream, format, arguments);
  va_end(arguments);
  fputc('\n', stream);
  funlockfile(stream);
  help(state, stream, ARGP_HELP_STD_ERR);
}

static void report_failure(const struct argp_state *state, int status, int number,
                           const char *format, ...) {
  char *text = NULL;
  va_list arguments;
  va_start(arguments, format);
  if (format != NULL && vasprintf(&text, format, arguments) < 0) text = NULL;
  va_end(arguments);
  if (text != NULL)
    argp_failure(state, 0, number, "%s", text);
  else
    argp_failure(state, 0, number, NULL);
  free(text);
  if (is_silent(state, state != NULL ? state->err_stream : stderr) || !exits(state)) return;
  if (status != 0) exit(status);
}

/* ---- options that libc adds */

typedef void print_version(FILE *stream, struct argp_state *state);

static print_version *version_function(const struct tm_process *process) {
  print_version **own = tm_process_variable(process, "argp_program_version_hook");
  return own != NULL ? *own : argp_program_version_hook;
}

static const char *version_text(const struct tm_process *process) {
  const char **own = tm_process_variable(process, "argp_program_version");
  return own != NULL ? *own : argp_program_version;
}

enum { USAGE = -3 /* no letter */ };

static const struct argp_option help_options[] = {
    {"help", '?', NULL, 0, "Give this help list", -1},
    {"usage", USAGE, NULL, 0, "Give a short usage message", 0},
    {0}};
static const struct argp_option version_options[] = {
    {"version", 'V', NULL, 0, "Print program version", -1}, {0}};

static error_t parse_help(int key, char *argument, struct argp_state *state) {
  (void)argument;
  if (key != '?' && key != USAGE) return ARGP_ERR_UNKNOWN;
  help(state, state->out_stream,
       key == '?' ? ARGP_HELP_STD_HELP : ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
  return 0;
}

static error_t parse_version(int key, char *argument, struct argp_state *state) {
  const struct tm_process *process = tm_process_self();
  (void)argument;
  if (key != 'V') return ARGP_ERR_UNKNOWN;
  print_version *function = version_function(process);
  if (function != NULL)
    function(state->out_stream, state);
  else
    fprintf(state->out_stream, "%s\n", version_text(process));
  exit(EXIT_SUCCESS);
}

static const struct argp help_argp = {.options = help_options, .parser = parse_help};
static const struct argp version_argp = {.options = version_options, .parser = parse_version};

/* ---- argp_parse() */

static error_t call_parser(int key, char *argument, struct argp_state *state) {
  struct parse *parse = (struct parse *)(uintptr_t)state->root_argp;
  error_t returned = parse->parser(key, argument, state);
  if (returned != 0 && returned != ARGP_ERR_UNKNOWN) parse->returned = returned;
  return returned;
}

static void prepare(struct parse *parse, const struct tm_process *process, const struct argp *argp,
                    unsigned flags) {
  struct argp_child *child = parse->children;
  const char **address = tm_process_variable(process, "argp_program_bug_address");
  if (address != NULL) argp_program_bug_address = *address; /* the same text in all ranks */
  parse->top = (struct argp){.children = parse->children, .help_filter = keep};
  if (argp != NULL) {
    parse->own = *argp;
    parse->parser = argp->parser;
    if (argp->parser != NULL) parse->own.parser = call_parser;
    (child++)->argp = &parse->own;
  }
  if ((flags & ARGP_NO_HELP) != 0) return;
  (child++)->argp = &help_argp;
  if (version_text(process) != NULL || version_function(process) != NULL)
    (child++)->argp = &version_argp;
}

/* What libc finds wrong it returns as EINVAL, if it may not exit: as it does where it is to say
 * nothing, and then the program gets it. */
static error_t parse_arguments(const struct argp *argp, int argc, char **argv, unsigned flags,
                               int *end, void *input) {
  const struct tm_process *process = tm_process_self();
  if (process == NULL || (flags & ARGP_NO_EXIT) != 0)
    return argp_parse(argp, argc, argv, flags, end, input);
  struct parse parse = {0};
  prepare(&parse, process, argp, flags);
  error_t error =
      argp_parse(&parse.top, argc, argv, flags | ARGP_NO_HELP | ARGP_NO_EXIT, end, input);
  bool was_said = error == EINVAL && parse.returned != EINVAL && (flags & ARGP_NO_ERRS) == 0;
  if (was_said) exit(argp_err_exit_status);
  return error;
}

const struct tm_override tm_override_arguments[] = {
    {"argp_parse", (tm_any *)parse_arguments},  {"argp_state_help", (tm_any *)help},
    {"argp_usage", (tm_any *)show_usage},       {"argp_error", (tm_any *)report_error},
    {"argp_failure", (tm_any *)report_failure}, {NULL, NULL},
};
