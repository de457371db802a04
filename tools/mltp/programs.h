/* SPDX-License-Identifier: Apache-2.0 */
/** @file programs.h The programs that an mltpd serves. */
#ifndef TOOLS_MLTP_PROGRAMS_H
#define TOOLS_MLTP_PROGRAMS_H

#include <stddef.h>

#include "coord/proto.h"

/** What one daemon said. */
struct programs {
  struct mt_proto_entry *entries; /* in the order of their connections */
  size_t count, room;
  uint32_t cpus; /* that it divides */
};

/** Asks a daemon. @param where "auto": the user's, else the machine's; or the path of its socket.
 * @return 0, or an exit status after a message. */
int programs_read(const char *where, struct programs *programs);

void programs_free(struct programs *programs);

/** The commands `mltp ps` and `mltp top`. @return exit status. */
int ps_main(int argc, char **argv);
int top_main(int argc, char **argv);

#endif
