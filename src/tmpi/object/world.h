/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file world.h
 * Worlds: ranks that began together and share an MPI_COMM_WORLD. The first world has the ranks that
 * tmpirun started. Each MPI_Comm_spawn() makes one more. Its ranks continue the job's numbers, by
 * which reports and --label name them.
 *
 * A world stays until the process ends: its groups may be asked for as long as a rank lives.
 *
 * Of several nodes, each that has ranks of a world has the world, with groups of its own, and so
 * does the node where it was spawned. All nodes know which node each rank is on.
 */
#ifndef TM_OBJECT_WORLD_H
#define TM_OBJECT_WORLD_H

#include "tmpi/object/comm.h"

/** Ranks that were spawned together. */
struct tm_world {
  struct tm_world *next;         /* [const] the one that was added before */
  int first;                     /* [const] number in the job of its rank 0 */
  uint64_t context;              /* [const] of its MPI_COMM_WORLD */
  struct tm_group *group;        /* [const] its ranks */
  uint64_t parent_context;       /* [const] of the communicator with the parents */
  struct tm_group *parents;      /* [const] the ranks that spawned it */
  struct tm_errhandler *handler; /* [const] that its ranks begin with; NULL: the usual one */
  struct tm_comm **to_parents;   /* [rank] by rank; NULL: not begun, or freed */
};

/** Makes a world of `size` ranks, which have no numbers yet. parents: gets a reference.
 * @return NULL: no memory. */
struct tm_world *tm_world_new(int size, struct tm_group *parents);

/** Frees a world that was not added. */
void tm_world_drop(struct tm_world *world);

/** Adds a world to the job. part: MPI_APPNUM of each of its ranks. Not for two at a time; from
 * tm_job.size on there is room for its ranks. */
TM_EXPORT void tm_world_add(struct tm_world *world, const int *part);

/** Of several nodes: notes where the ranks that follow tm_job.size will be, by the numbers of their
 * nodes. From then on messages reach them. */
void tm_ranks_place(int first, int count, const int *nodes);

/** Adds ranks to the job that are on other nodes, and whose world this node does not have. */
void tm_ranks_add(int count);

/** @return the world of a spawned rank; NULL: it began with the job. */
TM_EXPORT struct tm_world *tm_world_of(int number);

/** Before ranks start: how many of the first world are here. @return false: no memory. */
bool tm_worlds_start(int local);

/** Makes MPI_COMM_WORLD for the calling rank, and a spawned one's communicator with its parents.
 * @return false: no memory. */
bool tm_world_start(struct tm_rank *rank);

/** @return where the calling rank keeps its communicator with its parents; NULL: it has none. */
struct tm_comm **tm_world_to_parents(const struct tm_rank *rank);

/** What one command of a spawn starts. */
struct tm_command {
  const char *program;
  char **argv; /* without the program; NULL at the end; NULL: none */
  int ranks;
  const char *folder; /* to start in; NULL: tmpirun's */
  const char *path;   /* where to look for the program; NULL: as tmpirun does */
  const char *host;   /* to start on; NULL: any. Of several nodes */
};

enum { TM_SPAWN_TEXT = 320 };

/** What MPI_Comm_spawn() asks tmpirun for. */
struct tm_spawn {
  const struct tm_command *commands;
  int count;
  int first; /* number of the first new rank: they follow tm_job.size */
  struct tm_world *world;
  char why[TM_SPAWN_TEXT]; /* what failed, and what to do */
};

/** How tmpirun starts more ranks on this node: those of a world that tm_rank_is_here() names. One
 * caller at a time. */
struct tm_spawner {
  /** Makes copies and threads, which wait. @return false, and why: finish() is still called. */
  bool (*prepare)(struct tm_spawn *spawn);
  /** Adds the world, and lets the threads run; not go: forgets all that prepare() has made. */
  void (*finish)(struct tm_spawn *spawn, bool go);
  /** @return the host of a node, of several. */
  const char *(*host)(int node);
};

/** tmpirun can start more ranks. @return false: no memory. */
TM_EXPORT bool tm_job_on_spawn(const struct tm_spawner *spawner);

/** @return the spawner; NULL: there is no tmpirun. */
const struct tm_spawner *tm_job_spawner(void);

/** comm/spawn_service.c: the ranks of this node have ended. @return whether no more are started
 * here for ranks of other nodes; false: some have been. */
TM_EXPORT bool tm_spawn_service_end(void);

#endif
