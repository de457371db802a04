/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_T: performance variables, counts of the calling rank. See tool.h.
 *
 * Relaxed: parks, mail and sessions are counts of the rank; another thread of it may read an older
 * value.
 */
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "core/internal/locks.h"
#include "tmpi/match/intake.h"
#include "tmpi/tool/tool.h"

struct pvar {
  const char *name, *meaning;
  enum tm_tool_type type;
  int class;
  bool readonly; /* false: its handles count from where they were reset */
  uint64_t (*read)(struct tm_rank *rank);
};

static uint64_t parks(struct tm_rank *rank) { return mt_load_relaxed(&rank->parks); }
static uint64_t sessions(struct tm_rank *rank) { return mt_load_relaxed(&rank->sessions); }

static uint64_t arrived(struct tm_rank *rank) {
  tm_intake_poll(rank);
  return mt_load_relaxed(&rank->box.mail);
}

static uint64_t held(struct tm_rank *rank) {
  tm_intake_poll(rank);
  mti_lock(&rank->box.ilock);
  uint64_t bytes = rank->box.held;
  mti_unlock(&rank->box.ilock);
  return bytes;
}

static uint64_t outstanding(struct tm_rank *rank) {
  mti_lock(&rank->worker.ilock);
  uint64_t count = rank->worker.outstanding;
  mti_unlock(&rank->worker.ilock);
  return count;
}

static const struct pvar pvars[] = {
    {"tmpi_parks", "waits of the rank without a processor", TM_TOOL_LARGE, MPI_T_PVAR_CLASS_COUNTER,
     false, parks},
    {"tmpi_messages_arrived", "messages that no receive has taken", TM_TOOL_UNSIGNED,
     MPI_T_PVAR_CLASS_LEVEL, true, arrived},
    {"tmpi_bytes_held", "bytes of copies of such messages", TM_TOOL_LARGE, MPI_T_PVAR_CLASS_LEVEL,
     true, held},
    {"tmpi_collectives_outstanding", "nonblocking collectives started and not completed",
     TM_TOOL_UNSIGNED, MPI_T_PVAR_CLASS_LEVEL, true, outstanding},
    {"tmpi_sessions", "sessions begun and not ended", TM_TOOL_UNSIGNED, MPI_T_PVAR_CLASS_LEVEL,
     true, sessions},
};

enum { COUNT = sizeof pvars / sizeof pvars[0], SESSION = 0x7c5e5, HANDLE = 0x7c5a4 };

int tm_pvar_count(void) { return COUNT; }

struct session;

struct handle {
  uint32_t magic;
  struct session *session;
  const struct pvar *of;
  uint64_t base; /* where it counts from */
  struct handle *next;
};

struct session {
  uint32_t magic;
  struct handle *handles;
};

/* ---- what there is */

#pragma weak MPI_T_pvar_get_num = PMPI_T_pvar_get_num
int PMPI_T_pvar_get_num(int *num_pvar) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  *num_pvar = COUNT;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_pvar_get_info = PMPI_T_pvar_get_info
int PMPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                         MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                         int *bind, int *readonly, int *continuous, int *atomic) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  if (pvar_index < 0 || pvar_index >= COUNT) return MPI_T_ERR_INVALID_INDEX;
  const struct pvar *pvar = &pvars[pvar_index];
  tm_tool_text(pvar->name, name, name_len);
  tm_tool_text(pvar->meaning, desc, desc_len);
  tm_tool_int(MPI_T_VERBOSITY_USER_BASIC, verbosity);
  tm_tool_int(pvar->class, var_class);
  tm_tool_int(MPI_T_BIND_NO_OBJECT, bind);
  tm_tool_int(pvar->readonly, readonly);
  tm_tool_int(1, continuous);
  tm_tool_int(0, atomic);
  if (datatype != NULL) *datatype = tm_tool_datatype(pvar->type);
  if (enumtype != NULL) *enumtype = MPI_T_ENUM_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_pvar_get_index = PMPI_T_pvar_get_index
int PMPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == NULL || pvar_index == NULL) return MPI_T_ERR_INVALID;
  for (int i = 0; i < COUNT; i++)
    if (strcmp(pvars[i].name, name) == 0 && pvars[i].class == var_class) {
      *pvar_index = i;
      return MPI_SUCCESS;
    }
  return MPI_T_ERR_INVALID_NAME;
}

/* ---- sessions and their handles */

static int get_session(MPI_T_pvar_session handle, struct session **session) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  *session = (struct session *)handle;
  return *session != NULL && (*session)->magic == SESSION ? MPI_SUCCESS : MPI_T_ERR_INVALID_SESSION;
}

