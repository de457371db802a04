/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file file.h
 * Files. All members of an open share one descriptor; each has a view of its own, through which it
 * sees the file as a sequence of bytes. Positions are counted in these visible bytes.
 *
 * Every access is a loop of pread(2) or pwrite(2) by the rank that calls, or by a thread of the
 * library for it. A collective access is an independent one of each member: data go through one
 * page cache, so exchanging them first would copy them once more.
 *
 * Members on several nodes: each node has a descriptor, on a file system that the nodes share. The
 * shared pointer is the one of the first member's node, which the others ask by notes. In atomic
 * mode each transfer locks the file (fcntl(2)) towards the other nodes.
 *
 * Locks: the common ilock protects the shared pointer. The lock of atomic mode is held for a
 * transfer, which may block, so it is one of libmltp's.
 *
 * Rejected: a descriptor for each rank (a thousand ranks exceed the usual limit); memory mapping
 * (a full disk would be a signal, not an error).
 */
#ifndef TM_IO_FILE_H
#define TM_IO_FILE_H

#include <mltp/mltp.h>
#include <mltp/sync.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmpi/layout/type.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/errhandler.h"

/** What all members have in common. */
struct tm_file_common {
  uint32_t refs; /* [atomic] members, and transfers under way */
  int fd;        /* [const] */
  int amode;     /* [const] */
  char *name;    /* [const] */
  uint32_t ilock;
  MPI_Offset shared;     /* [ilock] the shared pointer; of another node: not used */
  MPI_Offset begin;      /* [const] where the pointers of a new file are */
  mltp_lock_t transfers; /* of atomic mode */
  bool spans;            /* [const] it is open on several nodes */
  uint64_t home;         /* [const] address of this on the first member's node; 0: it is this one */
  int home_rank;         /* [const] number of the first member in the job */
};

/** What came of an open. */
struct tm_file_opened {
  int error, amode; /* of rank 0; error: 0, an errno, or TM_NOT_ONE_FILE */
  struct tm_file_common *common;
};

/** Errors of files that no system has. */
enum { TM_NOT_ONE_FILE = 100000 /* the nodes do not share the file */, TM_NOT_CONVERTED };

/** How a rank sees a file. Never changes; accesses under way hold it. */
struct tm_view {
  uint32_t refs; /* [atomic] */
  MPI_Offset disp;
  struct tm_type *etype, *filetype;               /* held */
  size_t unit;                                    /* visible bytes of an etype */
  bool external;                                  /* "external32" */
  const struct tm_representation *representation; /* of the program; NULL: none */
  char datarep[MPI_MAX_DATAREP_STRING];
};

/** What a split collective has begun. */
enum tm_split { TM_NO_SPLIT, TM_SPLIT_AT, TM_SPLIT_ALL, TM_SPLIT_ORDERED };

/** A member's file. */
struct tm_file {
  uint32_t magic;
  struct tm_file_common *common; /* [const] */
  struct tm_comm *comm;          /* [const] the file's own; its errors are returned */
  struct tm_group *group;        /* [const] */
  struct tm_errhandler *handler; /* [ilock: the owner's mailbox's] */
  struct tm_view *view;          /* [rank] */
  MPI_Offset position;           /* [rank] the individual pointer */
  bool atomic;                   /* [rank] */
  struct tm_info *info;          /* [rank] NULL: none */
  enum tm_split split;           /* [rank] */
  bool split_writes;             /* [rank] */
  size_t split_bytes;            /* [rank] what it has transferred */
};

enum { TM_FILE_MAGIC = 0xf11e };

/* ---- errors.c. Each returns MPI_SUCCESS or what tm_file_fail() returned. */

struct tm_file *tm_file_of(MPI_File handle);
/** As tm_fail(), by the file's error handler. NULL: by that of MPI_FILE_NULL. */
int tm_file_fail(struct tm_file *file, const char *call, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5), cold));
/** The same for an error of the system. name: of the file. */
int tm_file_fail_errno(struct tm_file *file, const char *call, int error, const char *name)
    __attribute__((cold));
int tm_get_file(const char *call, MPI_File handle, struct tm_file **file);
/** @return the class of an error of the system. */
int tm_file_class(int error);
/** @return the error handler of MPI_FILE_NULL, which new files get. Held. */
struct tm_errhandler *tm_file_default_handler(void);

/* ---- open.c */
void tm_file_common_hold(struct tm_file_common *common);
void tm_file_common_release(struct tm_file_common *common);
/** All members get rank 0's error, or if they are on several nodes the one of a member that has
 * one.
 */
int tm_file_agree(struct tm_file *file, const char *call, int error);
/** Opens a file for some members, which have a reference each. @return 0 or an errno. */
int tm_file_common_open(const char *name, int amode, int members, struct tm_file_common **result);

/* ---- network.c */

