/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_T: control variables, which tools may read. See tool.h. */
#include <stdlib.h>
#include <string.h>

#include "tmpi/mailbox/mailbox.h"
#include "tmpi/tool/tool.h"

struct cvar {
  const char *name, *meaning;
  enum tm_tool_type type;
  int scope, verbosity;
  bool is_wait; /* its values are those of tm_tool_waits */
  uint64_t (*read)(void);
};

static uint64_t ranks(void) { return (uint64_t)tm_job.first_size; }
static uint64_t vps(void) { return (uint64_t)tm_job.vp_count; }
static uint64_t wait_mode(void) { return (uint64_t)tm_job.wait; }
static uint64_t spin_ns(void) { return tm_job.spin_ns; }
static uint64_t full_reports(void) { return tm_job.full_reports; }
static uint64_t inline_bytes(void) { return TM_INLINE_SLOT_BYTES; }
static uint64_t cell_bytes(void) { return TM_CELL_BYTES; }
static uint64_t cells(void) { return TM_CELLS_MAX; }
static uint64_t held_bytes(void) { return TM_HELD_MAX; }

static const struct cvar cvars[] = {
    {"tmpi_ranks", "ranks that the job began with: tmpirun -n", TM_TOOL_INT, MPI_T_SCOPE_READONLY,
     MPI_T_VERBOSITY_USER_BASIC, false, ranks},
    {"tmpi_vps", "virtual processors that run ranks, 0: a kernel thread each: tmpirun --vps",
     TM_TOOL_INT, MPI_T_SCOPE_READONLY, MPI_T_VERBOSITY_USER_BASIC, false, vps},
    {"tmpi_wait", "what a call does before it parks: tmpirun --wait", TM_TOOL_INT,
     MPI_T_SCOPE_READONLY, MPI_T_VERBOSITY_TUNER_BASIC, true, wait_mode},
    {"tmpi_spin_ns", "nanoseconds of --wait=spin, 0: as long as a park takes", TM_TOOL_LARGE,
     MPI_T_SCOPE_READONLY, MPI_T_VERBOSITY_TUNER_BASIC, false, spin_ns},
    {"tmpi_full_reports", "1: reports have a line for each rank: tmpirun --full", TM_TOOL_INT,
     MPI_T_SCOPE_READONLY, MPI_T_VERBOSITY_USER_DETAIL, false, full_reports},
    {"tmpi_inline_bytes", "largest message that lies in the mailbox's own cache line", TM_TOOL_INT,
     MPI_T_SCOPE_CONSTANT, MPI_T_VERBOSITY_TUNER_DETAIL, false, inline_bytes},
    {"tmpi_cell_bytes", "largest message that lies in a cell that is used again", TM_TOOL_INT,
     MPI_T_SCOPE_CONSTANT, MPI_T_VERBOSITY_TUNER_DETAIL, false, cell_bytes},
    {"tmpi_cells", "free cells that a mailbox keeps", TM_TOOL_INT, MPI_T_SCOPE_CONSTANT,
     MPI_T_VERBOSITY_TUNER_DETAIL, false, cells},
    {"tmpi_held_bytes", "bytes of copies in a mailbox beyond which senders keep their data",
     TM_TOOL_LARGE, MPI_T_SCOPE_CONSTANT, MPI_T_VERBOSITY_TUNER_DETAIL, false, held_bytes},
};

enum { COUNT = sizeof cvars / sizeof cvars[0] };

int tm_cvar_count(void) { return COUNT; }

/* On the heap, with a mark. */
struct handle {
  uint32_t magic;
  const struct cvar *of;
};

enum { MAGIC = 0x7c5a1 };

static int get(MPI_T_cvar_handle handle, const struct handle **found) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  *found = (const struct handle *)handle;
  return *found != NULL && (*found)->magic == MAGIC ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

#pragma weak MPI_T_cvar_get_num = PMPI_T_cvar_get_num
int PMPI_T_cvar_get_num(int *num_cvar) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  *num_cvar = COUNT;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_cvar_get_info = PMPI_T_cvar_get_info
int PMPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity,
                         MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len,
                         int *bind, int *scope) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  if (cvar_index < 0 || cvar_index >= COUNT) return MPI_T_ERR_INVALID_INDEX;
  const struct cvar *cvar = &cvars[cvar_index];
  tm_tool_text(cvar->name, name, name_len);
  tm_tool_text(cvar->meaning, desc, desc_len);
  tm_tool_int(cvar->verbosity, verbosity);
  tm_tool_int(MPI_T_BIND_NO_OBJECT, bind);
  tm_tool_int(cvar->scope, scope);
  if (datatype != NULL) *datatype = tm_tool_datatype(cvar->type);
  if (enumtype != NULL)
    *enumtype = cvar->is_wait ? (MPI_T_enum)(uintptr_t)&tm_tool_waits : MPI_T_ENUM_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_cvar_get_index = PMPI_T_cvar_get_index
int PMPI_T_cvar_get_index(const char *name, int *cvar_index) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == NULL || cvar_index == NULL) return MPI_T_ERR_INVALID;
  for (int i = 0; i < COUNT; i++)
    if (strcmp(cvars[i].name, name) == 0) {
      *cvar_index = i;
      return MPI_SUCCESS;
    }
  return MPI_T_ERR_INVALID_NAME;
}

#pragma weak MPI_T_cvar_handle_alloc = PMPI_T_cvar_handle_alloc
int PMPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle,
                             int *count) {
  (void)obj_handle; /* no variable is bound to an object */
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  if (cvar_index < 0 || cvar_index >= COUNT) return MPI_T_ERR_INVALID_INDEX;
  struct handle *made = malloc(sizeof *made);
  if (made == NULL) return MPI_T_ERR_OUT_OF_HANDLES;
  *made = (struct handle){MAGIC, &cvars[cvar_index]};
  *handle = (MPI_T_cvar_handle)made;
  *count = 1;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_cvar_handle_free = PMPI_T_cvar_handle_free
int PMPI_T_cvar_handle_free(MPI_T_cvar_handle *handle) {
  const struct handle *found;
  int error = get(*handle, &found);
  if (error != MPI_SUCCESS) return error;
  free((void *)(uintptr_t)found);
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_cvar_read = PMPI_T_cvar_read
int PMPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf) {
  const struct handle *found;
  int error = get(handle, &found);
  if (error == MPI_SUCCESS) tm_tool_value(found->of->type, found->of->read(), buf);
  return error;
}

#pragma weak MPI_T_cvar_write = PMPI_T_cvar_write
int PMPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf) {
  const struct handle *found;
  int error = get(handle, &found);
  (void)buf;
  return error == MPI_SUCCESS ? MPI_T_ERR_CVAR_SET_NEVER : error;
}
