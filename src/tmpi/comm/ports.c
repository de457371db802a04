/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports, names of services, and communicators made through them.
 *
 * All ranks are in one job, so a port is a number and the rank that opened it: "tmpi-port:3:17".
 * Connecting and accepting roots may be in different worlds, so they meet by messages on a context
 * of the port's own: the connecting root sends its number and a new context, the accepting root,
 * which has opened the port, receives them from any, and both continue on that as the leaders of
 * MPI_Intercomm_create(). A root that waits is reported like one in a collective. A connecting root
 * with a limit of time takes its message back when the time is over.
 */
#include <mltp/sched.h>
#include <mltp/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tmpi/coll/coll.h"
#include "tmpi/comm/intercomm.h"
#include "tmpi/comm/registry.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/object/info.h"
#include "tmpi/request/request.h"

enum { LOOK_NS = 1000000 /* a root with a limit looks again */ };

/* ---- ports and services */

static void copy_name(struct tm_registry_entry *entry, const char *port) {
  snprintf(entry->port, sizeof entry->port, "%s", port != NULL ? port : "");
}

#pragma weak MPI_Open_port = PMPI_Open_port
int PMPI_Open_port(MPI_Info info, char *port_name) {
  const struct tm_rank *rank = tm_enter("MPI_Open_port");
  struct tm_registry_entry entry = {.owner = rank->number};
  int error = tm_check_info(NULL, "MPI_Open_port", info); /* no hints are known */
  if (error != MPI_SUCCESS) return error;
  error = tm_registry(TM_PORT_OPEN, "MPI_Open_port", NULL, &entry);
  if (error != MPI_SUCCESS) return tm_fail_code(NULL, "MPI_Open_port", error);
  snprintf(port_name, MPI_MAX_PORT_NAME, "%s", entry.port);
  return MPI_SUCCESS;
}

#pragma weak MPI_Close_port = PMPI_Close_port
int PMPI_Close_port(const char *port_name) {
  struct tm_registry_entry entry = {0};
  tm_enter("MPI_Close_port");
  copy_name(&entry, port_name);
  if (tm_registry(TM_PORT_CLOSE, "MPI_Close_port", NULL, &entry) == MPI_SUCCESS) return MPI_SUCCESS;
  return tm_fail(NULL, "MPI_Close_port", MPI_ERR_PORT, "no port '%.40s' is open", port_name);
}

#pragma weak MPI_Publish_name = PMPI_Publish_name
int PMPI_Publish_name(const char *service_name, MPI_Info info, const char *port_name) {
  struct tm_registry_entry entry = {0};
  tm_enter("MPI_Publish_name");
  int error = tm_check_info(NULL, "MPI_Publish_name", info);
  if (error != MPI_SUCCESS) return error;
  copy_name(&entry, port_name);
  error = tm_registry(TM_SERVICE_NAME, "MPI_Publish_name", service_name, &entry);
  if (error != MPI_ERR_SERVICE)
    return error == MPI_SUCCESS ? error : tm_fail_code(NULL, "MPI_Publish_name", error);
  return tm_fail(NULL, "MPI_Publish_name", MPI_ERR_SERVICE, "service '%.40s' is published already",
                 service_name);
}

#pragma weak MPI_Unpublish_name = PMPI_Unpublish_name
int PMPI_Unpublish_name(const char *service_name, MPI_Info info, const char *port_name) {
  static const char call[] = "MPI_Unpublish_name";
  struct tm_registry_entry entry = {0};
  tm_enter(call);
  int error = tm_check_info(NULL, call, info);
  if (error != MPI_SUCCESS) return error;
  copy_name(&entry, port_name);
  if (tm_registry(TM_SERVICE_FORGET, call, service_name, &entry) == MPI_SUCCESS) return MPI_SUCCESS;
  return tm_fail(NULL, call, MPI_ERR_SERVICE, "service '%.40s' is not published with this port",
                 service_name);
}

#pragma weak MPI_Lookup_name = PMPI_Lookup_name
int PMPI_Lookup_name(const char *service_name, MPI_Info info, char *port_name) {
  struct tm_registry_entry entry = {0};
  tm_enter("MPI_Lookup_name");
  int error = tm_check_info(NULL, "MPI_Lookup_name", info);
  if (error != MPI_SUCCESS) return error;
  if (tm_registry(TM_SERVICE_FIND, "MPI_Lookup_name", service_name, &entry) != MPI_SUCCESS)
    return tm_fail(NULL, "MPI_Lookup_name", MPI_ERR_NAME, "service '%.40s' is not published",
                   service_name);
  snprintf(port_name, MPI_MAX_PORT_NAME, "%s", entry.port);
  return MPI_SUCCESS;
}

