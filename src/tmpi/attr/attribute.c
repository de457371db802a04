/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attributes of an object: found by their key values in a hash table, and listed newest first.
 *
 * An attribute leaves the object before its delete function is called, and comes back to its
 * position if that fails: so no other thread calls the function for it a second time.
 */
#include "tmpi/attr/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/object/comm.h"
#include "tmpi/object/hash.h"
#include "tmpi/rma/win.h"

struct attribute {
  struct tm_hash_node node;        /* first */
  struct attribute *older, *newer; /* of the object */
  uint64_t order;                  /* grows from attribute to attribute of a rank */
  int keyval;
  bool is_integer; /* set by Fortran */
  void *value;
};

/** Of one object. It exists from the first attribute to the end of the object. */
struct tm_attributes {
  struct tm_hash by_keyval;
  struct attribute *newest, *oldest;
};

/* ---- the attributes of an object, NULL: none; the rank's lock is held */

static struct attribute *find(const struct tm_attributes *all, int keyval) {
  if (all == NULL) return NULL;
  struct tm_hash_node *node = tm_hash_first(&all->by_keyval, tm_hash_words((uint64_t)keyval, 0));
  while (node != NULL && ((struct attribute *)node)->keyval != keyval) node = tm_hash_next(node);
  return (struct attribute *)node;
}

/* @return what C gets: the address of an integer that Fortran set (MPI 4.1, 19.3.7). */
static void *value_in_c(const struct attribute *a) {
  return a->is_integer ? (void *)(uintptr_t)&a->value : a->value;
}

/* @return what the functions of the key value get: Fortran's get the integer. */
static void *value_for(const struct tm_keyval *keyval, const struct attribute *a) {
  return keyval->fortran ? a->value : value_in_c(a);
}

/* Inserts it after all newer attributes. */
static void insert(struct tm_attributes *all, struct attribute *a) {
  struct attribute *newer = NULL, *older = all->newest;
  for (; older != NULL && older->order > a->order; older = older->older) newer = older;
  a->newer = newer;
  a->older = older;
  *(newer != NULL ? &newer->older : &all->newest) = a;
  *(older != NULL ? &older->newer : &all->oldest) = a;
  tm_hash_add(&all->by_keyval, &a->node, tm_hash_words((uint64_t)a->keyval, 0));
}

/* NULL: nothing. @return the attribute. */
static struct attribute *take_out(struct tm_attributes *all, struct attribute *a) {
  if (a == NULL) return NULL;
  *(a->newer != NULL ? &a->newer->older : &all->newest) = a->older;
  *(a->older != NULL ? &a->older->newer : &all->oldest) = a->newer;
  tm_hash_remove(&all->by_keyval, &a->node);
  return a;
}

/* The same of one that is older than all. */
static void insert_oldest(struct tm_attributes *all, struct attribute *a) {
  a->newer = all->oldest;
  a->older = NULL;
  *(a->newer != NULL ? &a->newer->older : &all->newest) = a;
  all->oldest = a;
  tm_hash_add(&all->by_keyval, &a->node, tm_hash_words((uint64_t)a->keyval, 0));
}

/* A new attribute's use of its key value counts. */
static void add(struct tm_rank *rank, struct tm_attributes *all, struct attribute *a) {
  a->order = ++rank->attribute_order;
  tm_keyval_find(rank, a->keyval)->uses++;
  insert(all, a);
}

/* Makes the table of an object that has none. @return false: no memory. The lock is free: without
 * a table no other thread finds an attribute there, and two that set the first one at once find
 * one table. */
static bool have_table(struct tm_attributes **all) {
  uint32_t *ilock = &tm_rank_self()->attributes_ilock;
  mti_lock(ilock);
  bool exists = *all != NULL;
  mti_unlock(ilock);
  if (exists) return true;
  struct tm_attributes *new = calloc(1, sizeof *new);
  mti_lock(ilock);
  bool used = *all == NULL;
  if (used) *all = new;
  bool has = *all != NULL;
  mti_unlock(ilock);
  if (!used) free(new);
  return has;
}

/* Of an object that has no attributes left. */
static void drop_table(struct tm_attributes **all) {
  if (*all == NULL) return;
  tm_hash_empty(&(*all)->by_keyval);
  free(*all);
  *all = NULL;
}

/* ---- deleting */