/** Lets this node see which file a name means now. */
void tm_file_refresh_name(const char *name);
/** open(2) of the file that the name means now. @return a descriptor, or -1 with errno. */
int tm_file_open_name(const char *name, int flags);
/** Opens a file on NFS again, so that a write takes only its own bytes. @return 0 or an errno. */
int tm_file_write_at_once(const struct tm_file_common *common);
/** Warns, once in a process, where nodes may not see what others write to a file, whatever is done.
 */
void tm_file_warn_of_memory(const struct tm_file_common *common);
/** @return 0 or an errno. */
int tm_file_size(const struct tm_file_common *common, MPI_Offset *size);
/** Lets this node see what others have done to the file and its size. */
void tm_file_refresh(const struct tm_file_common *common);

/* ---- several_nodes.c */

/** Opens a file for members on several nodes. */
struct tm_file_opened tm_file_open_on_nodes(struct tm_comm *comm, const char *call,
                                            const char *name, int amode);
/** @return whether the caller acts for its node in a collective call. */
bool tm_file_acts(const struct tm_file *file);
/** Takes a shared lock that nobody else waits for, and releases it. */
void tm_file_touch_lock(const struct tm_file_common *common);
/** Keeps other nodes out of the file, or (writes false) their writers, until the unlock.
 * @return 0 or an errno. */
int tm_file_lock(const struct tm_file_common *common, bool writes);
void tm_file_unlock(const struct tm_file_common *common);

/** Advances the shared pointer by visible bytes. @return where it was. */
MPI_Offset tm_file_claim(struct tm_file_common *common, const char *call, MPI_Offset bytes);
/** Takes a note; a tm_far_taker. */
void tm_file_take(int source, const void *data, size_t bytes);

/* ---- view.c */

/** @return a view of bytes; NULL: no memory. */
struct tm_view *tm_view_bytes(void);
void tm_view_hold(struct tm_view *view);
void tm_view_release(struct tm_view *view);

/** A place in a view, in the order of visible bytes. */
struct tm_view_cursor {
  const struct tm_view *view;
  MPI_Offset element; /* of the file type */
  size_t block, piece, skip;
};

struct tm_view_cursor tm_view_start(const struct tm_view *view, MPI_Offset position);
/** @return how many bytes, `most` at most, lie together in the file from the cursor on; *at: where.
 */
size_t tm_view_segment(const struct tm_view_cursor *cursor, size_t most, MPI_Offset *at);
void tm_view_advance(struct tm_view_cursor *cursor, size_t bytes);
/** Fills *bytes with the bytes of an element in the file. *same: each of its basic elements has as
 * many in memory. @return false: a function of the program has failed. */
bool tm_view_element(const struct tm_view *view, const struct tm_type *type, size_t *bytes,
                     bool *same);
/** @return whether the next element of the file type begins before the end of the last, as HDF5's
 * types of chunks do. Data are then read, and written to the first element only: its bytes are not
 * overwritten. */
bool tm_view_interleaves(const struct tm_view *view);
/** @return how many visible bytes lie before an offset of the file; of a view that
 * interleaves, in its first element. */
MPI_Offset tm_view_before(const struct tm_view *view, MPI_Offset offset);

/* ---- transfer.c */

struct tm_transfer {
  struct tm_file_common *common;
  struct tm_view *view;
  bool writes, atomic;
  bool background; /* by a thread of the library, beside the rank's program */
  MPI_Offset position;
  void *buffer;
  size_t count;
  struct tm_type *type;
  size_t element; /* bytes of one in the file */
};

/** Visible bytes that a transfer covers. */
static inline size_t tm_transfer_visible(const struct tm_transfer *t) {
  return t->count * t->element;
}
/** Performs it. *bytes: of data in memory, transferred before the end of the file or an error.
 * @return 0 or an errno. */
int tm_transfer_perform(const struct tm_transfer *t, size_t *bytes);

/* ---- access.c: what calls.table calls */

enum tm_pointer { TM_AT, TM_INDIVIDUAL, TM_SHARED, TM_ORDERED };

struct tm_io_call {
  const char *call;
  bool writes;
  enum tm_pointer pointer;
  MPI_File file;
  MPI_Offset offset; /* of TM_AT, in etypes */
  void *buffer;
  MPI_Count count;
  MPI_Datatype type;
};

int tm_io_blocking(const struct tm_io_call *c, MPI_Status *status);
int tm_io_start(const struct tm_io_call *c, MPI_Request *request);
int tm_io_split_begin(const struct tm_io_call *c, enum tm_split split);
int tm_io_split_end(const struct tm_io_call *c, enum tm_split split, MPI_Status *status);

/* ---- properties.c: what calls.table calls */
int tm_call_file_type_extent(const char *call, MPI_File handle, MPI_Datatype type_handle,
                             MPI_Count *extent);

#endif