/* ---- two groups meet */

/* A communicator between the caller and one other rank of the job, for as long as they meet: they
 * may be in different worlds. With itself the caller hears of any rank. name: for reports. */
static struct tm_comm *new_bridge(uint64_t context, int other, const char *name) {
  struct tm_group *own = tm_group_new(1), *remote = tm_group_new(1);
  if (own == NULL || remote == NULL) tm_panic("no memory to meet rank %d", other);
  own->ranks[0] = tm_rank_number();
  remote->ranks[0] = other;
  struct tm_comm *bridge = tm_comm_new(context, own, remote);
  if (bridge == NULL) tm_panic("no memory to meet rank %d", other);
  snprintf(bridge->name, sizeof bridge->name, "%s", name);
  return bridge;
}

/* Checks what the root has given. *owner, *context: of the port. */
static int find_port(struct tm_comm *comm, const char *call, const char *port, bool accepts,
                     int *owner, uint64_t *context) {
  struct tm_registry_entry entry = {0};
  copy_name(&entry, port);
  if (tm_registry(TM_PORT_FIND, call, NULL, &entry) != MPI_SUCCESS)
    return tm_fail(comm, call, MPI_ERR_PORT, "no port '%.40s' is open", port);
  *owner = entry.owner;
  *context = entry.context;
  if (!accepts || *owner == tm_rank_number()) return MPI_SUCCESS;
  return tm_fail(comm, call, MPI_ERR_PORT, "rank %d has opened '%.40s', and is not the root here",
                 *owner, port);
}

/* What the connecting root tells the accepting one. */
struct caller {
  int rank; /* in the job */
  uint64_t context;
};

/* A call of both roots. The info counts at the root alone. */
struct joining {
  const char *call, *port;
  int owner;        /* of the port */
  uint64_t context; /* of the port */
  MPI_Info info;
  bool accepts;
  double limit; /* seconds that it may wait to be accepted; 0: as long as it takes */
};

/* The connecting root's message. @return false: nobody has received it in time. */
static bool offer(struct tm_coll *coll, const struct caller *caller, double limit) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  struct tm_request request, *one = &request;
  if (limit == 0) {
    tm_coll_send(coll, caller, sizeof *caller, byte, 0);
    return true;
  }
  uint64_t deadline = mltp_after((uint64_t)(limit * 1e9));
  tm_request_borrow_inner(&request, TM_SEND, caller, sizeof *caller, byte, 0, coll->tag,
                          coll->comm);
  request.mode = TM_SYNCHRONOUS;
  tm_request_start(&request);
  while (!tm_request_done(&request) && mltp_now() < deadline) mltp_sleep(LOOK_NS);
  tm_request_withdraw(&request);
  tm_requests_wait(&one, 1, 1, coll->call); /* a receiver may be copying it */
  return !request.cancelled;
}

/* @return the communicator with the other root; NULL: the time is over. */
static struct tm_comm *meet(const struct joining *m) {
  struct tm_comm *bridge = new_bridge(m->context, m->owner, m->port);
  struct tm_coll coll = tm_coll_tagged(bridge, m->call, 0);
  struct caller caller = {tm_rank_number(), m->accepts ? 0 : tm_context_new()};
  bool met = true;
  if (m->accepts)
    tm_coll_recv(&coll, &caller, sizeof caller, tm_type_of(MPI_BYTE), MPI_ANY_SOURCE);
  else
    met = offer(&coll, &caller, m->limit);
  tm_comm_release(bridge);
  return met ? new_bridge(caller.context, m->accepts ? caller.rank : m->owner, m->port) : NULL;
}

/* @return seconds: the info's "timeout", or what programs give MPICH by its variables. 0: no
 * limit. */
static double limit_of(MPI_Info handle) {
  struct tm_info *info = handle != MPI_INFO_NULL ? tm_info_of(handle) : NULL;
  const struct tm_info_entry *entry = info != NULL ? tm_info_find(info, "timeout") : NULL;
  const char *text = entry != NULL ? entry->value : getenv("MPIR_CVAR_CH4_COMM_CONNECT_TIMEOUT");
  double limit = text != NULL ? strtod(text, NULL) : 0;
  return limit > 0 && limit < 1e9 ? limit : 0;
}

