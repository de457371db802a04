/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of MPI_T for a rank; texts, values and enumerations. See tool.h. */
#include "tmpi/tool/tool.h"

#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "tmpi/env/init.h"

struct tm_rank *tm_tool_rank(void) {
  struct tm_rank *rank = tm_rank_self();
  /* relaxed: the count is all there is */
  return rank != NULL && mt_load_relaxed(&rank->tools) > 0 ? rank : NULL;
}

#pragma weak MPI_T_init_thread = PMPI_T_init_thread
int PMPI_T_init_thread(int required, int *provided) {
  struct tm_rank *rank = tm_init_rank("MPI_T_init_thread");
  (void)required;
  mt_add_relaxed(&rank->tools, 1); /* relaxed: as above */
  *provided = MPI_THREAD_MULTIPLE;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_finalize = PMPI_T_finalize
int PMPI_T_finalize(void) {
  struct tm_rank *rank = tm_tool_rank();
  if (rank == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  mt_add_relaxed(&rank->tools, -1); /* relaxed: as above */
  return MPI_SUCCESS;
}

void tm_tool_text(const char *text, char *to, int *length) {
  if (length == NULL) return;
  if (to != NULL && *length > 0) snprintf(to, (size_t)*length, "%s", text);
  *length = (int)strlen(text) + 1;
}

MPI_Datatype tm_tool_datatype(enum tm_tool_type type) {
  return type == TM_TOOL_INT        ? MPI_INT
         : type == TM_TOOL_UNSIGNED ? MPI_UNSIGNED
                                    : MPI_UNSIGNED_LONG_LONG;
}

void tm_tool_value(enum tm_tool_type type, uint64_t value, void *to) {
  unsigned word = (unsigned)value;
  if (type == TM_TOOL_LARGE)
    memcpy(to, &value, sizeof value);
  else
    memcpy(to, &word, sizeof word);
}

/* ---- enumerations */

struct tm_tool_enum {
  const char *name;
  int count;
  const char *items[3]; /* by value */
};

const struct tm_tool_enum tm_tool_waits = {
    "tmpi_wait",
    3,
    {[TM_WAIT_CONSCIOUS] = "conscious", [TM_WAIT_SPIN] = "spin", [TM_WAIT_PARK] = "park"}};

#pragma weak MPI_T_enum_get_info = PMPI_T_enum_get_info
int PMPI_T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  if ((const void *)enumtype != &tm_tool_waits) return MPI_T_ERR_INVALID_HANDLE;
  tm_tool_int(tm_tool_waits.count, num);
  tm_tool_text(tm_tool_waits.name, name, name_len);
  return MPI_SUCCESS;
}

#pragma weak MPI_T_enum_get_item = PMPI_T_enum_get_item
int PMPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  if ((const void *)enumtype != &tm_tool_waits) return MPI_T_ERR_INVALID_HANDLE;
  if (indx < 0 || indx >= tm_tool_waits.count) return MPI_T_ERR_INVALID_INDEX;
  tm_tool_int(indx, value);
  tm_tool_text(tm_tool_waits.items[indx], name, name_len);
  return MPI_SUCCESS;
}
