/* SPDX-License-Identifier: Apache-2.0 */
/* Data access: arguments are checked, a place in the file is claimed, and data are transferred at
 * once or by a thread of the library. */
#include <stdlib.h>

#include "tmpi/coll/coll.h"
#include "tmpi/error/errors.h"
#include "tmpi/io/file.h"
#include "tmpi/io/representation.h"
#include "tmpi/mailbox/request_pool.h"
#include "tmpi/request/request.h"

/* ---- arguments */

static int check_mode(struct tm_file *file, const struct tm_io_call *c) {
  int amode = file->common->amode;
  bool own_pointer = c->pointer == TM_AT || c->pointer == TM_INDIVIDUAL;
  if (c->writes && (amode & MPI_MODE_RDONLY) != 0)
    return tm_file_fail(file, c->call, MPI_ERR_READ_ONLY, "the file was opened to be read only");
  if (!c->writes && (amode & MPI_MODE_WRONLY) != 0)
    return tm_file_fail(file, c->call, MPI_ERR_ACCESS, "the file was opened to be written only");
  if (own_pointer && (amode & MPI_MODE_SEQUENTIAL) != 0)
    return tm_file_fail(file, c->call, MPI_ERR_UNSUPPORTED_OPERATION,
                        "MPI_MODE_SEQUENTIAL allows the shared pointer only");
  return MPI_SUCCESS;
}

static int check_data(struct tm_file *file, const struct tm_io_call *c, struct tm_type **type) {
  size_t bytes;
  if (c->count < 0)
    return tm_file_fail(file, c->call, MPI_ERR_COUNT, "count %lld is negative",
                        (long long)c->count);
  *type = tm_type_of(c->type);
  if (*type == NULL || !(*type)->committed)
    return tm_file_fail(file, c->call, MPI_ERR_TYPE, "the datatype is not valid, or not committed");
  if (__builtin_mul_overflow((size_t)c->count, (*type)->size, &bytes) || bytes > INT64_MAX)
    return tm_file_fail(file, c->call, MPI_ERR_COUNT, "the data are larger than any file");
  size_t etype = file->view->etype->size;
  if (etype > 0 && bytes % etype != 0)
    return tm_file_fail(file, c->call, MPI_ERR_IO,
                        "%zu bytes are not a number of the view's etypes of %zu bytes", bytes,
                        etype);
  if (c->buffer == NULL && bytes > 0 && (*type)->predefined)
    return tm_file_fail(file, c->call, MPI_ERR_BUFFER, "the buffer is at address 0");
  return MPI_SUCCESS;
}

/* ---- places */

/* The members' places follow each other in the order of ranks. */
static MPI_Offset claim_ordered(struct tm_file *file, const char *call, MPI_Offset bytes) {
  MPI_Comm comm = (MPI_Comm)file->comm;
  MPI_Offset before = 0, all = 0, first = 0;
  PMPI_Exscan(&bytes, &before, 1, MPI_OFFSET, MPI_SUM, comm);
  PMPI_Allreduce(&bytes, &all, 1, MPI_OFFSET, MPI_SUM, comm);
  if (file->comm->rank == 0) {
    before = 0; /* MPI_Exscan() leaves it undefined */
    first = tm_file_claim(file->common, call, all);
  }
  struct tm_coll coll = tm_coll_begin(file->comm, call);
  tm_bcast(&coll, &first, sizeof first, tm_type_of(MPI_BYTE), 0);
  return first + before;
}

/* Fills t->element. */
static int find_element(struct tm_file *file, const struct tm_io_call *c, struct tm_transfer *t) {
  const struct tm_representation *own = t->view->representation;
  bool same;
  size_t bytes;
  if (!tm_view_element(t->view, t->type, &t->element, &same))
    return tm_file_fail_errno(file, c->call, TM_NOT_CONVERTED, file->common->name);
  if (__builtin_mul_overflow(t->count, t->element, &bytes) || bytes > INT64_MAX)
    return tm_file_fail(file, c->call, MPI_ERR_COUNT, "the data are larger than any file");
  if (own != NULL && !tm_representation_converts(own, t->writes) && !same)
    return tm_file_fail(file, c->call, MPI_ERR_CONVERSION,
                        "'%s' has no function to %s elements, which have another size in the file",
                        own->name, t->writes ? "write" : "read");
  return MPI_SUCCESS;
}

static int find_place(struct tm_file *file, const struct tm_io_call *c, struct tm_transfer *t) {
  MPI_Offset bytes = (MPI_Offset)tm_transfer_visible(t);
  switch (c->pointer) {
    case TM_AT:
      if (c->offset < 0 ||
          __builtin_mul_overflow(c->offset, (MPI_Offset)file->view->unit, &t->position))
        return tm_file_fail(file, c->call, MPI_ERR_ARG, "offset %lld is negative, or too large",
                            (long long)c->offset);
      break;
    case TM_INDIVIDUAL: t->position = file->position; break;
    case TM_SHARED: t->position = tm_file_claim(file->common, c->call, bytes); break;
    case TM_ORDERED: t->position = claim_ordered(file, c->call, bytes); break;
  }
  if (c->writes && bytes > 0 && tm_view_interleaves(t->view) &&
      t->position > (MPI_Offset)t->view->filetype->size - bytes)
    return tm_file_fail(file, c->call, MPI_ERR_IO,
                        "more than one element of a file type whose extent is less than its span");
  if (c->pointer == TM_INDIVIDUAL) file->position += bytes;
  return MPI_SUCCESS;
}

