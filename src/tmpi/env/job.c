/* SPDX-License-Identifier: Apache-2.0 */
/* The job begins. */
#include "tmpi/env/job.h"

#include <errno.h>
#include <mltp/mltp.h>
#include <stdlib.h>

#include "core/internal/park.h"
#include "core/internal/placement.h"
#include "tmpi/layout/predefined.h"
#include "tmpi/object/group.h"
#include "tmpi/report/report.h"

int tm_job_start(int size, int most) {
  if (tm_job.ranks != NULL) return EINVAL;
  /* not aligned_alloc(): fresh pages of the kernel's need no memset() */
  char *room = calloc(1, (size_t)most * sizeof(struct tm_rank) + TM_LINE);
  struct tm_group *all = tm_group_new(size);
  if (room == NULL || all == NULL) {
    free(room); /* the job ends */
    return ENOMEM;
  }
  struct tm_rank *ranks = (void *)(room + (-(uintptr_t)room & (TM_LINE - 1)));
  mti_move_ranks();
  tm_job.size = tm_job.first_size = size;
  tm_job.most = most;
  tm_job.vp_count = mltp_vp() >= 0 ? mltp_vps_active() : 0;
  for (int i = 0; i < size; i++) {
    ranks[i].number = all->ranks[i] = i;
    ranks[i].box.home = tm_rank_home(i);
  }
  tm_job.ranks = ranks;
  tm_job.all = all;
  tm_job.next_context = 4; /* world and self have the first ones */
  if (tm_job.wait == TM_WAIT_SPIN && tm_job.spin_ns == 0) tm_job.spin_ns = mti_park_ns();
  if (tm_job.wait == TM_WAIT_SPIN && tm_job.spin_ns == 0) tm_job.wait = TM_WAIT_PARK;
  tm_types_start();
  tm_report_start();
  return 0;
}
