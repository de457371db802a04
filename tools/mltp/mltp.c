/* SPDX-License-Identifier: Apache-2.0 */
/* mltp: what a person asks the library from a shell. */
#include <argp.h>
#include <mltp/mltp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static error_t parse(int key, char *arg, struct argp_state *state) {
  bool *asked = state->input;
  switch (key) {
    case ARGP_KEY_ARG:
      if (*asked || strcmp(arg, "options") != 0) {
        argp_error(state, "cannot do '%s': no such command (the one there is: options)", arg);
      }
      *asked = true;
      return 0;
    case ARGP_KEY_END:
      if (!*asked)
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
      .args_doc = "options",
      .doc =
          "Shows every option of the MLTP library: its environment variable, its value in this "
          "environment, its default and what it means.",
  };
  bool asked = false;
  argp_program_version_hook = print_version;
  argp_err_exit_status = 2;
  argp_parse(&argp, argc, argv, 0, NULL, &asked);
  mltp_options(STDOUT_FILENO);
  return 0;
}
