/* SPDX-License-Identifier: Apache-2.0 */
/* What a session tells. There are two sets of processes, the job and the rank itself. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"
#include "tmpi/object/world.h"

static const char *const sets[] = {"mpi://WORLD", "mpi://SELF"};
enum { WORLD, SELF, SETS };

static int get(const char *call, MPI_Session handle, MPI_Info info, struct tm_session **session) {
  int error = tm_get_session(call, handle, session);
  if (error != MPI_SUCCESS || !tm_info_is_wrong(info)) return error;
  return tm_session_fail(*session, call, MPI_ERR_INFO, "the info is not valid");
}

#pragma weak MPI_Session_get_info = PMPI_Session_get_info
int PMPI_Session_get_info(MPI_Session handle, MPI_Info *result) {
  struct tm_session *session;
  int error = tm_get_session("MPI_Session_get_info", handle, &session);
  if (error != MPI_SUCCESS) return error;
  struct tm_info *info = tm_info_copy(session->info);
  if (info == NULL)
    return tm_session_fail(session, "MPI_Session_get_info", MPI_ERR_NO_MEM, "no memory");
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}

#pragma weak MPI_Session_get_num_psets = PMPI_Session_get_num_psets
int PMPI_Session_get_num_psets(MPI_Session handle, MPI_Info info, int *count) {
  struct tm_session *session;
  int error = get("MPI_Session_get_num_psets", handle, info, &session);
  if (error == MPI_SUCCESS) *count = SETS;
  return error;
}

#pragma weak MPI_Session_get_nth_pset = PMPI_Session_get_nth_pset
int PMPI_Session_get_nth_pset(MPI_Session handle, MPI_Info info, int n, int *length, char *name) {
  struct tm_session *session;
  int error = get("MPI_Session_get_nth_pset", handle, info, &session);
  if (error != MPI_SUCCESS) return error;
  if (n < 0 || n >= SETS)
    return tm_session_fail(session, "MPI_Session_get_nth_pset", MPI_ERR_ARG,
                           "there is no process set of that number");
  if (length == NULL || (*length > 0 && name == NULL))
    return tm_session_fail(session, "MPI_Session_get_nth_pset", MPI_ERR_ARG,
                           "there is no place for the name or its length");
  if (*length > 0) snprintf(name, (size_t)*length, "%s", sets[n]);
  *length = (int)strlen(sets[n]) + 1;
  return MPI_SUCCESS;
}

/* @return the ranks of mpi://WORLD. */
static const struct tm_group *world_group(void) {
  const struct tm_world *world = tm_world_of(tm_rank_number());
  return world != NULL ? world->group : tm_job.all;
}

/* @return WORLD or SELF; SETS: none of this name. */
static int find_set(const char *name) {
  int set = 0;
  while (set < SETS && (name == NULL || strcasecmp(name, sets[set]) != 0)) set++;
  return set;
}

static int no_set(struct tm_session *session, const char *call) {
  return tm_session_fail(session, call, MPI_ERR_ARG,
                         "there is no such process set (mpi://WORLD and mpi://SELF there are)");
}

#pragma weak MPI_Session_get_pset_info = PMPI_Session_get_pset_info
int PMPI_Session_get_pset_info(MPI_Session handle, const char *name, MPI_Info *result) {
  static const char call[] = "MPI_Session_get_pset_info";
  struct tm_session *session;
  int error = tm_get_session(call, handle, &session);
  if (error != MPI_SUCCESS) return error;
  int set = find_set(name);
  if (set == SETS) return no_set(session, call);
  char size[16];
  snprintf(size, sizeof size, "%d", set == WORLD ? world_group()->size : 1);
  struct tm_info *info = tm_info_copy(NULL);
  if (info == NULL || !tm_info_put(info, "mpi_size", size)) {
    tm_info_free(info);
    return tm_session_fail(session, call, MPI_ERR_NO_MEM, "no memory");
  }
  *result = (MPI_Info)info;
  return MPI_SUCCESS;
}

#pragma weak MPI_Group_from_session_pset = PMPI_Group_from_session_pset
int PMPI_Group_from_session_pset(MPI_Session handle, const char *name, MPI_Group *result) {
  static const char call[] = "MPI_Group_from_session_pset";
  struct tm_session *session;
  int error = tm_get_session(call, handle, &session);
  if (error != MPI_SUCCESS) return error;
  int set = find_set(name);
  if (set == SETS) return no_set(session, call);
  struct tm_group *group = tm_group_new(set == WORLD ? world_group()->size : 1);
  if (group == NULL) return tm_session_fail(session, call, MPI_ERR_NO_MEM, "no memory");
  for (int i = 0; i < group->size; i++)
    group->ranks[i] = set == WORLD ? world_group()->ranks[i] : tm_rank_number();
  group->session = session;
  tm_session_hold(session);
  *result = (MPI_Group)group;
  return MPI_SUCCESS;
}