static struct tm_keyval functions_of(struct tm_rank *rank, int keyval) {
  mti_lock(&rank->attributes_ilock);
  struct tm_keyval functions = *tm_keyval_find(rank, keyval);
  mti_unlock(&rank->attributes_ilock);
  return functions;
}

/* Of an attribute that the object does not have any more. The program's function may use attributes
 * itself. */
static int call_delete(struct tm_rank *rank, const struct attribute *attribute, void *object) {
  struct tm_keyval keyval = functions_of(rank, attribute->keyval);
  if (keyval.del == NULL) return MPI_SUCCESS;
  return keyval.del(object, attribute->keyval, value_for(&keyval, attribute), keyval.extra);
}

/* Deletes one that was taken out, or puts it back. */
static int delete_one(struct tm_attributes *all, struct attribute *attribute, void *object) {
  struct tm_rank *rank = tm_rank_self();
  int error = call_delete(rank, attribute, object);
  mti_lock(&rank->attributes_ilock);
  if (error == MPI_SUCCESS)
    tm_keyval_release(rank, attribute->keyval);
  else
    insert(all, attribute);
  mti_unlock(&rank->attributes_ilock);
  if (error == MPI_SUCCESS) free(attribute);
  return error;
}

int tm_attributes_delete(struct tm_attributes **all, void *object) {
  uint32_t *ilock = &tm_rank_self()->attributes_ilock;
  for (;;) {
    mti_lock(ilock);
    struct attribute *newest = *all != NULL ? (*all)->newest : NULL;
    struct attribute *attribute = take_out(*all, newest);
    mti_unlock(ilock);
    if (attribute == NULL) break;
    int error = delete_one(*all, attribute, object);
    if (error != MPI_SUCCESS) return error;
  }
  drop_table(all);
  return MPI_SUCCESS;
}

/* ---- copying */

/* @return the newest attribute that is older than the one that was copied last; keyval is its own,
 * order its age. The program's copy function may have deleted it. */
static const struct attribute *next_older(const struct tm_attributes *all, int keyval,
                                          uint64_t order) {
  const struct attribute *last = find(all, keyval);
  if (last != NULL && last->order == order) return last->older;
  const struct attribute *a = all != NULL ? all->newest : NULL;
  while (a != NULL && a->order >= order) a = a->older;
  return a;
}

/* Moves *next to the next attribute, and takes the functions of its key value, which is in use
 * then. @return false: there is none. */
static bool take_next(struct tm_rank *rank, struct tm_attributes *const *from,
                      struct attribute *next, struct tm_keyval *functions) {
  mti_lock(&rank->attributes_ilock);
  const struct attribute *a = next_older(*from, next->keyval, next->order);
  if (a != NULL) {
    *next = *a;
    struct tm_keyval *keyval = tm_keyval_find(rank, a->keyval);
    keyval->uses++;
    *functions = *keyval;
  }
  mti_unlock(&rank->attributes_ilock);
  return a != NULL;
}

/* @return MPI_SUCCESS; *flag: *copy has the value of the copy. */
static int call_copy(const struct tm_keyval *keyval, const struct attribute *a, void *old,
                     struct attribute *copy, int *flag) {
  *copy = (struct attribute){
      .order = a->order, .keyval = a->keyval, .is_integer = a->is_integer, .value = a->value};
  *flag = keyval->copy == TM_DUP_ATTRIBUTE;
  if (keyval->copy == NULL || keyval->copy == TM_DUP_ATTRIBUTE) return MPI_SUCCESS;
  void *given = value_for(keyval, a), *value = given;
  int error = keyval->copy(old, a->keyval, keyval->extra, given, &value, flag);
  if (keyval->fortran || value != given) { /* else the same integer again, not its address */
    copy->is_integer = keyval->fortran;
    copy->value = value;
  }
  return error;
}

/* Frees copies that no object has; the program's delete functions do not know them. */
static void discard(struct tm_rank *rank, struct tm_attributes **all) {
  mti_lock(&rank->attributes_ilock);
  while (*all != NULL && (*all)->newest != NULL) {
    struct attribute *a = take_out(*all, (*all)->newest);
    tm_keyval_release(rank, a->keyval);
    free(a);
  }
  mti_unlock(&rank->attributes_ilock);
  drop_table(all);
}

/* A copy of an attribute, with its use of the key value; copies keep the order. @return false: no
 * memory. */
