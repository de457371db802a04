/* SPDX-License-Identifier: Apache-2.0 */
/** @file run.h `mltp run` and `mltp jobs`: programs that were not written for MLTP share CPUs. */
#ifndef TOOLS_MLTP_RUN_H
#define TOOLS_MLTP_RUN_H

/** The command. @return its exit status, if the program was not started. */
int run_main(int argc, char **argv);

/** The command. Blocks until the program has ended. @return the program's exit status, 128 and the
 * number of the signal that ended it, or 127: it was not started. */
int jobs_main(int argc, char **argv);

#endif
