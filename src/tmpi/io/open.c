/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files are opened, closed and deleted. Rank 0 opens for all and tells the others what came of it.
 *
 * Relaxed: only the holder of a reference adds one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "tmpi/coll/coll.h"
#include "tmpi/coll/op.h"
#include "tmpi/error/errors.h"
#include "tmpi/io/file.h"
#include "tmpi/object/info.h"

enum {
  ACCESSES = MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR,
  MODES = ACCESSES | MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_DELETE_ON_CLOSE |
          MPI_MODE_UNIQUE_OPEN | MPI_MODE_SEQUENTIAL | MPI_MODE_APPEND
};

/* @return what is wrong with an access mode; NULL: nothing. */
static const char *bad_mode(int amode) {
  int access = amode & ACCESSES;
  if ((amode & ~MODES) != 0) return "there are other bits in the access mode";
  if (access != MPI_MODE_RDONLY && access != MPI_MODE_WRONLY && access != MPI_MODE_RDWR)
    return "the access mode is to be one of MPI_MODE_RDONLY, MPI_MODE_WRONLY, MPI_MODE_RDWR";
  if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL)) != 0)
    return "MPI_MODE_RDONLY does not go with MPI_MODE_CREATE or MPI_MODE_EXCL";
  if (access == MPI_MODE_RDWR && (amode & MPI_MODE_SEQUENTIAL) != 0)
    return "MPI_MODE_RDWR does not go with MPI_MODE_SEQUENTIAL";
  return NULL;
}