/* Fills *t. @return MPI_SUCCESS or what tm_file_fail() returned. */
static int prepare(const struct tm_io_call *c, struct tm_file **result, struct tm_transfer *t) {
  struct tm_file *file = NULL;
  t->type = NULL;
  int error = tm_get_file(c->call, c->file, &file);
  if (error == MPI_SUCCESS) error = check_mode(file, c);
  if (error == MPI_SUCCESS) error = check_data(file, c, &t->type);
  if (error != MPI_SUCCESS) return error;
  *result = file;
  t->common = file->common;
  t->view = file->view;
  t->writes = c->writes;
  t->atomic = file->atomic;
  t->background = false;
  t->buffer = c->buffer;
  t->count = (size_t)c->count;
  error = find_element(file, c, t);
  return error == MPI_SUCCESS ? find_place(file, c, t) : error;
}

/* ---- at once */

static int perform(const struct tm_io_call *c, struct tm_file **file, size_t *bytes) {
  struct tm_transfer t;
  int error = prepare(c, file, &t);
  if (error != MPI_SUCCESS) return error;
  int failed = tm_transfer_perform(&t, bytes);
  if (failed == 0) return MPI_SUCCESS;
  return tm_file_fail_errno(*file, c->call, failed, (*file)->common->name);
}

int tm_io_blocking(const struct tm_io_call *c, MPI_Status *status) {
  struct tm_file *file;
  size_t bytes = 0;
  int error = perform(c, &file, &bytes);
  tm_status_bytes(status, MPI_ANY_SOURCE, MPI_ANY_TAG, bytes);
  return error;
}

/* ---- by a thread. It runs no code of the program, so it needs no stack as large as a rank's. */

enum { STACK = 262144 /* bytes */ };

struct task {
  struct tm_transfer transfer; /* holds its references */
  struct tm_request *request;
  int rank; /* in the job */
};

static void end_task(struct task *task) {
  tm_type_release(task->transfer.type);
  tm_view_release(task->transfer.view);
  tm_file_common_release(task->transfer.common);
  free(task);
}

static void perform_task(struct task *task) {
  struct tm_request *request = task->request;
  int failed = tm_transfer_perform(&task->transfer, &request->bytes);
  request->error = failed == 0 ? MPI_SUCCESS : tm_file_class(failed);
  end_task(task);
  tm_request_complete(request);
}

static void *run(void *argument) {
  struct task *task = argument;
  if (tm_rank_enter(task->rank) != 0) tm_panic("no memory for a thread of rank %d", task->rank);
  perform_task(task);
  return NULL;
}

/* @return NULL: no memory. */
static struct task *make_task(struct tm_file *file, const struct tm_transfer *transfer) {
  struct task *task = calloc(1, sizeof *task);
  struct tm_request *request = tm_request_new_of(TM_COLLECTIVE);
  if (task == NULL || request == NULL) {
    free(task);
    tm_request_free(request);
    return NULL;
  }
  task->transfer = *transfer;
  task->transfer.background = transfer->view->representation == NULL;
  task->request = request;
  task->rank = file->comm->owner->number;
  tm_type_hold(transfer->type);
  tm_view_hold(transfer->view);
  tm_file_common_hold(transfer->common);
  request->owner = file->comm->owner;
  request->comm = file->comm; /* whose errors are returned */
  tm_comm_hold(file->comm);
  request->source = MPI_ANY_SOURCE;
  request->tag = MPI_ANY_TAG;
  return task;
}

int tm_io_start(const struct tm_io_call *c, MPI_Request *handle) {
  struct tm_file *file;
  struct tm_transfer transfer = {0};
  int error = prepare(c, &file, &transfer);
  if (error != MPI_SUCCESS) return error;
  struct task *task = make_task(file, &transfer);
  if (task == NULL) return tm_file_fail(file, c->call, MPI_ERR_NO_MEM, "no memory");
  struct tm_request *request = task->request;
  *handle = (MPI_Request)request;
  mltp_attr_t attr = MLTP_ATTR_INIT;
  attr.name = c->call;
  attr.detached = 1;
  attr.stack_size = STACK;
  /* At once, if the program's functions convert, or the system has no thread to give now. */
  if (!task->transfer.background || mltp_create(NULL, &attr, run, task) != 0) perform_task(task);
  return MPI_SUCCESS;
}

/* ---- split: begun and performed at once, its status is kept for the end */

int tm_io_split_begin(const struct tm_io_call *c, enum tm_split split) {
  struct tm_file *file;
  int error = tm_get_file(c->call, c->file, &file);
  if (error != MPI_SUCCESS) return error;
  if (file->split != TM_NO_SPLIT)
    return tm_file_fail(file, c->call, MPI_ERR_IO, "another split collective has not ended");
  size_t bytes = 0;
  error = perform(c, &file, &bytes);
  if (error != MPI_SUCCESS) return error;
  file->split = split;
  file->split_writes = c->writes;
  file->split_bytes = bytes;
  return MPI_SUCCESS;
}

int tm_io_split_end(const struct tm_io_call *c, enum tm_split split, MPI_Status *status) {
  struct tm_file *file;
  int error = tm_get_file(c->call, c->file, &file);
  if (error != MPI_SUCCESS) return error;
  if (file->split != split || file->split_writes != c->writes)
    return tm_file_fail(file, c->call, MPI_ERR_IO, "no such split collective has begun");
  file->split = TM_NO_SPLIT;
  tm_status_bytes(status, MPI_ANY_SOURCE, MPI_ANY_TAG, file->split_bytes);
  return MPI_SUCCESS;
}
