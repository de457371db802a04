/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file soak.h
 * Random valid MPI programs, made from a seed and checked against a sequential model of matching.
 *
 * A program is a number of rounds. Every rank makes the same plan of a round, the messages of all
 * ranks in the order they are sent in, and performs its own part in ways and orders that it draws
 * by itself. No round can hang in a right MPI: either all ranks post all receives before a send
 * that may wait, or all have started their sends before a receive that may wait; and of the
 * receives that one rank posts on one communicator, either none overlaps another that needs the
 * same message, or all can take each other's place.
 *
 * Some rounds also make a window or a file, whose content every rank can compute (windows.c,
 * files.c).
 *
 * The model: a rank's receives, taken in the order they were posted, each get the first message of
 * the source they got one from that fits and that no receive before has got (plan.c).
 */
#ifndef TESTS_SOAK_SOAK_H
#define TESTS_SOAK_SOAK_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum { COMMS = 3, TAGS = 4, RANKS_MAX = 64 };

/** How all receives of a rank on one communicator name their messages in a round. MIXED: the
 * source, and the tag or any. */
enum style { EXACT, ANY_RANK, ANY_LABEL, ANY_BOTH, MIXED, STYLES };

/** What may wait in a round; ready: all receives are posted before the first send. */
enum kind { SENDS_WAIT, RECEIVES_WAIT, READY, KINDS };

/** How the numbers of a message lie in memory. */
enum layout { DENSE, STRIDED, BLOCKS, ONE_ELEMENT, LAYOUTS };

struct message {
  int id;                 /* tells its numbers */
  int comm, source, dest; /* ranks in that communicator */
  int tag, count;
  bool taken; /* by the model */
};

struct plan {
  enum kind kind;
  struct message *messages;
  int count;
  enum style styles[COMMS]; /* of the rank that asked */
};

struct world {
  MPI_Comm comms[COMMS];
  int ranks[COMMS], sizes[COMMS]; /* the caller's */
  int world_rank, world_size;
  int colours; /* comms[2] is one of this number of parts */
};

/* ---- random numbers: the same on all ranks from the same state */
uint64_t draw(uint64_t *state);
int draw_below(uint64_t *state, int limit);

/* ---- plan.c */

/** The messages of a round; free(plan->messages). */
void make_plan(struct plan *plan, const struct world *world, uint64_t seed, int round);

/** @return the message a receive must have got that was matched with this source; NULL: none fits.
 */
struct message *model_match(struct plan *plan, const struct world *world, int comm, int source,
                            int tag);

/** Says what is wrong, and ends the job. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* ---- data.c */

/** Memory for a message in a layout. Its gaps hold a pattern. */
struct data {
  enum layout layout;
  MPI_Datatype type;
  int elements; /* of type */
  int count;    /* numbers */
  int *memory;
};

void data_make(struct data *data, enum layout layout, int count);
void data_fill(struct data *data, int id);
/** The first `count` numbers are those of the message, and nothing else was written. */
void data_check(const struct data *data, int id, int count);
void data_free(struct data *data);

/* ---- perform.c */
void perform(struct plan *plan, const struct world *world, uint64_t *chance);

/* ---- collectives.c */

/** One collective of each rank's, drawn from the state that is the same on all. */
void collective(const struct world *world, uint64_t *same);

/** A nonblocking one, started before a round and ended after it. */
struct pending {
  int which, round, comm;
  int64_t mine[4], result[4];
  MPI_Request request;
};
void collective_start(struct pending *pending, const struct world *world, int which, int round);
void collective_end(struct pending *pending, const struct world *world);

/* ---- windows.c, files.c: one that a communicator makes, uses and frees. seed: the same on all
 * ranks; chance: the rank's own. */
void window_round(const struct world *world, uint64_t seed, uint64_t *chance);
void file_round(const struct world *world, uint64_t seed, uint64_t *chance);

#endif
