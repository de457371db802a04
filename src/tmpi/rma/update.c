/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates: a chunk of elements at a time is combined with the target's under the update_ilock of
 * the target, in place if they lie together, else copied out, combined, and copied back. Chunks are
 * short because others spin for it.
 */
#include "tmpi/rma/update.h"

#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/coll/op.h"

enum { CHUNK = 1024 /* bytes, packed */, CHUNK_IN_PLACE = 4096 };

/* Elements as an operation wants them: aligned, and with the gaps of pairs. */
union elements {
  char bytes[2 * CHUNK];
  long double align;
};

static struct tm_type *byte(void) { return tm_type_of(MPI_BYTE); }

static void combine(MPI_Op op, struct tm_type *element, const char *packed, char *target,
                    size_t bytes) {
  if (op == MPI_NO_OP) return;
  if (op == MPI_REPLACE) {
    memcpy(target, packed, bytes);
    return;
  }
  union elements in, inout;
  tm_type_unpack(in.bytes, element, 0, packed, bytes);
  tm_type_unpack(inout.bytes, element, 0, target, bytes);
  tm_op_apply(tm_op_of(op), in.bytes, inout.bytes, bytes / element->size, element);
  tm_type_copy(target, byte(), inout.bytes, element, bytes);
}

char *tm_update_together(const struct tm_access_part *part, const struct tm_type *element) {
  if (!part->type->dense || !element->dense) return NULL;
  char *at = (char *)part->at + part->type->blocks[0].at;
  return ((uintptr_t)at & (element->align - 1)) == 0 ? at : NULL;
}

/* An update of elements that lie together. */
struct in_place {
  struct tm_win *target;
  const struct tm_type *element;
  MPI_Op op;
  tm_combine *combines; /* NULL: MPI_REPLACE or MPI_NO_OP */
};

/* result NULL: the old elements are not wanted. */
static inline void update_chunk(const struct in_place *u, const char *from, char *result, char *at,
                                size_t bytes) {
  size_t size = u->element->size, count = bytes == size ? 1 : bytes / size;
  mti_lock(&u->target->update_ilock);
  if (result != NULL) memcpy(result, at, bytes);
  if (u->combines != NULL)
    u->combines(from, at, count);
  else if (u->op == MPI_REPLACE && from != NULL)
    memcpy(at, from, bytes);
  mti_unlock(&u->target->update_ilock);
}

static void update_in_place(const struct tm_access *a, const struct tm_type *element, MPI_Op op,
                            const char *from, char *result, char *at) {
  const struct in_place u = {a->target, element, op,
                             tm_combine_of(op, (enum tm_basic)element->basic)};
  size_t all = a->memory.bytes;
  if (all <= CHUNK_IN_PLACE) { /* a division takes as long as the rest */
    update_chunk(&u, from, result, at, all);
    return;
  }
  size_t chunk = CHUNK_IN_PLACE / element->size * element->size;
  for (size_t done = 0, bytes; done < all; done += bytes) {
    bytes = all - done < chunk ? all - done : chunk;
    update_chunk(&u, from != NULL ? from + done : NULL, result != NULL ? result + done : NULL,
                 at + done, bytes);
  }
}

bool tm_update_usual(const struct tm_access_call *c, const struct tm_access *a) {
  const struct tm_type *type = a->memory.type;
  size_t bytes = a->memory.bytes;
  if (c->origin_type != c->target_type || c->origin_count != c->target_count) return false;
  if (!type->predefined || !type->dense || bytes == 0 || bytes > CHUNK_IN_PLACE) return false;
  tm_combine *combines = tm_combine_of(c->op, (enum tm_basic)type->basic);
  ptrdiff_t first = type->blocks[0].at;
  const char *from = (const char *)c->origin + first;
  char *at = (char *)a->memory.at + first;
  if (combines == NULL || (((uintptr_t)from | (uintptr_t)at) & (type->align - 1)) != 0)
    return false;
  mti_lock(&a->target->update_ilock);
  combines(from, at, (size_t)c->target_count);
  mti_unlock(&a->target->update_ilock);
  return true;
}

/* Elements that do not lie together, or not aligned. */
static void update_packed(const struct tm_access *a, struct tm_type *element, MPI_Op op,
                          const char *from, char *result) {
  char old[CHUNK], new[CHUNK];
  size_t chunk = CHUNK / element->size * element->size;
  for (size_t done = 0, bytes; done < a->memory.bytes; done += bytes) {
    bytes = a->memory.bytes - done < chunk ? a->memory.bytes - done : chunk;
    mti_lock(&a->target->update_ilock);
    tm_type_pack(old, a->memory.at, a->memory.type, done, bytes);
    if (op != MPI_NO_OP) {
      memcpy(new, old, bytes);
      combine(op, element, from + done, new, bytes);
      tm_type_unpack(a->memory.at, a->memory.type, done, new, bytes);
    }
    mti_unlock(&a->target->update_ilock);
    if (result != NULL) memcpy(result + done, old, bytes);
  }
}

void tm_update(const struct tm_access *a, struct tm_type *element, MPI_Op op, const char *from,
               char *result) {
  if (a->memory.bytes == 0) return;
  char *at = tm_update_together(&a->memory, element);
  if (at != NULL && ((uintptr_t)from & (element->align - 1)) == 0)
    update_in_place(a, element, op, from, result, at);
  else
    update_packed(a, element, op, from, result);
}

void tm_update_swap(struct tm_win *target, void *at, size_t bytes, const void *element,
                    const void *compare, void *old) {
  mti_lock(&target->update_ilock);
  memcpy(old, at, bytes);
  if (memcmp(old, compare, bytes) == 0) memcpy(at, element, bytes);
  mti_unlock(&target->update_ilock);
}

int tm_update_check_op(const struct tm_access_call *c, const struct tm_access *a,
                       const struct tm_type *element) {
  if (mt_likely(tm_combine_of(c->op, (enum tm_basic)element->basic) != NULL)) return MPI_SUCCESS;
  const struct tm_op *op = tm_op_of(c->op);
  if (op == NULL || tm_op_is_user(op))
    return tm_win_fail(a->win, c->call, MPI_ERR_OP, "the operation is %s",
                       op == NULL ? "not valid" : "not a predefined one");
  if (c->op == MPI_REPLACE || (c->op == MPI_NO_OP && c->result != NULL)) return MPI_SUCCESS;
  return tm_win_fail(a->win, c->call, MPI_ERR_OP, "the operation is not one for this datatype");
}
