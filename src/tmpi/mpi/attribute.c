/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes. A key value is an index into the rank's table, above those the ABI has; it is kept,
 * though freed, until no attribute uses it.
 */
#include "tmpi/mpi/attribute.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/dt/type.h"
#include "tmpi/mpi/code.h"
#include "tmpi/mpi/errors.h"

enum { FIRST = 1000 };

/* Functions of communicators and of types differ in their first argument only. */
struct tm_keyval {
  bool used, freed, of_types;
  int attributes; /* so many have it */
  union {
    MPI_Comm_copy_attr_function *comm_copy;
    MPI_Type_copy_attr_function *type_copy;
  };
  union {
    MPI_Comm_delete_attr_function *comm_delete;
    MPI_Type_delete_attr_function *type_delete;
  };
  void *extra;
};

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

static int create(const char *call, const struct tm_keyval *functions, int *keyval) {
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

static int free_keyval(const char *call, int *keyval) {
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

struct place {
  struct tm_attributes **list;
  MPI_Comm comm;
  MPI_Datatype type;
  struct tm_comm *fails_on;
};

static int check(const char *call, const struct place *place, int keyval) {
  const struct tm_keyval *found = find_keyval(keyval);
  bool of_types = place->type != MPI_DATATYPE_NULL;
  if (found != NULL && found->of_types == of_types) return MPI_SUCCESS;
  return tm_fail(place->fails_on, call, MPI_ERR_KEYVAL, "key value %d is not valid", keyval);
}

static int set_attr(const char *call, const struct place *place, int keyval, void *value) {
  int error = check(call, place, keyval);
  if (error != MPI_SUCCESS) return error;
  struct tm_attributes **at = find(place->list, keyval);
  if (*at != NULL) {
    error = call_delete(*at, place->comm, place->type);
    if (error == MPI_SUCCESS) (*at)->value = value;
  } else {
    error = add(place->list, keyval, value);
  }
  return error == MPI_SUCCESS ? error : tm_fail_code(place->fails_on, call, error);
}

static int get_attr(const char *call, const struct place *place, int keyval, void *value,
                    int *flag) {
  int error = check(call, place, keyval);
  if (error != MPI_SUCCESS) return error;
  const struct tm_attributes *attribute = *find(place->list, keyval);
  *flag = attribute != NULL;
  if (attribute != NULL) memcpy(value, &attribute->value, sizeof attribute->value);
  return MPI_SUCCESS;
}

static int delete_attr(const char *call, const struct place *place, int keyval) {
  int error = check(call, place, keyval);
  if (error != MPI_SUCCESS) return error;
  if (*find(place->list, keyval) == NULL) return MPI_SUCCESS;
  error = delete_one(place->list, keyval, place->comm, place->type);
  return error == MPI_SUCCESS ? error : tm_fail_code(place->fails_on, call, error);
}

static int comm_place(const char *call, MPI_Comm handle, struct place *place) {
  int error = tm_get_comm(call, handle, &place->fails_on);
  if (error != MPI_SUCCESS) return error;
  place->comm = handle;
  place->type = MPI_DATATYPE_NULL;
  place->list = &place->fails_on->attributes;
  return MPI_SUCCESS;
}

/* Predefined types are every rank's: the rank keeps its attributes of them. @return NULL: no
 * memory. */
static struct tm_attributes **of_predefined(MPI_Datatype handle) {
  enum { TYPES = 0x400 }; /* handles are below */
  struct tm_rank *rank = tm_rank_self();
  if (rank->of_types == NULL) rank->of_types = calloc(TYPES, sizeof(struct tm_attributes *));
  return rank->of_types != NULL ? &rank->of_types[(uintptr_t)handle] : NULL;
}

static int type_place(const char *call, MPI_Datatype handle, struct place *place) {
  tm_enter(call);
  struct tm_type *type = tm_type_of(handle);
  if (type == NULL) return tm_fail(NULL, call, MPI_ERR_TYPE, "the datatype is not valid");
  struct tm_attributes **list = type->predefined ? of_predefined(handle) : &type->attributes;
  if (list == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  *place = (struct place){list, MPI_COMM_NULL, handle, NULL};
  return MPI_SUCCESS;
}

/* ---- of communicators */

#pragma weak MPI_Comm_create_keyval = PMPI_Comm_create_keyval
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy, MPI_Comm_delete_attr_function *del,
                            int *keyval, void *extra) {
  struct tm_keyval new = {.used = true, .comm_copy = copy, .comm_delete = del, .extra = extra};
  return create("MPI_Comm_create_keyval", &new, keyval);
}

#pragma weak MPI_Comm_free_keyval = PMPI_Comm_free_keyval
int PMPI_Comm_free_keyval(int *keyval) { return free_keyval("MPI_Comm_free_keyval", keyval); }

#pragma weak MPI_Comm_set_attr = PMPI_Comm_set_attr
int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *value) {
  struct place place = {NULL, MPI_COMM_NULL, MPI_DATATYPE_NULL, NULL};
  int error = comm_place("MPI_Comm_set_attr", comm, &place);
  return error != MPI_SUCCESS ? error : set_attr("MPI_Comm_set_attr", &place, keyval, value);
}

/* @return the address of an attribute that the library keeps; NULL: none such. */
static const int *predefined(int keyval) {
  static const int tag_ub = INT32_MAX, io = MPI_ANY_SOURCE, global = 1, appnum = 0;
  static const int host = MPI_PROC_NULL;
  switch (keyval) {
    case MPI_TAG_UB: return &tag_ub;
    case MPI_IO: return &io;
    case MPI_HOST: return &host;
    case MPI_WTIME_IS_GLOBAL: return &global;
    case MPI_APPNUM: return &appnum;
    case MPI_UNIVERSE_SIZE: return &tm_job.size;
    case MPI_LASTUSEDCODE: return tm_code_last();
    default: return NULL;
  }
}

#pragma weak MPI_Comm_get_attr = PMPI_Comm_get_attr
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *value, int *flag) {
  struct place place = {NULL, MPI_COMM_NULL, MPI_DATATYPE_NULL, NULL};
  int error = comm_place("MPI_Comm_get_attr", comm, &place);
  if (error != MPI_SUCCESS) return error;
  const int *own = predefined(keyval);
  if (own == NULL) return get_attr("MPI_Comm_get_attr", &place, keyval, value, flag);
  *flag = 1;
  memcpy(value, &own, sizeof(const int *));
  return MPI_SUCCESS;
}

