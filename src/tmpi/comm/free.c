/* SPDX-License-Identifier: Apache-2.0 */
/* Communicators are freed. */
#include "core/internal/locks.h"
#include "tmpi/attr/attribute.h"
#include "tmpi/coll/collective.h"
#include "tmpi/error/errors.h"
#include "tmpi/match/intake.h"
#include "tmpi/object/world.h"

/* @return whether there is a message that nobody can receive once the handle is gone. */
static bool has_unreceived(const struct tm_comm *comm) {
  struct tm_mailbox *box = &comm->owner->box;
  mti_lock(&box->ilock);
  tm_intake_drain(comm->owner);
  bool found = box->inline_slot.full != 0 && box->inline_slot.envelope.context == comm->context;
  const struct tm_message_entry *m = box->arrived.earliest;
  for (; !found && m != NULL; m = m->later) found = m->entry.envelope.context == comm->context;
  mti_unlock(&box->ilock);
  return found;
}

/* A program that looks at what calls return learns of messages that are lost. Any other is not
 * ended for that: tmpirun --check finds them, too. */
static int check_unreceived(struct tm_comm *comm, const char *call) {
  struct tm_errhandler *handler = tm_comm_handler(comm);
  bool fatal = tm_errhandler_ends(handler);
  tm_errhandler_release(handler);
  if (fatal || !has_unreceived(comm)) return MPI_SUCCESS;
  return tm_fail(comm, call, MPI_ERR_OTHER, "a message on it has not been received, and is lost");
}

static int free_comm(const char *call, MPI_Comm *handle, bool together) {
  struct tm_comm *comm;
  int error = tm_get_comm(call, *handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (*handle == MPI_COMM_WORLD || *handle == MPI_COMM_SELF)
    return tm_fail(comm, call, MPI_ERR_COMM, "%s cannot be freed", comm->name);
  if (together) tm_call_barrier(call, *handle);
  error = tm_attributes_delete(&comm->attributes, *handle);
  if (error != MPI_SUCCESS) return tm_fail_code(comm, call, error);
  struct tm_comm **to_parents = tm_world_to_parents(comm->owner);
  if (to_parents != NULL && *to_parents == comm) *to_parents = NULL;
  error = check_unreceived(comm, call);
  tm_comm_release(comm);
  *handle = MPI_COMM_NULL;
  return error;
}

#pragma weak MPI_Comm_free = PMPI_Comm_free
int PMPI_Comm_free(MPI_Comm *comm) { return free_comm("MPI_Comm_free", comm, false); }

/* What is still under way completes by itself: ranks never come apart. */
#pragma weak MPI_Comm_disconnect = PMPI_Comm_disconnect
int PMPI_Comm_disconnect(MPI_Comm *comm) { return free_comm("MPI_Comm_disconnect", comm, true); }
