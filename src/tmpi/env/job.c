/* SPDX-License-Identifier: Apache-2.0 */
/* The job begins. */
#include "tmpi/env/job.h"

#include <errno.h>
#include <mltp/mltp.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "core/internal/process.h"
#include "tmpi/layout/predefined.h"
#include "tmpi/mailbox/intake.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/group.h"
#include "tmpi/object/world.h"
#include "tmpi/report/report.h"

/* Ranks that have a VP each receive short messages by an intake. */
static void start_intakes(struct tm_rank *ranks) {
  if (tm_job.vp_count < 2 || tm_job.local < 2 || tm_job.local > tm_job.vp_count) return;
  if (tm_job.wait == TM_WAIT_PARK) return;
  for (int i = 0; i < tm_job.local; i++) {
    struct tm_intake *intake = aligned_alloc(TM_LINE, sizeof *intake);
    if (intake == NULL) return; /* then messages go through the mailbox */
    memset(intake, 0, sizeof *intake);
    ranks[tm_job.first + i].intake = intake;
    tm_job.past_mailboxes = true;
  }
}

int tm_job_start(int size, int most, int first, int local) {
  if (tm_job.ranks != NULL) return EINVAL;
  /* not aligned_alloc(): fresh pages of the kernel's need no memset() */
  char *room = calloc(1, (size_t)most * sizeof(struct tm_rank) + TM_LINE);
  struct tm_group *all = tm_group_new(size);
  bool spawns_on_nodes = local < size && most > size;
  int *spawned_on = spawns_on_nodes ? calloc((size_t)(most - size), sizeof *spawned_on) : NULL;
  if (room == NULL || all == NULL || (spawns_on_nodes && spawned_on == NULL) ||
      !tm_worlds_start(local)) {
    free(room); /* the job ends */
    free(spawned_on);
    return ENOMEM;
  }
  struct tm_rank *ranks = (void *)(room + (-(uintptr_t)room & (TM_LINE - 1)));
  mti_touch(ranks, (size_t)size * sizeof *ranks);
  mti_move_ranks();
  tm_job.size = tm_job.first_size = size;
  tm_job.most = tm_job.universe = most;
  tm_job.first = first;
  tm_job.local = tm_job.here = local;
  tm_job.spawned_on = spawned_on;
  tm_job.vp_count = mltp_vp() >= 0 ? mltp_vps_active() : 0;
  for (int i = 0; i < size; i++) {
    ranks[i].number = all->ranks[i] = i;
    ranks[i].thread_level = MPI_THREAD_MULTIPLE;
    if (tm_rank_is_here(i)) ranks[i].box.home = tm_rank_home(i);
  }
  tm_job.past_mailboxes = local < size;
  start_intakes(ranks);
  tm_job.ranks = ranks;
  tm_job.all = all;
  /* world and self have the first ones, and each node has numbers of its own */
  tm_job.next_context = 4 + ((uint64_t)(first / local) << TM_CONTEXTS_OF_NODE);
  if (tm_job.wait == TM_WAIT_SPIN && tm_job.spin_ns == 0) tm_job.spin_ns = mti_park_ns();
  if (tm_job.wait == TM_WAIT_SPIN && tm_job.spin_ns == 0) tm_job.wait = TM_WAIT_PARK;
  tm_types_start();
  tm_report_start();
  return 0;
}
