/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of attributes, newest first.
 *
 * An attribute leaves its list before its delete function is called, and comes back to its position
 * if that fails: so no other thread calls the function for it a second time.
 */
#include "tmpi/attr/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/attr/keyval.h"
#include "tmpi/error/errors.h"
#include "tmpi/rma/win.h"

struct tm_attributes {
  struct tm_attributes *next;
  uint64_t order; /* grows from attribute to attribute of a rank */
  int keyval;
  void *value;
};

/* ---- lists; the rank's lock is held */

static struct tm_attributes **find(struct tm_attributes **list, int keyval) {
  while (*list != NULL && (*list)->keyval != keyval) list = &(*list)->next;
  return list;
}

static void insert(struct tm_attributes **list, struct tm_attributes *attribute) {
  while (*list != NULL && (*list)->order > attribute->order) list = &(*list)->next;
  attribute->next = *list;
  *list = attribute;
}

static struct tm_attributes *take_out(struct tm_attributes **at) {
  struct tm_attributes *attribute = *at;
  if (attribute != NULL) *at = attribute->next;
  return attribute;
}

/* A new attribute's use of its key value counts. */
static void add(struct tm_rank *rank, struct tm_attributes **list,
                struct tm_attributes *attribute) {
  attribute->order = ++rank->attribute_order;
  tm_keyval_find(rank, attribute->keyval)->uses++;
  insert(list, attribute);
}

/* ---- deleting */

static struct tm_keyval functions_of(struct tm_rank *rank, int keyval) {
  mti_lock(&rank->attributes_ilock);
  struct tm_keyval functions = *tm_keyval_find(rank, keyval);
  mti_unlock(&rank->attributes_ilock);
  return functions;
}

/* Of an attribute that is in no list. The program's function may use attributes itself. */
static int call_delete(struct tm_rank *rank, const struct tm_attributes *attribute, void *object) {
  struct tm_keyval keyval = functions_of(rank, attribute->keyval);
  if (keyval.del == NULL) return MPI_SUCCESS;
  return keyval.del(object, attribute->keyval, attribute->value, keyval.extra);
}

/* Deletes one that was taken out of its list, or puts it back. */
static int delete_one(struct tm_attributes **list, struct tm_attributes *attribute, void *object) {
  struct tm_rank *rank = tm_rank_self();
  int error = call_delete(rank, attribute, object);
  mti_lock(&rank->attributes_ilock);
  if (error == MPI_SUCCESS)
    tm_keyval_release(rank, attribute->keyval);
  else
    insert(list, attribute);
  mti_unlock(&rank->attributes_ilock);
  if (error == MPI_SUCCESS) free(attribute);
  return error;
}

int tm_attributes_delete(struct tm_attributes **list, void *object) {
  uint32_t *ilock = &tm_rank_self()->attributes_ilock;
  for (;;) {
    mti_lock(ilock);
    struct tm_attributes *attribute = take_out(list);
    mti_unlock(ilock);
    if (attribute == NULL) return MPI_SUCCESS;
    int error = delete_one(list, attribute, object);
    if (error != MPI_SUCCESS) return error;
  }
}

/* ---- copying */

/* Takes the functions and the value of the newest attribute that is older than *order; its key
 * value is in use then. @return false: there is none. */
static bool take_next(struct tm_rank *rank, struct tm_attributes *const *from, uint64_t *order,
                      struct tm_attributes *next, struct tm_keyval *functions) {
  mti_lock(&rank->attributes_ilock);
  const struct tm_attributes *a = *from;
  while (a != NULL && a->order >= *order) a = a->next;
  if (a != NULL) {
    *next = *a;
    *order = a->order;
    struct tm_keyval *keyval = tm_keyval_find(rank, a->keyval);
    keyval->uses++;
    *functions = *keyval;
  }
  mti_unlock(&rank->attributes_ilock);
  return a != NULL;
}

/* @return MPI_SUCCESS; *flag: *copy is the copy's value. */
static int call_copy(const struct tm_keyval *keyval, const struct tm_attributes *a, void *old,
                     void **copy, int *flag) {
  *copy = a->value;
  *flag = keyval->copy == TM_DUP_ATTRIBUTE;
  if (keyval->copy == NULL || keyval->copy == TM_DUP_ATTRIBUTE) return MPI_SUCCESS;
  return keyval->copy(old, a->keyval, keyval->extra, a->value, copy, flag);
}

