/* SPDX-License-Identifier: Apache-2.0 */
/* No memory for files and windows (no_memory.h). */
#include <unistd.h>

#include "no_memory.h"

/* ---- files */

static MPI_File file, external; /* native and external32 */
static MPI_Datatype spread;     /* every other one of four integers */

static int open_file(void) {
  char name[64];
  MPI_File opened = MPI_FILE_NULL;
  snprintf(name, sizeof name, "/tmp/no_memory-%d", (int)getpid());
  int error =
      MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE,
                    MPI_INFO_NULL, &opened);
  CHECK((error == MPI_SUCCESS) == (opened != MPI_FILE_NULL));
  if (error == MPI_SUCCESS) error = MPI_File_close(&opened);
  CHECK(access(name, F_OK) != 0);
  return error;
}

/* Writes and reads every other integer of a buffer. */
static int transfer(MPI_File in_file) {
  int out[4] = {1, 2, 3, 4}, in[4] = {0};
  int error = MPI_File_write_at(in_file, 0, out, 1, spread, MPI_STATUS_IGNORE);
  if (error == MPI_SUCCESS) error = MPI_File_read_at(in_file, 0, in, 1, spread, MPI_STATUS_IGNORE);
  CHECK(error != MPI_SUCCESS || (in[0] == 1 && in[1] == 0 && in[2] == 3 && in[3] == 0));
  return error;
}

static int transfer_native(void) { return transfer(file); }

static int transfer_external(void) { return transfer(external); }

static int read_later(void) {
  int in = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_File_iread_at(file, 0, &in, 1, MPI_INT, &request);
  CHECK((error == MPI_SUCCESS) == (request != MPI_REQUEST_NULL));
  return error == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : error;
}

/* ---- windows */

static MPI_Win window;

static int end_window(int error, MPI_Win *win) {
  CHECK((error == MPI_SUCCESS) == (*win != MPI_WIN_NULL));
  return error == MPI_SUCCESS ? MPI_Win_free(win) : error;
}

static int create_window(void) {
  static int memory[4];
  MPI_Win win = MPI_WIN_NULL;
  return end_window(MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win),
                    &win);
}

static int allocate_window(void) {
  void *memory;
  MPI_Win win = MPI_WIN_NULL;
  return end_window(MPI_Win_allocate(100, 1, MPI_INFO_NULL, MPI_COMM_SELF, &memory, &win), &win);
}

static int attach_memory(void) {
  static int memory[4];
  MPI_Win win = MPI_WIN_NULL;
  int error = MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_SELF, &win);
  bool made = error == MPI_SUCCESS;
  if (made) CHECK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN) == MPI_SUCCESS);
  if (made) error = MPI_Win_attach(win, memory, sizeof memory);
  if (error == MPI_SUCCESS) error = MPI_Win_detach(win, memory);
  if (made) MPI_Win_free(&win);
  return error;
}

/* More than fits into what an accumulate has on the stack, with gaps. */
static int accumulate(void) {
  enum { MANY = 2000 };
  static int values[2 * MANY];
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int error = MPI_Type_vector(MANY, 1, 2, MPI_INT, &type);
  if (error == MPI_SUCCESS) error = MPI_Type_commit(&type);
  CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == MPI_SUCCESS);
  if (error == MPI_SUCCESS)
    error = MPI_Accumulate(values, 1, type, 0, 0, MANY, MPI_INT, MPI_SUM, window);
  CHECK(MPI_Win_unlock(0, window) == MPI_SUCCESS);
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return error;
}

static const struct row rows[] = {{"MPI_File_open", open_file, FROM_TO(1, 1) | FROM_TO(4, 6)},
                                  {"MPI_File_read_at", transfer_native, 0},
                                  {"MPI_File_read_at in external32", transfer_external, 0},
                                  {"MPI_File_iread_at", read_later, 0},
                                  {"MPI_Win_create", create_window, FROM_TO(1, 3)},
                                  {"MPI_Win_allocate", allocate_window, FROM_TO(1, 4)},
                                  {"MPI_Win_attach", attach_memory, FROM_TO(1, 3)},
                                  {"MPI_Accumulate", accumulate, 0}};

static MPI_File opened(int number) {
  char name[64];
  MPI_File made;
  snprintf(name, sizeof name, "/tmp/no_memory-%d-%d", (int)getpid(), number);
  CHECK(MPI_File_open(MPI_COMM_SELF, name,
                      MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                      &made) == MPI_SUCCESS);
  return made;
}

static void open_objects(void) {
  static int memory[4000];
  file = opened(1);
  external = opened(2);
  CHECK(MPI_File_set_view(external, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL) ==
        MPI_SUCCESS);
  CHECK(MPI_Type_vector(2, 1, 2, MPI_INT, &spread) == MPI_SUCCESS);
  CHECK(MPI_Type_commit(&spread) == MPI_SUCCESS);
  CHECK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_SELF, &window) ==
        MPI_SUCCESS);
  CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN) == MPI_SUCCESS);
}

static void close_objects(void) {
  MPI_File_close(&file);
  MPI_File_close(&external);
  MPI_Type_free(&spread);
  MPI_Win_free(&window);
}

int main(int argc, char **argv) {
  start(&argc, &argv, MPI_THREAD_SINGLE);
  open_objects();
  check_rows(rows, sizeof rows / sizeof rows[0]);
  close_objects();
  MPI_Finalize();
  return 0;
}
