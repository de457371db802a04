/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Communicators made from groups alone. The members have nothing in common yet but the group and
 * the tag that the program gives; from these all compute the context of a communicator to
 * make_interim in, by a hash of 60 bits: two that are under way at once will not have the same.
 */
#include <stdlib.h>
#include <string.h>

#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/object/info.h"
#include "tmpi/object/session.h"
#include "tmpi/object/span.h"

/* Fowler, Noll and Vo's. */
static uint64_t add_to_hash(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *from = data;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ from[i]) * 0x100000001b3u;
  return hash;
}

/* Contexts given out are small, those of nonblocking collectives have the highest bit, and those of
 * intercommunicators' own sides the one below it. An interim communicator has no team, so it
 * can be taken for one of the latter only if the hashes are equal. */
static uint64_t interim_context(const struct tm_group *group, const char *tag) {
  uint64_t hash = add_to_hash(0xcbf29ce484222325u, tag, strlen(tag));
  hash = add_to_hash(hash, group->ranks, (size_t)group->size * sizeof group->ranks[0]);
  return TM_CONTEXT_LOCAL | (hash >> 3 << 1);
}

/* Makes a communicator for messages alone: of the group with itself, as an intercommunicator is.
 * Members may begin the next call with the same tag before all have left this one. Messages of two
 * calls are distinct, phases of a team would not be. @return NULL: no memory. */
static struct tm_comm *make_interim(struct tm_group *group, const char *tag) {
  tm_group_hold(group);
  tm_group_hold(group);
  return tm_comm_new(interim_context(group, tag), group, group);
}

/* To the first member of each other node. */
static void notify_nodes(struct tm_coll *coll, const struct tm_group *group, uint64_t context) {
  struct tm_span *span = tm_group_spans(group) ? tm_span_new(group, 0) : NULL;
  if (span == NULL && tm_group_spans(group))
    tm_panic("no memory for a group of %d ranks", group->size);
  for (int i = 1; span != NULL && i < span->nodes; i++)
    tm_coll_send(coll, &context, sizeof context, tm_type_of(MPI_BYTE), span->speakers[i]);
  free(span);
}

/* The first member makes a context and tells the first of each node, which tells the others there.
 * @return false: no memory. */
static bool agree(const char *call, struct tm_group *group, const char *tag, uint64_t *context) {
  struct tm_comm *interim = make_interim(group, tag);
  if (interim == NULL) return false;
  struct tm_coll coll = tm_coll_begin(interim, call);
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  int rank = interim->rank, first = 0;
  while (!tm_rank_is_here(group->ranks[first])) first++;
  if (rank == 0)
    notify_nodes(&coll, group, *context = tm_context_new());
  else
    tm_coll_recv(&coll, context, sizeof *context, byte, rank == first ? 0 : first);
  for (int i = first + 1; rank == first && i < group->size; i++)
    if (tm_rank_is_here(group->ranks[i])) tm_coll_send(&coll, context, sizeof *context, byte, i);
  tm_comm_release(interim);
  return true;
}

/* A communicator of the group. @return NULL: no memory. */
static struct tm_comm *make(const char *call, struct tm_group *group, const char *tag) {
  uint64_t context;
  if (!agree(call, group, tag, &context)) return NULL;
  tm_group_hold(group);
  return tm_comm_new(context, group, NULL);
}

/* What both calls check. Errors are the given handler's, as the standard says. */
static int check(const char *call, MPI_Group handle, const char *tag, MPI_Info info,
                 MPI_Errhandler errhandler, const MPI_Comm *result, struct tm_group **group) {
  tm_enter(call);
  struct tm_errhandler *handler = tm_errhandler_of(errhandler);
  *group = tm_group_of(handle);
  if (handler == NULL)
    return tm_fail(NULL, call, MPI_ERR_ERRHANDLER, "the error handler is not valid");
  if (*group == NULL) return tm_fail_by(handler, call, MPI_ERR_GROUP, "the group is not valid");
  if (tag == NULL || strlen(tag) >= MPI_MAX_STRINGTAG_LEN)
    return tm_fail_by(handler, call, MPI_ERR_ARG, "there is no tag, or it is too long");
  if (tm_info_is_wrong(info))
    return tm_fail_by(handler, call, MPI_ERR_INFO, "the info is not valid");
  if (result == NULL)
    return tm_fail_by(handler, call, MPI_ERR_ARG, "there is no place for the communicator");
  return MPI_SUCCESS;
}

