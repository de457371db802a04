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

#include "dump.h"
#include "message.h"

struct request {
  const char *command;
  pid_t pid;
  bool json;
};

void message(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fflush(stdout);
  fputs("mltp: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

static bool is(const struct request *request, const char *command) {
  return request->command != NULL && strcmp(request->command, command) == 0;
}

static pid_t number_of(const char *text, struct argp_state *state) {
  char *end;
  long pid = strtol(text, &end, 10);
  if (end == text || *end != '\0' || pid <= 0 || pid != (pid_t)pid)
    argp_error(state, "cannot dump '%s': not the number of a process (see ps(1))", text);
  return (pid_t)pid;
}

static void take_argument(struct request *request, char *arg, struct argp_state *state) {
  if (request->command == NULL) {
    request->command = arg;
    if (!is(request, "options") && !is(request, "dump"))
      argp_error(state, "cannot do '%s': no such command (there are: options, dump)", arg);
  } else if (is(request, "dump") && request->pid == 0) {
    request->pid = number_of(arg, state);
  } else {
    argp_error(state, "cannot do %s with '%s': one argument too many", request->command, arg);
  }
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct request *request = state->input;
  switch (key) {
    case 'j': request->json = true; return 0;
    case ARGP_KEY_ARG: take_argument(request, arg, state); return 0;
    case ARGP_KEY_END:
      if (request->command == NULL)
        argp_error(state, "nothing to do: no command given (try: %s options)", state->name);
      if (is(request, "dump") && request->pid == 0)
        argp_error(state, "cannot dump: no process given (try: %s dump PID)", state->name);
      if (request->json && !is(request, "dump"))
        argp_error(state, "cannot write %s as JSON (only dump)", request->command);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static void print_version(FILE *stream, struct argp_state *state) {
  fprintf(stream, "%s (MLTP) %s\n", state->name, mltp_version());
}

int main(int argc, char **argv) {
  static const struct argp_option options[] = {
      {.name = "json", .key = 'j', .doc = "dump: write JSON instead of text"},
      {0},
  };
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .args_doc = "options\ndump PID",
      .doc =
          "options: shows every option of the MLTP library: its environment variable, its value "
          "in this environment, its default and what it means.\n"
          "dump: shows all threads of a running program that uses the library: what each waits "
          "for, and its backtrace. The program is stopped meanwhile, then goes on.",
  };
  struct request request = {0};
  argp_program_version_hook = print_version;
  argp_err_exit_status = 2;
  argp_parse(&argp, argc, argv, 0, NULL, &request);
  if (is(&request, "dump")) return dump(request.pid, request.json);
  mltp_options(STDOUT_FILENO);
  return 0;
}
