/* SPDX-License-Identifier: Apache-2.0 */
/* mltp: what a person asks the library from a shell. */
#include <argp.h>
#include <mltp/mltp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"
#include "dump.h"
#include "explore.h"
#include "message.h"
#include "os/os.h"
#include "programs.h"
#include "run.h"

void message(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fflush(stdout);
  fputs("mltp: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

/* ---- mltp options */

static error_t parse_options(int key, char *arg, struct argp_state *state) {
  (void)arg;
  if (key != 'm') return ARGP_ERR_UNKNOWN;
  *(bool *)state->input = true;
  return 0;
}

static void *compute(void *arg) {
  for (volatile int i = 0; i < 2000; i++) continue;
  return arg;
}

/* VPs sleep, wake and take threads from each other, so that the library learns what that costs. */
static int show_measured(void) {
  enum { ROUNDS = 40, BATCH = 64, PAUSE_NS = 500000 };
  mltp_t *threads[BATCH];
  int error = mltp_init(0);
  for (int round = 0; error == 0 && round < ROUNDS; round++) {
    int made = 0;
    while (made < BATCH && mltp_create(&threads[made], NULL, compute, NULL) == 0) made++;
    for (int i = 0; i < made; i++) mltp_join(threads[i], NULL);
    mltp_sleep(PAUSE_NS);
  }
  if (error != 0) return 1;
  mltp_options_measured(STDOUT_FILENO);
  return mltp_finalize() != 0;
}

static int options_main(int argc, char **argv) {
  static const struct argp_option options[] = {
      {.name = "measured",
       .key = 'm',
       .doc = "Show what operations cost here, and the constants that follow from it"},
      {0},
  };
  static const struct argp argp = {
      .options = options,
      .parser = parse_options,
      .doc =
          "Shows every option of the MLTP library: its environment variable, its value in this "
          "environment, its default and what it means.",
  };
  bool measured = false;
  argp_parse(&argp, argc, argv, 0, NULL, &measured);
  if (measured) return show_measured();
  mltp_options(STDOUT_FILENO);
  return 0;
}

/* ---- mltp dump */

struct dump_request {
  pid_t pid;
  bool json;
};

static pid_t number_of(const char *text, struct argp_state *state) {
  uint64_t pid;
  if (!mt_is_number(text, 1, INT32_MAX, &pid))
    argp_error(state, "cannot dump '%s': not the number of a process (see ps(1))", text);
  return (pid_t)pid;
}

static error_t parse_dump(int key, char *arg, struct argp_state *state) {
  struct dump_request *request = state->input;
  switch (key) {
    case 'j': request->json = true; return 0;
    case ARGP_KEY_ARG:
      if (request->pid != 0)
        argp_error(state, "cannot do dump with '%s': one argument too many", arg);
      request->pid = number_of(arg, state);
      return 0;
    case ARGP_KEY_END:
      if (request->pid == 0)
        argp_error(state, "cannot dump: no process given (try: %s PID)", state->name);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static int dump_main(int argc, char **argv) {
  static const struct argp_option options[] = {
      {.name = "json", .key = 'j', .doc = "Write JSON instead of text"},
      {0},
  };
  static const struct argp argp = {
      .options = options,
      .parser = parse_dump,
      .args_doc = "PID",
      .doc =
          "Shows all threads of a running program that uses the library: what each waits for, and "
          "its backtrace. The program is stopped meanwhile, then continues.",
  };
  struct dump_request request = {0};
  argp_parse(&argp, argc, argv, 0, NULL, &request);
  return dump(request.pid, request.json);
}

/* ---- which of them */

static const struct command {
  const char *name;
  char *full_name; /* as its usage shows it */
  int (*main)(int argc, char **argv);
} commands[] = {
    {"options", "mltp options", options_main},
    {"dump", "mltp dump", dump_main},
    {"explore", "mltp explore", explore_main},
    {"ps", "mltp ps", ps_main},
    {"top", "mltp top", top_main},
    {"run", "mltp run", run_main},
    {"jobs", "mltp jobs", jobs_main},
};

enum { COMMANDS = sizeof commands / sizeof commands[0] };

/* The first argument is the command; what follows is for it. */
struct call {
  const struct command *command;
  int first; /* index of the command's name */
};

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct call *call = state->input;
  switch (key) {
    case ARGP_KEY_ARG:
      for (int i = 0; i < COMMANDS; i++)
        if (strcmp(arg, commands[i].name) == 0) call->command = &commands[i];
      if (call->command == NULL)
        argp_error(state,
                   "cannot do '%s': no such command (there are: options, dump, explore, ps, top, "
                   "run, jobs)",
                   arg);
      call->first = state->next - 1;
      state->next = state->argc;
      return 0;
    case ARGP_KEY_END:
      if (call->command == NULL)
        argp_error(state, "nothing to do: no command given (try: %s options)", state->name);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static void print_version(FILE *stream, struct argp_state *state) {
  fprintf(stream, "%s (MLTP) %s\n", state->name, mltp_version());
}

int main(int argc, char **argv) {
  static const struct argp argp = {
      .parser = parse,
      .args_doc =
          "options [--measured]\ndump [--json] PID\nexplore [OPTION...] [--] PROGRAM "
          "[ARGUMENT...]\nps\ntop\nrun [--] PROGRAM [ARGUMENT...]\njobs [OPTION...] [--] PROGRAM "
          "[ARGUMENT...]",
      .doc =
          "options: shows every option of the MLTP library.\n"
          "dump: shows all threads of a running program that uses the library.\n"
          "explore: looks for an order of threads in which a program fails.\n"
          "ps: shows the programs that share the CPUs by mltpd.\n"
          "top: the same, again and again.\n"
          "run: runs a program of OpenMP, oneTBB or a BLAS with teams as large as mltpd grants.\n"
          "jobs: runs make with as many jobs at a time as mltpd grants.\v"
          "mltp COMMAND --help tells more.",
  };
  struct call call = {NULL, 0};
  os_descriptors_fill();
  argp_program_version_hook = print_version;
  argp_err_exit_status = 2;
  argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &call);
  argv[call.first] = call.command->full_name;
  return call.command->main(argc - call.first, argv + call.first);
}
