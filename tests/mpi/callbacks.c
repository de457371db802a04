/* SPDX-License-Identifier: Apache-2.0 */
/* callbacks WHERE HOW: a function of the program that MPI calls ends the job: what callbacks.py
 * looks at. */
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { COUNT = 1000 };

static int rank, size, values[COUNT], results[COUNT];
static const char *how;

static int is(const char *word) { return strcmp(how, word) == 0; }

static void end(void) {
  fprintf(stderr, "callback\n");
  if (is("abort")) abort();
  if (is("mpi-abort")) MPI_Abort(MPI_COMM_WORLD, 7);
  if (is("exit")) exit(4);
  if (is("_exit")) _exit(5);
  if (is("crash")) *(volatile int *)8 = 1;
}

/* ---- operations */

static void combine(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)in, (void)inout, (void)count, (void)type;
  end();
}

static MPI_Op operation(void) {
  MPI_Op op;
  MPI_Op_create(combine, 0, &op);
  return op;
}

static void allreduce(void) {
  MPI_Allreduce(values, results, COUNT, MPI_INT, operation(), MPI_COMM_WORLD);
}

static void iallreduce(void) {
  MPI_Request request;
  MPI_Iallreduce(values, results, COUNT, MPI_INT, operation(), MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void scan(void) { MPI_Scan(values, results, COUNT, MPI_INT, operation(), MPI_COMM_WORLD); }

/* ---- error handlers */

static void on_comm(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  end();
}
static void on_win(MPI_Win *win, int *code, ...) {
  (void)win, (void)code;
  end();
}
static void on_file(MPI_File *file, int *code, ...) {
  (void)file, (void)code;
  end();
}

static void comm_error(void) {
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(on_comm, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (rank == 1) MPI_Send(values, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Others wait for a lock that the rank holds. */
static void win_error(void) {
  MPI_Win win;
  MPI_Errhandler handler;
  MPI_Win_create(values, sizeof values, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_create_errhandler(on_win, &handler);
  MPI_Win_set_errhandler(win, handler);
  if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Put(values, 1, MPI_INT, 0, COUNT, 1, MPI_INT, win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
}

static void file_error(void) {
  MPI_Errhandler handler;
  MPI_File file;
  MPI_File_create_errhandler(on_file, &handler);
  MPI_File_set_errhandler(MPI_FILE_NULL, handler);
  if (rank == 1) MPI_File_open(MPI_COMM_SELF, "/no/such", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- attributes */

static int copy_attribute(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag) {
  (void)comm, (void)key, (void)extra, (void)value, (void)copy, (void)flag;
  end();
  return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  end();
  return MPI_SUCCESS;
}

static int delete_of_window(MPI_Win win, int key, void *value, void *extra) {
  (void)win, (void)key, (void)value, (void)extra;
  end();
  return MPI_SUCCESS;
}

static void set_attribute(MPI_Comm comm, MPI_Comm_copy_attr_function *copies) {
  int key;
  MPI_Comm_create_keyval(copies, delete_attribute, &key, NULL);
  if (rank == 1) MPI_Comm_set_attr(comm, key, values);
}

static void attribute_copied(void) {
  MPI_Comm copy;
  set_attribute(MPI_COMM_WORLD, copy_attribute);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
}

static void attribute_deleted(void) { set_attribute(MPI_COMM_SELF, MPI_COMM_NULL_COPY_FN); }

static void window_freed(void) {
  int key;
  MPI_Win win;
  MPI_Win_create(values, sizeof values, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_of_window, &key, NULL);
  if (rank == 1) MPI_Win_set_attr(win, key, values);
  MPI_Win_free(&win);
}

/* ---- requests, and representations of data */

static int query(void *state, MPI_Status *status) {
  (void)state, (void)status;
  end();
  return MPI_SUCCESS;
}
static int release(void *state) {
  (void)state;
  return MPI_SUCCESS;
}
static int cancel(void *state, int done) {
  (void)state, (void)done;
  return MPI_SUCCESS;
}

static void request_queried(void) {
  MPI_Request request;
  MPI_Grequest_start(query, release, cancel, NULL, &request);
  MPI_Grequest_complete(request);
  if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
}

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *extra) {
  (void)extra;
  int length;
  MPI_Type_size(type, &length);
  *bytes = length;
  return MPI_SUCCESS;
}

static int convert(void *user, MPI_Datatype type, int count, void *file, MPI_Offset position,
                   void *extra) {
  (void)user, (void)type, (void)count, (void)file, (void)position, (void)extra;
  end();
  return MPI_SUCCESS;
}

/* In atomic mode: the others wait for the lock of transfers. */
static void conversion(void) {
  char name[400];
  const char *folder = getenv("TMPDIR");
  MPI_File file;
  snprintf(name, sizeof name, "%s/tmpi-callbacks-%d", folder != NULL ? folder : "/tmp",
           (int)getpid());
  MPI_Register_datarep("own", convert, convert, extent, NULL);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  unlink(name);
  MPI_File_set_atomicity(file, 1);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "own", MPI_INFO_NULL);
  MPI_File_write_at_all(file, 0, values, COUNT, MPI_INT, MPI_STATUS_IGNORE);
}

static const struct {
  const char *name;
  void (*run)(void);
} places[] = {
    {"allreduce", allreduce},
    {"iallreduce", iallreduce},
    {"scan", scan},
    {"comm-error", comm_error},
    {"win-error", win_error},
    {"file-error", file_error},
    {"attribute-copied", attribute_copied},
    {"attribute-deleted", attribute_deleted},
    {"window-freed", window_freed},
    {"request-queried", request_queried},
    {"conversion", conversion},
};

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  CHECK(argc == 3);
  how = argv[2];
  for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
    if (strcmp(places[i].name, argv[1]) == 0) places[i].run();
  MPI_Finalize();
  return 0;
}
