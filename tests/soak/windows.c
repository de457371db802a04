/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: random epochs, after each of which every rank knows what its memory holds.
 *
 * Memory of a rank: COMMON cells that all origins change, then a slice for each origin, which only
 * that origin accesses. In an epoch an origin does at most one thing to a target, so no accesses
 * conflict.
 */
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { COMMON = 8, SLICE = 24, EPOCHS = 4 };

/* The common cells. Of the others all origins add to some. */
enum { TICKETS, UNDER_LOCK, SWAPPED, SUMS };

enum way { FENCED, POSTED, ONE_LOCK, ALL_LOCKED, WAYS };
enum form { USUAL, OTHER, REQUEST, FORMS };
enum what { NOTHING, PUT, GET, ADD, TICKET, SWAP, INCREMENT };

struct epoch {
  enum way way;
  int reach;      /* POSTED: targets of an origin, the next ones in the order of ranks */
  bool exclusive; /* ONE_LOCK */
};

/* What one origin does to one target. */
struct deed {
  enum what what;
  int start, count, stride; /* cells of the slice */
  int64_t value;
};

enum kind_of_window { CREATED, ALLOCATED, SHARED, DYNAMIC, KINDS_OF_WINDOWS };

struct windows {
  MPI_Comm comm;
  int rank, size, cell_count;
  MPI_Win win;
  bool dynamic;
  int64_t *cells;
  int64_t *own; /* the cells of a window that does not allocate them */
  MPI_Aint addresses[RANKS_MAX];
  int64_t *model; /* the cells of all ranks */
  int64_t ticket_sum;
  int64_t buffers[RANKS_MAX][SLICE], results[RANKS_MAX][SLICE]; /* by target, for an epoch */
};

static int64_t *model_of(const struct windows *w, int rank) {
  return w->model + (size_t)rank * (size_t)w->cell_count;
}

/* Cell i of a deed. */
static int place(int origin, const struct deed *d, int i) {
  return COMMON + origin * SLICE + d->start + i * d->stride;
}

/* The displacement of a cell. */
static MPI_Aint at(const struct windows *w, int target, int cell) {
  return w->dynamic ? w->addresses[target] + cell * (MPI_Aint)sizeof(int64_t) : cell;
}

/* ---- the model */

static void draw_deed(struct deed *d, const struct epoch *epoch, uint64_t *same) {
  bool passive = epoch->way == ONE_LOCK || epoch->way == ALL_LOCKED;
  d->what = (enum what)draw_below(same, passive ? INCREMENT : TICKET);
  if (epoch->way == ONE_LOCK && epoch->exclusive && draw_below(same, 2) == 0) d->what = INCREMENT;
  d->stride = 1 + draw_below(same, 3);
  d->start = draw_below(same, SLICE);
  d->count = 1 + draw_below(same, (SLICE - d->start + d->stride - 1) / d->stride);
  d->value = (int64_t)(draw(same) >> 20);
}

static int64_t put_value(const struct deed *d, int i) { return d->value + 3 * i; }

static void apply_to_model(struct windows *w, int origin, int target, const struct deed *d) {
  int64_t *cells = model_of(w, target);
  switch (d->what) {
    case PUT:
      for (int i = 0; i < d->count; i++) cells[place(origin, d, i)] = put_value(d, i);
      break;
    case ADD:
      for (int i = SUMS; i < COMMON; i++) cells[i] += d->value;
      break;
    case TICKET: cells[TICKETS]++; break;
    case SWAP: cells[SWAPPED] += d->value; break;
    case INCREMENT: cells[UNDER_LOCK]++; break;
    default: break;
  }
}

static bool is_target(const struct windows *w, const struct epoch *epoch, int origin, int target) {
  int distance = (target - origin + w->size) % w->size;
  return epoch->way != POSTED || (distance > 0 && distance <= epoch->reach);
}

/* ---- one origin's part. The epoch to the target is open. */

static void swap_until_added(struct windows *w, int target, int64_t add) {
  int64_t expected = 0, wanted = add, found;
  for (;;) {
    MPI_Compare_and_swap(&wanted, &expected, &found, MPI_INT64_T, target, at(w, target, SWAPPED),
                         w->win);
    MPI_Win_flush(target, w->win);
    if (found == expected) return;
    expected = found;
    wanted = found + add;
  }
}

/* Not atomic: only the lock keeps others away. */
static void increment(struct windows *w, int target) {
  int64_t number = -1;
  MPI_Aint cell = at(w, target, UNDER_LOCK);
  MPI_Get(&number, 1, MPI_INT64_T, target, cell, 1, MPI_INT64_T, w->win);
  MPI_Win_flush(target, w->win);
  number++;
  MPI_Put(&number, 1, MPI_INT64_T, target, cell, 1, MPI_INT64_T, w->win);
  MPI_Win_flush(target, w->win);
}

