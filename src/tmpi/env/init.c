/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start and end of MPI for a rank, and what can be asked of the environment.
 *
 * Relaxed: a rank's phase is its own; others read it for reports.
 */
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/attr/attribute.h"
#include "tmpi/coll/coll.h"
#include "tmpi/env/init.h"
#include "tmpi/env/job.h"
#include "tmpi/env/launch.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/world.h"
#include "tmpi/rank/rank.h"
#include "tmpi/rank/user_code.h"
#include "tmpi/rank/worker.h"

/* A program that tmpirun did not start is a job of one rank. */
static struct tm_rank *start_alone(const char *call) {
  const char *refusal = tm_launch_refusal();
  if (refusal != NULL) tm_end_job(NULL, call, MPI_ERR_OTHER, refusal);
  if (mltp_init(1) != 0 || tm_job_start(1, 1, 0, 1) != 0 || tm_rank_enter(0) != 0)
    tm_fail(NULL, call, MPI_ERR_OTHER, "no memory, or a bad MLTP_ variable (see above)");
  tm_job.alone = true;
  return tm_rank_self();
}

struct tm_rank *tm_init_rank(const char *call) {
  struct tm_rank *rank = tm_rank_self();
  return rank != NULL ? rank : start_alone(call);
}

static int init(const char *call, int required, int *provided) {
  struct tm_rank *rank = tm_init_rank(call);
  if (mt_load_relaxed(&rank->stage) != TM_BEFORE_INIT)
    return tm_fail(NULL, call, MPI_ERR_OTHER, "called twice, or after MPI_Finalize()");
  if (!tm_world_start(rank)) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  rank->thread_level = required < MPI_THREAD_SINGLE     ? MPI_THREAD_SINGLE
                       : required > MPI_THREAD_MULTIPLE ? MPI_THREAD_MULTIPLE
                                                        : required;
  mt_store_relaxed(&rank->thread, mltp_self());
  mti_lock(&rank->box.ilock);
  rank->box.bounded = rank->thread_level < MPI_THREAD_MULTIPLE;
  mti_unlock(&rank->box.ilock);
  if (provided != NULL) *provided = rank->thread_level;
  mt_store_relaxed(&rank->stage, TM_INITIALIZED);
  if (rank->number < tm_job.first_size) tm_job_count_init();
  return MPI_SUCCESS;
}

#pragma weak MPI_Init = PMPI_Init
int PMPI_Init(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return init("MPI_Init", MPI_THREAD_SINGLE, NULL);
}

#pragma weak MPI_Init_thread = PMPI_Init_thread
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  (void)argc, (void)argv;
  return init("MPI_Init_thread", required, provided);
}

#pragma weak MPI_Initialized = PMPI_Initialized
int PMPI_Initialized(int *flag) {
  const struct tm_rank *rank = tm_rank_self();
  *flag = rank != NULL && mt_load_relaxed(&rank->stage) != TM_BEFORE_INIT;
  return MPI_SUCCESS;
}

#pragma weak MPI_Finalized = PMPI_Finalized
int PMPI_Finalized(int *flag) {
  const struct tm_rank *rank = tm_rank_self();
  *flag = rank != NULL && mt_load_relaxed(&rank->stage) == TM_FINALIZED;
  return MPI_SUCCESS;
}

#pragma weak MPI_Finalize = PMPI_Finalize
int PMPI_Finalize(void) {
  struct tm_rank *rank = tm_enter("MPI_Finalize");
  tm_job_count_finalize();
  if (mt_load_relaxed(&rank->self) != NULL) /* relaxed: the rank's other threads have ended calls */
    tm_attributes_delete(&tm_comm_self(rank)->attributes, MPI_COMM_SELF);
  tm_attributes_delete(&rank->world->attributes, MPI_COMM_WORLD);
  if (tm_job_rank_ends() != NULL)
    tm_job_rank_ends()->finalize();
  else
    tm_barrier(rank->world, "MPI_Finalize");
  if (tm_user_code_is_shared(rank)) tm_user_code_give(rank); /* nobody will wait for them */
  mt_store_relaxed(&rank->stage, TM_FINALIZED);
  tm_worker_end(rank);
  return MPI_SUCCESS;
}

#pragma weak MPI_Query_thread = PMPI_Query_thread
int PMPI_Query_thread(int *provided) {
  *provided = tm_enter("MPI_Query_thread")->thread_level;
  return MPI_SUCCESS;
}

