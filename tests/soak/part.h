/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file part.h
 * A rank's part of a round, while it performs it.
 */
#ifndef TESTS_SOAK_PART_H
#define TESTS_SOAK_PART_H

#include "soak.h"

struct receive {
  int comm, source, tag; /* as posted, wildcards too */
  struct data data;
  MPI_Status status;
  int of_request; /* -1: it is complete */
};

struct part {
  struct plan *plan;
  const struct world *world;
  uint64_t *chance;
  struct receive *receives;
  int receive_count;
  struct data *sends;
  int send_count;
  MPI_Request *requests;
  MPI_Status *statuses;
  bool *persistent;
  int request_count;
};

/** @return its number. */
int add_request(struct part *part, MPI_Request request, bool persistent);

/** receive.c: makes one receive for each message that will come, in any order. */
void plan_receives(struct part *part);
/** Posts or performs them. */
void receive_all(struct part *part);

/** complete.c: all requests end, in any order and by any call. */
void wait_all(struct part *part);

#endif