static int get(MPI_T_pvar_session in, MPI_T_pvar_handle given, struct handle **handle) {
  struct session *session;
  int error = get_session(in, &session);
  if (error != MPI_SUCCESS) return error;
  *handle = (struct handle *)given;
  bool good = given != MPI_T_PVAR_HANDLE_NULL && given != MPI_T_PVAR_ALL_HANDLES &&
              (*handle)->magic == HANDLE && (*handle)->session == session;
  return good ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

#pragma weak MPI_T_pvar_session_create = PMPI_T_pvar_session_create
int PMPI_T_pvar_session_create(MPI_T_pvar_session *session) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  struct session *made = malloc(sizeof *made);
  if (made == NULL) return MPI_T_ERR_OUT_OF_SESSIONS;
  *made = (struct session){SESSION, NULL};
  *session = (MPI_T_pvar_session)made;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_pvar_session_free = PMPI_T_pvar_session_free
int PMPI_T_pvar_session_free(MPI_T_pvar_session *session) {
  struct session *found;
  int error = get_session(*session, &found);
  if (error != MPI_SUCCESS) return error;
  for (struct handle *handle = found->handles, *next; handle != NULL; handle = next) {
    next = handle->next;
    free(handle);
  }
  free(found);
  *session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_pvar_handle_alloc = PMPI_T_pvar_handle_alloc
int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle,
                             MPI_T_pvar_handle *handle, int *count) {
  struct session *found;
  (void)obj_handle; /* no variable is bound to an object */
  int error = get_session(session, &found);
  if (error != MPI_SUCCESS) return error;
  if (pvar_index < 0 || pvar_index >= COUNT) return MPI_T_ERR_INVALID_INDEX;
  struct handle *made = malloc(sizeof *made);
  if (made == NULL) return MPI_T_ERR_OUT_OF_HANDLES;
  *made = (struct handle){HANDLE, found, &pvars[pvar_index], 0, found->handles};
  if (!made->of->readonly) made->base = made->of->read(tm_rank_self());
  found->handles = made;
  *handle = (MPI_T_pvar_handle)made;
  *count = 1;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_pvar_handle_free = PMPI_T_pvar_handle_free
int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle) {
  struct handle *found;
  int error = get(session, *handle, &found);
  if (error != MPI_SUCCESS) return error;
  struct handle **at = &found->session->handles;
  while (*at != found) at = &(*at)->next;
  *at = found->next;
  free(found);
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

/* ---- values */

#pragma weak MPI_T_pvar_read = PMPI_T_pvar_read
int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf) {
  struct handle *found;
  int error = get(session, handle, &found);
  if (error == MPI_SUCCESS)
    tm_tool_value(found->of->type, found->of->read(tm_rank_self()) - found->base, buf);
  return error;
}

/* The same as get(), of a handle whose value can be set. */
static int get_writable(MPI_T_pvar_session in, MPI_T_pvar_handle given, struct handle **handle) {
  int error = get(in, given, handle);
  return error == MPI_SUCCESS && (*handle)->of->readonly ? MPI_T_ERR_PVAR_NO_WRITE : error;
}

#pragma weak MPI_T_pvar_write = PMPI_T_pvar_write
int PMPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf) {
  uint64_t value;
  struct handle *found;
  int error = get_writable(session, handle, &found);
  if (error != MPI_SUCCESS) return error;
  memcpy(&value, buf, sizeof value); /* all that can be written are TM_TOOL_LARGE */
  found->base = found->of->read(tm_rank_self()) - value;
  return MPI_SUCCESS;
}

static int reset_all(MPI_T_pvar_session session) {
  struct session *found;
  int error = get_session(session, &found);
  if (error != MPI_SUCCESS) return error;
  for (struct handle *each = found->handles; each != NULL; each = each->next)
    if (!each->of->readonly) each->base = each->of->read(tm_rank_self());
  return MPI_SUCCESS;
}

#pragma weak MPI_T_pvar_reset = PMPI_T_pvar_reset
int PMPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  const uint64_t zero = 0;
  if (handle == MPI_T_PVAR_ALL_HANDLES) return reset_all(session);
  return PMPI_T_pvar_write(session, handle, &zero);
}

/* Reads once: what another thread of the rank adds is in this value or in the next one. */
#pragma weak MPI_T_pvar_readreset = PMPI_T_pvar_readreset
int PMPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf) {
  struct handle *found;
  int error = get_writable(session, handle, &found);
  if (error != MPI_SUCCESS) return error;
  uint64_t now = found->of->read(tm_rank_self());
  tm_tool_value(found->of->type, now - found->base, buf);
  found->base = now;
  return MPI_SUCCESS;
}

/* All are continuous: with MPI_T_PVAR_ALL_HANDLES that means there is nothing to do. */
static int start_or_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  struct session *all;
  struct handle *one;
  int error = get_session(session, &all);
  if (error != MPI_SUCCESS || handle == MPI_T_PVAR_ALL_HANDLES) return error;
  error = get(session, handle, &one);
  return error == MPI_SUCCESS ? MPI_T_ERR_PVAR_NO_STARTSTOP : error;
}

#pragma weak MPI_T_pvar_start = PMPI_T_pvar_start
int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return start_or_stop(session, handle);
}

#pragma weak MPI_T_pvar_stop = PMPI_T_pvar_stop
int PMPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return start_or_stop(session, handle);
}
