/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unnamed critical sections of OpenMP. libgomp has one lock for those of a process, so ranks that
 * waited for each other inside of one would never leave it. Here each rank has a lock. Ranks that
 * use OpenMP are kernel threads (openmp.c): a mutex of libc does.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t *locks; /* [const] of each rank */

static void make_locks(void) {
  locks = calloc((size_t)tm_job.most, sizeof *locks);
  if (locks == NULL) {
    fprintf(stderr, "tmpirun: no memory for the critical sections of %d ranks (fewer ranks)\n",
            tm_job.size);
    tm_job_abort(1);
  }
  for (int i = 0; i < tm_job.most; i++) pthread_mutex_init(&locks[i], NULL);
}

static void start(void) {
  pthread_once(&once, make_locks);
  pthread_mutex_lock(&locks[tm_rank_number()]);
}

static void end(void) { pthread_mutex_unlock(&locks[tm_rank_number()]); }

const struct tm_override tm_override_critical[] = {
    {"GOMP_critical_start", start},
    {"GOMP_critical_end", end},
    {NULL, NULL},
};
