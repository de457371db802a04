/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_T: categories: the variables that users know, and those of the mailbox. See tool.h. */
#include <string.h>

#include "tmpi/tool/tool.h"

struct category {
  const char *name, *meaning;
  int first_cvar, cvars; /* consecutive in control.c */
  int pvars;             /* all, or none */
};

enum { OPTIONS = 5 }; /* of the control variables: tmpirun's options come first */

static struct category category(int index) {
  return index == 0 ? (struct category){"tmpi_job", "the job and how its ranks wait", 0, OPTIONS,
                                        tm_pvar_count()}
                    : (struct category){"tmpi_mailbox", "sizes in the mailboxes of ranks", OPTIONS,
                                        tm_cvar_count() - OPTIONS, 0};
}

enum { COUNT = 2 };

static int check(int cat_index) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  return cat_index >= 0 && cat_index < COUNT ? MPI_SUCCESS : MPI_T_ERR_INVALID_INDEX;
}

/* Lists consecutive indices. */
static int list(int cat_index, int first, int count, int len, int *indices) {
  int error = check(cat_index);
  for (int i = 0; error == MPI_SUCCESS && i < count && i < len; i++) indices[i] = first + i;
  return error;
}

#pragma weak MPI_T_category_get_num = PMPI_T_category_get_num
int PMPI_T_category_get_num(int *num_cat) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  *num_cat = COUNT;
  return MPI_SUCCESS;
}

#pragma weak MPI_T_category_get_info = PMPI_T_category_get_info
int PMPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                             int *num_cvars, int *num_pvars, int *num_categories) {
  int error = check(cat_index);
  if (error != MPI_SUCCESS) return error;
  struct category found = category(cat_index);
  tm_tool_text(found.name, name, name_len);
  tm_tool_text(found.meaning, desc, desc_len);
  tm_tool_int(found.cvars, num_cvars);
  tm_tool_int(found.pvars, num_pvars);
  tm_tool_int(0, num_categories);
  return MPI_SUCCESS;
}

#pragma weak MPI_T_category_get_index = PMPI_T_category_get_index
int PMPI_T_category_get_index(const char *name, int *cat_index) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  if (name == NULL || cat_index == NULL) return MPI_T_ERR_INVALID;
  for (int i = 0; i < COUNT; i++)
    if (strcmp(category(i).name, name) == 0) {
      *cat_index = i;
      return MPI_SUCCESS;
    }
  return MPI_T_ERR_INVALID_NAME;
}

#pragma weak MPI_T_category_get_cvars = PMPI_T_category_get_cvars
int PMPI_T_category_get_cvars(int cat_index, int len, int indices[]) {
  struct category found = category(cat_index);
  return list(cat_index, found.first_cvar, found.cvars, len, indices);
}

#pragma weak MPI_T_category_get_pvars = PMPI_T_category_get_pvars
int PMPI_T_category_get_pvars(int cat_index, int len, int indices[]) {
  return list(cat_index, 0, category(cat_index).pvars, len, indices);
}

#pragma weak MPI_T_category_get_categories = PMPI_T_category_get_categories
int PMPI_T_category_get_categories(int cat_index, int len, int indices[]) {
  (void)len;
  (void)indices; /* it has none */
  return check(cat_index);
}

#pragma weak MPI_T_category_get_events = PMPI_T_category_get_events
int PMPI_T_category_get_events(int cat_index, int len, int indices[]) {
  (void)len;
  (void)indices; /* it has none */
  return check(cat_index);
}

#pragma weak MPI_T_category_get_num_events = PMPI_T_category_get_num_events
int PMPI_T_category_get_num_events(int cat_index, int *num_events) {
  int error = check(cat_index);
  if (error == MPI_SUCCESS) *num_events = 0;
  return error;
}

/* They never change. */
#pragma weak MPI_T_category_changed = PMPI_T_category_changed
int PMPI_T_category_changed(int *update_number) {
  if (tm_tool_rank() == NULL) return MPI_T_ERR_NOT_INITIALIZED;
  *update_number = 0;
  return MPI_SUCCESS;
}