/* What the program wants of the new one. */
static void dress(struct tm_comm *comm, const struct tm_group *group, MPI_Info info,
                  MPI_Errhandler errhandler) {
  tm_comm_set_handler(comm, tm_errhandler_of(errhandler));
  if (info != MPI_INFO_NULL) comm->info = tm_info_hints(tm_info_of(info));
  comm->session = group->session;
  tm_session_hold(comm->session);
}

#pragma weak MPI_Comm_create_from_group = PMPI_Comm_create_from_group
int PMPI_Comm_create_from_group(MPI_Group handle, const char *tag, MPI_Info info,
                                MPI_Errhandler errhandler, MPI_Comm *result) {
  static const char call[] = "MPI_Comm_create_from_group";
  struct tm_group *group;
  int error = check(call, handle, tag, info, errhandler, result, &group);
  if (error != MPI_SUCCESS) return error;
  *result = MPI_COMM_NULL;
  if (group->size == 0) return MPI_SUCCESS;
  struct tm_comm *comm = make(call, group, tag);
  if (comm == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  dress(comm, group, info, errhandler);
  *result = (MPI_Comm)comm;
  return MPI_SUCCESS;
}

/* An interim communicator of the caller and another rank of the job, in the order of their numbers.
 * @return NULL: no memory. */
static struct tm_comm *pair_of(int own_number, int other_number, const char *tag) {
  struct tm_group *two = tm_group_new(2);
  if (two == NULL) return NULL;
  bool is_second = own_number > other_number;
  two->ranks[is_second] = own_number;
  two->ranks[!is_second] = other_number;
  struct tm_comm *leaders = make_interim(two, tag);
  tm_group_release(two);
  return leaders;
}

/* The leaders make_interim in a group of the two; each side has a communicator of its own. */
#pragma weak MPI_Intercomm_create_from_groups = PMPI_Intercomm_create_from_groups
int PMPI_Intercomm_create_from_groups(MPI_Group local_handle, int local_leader,
                                      MPI_Group remote_handle, int remote_leader, const char *tag,
                                      MPI_Info info, MPI_Errhandler errhandler, MPI_Comm *result) {
  static const char call[] = "MPI_Intercomm_create_from_groups";
  struct tm_group *local, *remote;
  int error = check(call, local_handle, tag, info, errhandler, result, &local);
  if (error != MPI_SUCCESS) return error;
  if (local_leader < 0 || local_leader >= local->size)
    return tm_fail(NULL, call, MPI_ERR_RANK, "leader %d is not one of the %d ranks", local_leader,
                   local->size);
  bool leads = local->ranks[local_leader] == tm_rank_number();
  remote = tm_group_of(remote_handle); /* of leaders only */
  if (leads && (remote == NULL || remote_leader < 0 || remote_leader >= remote->size))
    return tm_fail(NULL, call, remote == NULL ? MPI_ERR_GROUP : MPI_ERR_RANK,
                   "the remote group is not valid, or rank %d is not in it", remote_leader);
  int own_number = local->ranks[local_leader];
  int other_number = leads ? remote->ranks[remote_leader] : own_number;
  struct tm_comm *side = make(call, local, tag);
  struct tm_comm *leaders = side != NULL && leads ? pair_of(own_number, other_number, tag) : NULL;
  bool is_made = side != NULL && (!leads || leaders != NULL);
  error = MPI_ERR_NO_MEM;
  if (is_made) {
    tm_comm_set_handler(side, tm_errhandler_returning());
    error = PMPI_Intercomm_create((MPI_Comm)side, local_leader, (MPI_Comm)leaders,
                                  own_number < other_number, 0, result);
  }
  if (error == MPI_SUCCESS) dress(tm_comm_of(*result), local, info, errhandler);
  if (side != NULL) tm_comm_release(side);
  if (leaders != NULL) tm_comm_release(leaders);
  return error == MPI_SUCCESS ? error : tm_fail_code(NULL, call, error);
}
