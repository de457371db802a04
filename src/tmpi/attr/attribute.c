/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes. A key value is an index into the rank's table, above those the ABI has; it is kept,
 * though freed, until no attribute uses it.
 */
#include "tmpi/attr/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/attr/keyval.h"
#include "tmpi/error/errors.h"

enum { FIRST = 1000 };

/* Newest first. */
struct tm_attributes {
  struct tm_attributes *next;
  int keyval;
  void *value;
};

static struct tm_keyval *find_keyval(int keyval) {
  const struct tm_rank *rank = tm_rank_self();
  int index = keyval - FIRST;
  if (index < 0 || index >= rank->keyval_count || !rank->keyvals[index].used) return NULL;
  return &rank->keyvals[index];
}

static void drop_if_unused(struct tm_keyval *keyval) {
  if (keyval->freed && keyval->attributes == 0) keyval->used = false;
}

int tm_keyval_create(const char *call, const struct tm_keyval *functions, int *keyval) {
  struct tm_rank *rank = tm_enter(call);
  int index = 0;
  while (index < rank->keyval_count && rank->keyvals[index].used) index++;
  if (index == rank->keyval_count) {
    void *more = realloc(rank->keyvals, (size_t)(index + 1) * sizeof *rank->keyvals);
    if (more == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
    rank->keyvals = more;
    rank->keyval_count++;
  }
  rank->keyvals[index] = *functions;
  *keyval = FIRST + index;
  return MPI_SUCCESS;
}

int tm_keyval_free(const char *call, int *keyval) {
  tm_enter(call);
  struct tm_keyval *found = find_keyval(*keyval);
  if (found == NULL) /* while attributes use it, it may be freed more than once */
    return tm_fail(NULL, call, MPI_ERR_KEYVAL, "key value %d is not valid", *keyval);
  found->freed = true;
  drop_if_unused(found);
  *keyval = MPI_KEYVAL_INVALID;
  return MPI_SUCCESS;
}

/* ---- lists */

static struct tm_attributes **find(struct tm_attributes **list, int keyval) {
  while (*list != NULL && (*list)->keyval != keyval) list = &(*list)->next;
  return list;
}

static int call_delete(const struct tm_attributes *attribute, MPI_Comm comm, MPI_Datatype type) {
  const struct tm_keyval *keyval = find_keyval(attribute->keyval);
  if (keyval->comm_delete == MPI_COMM_NULL_DELETE_FN) return MPI_SUCCESS;
  return keyval->of_types
             ? keyval->type_delete(type, attribute->keyval, attribute->value, keyval->extra)
             : keyval->comm_delete(comm, attribute->keyval, attribute->value, keyval->extra);
}

/* The delete function may delete others, and this one too. */
static int delete_one(struct tm_attributes **list, int index, MPI_Comm comm, MPI_Datatype type) {
  int error = call_delete(*find(list, index), comm, type);
  struct tm_attributes **at = find(list, index), *attribute = *at;
  if (error != MPI_SUCCESS || attribute == NULL) return error;
  struct tm_keyval *keyval = find_keyval(index);
  keyval->attributes--;
  drop_if_unused(keyval);
  *at = attribute->next;
  free(attribute);
  return MPI_SUCCESS;
}

int tm_attributes_delete(struct tm_attributes **list, MPI_Comm comm, MPI_Datatype type) {
  while (*list != NULL) {
    int error = delete_one(list, (*list)->keyval, comm, type);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

static int add(struct tm_attributes **at, int keyval, void *value) {
  struct tm_attributes *attribute = malloc(sizeof *attribute);
  if (attribute == NULL) return MPI_ERR_NO_MEM;
  *attribute = (struct tm_attributes){*at, keyval, value};
  *at = attribute;
  find_keyval(keyval)->attributes++;
  return MPI_SUCCESS;
}

int tm_attributes_copy(struct tm_attributes **to, struct tm_attributes *const *from, MPI_Comm comm,
                       MPI_Datatype type) {
  *to = NULL;
  for (const struct tm_attributes *a = *from; a != NULL; a = a->next) {
    const struct tm_keyval *keyval = find_keyval(a->keyval);
    void *copy = a->value;
    int flag = keyval->comm_copy == MPI_COMM_DUP_FN, error = MPI_SUCCESS;
    if ((uintptr_t)keyval->comm_copy > (uintptr_t)MPI_COMM_DUP_FN)
      error = keyval->of_types
                  ? keyval->type_copy(type, a->keyval, keyval->extra, a->value, &copy, &flag)
                  : keyval->comm_copy(comm, a->keyval, keyval->extra, a->value, &copy, &flag);
    struct tm_attributes **end = to;
    while (*end != NULL) end = &(*end)->next; /* the order stays */
    if (error == MPI_SUCCESS && flag) error = add(end, a->keyval, copy);
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

/* ---- the calls that communicators and types share */

static int check(const char *call, const struct tm_attribute_holder *place, int keyval) {
  const struct tm_keyval *found = find_keyval(keyval);
  bool of_types = place->type != MPI_DATATYPE_NULL;
  if (found != NULL && found->of_types == of_types) return MPI_SUCCESS;
  return tm_fail(place->fails_on, call, MPI_ERR_KEYVAL, "key value %d is not valid", keyval);
}

int tm_attribute_set(const char *call, const struct tm_attribute_holder *place, int keyval,
                     void *value) {
  int error = check(call, place, keyval);
  if (error != MPI_SUCCESS) return error;
  struct tm_attributes **at = find(place->list, keyval);
  if (*at != NULL) error = call_delete(*at, place->comm, place->type);
  at = find(place->list, keyval); /* the delete function may have deleted some */
  if (error == MPI_SUCCESS && *at != NULL)
    (*at)->value = value;
  else if (error == MPI_SUCCESS)
    error = add(place->list, keyval, value);
  return error == MPI_SUCCESS ? error : tm_fail_code(place->fails_on, call, error);
}

int tm_attribute_get(const char *call, const struct tm_attribute_holder *place, int keyval,
                     void *value, int *flag) {
  int error = check(call, place, keyval);
  if (error != MPI_SUCCESS) return error;
  const struct tm_attributes *attribute = *find(place->list, keyval);
  *flag = attribute != NULL;
  if (attribute != NULL) memcpy(value, &attribute->value, sizeof attribute->value);
  return MPI_SUCCESS;
}

int tm_attribute_delete(const char *call, const struct tm_attribute_holder *place, int keyval) {
  int error = check(call, place, keyval);
  if (error != MPI_SUCCESS) return error;
  if (*find(place->list, keyval) == NULL) return MPI_SUCCESS;
  error = delete_one(place->list, keyval, place->comm, place->type);
  return error == MPI_SUCCESS ? error : tm_fail_code(place->fails_on, call, error);
}
