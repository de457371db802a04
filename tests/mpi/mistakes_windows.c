/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses to windows that conflict, and some that do not. */
#include <stddef.h>

#include "check.h"
#include "mistakes.h"

static MPI_Win window;
static int cells[8], values[8];

static void make_window(void) {
  MPI_Win_create(cells, sizeof cells, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_name(window, "halo");
  MPI_Win_fence(0, window);
}

static void free_window(void) {
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  MPI_Win_free(&window);
}

static void make_locked_window(void) {
  make_window();
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  MPI_Win_lock_all(0, window);
}

static void free_locked_window(void) {
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

/* Ranks 1 and 2 write the same cell of rank 0 between two fences. */
static void put_put(void) {
  make_window();
  if (rank == 1) MPI_Put(values, 2, MPI_INT, 0, 2, 2, MPI_INT, window);
  if (rank == 2) MPI_Put(values, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
  free_window();
}

/* The two that conflict have another access between them, to another cell. */
static void put_others_put(void) {
  make_window();
  if (rank > 1) MPI_Recv(NULL, 0, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank > 0) MPI_Put(values, 1, MPI_INT, 0, rank == 2 ? 5 : 2, 1, MPI_INT, window);
  if (rank > 0 && rank + 1 < size) MPI_Send(NULL, 0, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  free_window();
}

static void put_get(void) {
  make_window();
  if (rank == 1) MPI_Get(values, 2, MPI_INT, 0, 2, 2, MPI_INT, window);
  if (rank == 2) MPI_Accumulate(values, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_SUM, window);
  free_window();
}

/* Under a shared lock, without a flush between two accesses. */
static void put_without_flush(void) {
  make_locked_window();
  if (rank == 1) MPI_Put(values, 2, MPI_INT, 0, 2, 2, MPI_INT, window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) MPI_Get(values, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
  MPI_Barrier(MPI_COMM_WORLD);
  free_locked_window();
}

static void wait_for(MPI_Request *request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

/* The data have left the origin, which says nothing of the target. */
static void rput_rget(void) {
  MPI_Request request;
  make_locked_window();
  if (rank == 1) {
    MPI_Rput(values, 2, MPI_INT, 0, 2, 2, MPI_INT, window, &request);
    wait_for(&request);
    MPI_Rget(values, 1, MPI_INT, 0, 3, 1, MPI_INT, window, &request);
    wait_for(&request);
  }
  free_locked_window();
}

static void update_put(void) {
  MPI_Request request;
  make_locked_window();
  if (rank == 1) {
    MPI_Rget_accumulate(values, 1, MPI_INT, values + 1, 1, MPI_INT, 0, 3, 1, MPI_INT, MPI_SUM,
                        window, &request);
    wait_for(&request);
    MPI_Win_flush_local(0, window);
    MPI_Put(values, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
  }
  free_locked_window();
}

/* Another request than that of the get is complete, and gets of another target. */
static void rget_put(void) {
  MPI_Request requests[3];
  make_locked_window();
  if (rank == 1) {
    MPI_Rget(values, 1, MPI_INT, 0, 1, 1, MPI_INT, window, &requests[0]);
    MPI_Rget(values + 1, 1, MPI_INT, 0, 3, 1, MPI_INT, window, &requests[1]);
    MPI_Rget(values + 2, 1, MPI_INT, 0, 2, 1, MPI_INT, window, &requests[2]);
    wait_for(&requests[0]);
    wait_for(&requests[2]);
    MPI_Win_flush_local(2, window);
    MPI_Put(values + 4, 3, MPI_INT, 0, 1, 3, MPI_INT, window);
    wait_for(&requests[1]);
  }
  free_locked_window();
}

static void put_flush_local_put(void) {
  make_locked_window();
  for (int i = 0; rank == 1 && i < 2; i++) {
    MPI_Put(values, 1, MPI_INT, 0, 3, 1, MPI_INT, window);
    MPI_Win_flush_local_all(window);
  }
  free_locked_window();
}

/* Gets that are complete at their origin are followed by puts, of it and of another rank. */
static void ordered_gets(void) {
  enum { WAITS, WAITS_LARGE, TESTS, LOOKS, LOOKS_AT_ALL, FLUSHES, FLUSHES_ALL, WAYS };
  for (int way = 0; way < WAYS; way++) {
    MPI_Request request;
    int done = 0;
    make_locked_window();
    if (rank == 1) {
      if (way >= FLUSHES)
        MPI_Get(values, 4, MPI_INT, 0, 0, 4, MPI_INT, window);
      else if (way == WAITS_LARGE)
        MPI_Rget_c(values, 4, MPI_INT, 0, 0, 4, MPI_INT, window, &request);
      else
        MPI_Rget(values, 4, MPI_INT, 0, 0, 4, MPI_INT, window, &request);
      if (way <= WAITS_LARGE) wait_for(&request);
      while (way == TESTS && !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      while (way == LOOKS && !done) MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE);
      while (way == LOOKS_AT_ALL && !done)
        MPI_Request_get_status_all(1, &request, &done, MPI_STATUSES_IGNORE);
      if (way == FLUSHES) MPI_Win_flush_local(0, window);
      if (way == FLUSHES_ALL) MPI_Win_flush_local_all(window);
      MPI_Request put;
      MPI_Rput(values, 2, MPI_INT, 0, 0, 2, MPI_INT, window, &put);
      wait_for(&put);
      if (way == LOOKS || way == LOOKS_AT_ALL) wait_for(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) MPI_Put(values, 2, MPI_INT, 0, 2, 2, MPI_INT, window);
    free_locked_window();
  }
}

/* None of these conflicts. */
static void ordered_accesses(void) {
  MPI_Group all, one;
  make_window();
  MPI_Put(values, 1, MPI_INT, 0, rank, 1, MPI_INT, window);
  MPI_Accumulate(values, 1, MPI_INT, 0, 7, 1, MPI_INT, MPI_SUM, window);
  MPI_Win_fence(0, window);
  MPI_Get(values, 8, MPI_INT, 0, 0, 8, MPI_INT, window);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  for (int i = 0; i < 2; i++) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(values, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_flush(0, window);
    MPI_Put(values, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    MPI_Win_unlock(0, window);
  }
  /* Two ranks put to the same cell of rank 0, one after the other, thrice: the first access has
   * ended by a flush of all, or of all and the end of the epoch, or its end alone. */
  MPI_Barrier(MPI_COMM_WORLD); /* nobody waits for an exclusive lock any more */
  for (int ends = 1; ends < 4; ends++) {
    MPI_Win_lock_all(0, window);
    if (rank == 1) MPI_Put(values, 1, MPI_INT, 0, 5, 1, MPI_INT, window);
    if (ends & 1) MPI_Win_flush_all(window);
    if (ends & 2) MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    if (ends & 2) MPI_Win_lock_all(0, window);
    if (rank == 2) MPI_Put(values, 1, MPI_INT, 0, 5, 1, MPI_INT, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, (int[]){1 - rank % 2}, &one);
  for (int i = 0; rank < 2 && i < 2; i++) {
    MPI_Win_post(one, 0, window);
    MPI_Win_start(one, 0, window);
    MPI_Put(values, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
  }
  MPI_Group_free(&one);
  MPI_Group_free(&all);
  MPI_Win_free(&window);
}

static void window_kept(void) { make_window(); }

const struct mistake window_mistakes[] = {
    {"put-put", put_put},           {"put-others-put", put_others_put},
    {"put-get", put_get},           {"put-without-flush", put_without_flush},
    {"rput-rget", rput_rget},       {"update-put", update_put},
    {"rget-put", rget_put},         {"put-flush-local-put", put_flush_local_put},
    {"ordered-gets", ordered_gets}, {"ordered-accesses", ordered_accesses},
    {"window-kept", window_kept},   {NULL, NULL},
};