static bool add_copy(struct tm_rank *rank, struct tm_attributes **to,
                     const struct attribute *values) {
  struct attribute *copy = have_table(to) ? malloc(sizeof *copy) : NULL;
  if (copy == NULL) return false;
  *copy = *values;
  mti_lock(&rank->attributes_ilock);
  insert_oldest(*to, copy);
  mti_unlock(&rank->attributes_ilock);
  return true;
}

int tm_attributes_copy(struct tm_attributes **to, struct tm_attributes *const *from, void *object) {
  struct tm_rank *rank = tm_rank_self();
  struct attribute old = {.order = UINT64_MAX}, copy;
  struct tm_keyval functions;
  *to = NULL;
  while (take_next(rank, from, &old, &functions)) {
    int flag, error = call_copy(&functions, &old, object, &copy, &flag);
    if (error == MPI_SUCCESS && flag) {
      if (add_copy(rank, to, &copy)) continue;
      error = MPI_ERR_NO_MEM;
    }
    mti_lock(&rank->attributes_ilock);
    tm_keyval_release(rank, old.keyval);
    mti_unlock(&rank->attributes_ilock);
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
  struct attribute *new = have_table(holder->list) ? malloc(sizeof *new) : NULL;
  if (new == NULL) return fail_code(call, holder, MPI_ERR_NO_MEM);
  *new = (struct attribute){.keyval = keyval, .value = value};
  for (;;) {
    mti_lock(&rank->attributes_ilock);
    bool valid = fits(rank, holder, keyval);
    struct tm_attributes *all = *holder->list;
    struct attribute *old = valid ? take_out(all, find(all, keyval)) : NULL;
    if (valid && old == NULL) add(rank, all, new);
    mti_unlock(&rank->attributes_ilock);
    if (valid && old == NULL) return MPI_SUCCESS;
    int error = valid ? delete_one(all, old, holder->object) : MPI_SUCCESS;
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
  const struct attribute *attribute = valid ? find(*holder->list, keyval) : NULL;
  if (attribute != NULL) memcpy(value, &(void *){value_in_c(attribute)}, sizeof(void *));
  mti_unlock(&rank->attributes_ilock);
  if (!valid) return bad_keyval(call, holder, keyval);
  *flag = attribute != NULL;
  return MPI_SUCCESS;
}

int tm_attribute_delete(const char *call, const struct tm_attribute_holder *holder, int keyval) {
  struct tm_rank *rank = tm_rank_self();
  mti_lock(&rank->attributes_ilock);
  bool valid = fits(rank, holder, keyval);
  struct tm_attributes *all = *holder->list;
  struct attribute *attribute = valid ? take_out(all, find(all, keyval)) : NULL;
  mti_unlock(&rank->attributes_ilock);
  if (!valid) return bad_keyval(call, holder, keyval);
  if (attribute == NULL) return MPI_SUCCESS;
  int error = delete_one(all, attribute, holder->object);
  return error == MPI_SUCCESS ? error : fail_code(call, holder, error);
}

/* ---- integers, which Fortran sets */

/* @return the attributes of an object, NULL: no such object, or no memory. */
static struct tm_attributes **list_of(enum tm_attributes_of of, void *handle) {
  if (of == TM_OF_COMM) {
    struct tm_comm *comm = tm_comm_of(handle);
    return comm != NULL ? &comm->attributes : NULL;
  }
  if (of == TM_OF_TYPE) {
    struct tm_type *type = tm_type_of(handle);
    return type != NULL ? tm_type_attributes(handle, type) : NULL;
  }
  struct tm_win *win = tm_win_of(handle);
  return win != NULL ? &win->attributes : NULL;
}

bool tm_attribute_of_fortran(enum tm_attributes_of of, void *handle, int keyval, bool make) {
  struct tm_attributes **list = list_of(of, handle);
  if (list == NULL) return false;
  uint32_t *ilock = &tm_rank_self()->attributes_ilock;
  mti_lock(ilock);
  struct attribute *attribute = find(*list, keyval);
  if (attribute != NULL && make) attribute->is_integer = true;
  bool is_integer = attribute != NULL && attribute->is_integer;
  mti_unlock(ilock);
  return is_integer;
}

void tm_keyval_of_fortran(int keyval) {
  struct tm_rank *rank = tm_rank_self();
  mti_lock(&rank->attributes_ilock);
  struct tm_keyval *found = tm_keyval_find(rank, keyval);
  if (found != NULL) found->fortran = true;
  mti_unlock(&rank->attributes_ilock);
}