static int flags_of(int amode) {
  int flags = O_CLOEXEC;
  flags |= (amode & MPI_MODE_RDWR) != 0     ? O_RDWR
           : (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY
                                            : O_RDONLY;
  if ((amode & MPI_MODE_CREATE) != 0) flags |= O_CREAT;
  if ((amode & MPI_MODE_EXCL) != 0) flags |= O_EXCL;
  return flags;
}

static size_t prefix_of(const char *name, const char *const *prefixes) {
  for (; *prefixes != NULL; prefixes++)
    if (strncmp(name, *prefixes, strlen(*prefixes)) == 0) return strlen(*prefixes);
  return 0;
}

/* @return a name without the file system that programs written for ROMIO or OMPIO may put before
 * it: the systems whose files are reached by the kernel's calls, as all files are here. */
static const char *path_of(const char *name) {
  static const char *const stripped[] = {
      "ufs:", "nfs:", "xfs:", "panfs:", "gpfs:", "lustre:", NULL};
  return name + prefix_of(name, stripped);
}

/* @return whether it names a file system that has calls of its own. */
static bool is_foreign(const char *name) {
  static const char *const foreign[] = {"pvfs2:", "daos:", "ime:", "quobyte:", "testfs:", NULL};
  return prefix_of(name, foreign) > 0;
}

/* ---- what members have in common */

void tm_file_common_hold(struct tm_file_common *common) { mt_add_relaxed(&common->refs, 1); }

/* The last holder closes. */
void tm_file_common_release(struct tm_file_common *common) {
  /* FC-1 acq_rel: other holders' use of it; pairs FC-1 */
  if (mt_add_acq_rel(&common->refs, (uint32_t)-1) != 1) return;
  close(common->fd);
  mltp_lock_destroy(&common->transfers);
  free(common->name);
  free(common);
}

int tm_file_common_open(const char *name, int amode, int members, struct tm_file_common **result) {
  struct tm_file_common *common = calloc(1, sizeof *common);
  if (common != NULL) common->name = strdup(name);
  if (common == NULL || common->name == NULL) {
    free(common);
    return ENOMEM;
  }
  common->fd = tm_file_open_name(name, flags_of(amode));
  struct stat state = {0};
  int error = common->fd < 0 || fstat(common->fd, &state) != 0 ? errno : 0;
  if (error == 0 && S_ISDIR(state.st_mode)) error = EISDIR;
  common->amode = amode;
  if (error == 0) error = tm_file_write_at_once(common);
  if (error != 0) {
    if (common->fd >= 0) close(common->fd);
    free(common->name);
    free(common);
    return error;
  }
  common->refs = (uint32_t)members;
  mltp_lock_init(&common->transfers, MLTP_LOCK_STANDARD, "a file in atomic mode");
  if ((amode & MPI_MODE_APPEND) != 0) common->shared = common->begin = state.st_size;
  tm_file_warn_of_memory(common);
  *result = common;
  return 0;
}

/* Rank 0 tells the others. */
static struct tm_file_opened share(struct tm_comm *comm, const char *call, const char *name,
                                   int amode) {
  struct tm_coll coll = tm_coll_begin(comm, call);
  struct tm_file_opened opened = {0, amode, NULL};
  if (comm->rank == 0) opened.error = tm_file_common_open(name, amode, comm->size, &opened.common);
  tm_bcast(&coll, &opened, sizeof opened, tm_type_of(MPI_BYTE), 0);
  return opened;
}

/* @return whether any member says yes. */
static bool any(struct tm_comm *comm, bool yes) {
  int own = yes, all = 0;
  PMPI_Allreduce(&own, &all, 1, MPI_INT, MPI_LOR, (MPI_Comm)comm);
  return all != 0;
}

int tm_file_agree(struct tm_file *file, const char *call, int error) {
  struct tm_coll coll = tm_coll_begin(file->comm, call);
  if (file->common->spans) {
    int own = error;
    tm_allreduce(&coll, &own, &error, 1, tm_type_of(MPI_INT), tm_op_of(MPI_MAX));
    if (tm_file_acts(file)) tm_file_refresh(file->common);
    tm_barrier(file->comm->local_comm, call); /* no other member reads before */
  } else {
    if (file->comm->rank == 0) tm_file_refresh(file->common);
    tm_bcast(&coll, &error, sizeof error, tm_type_of(MPI_BYTE), 0);
  }
  return error == 0 ? MPI_SUCCESS : tm_file_fail_errno(file, call, error, file->common->name);
}

/* ---- the calls */

static struct tm_comm *make_comm(struct tm_comm *parent, const char *call) {
  uint64_t context = tm_context_agree(parent, call);
  tm_group_hold(parent->group);
  struct tm_comm *comm = tm_comm_new(context, parent->group, NULL);
  if (comm == NULL) tm_panic("no memory for a file of %d ranks", parent->size);
  tm_comm_inherit(comm, parent);
  tm_comm_set_handler(comm, tm_errhandler_returning());
  strcpy(comm->name, "a file");
  return comm;
}

static struct tm_file *make_file(struct tm_comm *comm, struct tm_file_common *common,
                                 MPI_Info info) {
  struct tm_file *file = calloc(1, sizeof *file);
  if (file == NULL || (file->view = tm_view_bytes()) == NULL)
    tm_panic("no memory for a file of %d ranks", comm->size);
  file->magic = TM_FILE_MAGIC;
  file->common = common;
  file->comm = comm;
  file->group = comm->group;
  tm_group_hold(file->group);
  file->handler = tm_file_default_handler();
  file->position = common->begin; /* other members may have moved the shared pointer by now */
  if (info != MPI_INFO_NULL) file->info = tm_info_copy(tm_info_of(info));
  return file;
}

static int check(const char *call, MPI_Comm handle, const char *name, int amode, MPI_Info info,
                 struct tm_comm **comm) {
  int error = tm_get_comm(call, handle, comm);
  if (error != MPI_SUCCESS) return error;
  if ((*comm)->inter) return tm_fail(*comm, call, MPI_ERR_COMM, "it is an intercommunicator");
  if (tm_info_is_wrong(info))
    return tm_file_fail(NULL, call, MPI_ERR_INFO, "the info is not valid");
  if (name == NULL || path_of(name)[0] == '\0')
    return tm_file_fail(NULL, call, MPI_ERR_BAD_FILE, "the name of the file is empty");
  if (is_foreign(name))
    return tm_file_fail(NULL, call, MPI_ERR_IO,
                        "'%.300s': there is no access to that kind of file system (for a file of "
                        "that name, put ./ before it)",
                        name);
  const char *bad = bad_mode(amode);
  return bad == NULL ? MPI_SUCCESS : tm_file_fail(NULL, call, MPI_ERR_AMODE, "%s", bad);
}

#pragma weak MPI_File_open = PMPI_File_open
int PMPI_File_open(MPI_Comm comm_handle, const char *filename, int amode, MPI_Info info,
                   MPI_File *result) {
  static const char call[] = "MPI_File_open";
  struct tm_comm *parent;
  int error = check(call, comm_handle, filename, amode, info, &parent);
  if (error != MPI_SUCCESS) return error;
  filename = path_of(filename);
  struct tm_comm *comm = make_comm(parent, call);
  struct tm_file_opened opened = tm_comm_spans(comm)
                                     ? tm_file_open_on_nodes(comm, call, filename, amode)
                                     : share(comm, call, filename, amode);
  bool differs = any(comm, opened.amode != amode);
  if (opened.error == 0 && !differs) {
    *result = (MPI_File)make_file(comm, opened.common, info);
    return MPI_SUCCESS;
  }
  if (opened.common != NULL) tm_file_common_release(opened.common);
  tm_comm_release(comm);
  *result = MPI_FILE_NULL;
  if (differs)
    return tm_file_fail(NULL, call, MPI_ERR_NOT_SAME, "members gave different access modes");
  if (opened.error == TM_NOT_ONE_FILE)
    return tm_file_fail(NULL, call, MPI_ERR_UNSUPPORTED_OPERATION,
                        "'%.300s' is not one file on all nodes (a file system that they share, "
                        "with locks)",
                        filename);
  return tm_file_fail_errno(NULL, call, opened.error, filename);
}

/* The members' last call for a file that is to be removed. It is gone when the call returns, on all
 * members. NFS keeps a file that is open under another name, so all have to close it before. */
static void remove_closed(struct tm_comm *comm, const char *call, char *name) {
  tm_barrier(comm, call);
  if (name != NULL) unlink(name);
  free(name);
  tm_barrier(comm, call);
}

#pragma weak MPI_File_close = PMPI_File_close
int PMPI_File_close(MPI_File *handle) {
  static const char call[] = "MPI_File_close";
  struct tm_file *file;
  char *name = NULL;
  int error = tm_get_file(call, *handle, &file);
  if (error != MPI_SUCCESS) return error;
  if (file->split != TM_NO_SPLIT)
    return tm_file_fail(file, call, MPI_ERR_IO, "a split collective has not ended");
  struct tm_comm *comm = file->comm;
  bool removes = (file->common->amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
  if (removes && comm->rank == 0 && (name = strdup(file->common->name)) == NULL)
    tm_panic("no memory to remove a file");
  tm_barrier(comm, call); /* all have transferred what they wanted */
  tm_view_release(file->view);
  tm_errhandler_release(file->handler);
  tm_group_release(file->group);
  tm_info_free(file->info);
  tm_file_common_release(file->common);
  if (removes) remove_closed(comm, call, name);
  tm_comm_release(comm);
  file->magic = 0;
  free(file);
  *handle = MPI_FILE_NULL;
  return MPI_SUCCESS;
}

#pragma weak MPI_File_delete = PMPI_File_delete
int PMPI_File_delete(const char *filename, MPI_Info info) {
  static const char call[] = "MPI_File_delete";
  tm_enter(call);
  if (tm_info_is_wrong(info))
    return tm_file_fail(NULL, call, MPI_ERR_INFO, "the info is not valid");
  if (filename != NULL) tm_file_refresh_name(path_of(filename));
  if (filename == NULL || unlink(path_of(filename)) != 0)
    return tm_file_fail_errno(NULL, call, filename == NULL ? ENOENT : errno,
                              filename == NULL ? "" : filename);
  return MPI_SUCCESS;
}
