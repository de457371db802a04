/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file access.h
 * An access to a window, whatever its form: checked, and then performed by its caller.
 */
#ifndef TM_RMA_ACCESS_H
#define TM_RMA_ACCESS_H

#include "tmpi/rma/win.h"

/** What --check distinguishes. */
enum tm_access_kind { TM_ACCESS_PUT, TM_ACCESS_GET, TM_ACCESS_UPDATE };

/** The arguments of a call, as given; those it does not have are 0. */
struct tm_access_call {
  const char *call;
  enum tm_access_kind kind;
  const void *origin;
  MPI_Count origin_count;
  MPI_Datatype origin_type;
  void *result; /**< of MPI_Get_accumulate() */
  MPI_Count result_count;
  MPI_Datatype result_type;
  int target;
  MPI_Aint disp;
  MPI_Count target_count;
  MPI_Datatype target_type;
  MPI_Op op;
  MPI_Win win;
  MPI_Request *request; /**< of MPI_Rput() and the like; NULL: none */
};

/** Elements at an address. */
struct tm_access_part {
  void *at;
  struct tm_type *type;
  size_t bytes; /**< packed */
};

struct tm_access {
  struct tm_win *win;              /**< of the origin */
  struct tm_win *target;           /**< NULL: on another node, or MPI_PROC_NULL */
  const struct tm_win_member *far; /**< if target is NULL; NULL: there is nothing to do */
  struct tm_access_part origin, result, memory;
};

/** Checks window, epoch, target and range, and fills *access but for origin and result. @return
 * MPI_SUCCESS or what tm_win_fail() returned; likewise all below. */
int tm_access_begin(const struct tm_access_call *c, struct tm_access *access);

/** Says why elements cannot be accessed: their number, or their type. */
int tm_access_refuse(const struct tm_access_call *c, struct tm_win *win, MPI_Count count,
                     MPI_Datatype type) __attribute__((cold));

/** Checks count and type of elements. Inline, as what each access does and most others. */
static inline int tm_access_part(const struct tm_access_call *c, const struct tm_access *access,
                                 const void *at, MPI_Count count, MPI_Datatype type,
                                 struct tm_access_part *part) {
  part->at = (void *)(uintptr_t)at;
  part->type = tm_type_of(type);
  if (mt_unlikely(count < 0 || part->type == NULL || !part->type->committed ||
                  __builtin_mul_overflow((size_t)count, part->type->size, &part->bytes)))
    return tm_access_refuse(c, access->win, count, type);
  return MPI_SUCCESS;
}

int tm_access_too_long(const struct tm_access_call *c, const struct tm_access *access, size_t sent,
                       size_t room) __attribute__((cold));
/** Checks that what is sent fits into what receives it. */
static inline int tm_access_fits(const struct tm_access_call *c, const struct tm_access *access,
                                 size_t sent, size_t room) {
  return mt_likely(sent <= room) ? MPI_SUCCESS : tm_access_too_long(c, access, sent, room);
}

/** Makes a request, which is complete. */
int tm_access_make_request(const struct tm_access_call *c, const struct tm_access *access);

/** What the call returns. */
static inline int tm_access_end(const struct tm_access_call *c, const struct tm_access *access) {
  return c->request == NULL ? MPI_SUCCESS : tm_access_make_request(c, access);
}

/* ---- far_origin.c: accesses to other nodes, checked, with their parts filled, and what the call
 * returns; far NULL: that of MPI_PROC_NULL. element, op: as of tm_update(). */
int tm_far_put(const struct tm_access_call *c, struct tm_access *access);
int tm_far_get(const struct tm_access_call *c, struct tm_access *access);
/** reads: there are elements at the origin; fetches: the result gets the old ones. */
int tm_far_update(const struct tm_access_call *c, struct tm_access *access,
                  const struct tm_type *element, bool reads, bool fetches);
int tm_far_swap(const struct tm_access_call *c, struct tm_access *access, const void *compare);

/* ---- far_large.c: large accesses, of one piece at the origin and one at the target */
bool tm_far_is_large(const struct tm_access *access, size_t bytes);
void tm_far_put_large(const struct tm_access_call *c, const struct tm_access *access);
void tm_far_get_large(const struct tm_access_call *c, const struct tm_access *access);

/* ---- what calls.table calls: transfer.c, accumulate.c. fetches: MPI_Get_accumulate(). */
int tm_call_put(const struct tm_access_call *c);
int tm_call_get(const struct tm_access_call *c);
int tm_call_accumulate(const struct tm_access_call *c, bool fetches);

/** [const] Set before the first access, by --check. NULL: it does not look. low and high: the bytes
 * of the target's memory. */
TM_EXPORT extern void (*tm_access_hook)(const struct tm_access_call *c,
                                        const struct tm_access *access, const char *low,
                                        const char *high);

#endif