static void add(struct windows *w, int target, const struct deed *d, int form) {
  MPI_Request request;
  int64_t *buffer = w->buffers[target];
  MPI_Aint disp = at(w, target, SUMS);
  const MPI_Datatype type = MPI_INT64_T;
  const int count = COMMON - SUMS;
  for (int i = 0; i < count; i++) buffer[i] = d->value;
  if (form == REQUEST) {
    MPI_Raccumulate(buffer, count, type, target, disp, count, type, MPI_SUM, w->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (form == OTHER) {
    MPI_Get_accumulate(buffer, count, type, w->results[target], count, type, target, disp, count,
                       type, MPI_SUM, w->win);
  } else {
    MPI_Accumulate(buffer, count, type, target, disp, count, type, MPI_SUM, w->win);
  }
}

static void transfer(struct windows *w, int target, const struct deed *d, int form) {
  MPI_Datatype cells;
  MPI_Request request;
  MPI_Aint disp = at(w, target, place(w->rank, d, 0));
  int64_t *buffer = w->buffers[target], *result = w->results[target];
  MPI_Type_vector(d->count, 1, d->stride, MPI_INT64_T, &cells);
  MPI_Type_commit(&cells);
  for (int i = 0; i < d->count && d->what == PUT; i++) buffer[i] = put_value(d, i);
  if (form == REQUEST) {
    if (d->what == PUT)
      MPI_Rput(buffer, d->count, MPI_INT64_T, target, disp, 1, cells, w->win, &request);
    else
      MPI_Rget(result, d->count, MPI_INT64_T, target, disp, 1, cells, w->win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (d->what == PUT) {
    MPI_Put(buffer, d->count, MPI_INT64_T, target, disp, 1, cells, w->win);
  } else {
    MPI_Get(result, d->count, MPI_INT64_T, target, disp, 1, cells, w->win);
  }
  MPI_Type_free(&cells); /* which the access may still use */
}

static void take_ticket(struct windows *w, int target) {
  int64_t one = 1, ticket = -1;
  MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, target, at(w, target, TICKETS), MPI_SUM, w->win);
  MPI_Win_flush(target, w->win);
  w->ticket_sum += ticket;
}

static void access_target(struct windows *w, int target, const struct deed *d, int form) {
  switch (d->what) {
    case PUT:
    case GET: transfer(w, target, d, form); break;
    case ADD: add(w, target, d, form); break;
    case TICKET: take_ticket(w, target); break;
    case SWAP: swap_until_added(w, target, d->value); break;
    case INCREMENT: increment(w, target); break;
    default: break;
  }
}

/* The epoch has ended; the model is as it was before. */
static void check_got(const struct windows *w, int target, const struct deed *d) {
  const int64_t *wanted = model_of(w, target), *got = w->results[target];
  for (int i = 0; i < d->count && d->what == GET; i++) {
    int cell = place(w->rank, d, i);
    if (got[i] != wanted[cell])
      fail("window: cell %d of rank %d is %lld, got %lld", cell, target, (long long)wanted[cell],
           (long long)got[i]);
  }
}

static void access_one(struct windows *w, const struct epoch *epoch, int target,
                       const struct deed *d, uint64_t *chance) {
  int lock = epoch->exclusive ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED;
  bool passive = epoch->way == ONE_LOCK || epoch->way == ALL_LOCKED;
  int form = draw_below(chance, passive ? FORMS : REQUEST);
  if (epoch->way == ONE_LOCK) MPI_Win_lock(lock, target, 0, w->win);
  access_target(w, target, d, form);
  if (passive && draw_below(chance, 3) == 0) MPI_Win_flush_local(target, w->win);
  if (epoch->way == ONE_LOCK) MPI_Win_unlock(target, w->win);
}

/* ---- epochs */

static MPI_Group neighbours(const struct windows *w, int reach, int direction) {
  MPI_Group all, some;
  int ranks[RANKS_MAX];
  for (int i = 0; i < reach; i++) ranks[i] = (w->rank + direction * (i + 1) + w->size) % w->size;
  MPI_Comm_group(w->comm, &all);
  MPI_Group_incl(all, reach, ranks, &some);
  MPI_Group_free(&all);
  return some;
}

static void expose(struct windows *w, const struct epoch *epoch) {
  MPI_Group origins = neighbours(w, epoch->reach, -1), targets = neighbours(w, epoch->reach, 1);
  MPI_Win_post(origins, 0, w->win);
  MPI_Win_start(targets, 0, w->win);
  MPI_Group_free(&origins);
  MPI_Group_free(&targets);
}

static void begin(struct windows *w, const struct epoch *epoch) {
  if (epoch->way == FENCED) MPI_Win_fence(0, w->win);
  if (epoch->way == POSTED) expose(w, epoch);
  if (epoch->way == ALL_LOCKED) MPI_Win_lock_all(0, w->win);
}

static void end(struct windows *w, const struct epoch *epoch, uint64_t *chance) {
  int flag = 0;
  if (epoch->way == FENCED) MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win);
  if (epoch->way == ALL_LOCKED) MPI_Win_unlock_all(w->win);
  if (epoch->way == POSTED) {
    MPI_Win_complete(w->win);
    for (int i = draw_below(chance, 3); i > 0 && !flag; i--) MPI_Win_test(w->win, &flag);
    if (!flag) MPI_Win_wait(w->win);
  }
  if (epoch->way == ONE_LOCK || epoch->way == ALL_LOCKED) MPI_Barrier(w->comm);
}

static void check_memory(struct windows *w) {
  const int64_t *wanted = model_of(w, w->rank);
  MPI_Win_lock(MPI_LOCK_SHARED, w->rank, 0, w->win);
  for (int i = 0; i < w->cell_count; i++)
    if (w->cells[i] != wanted[i])
      fail("window: own cell %d is %lld in place of %lld", i, (long long)w->cells[i],
           (long long)wanted[i]);
  MPI_Win_unlock(w->rank, w->win);
  MPI_Barrier(w->comm);
}

static void do_epoch(struct windows *w, uint64_t *same, uint64_t *chance) {
  struct epoch epoch = {.way = (enum way)draw_below(same, WAYS)};
  struct deed *deeds = malloc((size_t)w->size * (size_t)w->size * sizeof *deeds);
  if (deeds == NULL) fail("no memory");
  epoch.exclusive = draw_below(same, 2) == 0;
  if (w->size == 1 && epoch.way == POSTED) epoch.way = FENCED;
  if (epoch.way == POSTED) epoch.reach = 1 + draw_below(same, w->size - 1);
  for (int i = 0; i < w->size * w->size; i++) {
    draw_deed(&deeds[i], &epoch, same);
    if (!is_target(w, &epoch, i / w->size, i % w->size)) deeds[i].what = NOTHING;
  }
  begin(w, &epoch);
  const struct deed *mine = deeds + w->rank * w->size;
  for (int i = 0, first = draw_below(chance, w->size); i < w->size; i++) {
    int target = (first + i) % w->size;
    access_one(w, &epoch, target, &mine[target], chance);
  }
  end(w, &epoch, chance);
  for (int target = 0; target < w->size; target++) check_got(w, target, &mine[target]);
  for (int i = 0; i < w->size * w->size; i++)
    apply_to_model(w, i / w->size, i % w->size, &deeds[i]);
  free(deeds);
  check_memory(w);
}

/* ---- the window */

static void make_window(struct windows *w, enum kind_of_window kind) {
  MPI_Aint bytes = w->cell_count * (MPI_Aint)sizeof *w->cells, address;
  const int unit = sizeof *w->cells;
  w->dynamic = kind == DYNAMIC;
  w->own = w->cells = calloc((size_t)w->cell_count, sizeof *w->cells);
  if (w->own == NULL) fail("no memory");
  if (kind == CREATED)
    MPI_Win_create(w->own, bytes, unit, MPI_INFO_NULL, w->comm, &w->win);
  else if (kind == DYNAMIC)
    MPI_Win_create_dynamic(MPI_INFO_NULL, w->comm, &w->win);
  else if (kind == ALLOCATED)
    MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, w->comm, &w->cells, &w->win);
  else
    MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, w->comm, &w->cells, &w->win);
  if (kind == DYNAMIC) MPI_Win_attach(w->win, w->own, bytes);
  MPI_Get_address(w->cells, &address);
  MPI_Allgather(&address, 1, MPI_AINT, w->addresses, 1, MPI_AINT, w->comm);
  memset(w->cells, 0, (size_t)bytes);
  MPI_Barrier(w->comm);
}

