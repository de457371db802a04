/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file foreign_options.h
 * Options of Open MPI's and MPICH's launchers on tmpirun's command line.
 *
 * Each is one of four: a word for an option of ours, an order that is carried out at once (a
 * variable, the working folder), one that has no meaning for ranks of one process and is accepted
 * (where to bind them), or one that is refused with what to do instead. What is carried out is
 * taken from the command line, so a wrapper's tmpirun (wrapper.h) does not do it again.
 */
#ifndef TM_RUN_FOREIGN_OPTIONS_H
#define TM_RUN_FOREIGN_OPTIONS_H

#include <stdbool.h>

/** Carries out the options in front of a program, or replaces them by ours. argv[0] is no option.
 * later: the program is not the first, so it has no options that hold for all ranks. takes_next:
 * whether a word is an option of ours that the next word belongs to. *argv becomes another array.
 * @return the number of words left; -1 after a message. */
int tm_foreign_options(int argc, char ***argv, bool later, bool (*takes_next)(const char *word));

#endif
