/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file wrapper.h
 * Commands that start the MPI program: `tmpirun -n 4 env A=1 ./app`, `bash -c ./app`, scripts.
 *
 * Such a command runs once, as a process, for which tmpirun waits (wrapped.h). Its environment says
 * with which options tmpirun was called (TM_LAUNCH). libmpi_abi finds that in the MPI program that
 * the command starts, before main(), and replaces the process by tmpirun with these options
 * (env/launched.c). A program of another MPI in there is refused (audited.h).
 *
 * Rejected: the command as ranks (exec() would replace all of them, and its children would each be
 * rank 0 of 1), a process of the command for each rank (nothing joins the programs they start).
 */
#ifndef TM_RUN_WRAPPER_H
#define TM_RUN_WRAPPER_H

#include <stdbool.h>

/** What tmpirun was called with. */
struct tm_wrapper_options {
  char *const *words; /* in front of the command */
  int count;          /* of words */
  int ranks;
};

/** Runs the command in place of tmpirun if that is a wrapper. @return true: it is none, and
 * *command may have become another one, the interpreter of a script that ranks run; false after a
 * message. */
bool tm_wrapper_run(char ***command, int *count, const struct tm_wrapper_options *options);

enum { TM_SCRIPT_LINE = 256 /* the kernel's, for "#!" */ };

/** @return the interpreter's file of a script, to be freed, with its argument, NULL or in `line`,
 * which has room for TM_SCRIPT_LINE. NULL: it is no script. */
char *tm_script_interpreter(const char *path, char *line, char **argument);

#endif