/* The tickets of a target are the numbers from 0 on. */
static void check_tickets(struct windows *w) {
  int64_t wanted = 0, sum = 0;
  for (int target = 0; target < w->size; target++) {
    int64_t given = model_of(w, target)[TICKETS];
    wanted += given * (given - 1) / 2;
  }
  MPI_Allreduce(&w->ticket_sum, &sum, 1, MPI_INT64_T, MPI_SUM, w->comm);
  if (sum != wanted)
    fail("window: the tickets' sum is %lld in place of %lld", (long long)sum, (long long)wanted);
}

void window_round(const struct world *world, uint64_t seed, uint64_t *chance) {
  uint64_t *same =
      &seed; /* parts of a communicator that is split draw different numbers of times */
  int c = draw_below(same, COMMS);
  struct windows *w = calloc(1, sizeof *w);
  if (w == NULL) fail("no memory");
  w->comm = world->comms[c];
  w->rank = world->ranks[c];
  w->size = world->sizes[c];
  w->cell_count = COMMON + w->size * SLICE;
  w->model = calloc((size_t)w->size * (size_t)w->cell_count, sizeof *w->model);
  if (w->model == NULL) fail("no memory");
  make_window(w, (enum kind_of_window)draw_below(same, KINDS_OF_WINDOWS));
  for (int epochs = 1 + draw_below(same, EPOCHS); epochs > 0; epochs--) do_epoch(w, same, chance);
  check_tickets(w);
  if (w->dynamic) MPI_Win_detach(w->win, w->own);
  MPI_Win_free(&w->win);
  free(w->own);
  free(w->model);
  free(w);
}
