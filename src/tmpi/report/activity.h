/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file activity.h
 * What a rank is doing: a copy of data that may change or vanish while it is read. No thread is
 * stopped for it, and inconsistent parts are left out. In a deadlock it is exact.
 */
#ifndef TM_REPORT_ACTIVITY_H
#define TM_REPORT_ACTIVITY_H

#include <stdbool.h>
#include <stddef.h>

#include "tmpi/object/comm.h"

enum tm_state { TM_ENDED, TM_OUTSIDE, TM_WAITS, TM_ELSEWHERE /**< on another node */ };

enum { TM_WINDOW_TEXT = 300 };

/** One message, or epoch of a window, that is waited for. */
struct tm_wanted {
  bool known;
  bool inner; /* of a collective */
  int kind;   /* enum tm_kind */
  int peer;   /* rank of the communicator, or MPI_ANY_SOURCE */
  int number; /* the same in the job; -1: any */
  int tag;
  bool has_bytes; /* but for a probe */
  size_t bytes;
  int missing, requests; /* of several that it waits for; 0: it waits for one */
  bool has_comm;
  uint64_t context; /* of the communicator's messages */
  char comm[MPI_MAX_OBJECT_NAME];
  bool has_window;             /* `number`: the first rank that it waits for; -1: not known */
  char window[TM_WINDOW_TEXT]; /* the missing event there, and the ranks that have to act */
};

struct tm_activity {
  int state;             /* enum tm_state */
  const char *call;      /* it waits in; NULL: none */
  char blocks_in[40];    /* call of the kernel; "": none is known */
  char callee[40];       /* outside of MPI: the function of a library that it calls; "": none */
  const void *frame;     /* of the library, where it waits */
  const void *site;      /* the call in the program, or where it is; NULL: not known */
  const char *where;     /* the site in words, of a rank on another node; NULL: none */
  struct tm_wanted what; /* the first thing it waits for */
  struct tm_unstarted unstarted;
};

/** Fills *activity for a rank of the job. Also while it runs. */
void tm_activity_read(struct tm_activity *activity, int number);

/** Adds where a rank outside of MPI is. It may interrupt the rank. Not in a signal handler. */
void tm_activity_locate(struct tm_activity *activity, int number);

/** Does both for all ranks of the job, but locates only the first few that are outside of MPI. */
void tm_activity_read_all(struct tm_activity *activity);

/** gathered.c: fills *activity for a rank of another node. @return false: nothing is known. */
bool tm_gathered_read(struct tm_activity *activity, int number);

/** Forgets what other nodes have told: it becomes untrue. */
void tm_gathered_forget(void);

/** activity_window.c: reads what a rank waits for at a window, if it is that. */
void tm_activity_read_window(struct tm_wanted *what, const void *waits_for);

/** A member's view of a communicator. */
struct tm_member {
  bool found;                         /* it has that communicator */
  int collectives;                    /* started so far */
  const char *recent[TM_RECENT];      /* names of the last of them, by number */
  struct tm_rooted rooted[TM_RECENT]; /* the ones that have a root; none on an intercommunicator,
                                         where ranks of a group name others */
};

/** Writes the name of a communicator, or its size and members, if the rank has it. source: a rank
 * in it. @return its number in the job; -1: the rank has no such communicator. */
int tm_activity_source(char name[MPI_MAX_OBJECT_NAME], int number, uint64_t context, int source);

/** Looks for a communicator of a rank by its context. */
struct tm_member tm_activity_member(int number, uint64_t context);

/** Copies the job's numbers of a communicator's members, all groups. @return how many; *ranks is to
 * be freed. 0: the communicator is gone, or no memory. */
int tm_activity_members(int number, uint64_t context, int **ranks);

#endif