#pragma weak MPI_Is_thread_main = PMPI_Is_thread_main
int PMPI_Is_thread_main(int *flag) {
  *flag = tm_enter("MPI_Is_thread_main")->thread == mltp_self();
  return MPI_SUCCESS;
}

static void end_members(const struct tm_rank_ends *ends, const struct tm_group *group, int status) {
  for (int i = 0; i < group->size; i++)
    if (group->ranks[i] != tm_rank_number()) ends->end(group->ranks[i], status);
}

/* Returns unless the other ranks of the job can continue. */
static void abort_members(MPI_Comm handle, int code, int status) {
  const struct tm_rank_ends *ends = tm_job_rank_ends();
  const struct tm_comm *comm = ends != NULL ? tm_comm_of(handle) : NULL;
  if (comm == NULL || handle == MPI_COMM_WORLD || tm_comm_is_far(comm)) return;
  fflush(stdout); /* all streams may not be: tm_job_flush() takes locks, and the job continues */
  fprintf(stderr,
          "WARNING: tmpi: rank %d called MPI_Abort(%d) (the %d ranks that are not in its "
          "communicator continue)\n",
          tm_rank_number(), code,
          tm_job.size - comm->size - (comm->inter ? comm->remote->size : 0));
  end_members(ends, comm->group, status);
  if (comm->inter) end_members(ends, comm->remote, status);
  ends->end(tm_rank_number(), status);
}

#pragma weak MPI_Abort = PMPI_Abort
int PMPI_Abort(MPI_Comm comm, int code) {
  int rank = tm_rank_number(), status = (code & 0xff) != 0 ? code & 0xff : 1;
  abort_members(comm, code, status);
  tm_job_end_output(); /* before the message: what the rank printed led to it */
  fprintf(stderr, "tmpi: rank %d called MPI_Abort(%d)\n", rank, code);
  tm_job_tell(status, "rank %d called MPI_Abort(%d)", rank, code);
  _exit(status);
}

#pragma weak MPI_Get_processor_name = PMPI_Get_processor_name
int PMPI_Get_processor_name(char *name, int *length) {
  tm_enter("MPI_Get_processor_name");
  if (gethostname(name, MPI_MAX_PROCESSOR_NAME - 1) != 0) strcpy(name, "localhost");
  name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
  *length = (int)strlen(name);
  return MPI_SUCCESS;
}

#pragma weak MPI_Get_version = PMPI_Get_version
int PMPI_Get_version(int *version, int *subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return MPI_SUCCESS;
}

#pragma weak MPI_Get_library_version = PMPI_Get_library_version
int PMPI_Get_library_version(char *version, int *length) {
  *length = sprintf(version, "tmpi of MLTP %d.%d.%d", MLTP_VERSION_MAJOR, MLTP_VERSION_MINOR,
                    MLTP_VERSION_PATCH);
  return MPI_SUCCESS;
}

#pragma weak MPI_Wtime = PMPI_Wtime
double PMPI_Wtime(void) { return (double)mltp_now() * 1e-9; }

#pragma weak MPI_Wtick = PMPI_Wtick
double PMPI_Wtick(void) { return 1e-9; }

#pragma weak MPI_Pcontrol = PMPI_Pcontrol
int PMPI_Pcontrol(int level, ...) {
  (void)level;
  return MPI_SUCCESS;
}

#pragma weak MPI_Alloc_mem = PMPI_Alloc_mem
int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *base) {
  tm_enter("MPI_Alloc_mem");
  int error = tm_check_info(NULL, "MPI_Alloc_mem", info);
  if (error != MPI_SUCCESS) return error;
  if (size < 0) return tm_fail(NULL, "MPI_Alloc_mem", MPI_ERR_SIZE, "size %td is negative", size);
  void *memory = malloc(size > 0 ? (size_t)size : 1);
  if (memory == NULL)
    return tm_fail(NULL, "MPI_Alloc_mem", MPI_ERR_NO_MEM, "no memory for %td bytes", size);
  memcpy(base, &memory, sizeof memory);
  return MPI_SUCCESS;
}

#pragma weak MPI_Free_mem = PMPI_Free_mem
int PMPI_Free_mem(void *base) {
  tm_enter("MPI_Free_mem");
  free(base);
  return MPI_SUCCESS;
}