#pragma weak MPI_Comm_delete_attr = PMPI_Comm_delete_attr
int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
  struct place place = {NULL, MPI_COMM_NULL, MPI_DATATYPE_NULL, NULL};
  int error = comm_place("MPI_Comm_delete_attr", comm, &place);
  return error != MPI_SUCCESS ? error : delete_attr("MPI_Comm_delete_attr", &place, keyval);
}

/* ---- the names before MPI 2 */

#pragma weak MPI_Keyval_create = PMPI_Keyval_create
int PMPI_Keyval_create(MPI_Copy_function *copy, MPI_Delete_function *del, int *keyval,
                       void *extra) {
  return PMPI_Comm_create_keyval(copy, del, keyval, extra);
}

#pragma weak MPI_Keyval_free = PMPI_Keyval_free
int PMPI_Keyval_free(int *keyval) { return free_keyval("MPI_Keyval_free", keyval); }

#pragma weak MPI_Attr_put = PMPI_Attr_put
int PMPI_Attr_put(MPI_Comm comm, int keyval, void *value) {
  return PMPI_Comm_set_attr(comm, keyval, value);
}

#pragma weak MPI_Attr_get = PMPI_Attr_get
int PMPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *flag) {
  return PMPI_Comm_get_attr(comm, keyval, value, flag);
}

#pragma weak MPI_Attr_delete = PMPI_Attr_delete
int PMPI_Attr_delete(MPI_Comm comm, int keyval) { return PMPI_Comm_delete_attr(comm, keyval); }

/* ---- of types */

#pragma weak MPI_Type_create_keyval = PMPI_Type_create_keyval
int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy, MPI_Type_delete_attr_function *del,
                            int *keyval, void *extra) {
  struct tm_keyval new = {
      .used = true, .of_types = true, .type_copy = copy, .type_delete = del, .extra = extra};
  return create("MPI_Type_create_keyval", &new, keyval);
}

#pragma weak MPI_Type_free_keyval = PMPI_Type_free_keyval
int PMPI_Type_free_keyval(int *keyval) { return free_keyval("MPI_Type_free_keyval", keyval); }

#pragma weak MPI_Type_set_attr = PMPI_Type_set_attr
int PMPI_Type_set_attr(MPI_Datatype type, int keyval, void *value) {
  struct place place = {NULL, MPI_COMM_NULL, MPI_DATATYPE_NULL, NULL};
  int error = type_place("MPI_Type_set_attr", type, &place);
  return error != MPI_SUCCESS ? error : set_attr("MPI_Type_set_attr", &place, keyval, value);
}

#pragma weak MPI_Type_get_attr = PMPI_Type_get_attr
int PMPI_Type_get_attr(MPI_Datatype type, int keyval, void *value, int *flag) {
  struct place place = {NULL, MPI_COMM_NULL, MPI_DATATYPE_NULL, NULL};
  int error = type_place("MPI_Type_get_attr", type, &place);
  return error != MPI_SUCCESS ? error : get_attr("MPI_Type_get_attr", &place, keyval, value, flag);
}

#pragma weak MPI_Type_delete_attr = PMPI_Type_delete_attr
int PMPI_Type_delete_attr(MPI_Datatype type, int keyval) {
  struct place place = {NULL, MPI_COMM_NULL, MPI_DATATYPE_NULL, NULL};
  int error = type_place("MPI_Type_delete_attr", type, &place);
  return error != MPI_SUCCESS ? error : delete_attr("MPI_Type_delete_attr", &place, keyval);
}