/* The root's part. */
static int meet_at(struct tm_comm *comm, struct joining *m, struct tm_comm **bridge) {
  int error = tm_check_info(comm, m->call, m->info);
  if (error != MPI_SUCCESS) return error;
  m->limit = m->accepts ? 0 : limit_of(m->info); /* to accept has no limit */
  error = find_port(comm, m->call, m->port, m->accepts, &m->owner, &m->context);
  if (error != MPI_SUCCESS || (*bridge = meet(m)) != NULL) return error;
  return tm_fail(comm, m->call, MPI_ERR_PORT,
                 "rank %d has not accepted at '%.40s' for %g s (give a longer \"timeout\")",
                 m->owner, m->port, m->limit);
}

static int join(struct joining *m, int root, MPI_Comm handle, MPI_Comm *result) {
  struct tm_comm *comm, *bridge = NULL;
  int error = tm_get_comm(m->call, handle, &comm);
  if (error != MPI_SUCCESS) return error;
  if (comm->inter) return tm_fail(comm, m->call, MPI_ERR_COMM, "it is an intercommunicator");
  if (root < 0 || root >= comm->size)
    return tm_fail(comm, m->call, MPI_ERR_ROOT, "root %d is not one of the %d ranks", root,
                   comm->size);
  struct tm_coll all = tm_coll_begin_rooted(comm, m->call, root);
  if (comm->rank == root) error = meet_at(comm, m, &bridge);
  tm_bcast(&all, &error, sizeof error, tm_type_of(MPI_BYTE), root);
  if (error != MPI_SUCCESS) return comm->rank == root ? error : tm_fail_code(comm, m->call, error);
  error = tm_intercomm_make(comm, m->call, root, bridge, 0, 0, result);
  if (bridge != NULL) tm_comm_release(bridge);
  return error;
}

#pragma weak MPI_Comm_accept = PMPI_Comm_accept
int PMPI_Comm_accept(const char *port_name, MPI_Info info, int root, MPI_Comm comm,
                     MPI_Comm *newcomm) {
  struct joining joining = {"MPI_Comm_accept", port_name, .info = info, .accepts = true};
  return join(&joining, root, comm, newcomm);
}

#pragma weak MPI_Comm_connect = PMPI_Comm_connect
int PMPI_Comm_connect(const char *port_name, MPI_Info info, int root, MPI_Comm comm,
                      MPI_Comm *newcomm) {
  struct joining joining = {"MPI_Comm_connect", port_name, .info = info, .accepts = false};
  return join(&joining, root, comm, newcomm);
}

/* ---- a socket */

/* What each side writes. */
struct hello {
  uint64_t job;     /* tm_job_mark() */
  uint64_t context; /* the smaller one counts */
  int32_t rank;     /* in the job */
  int32_t process;  /* for messages */
};

/* @return false: the socket has failed or ended. */
static bool exchange_hellos(int fd, const struct hello *own, struct hello *theirs) {
  size_t done = 0;
  mltp_blocking_begin();
  /* a partner that has closed its end is an error, not SIGPIPE */
  bool good = send(fd, own, sizeof *own, MSG_NOSIGNAL) == (ssize_t)sizeof *own;
  while (good && done < sizeof *theirs) {
    ssize_t count = read(fd, (char *)theirs + done, sizeof *theirs - done);
    good = count > 0;
    done += good ? (size_t)count : 0;
  }
  mltp_blocking_end();
  return good;
}

/* Both sides have to be ranks of this job, on whichever nodes: a message to a rank of another job
 * has no way. */
#pragma weak MPI_Comm_join = PMPI_Comm_join
int PMPI_Comm_join(int fd, MPI_Comm *intercomm) {
  static const char call[] = "MPI_Comm_join";
  const struct tm_rank *rank = tm_enter(call);
  struct hello own = {tm_job_mark(), tm_context_new(), rank->number, getpid()}, theirs;
  *intercomm = MPI_COMM_NULL;
  if (!exchange_hellos(fd, &own, &theirs))
    return tm_fail(NULL, call, MPI_ERR_OTHER, "descriptor %d: no partner has answered", fd);
  if (theirs.job != own.job)
    return tm_fail(NULL, call, MPI_ERR_OTHER,
                   "process %d is another job (start both as parts of one: tmpirun A : B)",
                   theirs.process);
  struct tm_comm *self,
      *bridge = new_bridge(own.context < theirs.context ? own.context : theirs.context, theirs.rank,
                           "a socket");
  int error = tm_get_comm(call, MPI_COMM_SELF, &self);
  if (error == MPI_SUCCESS) error = tm_intercomm_make(self, call, 0, bridge, 0, 0, intercomm);
  tm_comm_release(bridge);
  return error;
}
