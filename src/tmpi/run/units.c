/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fortran's units. libgfortran keeps what a rank has written in buffers of its own, which no flush
 * of libc's streams writes: a reason that a program prints before it calls MPI_Abort() would be
 * lost. Other MPIs end such a process by exit(), where libgfortran's destructor closes all units.
 * That runs here for the rank that ends the job, and for no other: others may be within an output.
 *
 * Rejected: libgfortran's flush of all units, which waits for a unit that the caller itself is
 * writing to, where a function of an output statement ends the job.
 */
#include <mltp/mltp.h>
#include <string.h>

#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"

static bool is_of_gfortran(const char *path) {
  const char *slash = strrchr(path, '/');
  return strncmp(slash != NULL ? slash + 1 : path, "libgfortran.so", 14) == 0;
}

/* A handler may have interrupted libgfortran where it holds a lock. */
static void end_units(void) {
  struct tm_process *process = tm_process_self();
  if (process == NULL || process->thread != mltp_self() || tm_process_is_child() ||
      tm_signals_handles(process))
    return;
  for (int i = 0; i < tm_the_program->start_count; i++)
    if (is_of_gfortran(tm_the_program->images[i]->path))
      tm_program_destruct_image(tm_the_program, tm_the_program->images[i], process->number);
}

void tm_units_start(void) { tm_job_on_failure(end_units); }
