/* SPDX-License-Identifier: Apache-2.0 */
/** @file run.h `mltp run`: programs that were not written for MLTP share CPUs, too. */
#ifndef TOOLS_MLTP_RUN_H
#define TOOLS_MLTP_RUN_H

/** The command. @return its exit status, if the program was not started. */
int run_main(int argc, char **argv);

#endif
