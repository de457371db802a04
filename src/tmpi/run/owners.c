/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See owners.h.
 *
 * Relaxed: the number of a rank is all there is, and the program orders its uses of a descriptor.
 */
#include "tmpi/run/owners.h"

#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/rank/rank.h"

enum { MOST = 1 << 20 /* descriptors from here on have no owner */ };

static uint32_t *owners; /* [atomic] each: the rank and 1, 0: none. NULL: there is one rank */
static uint32_t end;     /* [atomic] no descriptor from here on has an owner */

bool tm_owners_start(void) {
  owners = calloc(MOST, sizeof *owners); /* pages that nobody writes to take no memory */
  return owners != NULL;
}

/* Those below have owners of their own: streams.c. */
static bool is_known(int fd) { return owners != NULL && fd > STDERR_FILENO && fd < MOST; }

int tm_owner_note(int fd) {
  int rank = tm_rank_number();
  if (!is_known(fd) || rank < 0) return fd;
  uint32_t seen = mt_load_relaxed(&end), next = (uint32_t)fd + 1;
  while (seen < next && !mt_cas_relaxed(&end, &seen, next)) continue;
  mt_store_relaxed(&owners[fd], (uint32_t)rank + 1);
  return fd;
}

void tm_owner_forget(int fd) {
  if (is_known(fd)) mt_store_relaxed(&owners[fd], 0);
}

/* @return the first descriptor from fd on that another rank has made; -1: there is none. */
static int next_of_others(int fd, int rank) {
  int most = (int)mt_load_relaxed(&end);
  for (; fd < most; fd++) {
    uint32_t owner = mt_load_relaxed(&owners[fd]);
    if (owner != 0 && owner != (uint32_t)rank + 1) return fd;
  }
  return -1;
}

void tm_owners_close_others(int rank) {
  for (int fd = 0; (fd = next_of_others(fd, rank)) >= 0; fd++) close(fd);
}

int tm_owners_spawn(posix_spawn_file_actions_t *actions) {
  int error = 0, rank = tm_rank_number();
  if (rank < 0) return 0;
  for (int fd = 0; error == 0 && (fd = next_of_others(fd, rank)) >= 0; fd++)
    error = posix_spawn_file_actions_addclose(actions, fd);
  return error;
}