/* Frees copies that no object has; the program's delete functions do not know them. */
static void discard(struct tm_rank *rank, struct tm_attributes **list) {
  mti_lock(&rank->attributes_ilock);
  for (struct tm_attributes *a; (a = take_out(list)) != NULL; free(a))
    tm_keyval_release(rank, a->keyval);
  mti_unlock(&rank->attributes_ilock);
}

int tm_attributes_copy(struct tm_attributes **to, struct tm_attributes *const *from, void *object) {
  struct tm_rank *rank = tm_rank_self();
  struct tm_attributes old, **end = to;
  struct tm_keyval functions;
  *to = NULL;
  for (uint64_t order = UINT64_MAX; take_next(rank, from, &order, &old, &functions);) {
    int flag, error = call_copy(&functions, &old, object, &old.value, &flag);
    struct tm_attributes *copy = error == MPI_SUCCESS && flag ? malloc(sizeof *copy) : NULL;
    if (copy != NULL) { /* it has the use; copies keep the order */
      *copy = old;
      copy->next = NULL;
      *end = copy;
      end = &copy->next;
      continue;
    }
    mti_lock(&rank->attributes_ilock);
    tm_keyval_release(rank, old.keyval);
    mti_unlock(&rank->attributes_ilock);
    if (error == MPI_SUCCESS && flag) error = MPI_ERR_NO_MEM;
    if (error == MPI_SUCCESS) continue;
    discard(rank, to);
    return error;
  }
  return MPI_SUCCESS;
}

/* ---- the calls that all classes of objects share */

static bool fits(struct tm_rank *rank, const struct tm_attribute_holder *holder, int keyval) {
  const struct tm_keyval *found = tm_keyval_find(rank, keyval);
  return found != NULL && found->of == holder->of;
}

static int fail_code(const char *call, const struct tm_attribute_holder *holder, int code) {
  return holder->win != NULL ? tm_win_fail_code(holder->win, call, code)
                             : tm_fail_code(holder->fails_on, call, code);
}

static int bad_keyval(const char *call, const struct tm_attribute_holder *holder, int keyval) {
  if (holder->win != NULL)
    return tm_win_fail(holder->win, call, MPI_ERR_KEYVAL, "key value %d is not valid", keyval);
  return tm_fail(holder->fails_on, call, MPI_ERR_KEYVAL, "key value %d is not valid", keyval);
}

int tm_attribute_set(const char *call, const struct tm_attribute_holder *holder, int keyval,
                     void *value) {
  struct tm_rank *rank = tm_rank_self();
  struct tm_attributes *new = malloc(sizeof *new);
  if (new == NULL) return fail_code(call, holder, MPI_ERR_NO_MEM);
  *new = (struct tm_attributes){.keyval = keyval, .value = value};
  for (;;) {
    mti_lock(&rank->attributes_ilock);
    bool valid = fits(rank, holder, keyval);
    struct tm_attributes *old = valid ? take_out(find(holder->list, keyval)) : NULL;
    if (valid && old == NULL) add(rank, holder->list, new);
    mti_unlock(&rank->attributes_ilock);
    if (valid && old == NULL) return MPI_SUCCESS;
    int error = valid ? delete_one(holder->list, old, holder->object) : MPI_SUCCESS;
    if (valid && error == MPI_SUCCESS) continue; /* the delete function may have set it anew */
    free(new);
    return valid ? fail_code(call, holder, error) : bad_keyval(call, holder, keyval);
  }
}

int tm_attribute_get(const char *call, const struct tm_attribute_holder *holder, int keyval,
                     void *value, int *flag) {
  struct tm_rank *rank = tm_rank_self();
  mti_lock(&rank->attributes_ilock);
  bool valid = fits(rank, holder, keyval);
  const struct tm_attributes *attribute = valid ? *find(holder->list, keyval) : NULL;
  if (attribute != NULL) memcpy(value, &attribute->value, sizeof attribute->value);
  mti_unlock(&rank->attributes_ilock);
  if (!valid) return bad_keyval(call, holder, keyval);
  *flag = attribute != NULL;
  return MPI_SUCCESS;
}

int tm_attribute_delete(const char *call, const struct tm_attribute_holder *holder, int keyval) {
  struct tm_rank *rank = tm_rank_self();
  mti_lock(&rank->attributes_ilock);
  bool valid = fits(rank, holder, keyval);
  struct tm_attributes *attribute = valid ? take_out(find(holder->list, keyval)) : NULL;
  mti_unlock(&rank->attributes_ilock);
  if (!valid) return bad_keyval(call, holder, keyval);
  if (attribute == NULL) return MPI_SUCCESS;
  int error = delete_one(holder->list, attribute, holder->object);
  return error == MPI_SUCCESS ? error : fail_code(call, holder, error);
}
