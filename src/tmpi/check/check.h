/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file check.h
 * tmpirun --check and --report: a module that tmpirun loads for these, and that stands between the
 * program and MPI as tools do: the program's MPI_X() is bound to a wrapper here, which looks at the
 * arguments and calls PMPI_X(). No other run pays for it, and the library knows nothing of it
 * but one hook, where a message meets its receive.
 *
 * call      a function of MPI, by its number in tm_calls
 * seen      one call of it: its arguments, and where in the program it is
 * finding   something wrong, printed on stderr
 *
 * The wrappers are made from include/tmpi/mpi_functions.h by wrappers.py, which knows arguments by
 * their types and names; so a new function has one at once.
 */
#ifndef TM_CHECK_CHECK_H
#define TM_CHECK_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tmpi/mpi.h"

/** Objects that a program makes and has to free. */
enum tm_object {
  TM_NO_OBJECT,
  TM_COMM,
  TM_GROUP,
  TM_TYPE,
  TM_OP,
  TM_ERRHANDLER,
  TM_INFO,
  TM_REQUEST,
  TM_WIN,
  TM_FILE,
  TM_OBJECTS
};

/** Elements that are sent or received; count -1: the call has none. */
struct tm_data {
  const void *buffer;
  int64_t count;
  MPI_Datatype type;
};

enum { TM_NONE = INT32_MIN /* no such argument */ };

struct tm_seen {
  int call;
  const void *site;           /* in the program */
  MPI_Comm comm;              /* 0: none */
  MPI_Op op;                  /* 0: none */
  MPI_Win win;                /* 0: none */
  int root, peer, tag;        /* TM_NONE: none */
  struct tm_data data, other; /* what it sends, or has one of; and what it receives */
  void *object;               /* of a handle it makes, changes or frees; NULL: none */
  int kind;                   /* enum tm_object of it */
  bool makes;                 /* it makes the object */
  int count;                  /* handles at object: an array of requests; else 1 */

  /* of tm_seen_begin() */
  int rank;            /* of the job */
  void **before, *one; /* the handles; those of an array are to be freed */
  uint64_t start;
  const struct tm_seen *outer; /* a callback of the program called it: within another call */
  bool counted;                /* threads.c: as a call that its thread is in */
};

/** The names, in the order of the wrappers. */
extern const char *const tm_calls[];
extern const int tm_call_count;

/** What each wrapper does before and after PMPI_X(). @return error. */
void tm_seen_begin(struct tm_seen *seen);
int tm_seen_end(struct tm_seen *seen, int error);

/** @return the wrapper of MPI_X or PMPI_X; NULL: none. */
const void *tm_wrapper(const char *name);

/** The call a rank is in; NULL: none. */
const struct tm_seen *tm_seen_of(int rank);

/** A library of the program. */
struct tm_library {
  const char *path;
  const char *why_shared; /* NULL: each rank has its own copy */
  size_t bytes;           /* of memory that a copy takes when it is made */
};

/** What tmpirun asks for. */
struct tm_check_options {
  bool check;
  bool strict; /* leaks are mistakes, too */
  bool report;
  const char *report_file; /* NULL: stderr */
  /* lists the libraries of the program, at its end; NULL: no memory */
  struct tm_library *(*libraries)(size_t *count);
};

/** The module's one symbol. */
struct tm_check {
  /** When the job is there. @return false: no memory. */
  bool (*start)(const struct tm_check_options *options);
  const void *(*wrapper)(const char *name);
  /** The ranks of this node have ended, of several. @return what it has counted; NULL: no memory.
   */
  void *(*gather)(size_t *bytes);
  /** On node 0: what another node has counted. */
  void (*add)(const void *gathered, size_t bytes);
  /** All ranks have ended. reports: prints what --report counts. @return how many mistakes there
   * were. */
  unsigned (*finish)(bool reports);
};

extern __attribute__((visibility("default"))) const struct tm_check tm_check;

/* ---- say.c */

/** Prints a finding: "tmpi: check: ...". Further lines: tm_finding_continue(). */
void tm_finding_print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void tm_finding_continue(const char *format, ...) __attribute__((format(printf, 1, 2)));
unsigned tm_finding_count(void);
/** Prints what is no mistake, in the same form. */
void tm_finding_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum { TM_CALL_TEXT = 400 };
/** Writes "MPI_Bcast(root 0, 1 MPI_INT) at ring.c:12 (main)". */
void tm_describe(char text[TM_CALL_TEXT], const struct tm_seen *seen);
const char *tm_op_name(MPI_Op op);
bool tm_op_is_predefined(MPI_Op op);
/** Writes "4 MPI_INT". */
void tm_describe_data(char *text, size_t size, size_t count, MPI_Datatype type);
/** Writes " at ring.c:12 (main)". */
void tm_describe_site(char *text, size_t size, const void *site);

/* ---- one file for each idea. begin: before the call; end: after it has succeeded. */

bool tm_order_start(void);
void tm_order_begin(const struct tm_seen *seen);

struct tm_comm;
struct tm_signature;
void tm_summary_start(void);
/** All members of a communicator on this node, of several, have come to a collective, by a call
 * that is the same. signature: of their data; its power is 0 if none has any. */
void tm_summary_send(const struct tm_comm *comm, unsigned number, const char *call,
                     const struct tm_seen *seen, const struct tm_signature *signature);

void tm_leaks_end(struct tm_seen *seen);
/** All ranks have ended. strict: leaks count as mistakes. @return how many do not. */
unsigned tm_leaks_finish(bool strict);

bool tm_buffers_start(void);
void tm_buffers_begin(const struct tm_seen *seen);
/** It has made this request. */
void tm_buffers_end(const struct tm_seen *seen, const void *request);
/** Before the call, with its arguments as they are: whether it sends from where it receives. */
void tm_buffers_compare(const struct tm_seen *seen);
/** It has started a persistent send. */
struct tm_request;
void tm_buffers_start_send(const struct tm_seen *seen, const struct tm_request *request);
/** A request is complete. */
void tm_buffers_drop(int rank, const void *request);

/** All ranks have ended. */
void tm_unreceived_finish(void);

void tm_type_match_start(void);

bool tm_threads_start(void);
void tm_threads_begin(struct tm_seen *seen);
/** Whether the call has succeeded or not. */
void tm_threads_end(const struct tm_seen *seen);

void tm_windows_start(void);
void tm_windows_begin(const struct tm_seen *seen);
/** It has made this request. */
void tm_windows_end(const struct tm_seen *seen, const void *request);
/** A request is complete. */
void tm_windows_complete(const void *request);

bool tm_traffic_start(const struct tm_check_options *options);
void tm_traffic_end(const struct tm_seen *seen, uint64_t now);
/** As of tm_check. */
void *tm_traffic_gather(size_t *bytes);
void tm_traffic_add(const void *gathered, size_t bytes);
void tm_traffic_finish(void);

#endif
