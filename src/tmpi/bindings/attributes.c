/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes from Fortran: values are address-sized integers. A key that Fortran made has its
 * subroutines in the extra state that the C functions get. The library frees that record with the
 * key, which attributes may outlive.
 */
#include "tmpi/attr/integer.h"
#include "tmpi/bindings/bindings.h"

#pragma weak tm_attribute_of_fortran
#pragma weak tm_keyval_of_fortran

typedef void copy_subroutine(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                             MPI_Aint *copy, MPI_Fint *flag, MPI_Fint *ierror);
typedef void delete_subroutine(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra,
                               MPI_Fint *ierror);

struct key {
  copy_subroutine *copy;
  delete_subroutine *del;
  MPI_Aint extra;
};

static struct key *key_new(copy_subroutine *copy, delete_subroutine *del, const MPI_Aint *extra) {
  struct key *key = tmf_array(1, sizeof *key);
  *key = (struct key){copy, del, *extra};
  return key;
}

static int copy_any(MPI_Fint object, int keyval, const struct key *key, void *value, void *copy,
                    int *flag) {
  MPI_Aint in = (MPI_Aint)value, out = 0, extra = key->extra;
  MPI_Fint ierror = MPI_SUCCESS;
  key->copy(&object, &keyval, &extra, &in, &out, flag, &ierror);
  *(void **)copy = (void *)out;
  return ierror;
}

static int delete_any(MPI_Fint object, int keyval, const struct key *key, void *value) {
  MPI_Aint in = (MPI_Aint)value, extra = key->extra;
  MPI_Fint ierror = MPI_SUCCESS;
  key->del(&object, &keyval, &in, &extra, &ierror);
  return ierror;
}

static int copy_comm(MPI_Comm old, int keyval, void *key, void *value, void *copy, int *flag) {
  return copy_any(PMPI_Comm_toint(old), keyval, key, value, copy, flag);
}
static int copy_type(MPI_Datatype old, int keyval, void *key, void *value, void *copy, int *flag) {
  return copy_any(PMPI_Type_toint(old), keyval, key, value, copy, flag);
}
static int copy_win(MPI_Win old, int keyval, void *key, void *value, void *copy, int *flag) {
  return copy_any(PMPI_Win_toint(old), keyval, key, value, copy, flag);
}
static int delete_comm(MPI_Comm comm, int keyval, void *value, void *key) {
  return delete_any(PMPI_Comm_toint(comm), keyval, key, value);
}
static int delete_type(MPI_Datatype type, int keyval, void *value, void *key) {
  return delete_any(PMPI_Type_toint(type), keyval, key, value);
}
static int delete_win(MPI_Win win, int keyval, void *value, void *key) {
  return delete_any(PMPI_Win_toint(win), keyval, key, value);
}

/* ---- what the library has to know */

/* Frees the record of a key that was not made. @return error. */
static int key_made(int error, const MPI_Fint *keyval, void *key) {
  if (error != MPI_SUCCESS)
    free(key);
  else if (tm_keyval_of_fortran != NULL)
    tm_keyval_of_fortran(*keyval);
  return error;
}

/* @return error. */
static int was_set(int error, enum tm_attributes_of of, void *handle, int keyval) {
  if (error == MPI_SUCCESS && tm_attribute_of_fortran != NULL)
    tm_attribute_of_fortran(of, handle, keyval, true);
  return error;
}

/* The library's own attributes are addresses in C, and the values there in Fortran. */
static MPI_Aint value_of(enum tm_attributes_of of, void *handle, int keyval, void *value) {
  if (tm_attribute_of_fortran != NULL && tm_attribute_of_fortran(of, handle, keyval, false))
    return *(MPI_Aint *)value;
  if (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) return *(int *)value;
  if (keyval == MPI_WIN_SIZE) return *(MPI_Aint *)value;
  if (keyval == MPI_WIN_DISP_UNIT || keyval == MPI_WIN_CREATE_FLAVOR || keyval == MPI_WIN_MODEL)
    return *(int *)value;
  return (MPI_Aint)value;
}

#pragma weak mpi_comm_create_keyval_
void mpi_comm_create_keyval_(copy_subroutine *copy, delete_subroutine *del, MPI_Fint *keyval,
                             MPI_Aint *extra, MPI_Fint *ierror) {
  struct key *key = key_new(copy, del, extra);
  int error = MPI_Comm_create_keyval(copy_comm, delete_comm, keyval, key);
  tmf_end(ierror, key_made(error, keyval, key));
}

#pragma weak mpi_comm_set_attr_
void mpi_comm_set_attr_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *ierror) {
  MPI_Comm handle = tmf_Comm(*comm);
  tmf_end(ierror,
          was_set(MPI_Comm_set_attr(handle, *keyval, (void *)*value), TM_OF_COMM, handle, *keyval));
}

#pragma weak mpi_comm_get_attr_
void mpi_comm_get_attr_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *flag,
                        MPI_Fint *ierror) {
  void *found = NULL;
  MPI_Comm handle = tmf_Comm(*comm);
  int error = MPI_Comm_get_attr(handle, *keyval, &found, flag);
  if (tmf_end(ierror, error) == MPI_SUCCESS && *flag)
    *value = value_of(TM_OF_COMM, handle, *keyval, found);
}

#pragma weak mpi_comm_null_copy_fn_
void mpi_comm_null_copy_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                            MPI_Aint *copy, MPI_Fint *flag, MPI_Fint *ierror) {
  (void)comm, (void)keyval, (void)extra, (void)value, (void)copy;
  *flag = 0;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_comm_dup_fn_
void mpi_comm_dup_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                      MPI_Aint *copy, MPI_Fint *flag, MPI_Fint *ierror) {
  (void)comm, (void)keyval, (void)extra;
  *copy = *value;
  *flag = 1;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_comm_null_delete_fn_
void mpi_comm_null_delete_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra,
                              MPI_Fint *ierror) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  tmf_end(ierror, MPI_SUCCESS);
}

void pmpi_comm_create_keyval_(copy_subroutine *copy, delete_subroutine *del, MPI_Fint *keyval,
                              MPI_Aint *extra, MPI_Fint *ierror) {
  struct key *key = key_new(copy, del, extra);
  int error = PMPI_Comm_create_keyval(copy_comm, delete_comm, keyval, key);
  tmf_end(ierror, key_made(error, keyval, key));
}

void pmpi_comm_set_attr_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *ierror) {
  MPI_Comm handle = tmf_Comm(*comm);
  tmf_end(ierror, was_set(PMPI_Comm_set_attr(handle, *keyval, (void *)*value), TM_OF_COMM, handle,
                          *keyval));
}

void pmpi_comm_get_attr_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *flag,
                         MPI_Fint *ierror) {
  void *found = NULL;
  MPI_Comm handle = tmf_Comm(*comm);
  int error = PMPI_Comm_get_attr(handle, *keyval, &found, flag);
  if (tmf_end(ierror, error) == MPI_SUCCESS && *flag)
    *value = value_of(TM_OF_COMM, handle, *keyval, found);
}

#pragma weak mpi_type_create_keyval_
void mpi_type_create_keyval_(copy_subroutine *copy, delete_subroutine *del, MPI_Fint *keyval,
                             MPI_Aint *extra, MPI_Fint *ierror) {
  struct key *key = key_new(copy, del, extra);
  int error = MPI_Type_create_keyval(copy_type, delete_type, keyval, key);
  tmf_end(ierror, key_made(error, keyval, key));
}

#pragma weak mpi_type_set_attr_
void mpi_type_set_attr_(MPI_Fint *type, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *ierror) {
  MPI_Datatype handle = tmf_Type(*type);
  tmf_end(ierror,
          was_set(MPI_Type_set_attr(handle, *keyval, (void *)*value), TM_OF_TYPE, handle, *keyval));
}

#pragma weak mpi_type_get_attr_
void mpi_type_get_attr_(MPI_Fint *type, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *flag,
                        MPI_Fint *ierror) {
  void *found = NULL;
  MPI_Datatype handle = tmf_Type(*type);
  int error = MPI_Type_get_attr(handle, *keyval, &found, flag);
  if (tmf_end(ierror, error) == MPI_SUCCESS && *flag)
    *value = value_of(TM_OF_TYPE, handle, *keyval, found);
}

#pragma weak mpi_type_null_copy_fn_
void mpi_type_null_copy_fn_(MPI_Fint *type, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                            MPI_Aint *copy, MPI_Fint *flag, MPI_Fint *ierror) {
  (void)type, (void)keyval, (void)extra, (void)value, (void)copy;
  *flag = 0;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_type_dup_fn_
void mpi_type_dup_fn_(MPI_Fint *type, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                      MPI_Aint *copy, MPI_Fint *flag, MPI_Fint *ierror) {
  (void)type, (void)keyval, (void)extra;
  *copy = *value;
  *flag = 1;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_type_null_delete_fn_
void mpi_type_null_delete_fn_(MPI_Fint *type, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra,
                              MPI_Fint *ierror) {
  (void)type, (void)keyval, (void)value, (void)extra;
  tmf_end(ierror, MPI_SUCCESS);
}

void pmpi_type_create_keyval_(copy_subroutine *copy, delete_subroutine *del, MPI_Fint *keyval,
                              MPI_Aint *extra, MPI_Fint *ierror) {
  struct key *key = key_new(copy, del, extra);
  int error = PMPI_Type_create_keyval(copy_type, delete_type, keyval, key);
  tmf_end(ierror, key_made(error, keyval, key));
}

void pmpi_type_set_attr_(MPI_Fint *type, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *ierror) {
  MPI_Datatype handle = tmf_Type(*type);
  tmf_end(ierror, was_set(PMPI_Type_set_attr(handle, *keyval, (void *)*value), TM_OF_TYPE, handle,
                          *keyval));
}

void pmpi_type_get_attr_(MPI_Fint *type, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *flag,
                         MPI_Fint *ierror) {
  void *found = NULL;
  MPI_Datatype handle = tmf_Type(*type);
  int error = PMPI_Type_get_attr(handle, *keyval, &found, flag);
  if (tmf_end(ierror, error) == MPI_SUCCESS && *flag)
    *value = value_of(TM_OF_TYPE, handle, *keyval, found);
}

#pragma weak mpi_win_create_keyval_
void mpi_win_create_keyval_(copy_subroutine *copy, delete_subroutine *del, MPI_Fint *keyval,
                            MPI_Aint *extra, MPI_Fint *ierror) {
  struct key *key = key_new(copy, del, extra);
  int error = MPI_Win_create_keyval(copy_win, delete_win, keyval, key);
  tmf_end(ierror, key_made(error, keyval, key));
}

#pragma weak mpi_win_set_attr_
void mpi_win_set_attr_(MPI_Fint *win, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *ierror) {
  MPI_Win handle = tmf_Win(*win);
  tmf_end(ierror,
          was_set(MPI_Win_set_attr(handle, *keyval, (void *)*value), TM_OF_WIN, handle, *keyval));
}

#pragma weak mpi_win_get_attr_
void mpi_win_get_attr_(MPI_Fint *win, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *flag,
                       MPI_Fint *ierror) {
  void *found = NULL;
  MPI_Win handle = tmf_Win(*win);
  int error = MPI_Win_get_attr(handle, *keyval, &found, flag);
  if (tmf_end(ierror, error) == MPI_SUCCESS && *flag)
    *value = value_of(TM_OF_WIN, handle, *keyval, found);
}

#pragma weak mpi_win_null_copy_fn_
void mpi_win_null_copy_fn_(MPI_Fint *win, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                           MPI_Aint *copy, MPI_Fint *flag, MPI_Fint *ierror) {
  (void)win, (void)keyval, (void)extra, (void)value, (void)copy;
  *flag = 0;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_win_dup_fn_
void mpi_win_dup_fn_(MPI_Fint *win, MPI_Fint *keyval, MPI_Aint *extra, MPI_Aint *value,
                     MPI_Aint *copy, MPI_Fint *flag, MPI_Fint *ierror) {
  (void)win, (void)keyval, (void)extra;
  *copy = *value;
  *flag = 1;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_win_null_delete_fn_
void mpi_win_null_delete_fn_(MPI_Fint *win, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra,
                             MPI_Fint *ierror) {
  (void)win, (void)keyval, (void)value, (void)extra;
  tmf_end(ierror, MPI_SUCCESS);
}

void pmpi_win_create_keyval_(copy_subroutine *copy, delete_subroutine *del, MPI_Fint *keyval,
                             MPI_Aint *extra, MPI_Fint *ierror) {
  struct key *key = key_new(copy, del, extra);
  int error = PMPI_Win_create_keyval(copy_win, delete_win, keyval, key);
  tmf_end(ierror, key_made(error, keyval, key));
}

void pmpi_win_set_attr_(MPI_Fint *win, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *ierror) {
  MPI_Win handle = tmf_Win(*win);
  tmf_end(ierror,
          was_set(PMPI_Win_set_attr(handle, *keyval, (void *)*value), TM_OF_WIN, handle, *keyval));
}

void pmpi_win_get_attr_(MPI_Fint *win, MPI_Fint *keyval, MPI_Aint *value, MPI_Fint *flag,
                        MPI_Fint *ierror) {
  void *found = NULL;
  MPI_Win handle = tmf_Win(*win);
  int error = PMPI_Win_get_attr(handle, *keyval, &found, flag);
  if (tmf_end(ierror, error) == MPI_SUCCESS && *flag)
    *value = value_of(TM_OF_WIN, handle, *keyval, found);
}

/* ---- the names before MPI 2, with default integers */

typedef void copy_subroutine_1(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *extra, MPI_Fint *value,
                               MPI_Fint *copy, MPI_Fint *flag, MPI_Fint *ierror);
typedef void delete_subroutine_1(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *extra,
                                 MPI_Fint *ierror);

struct key_1 {
  copy_subroutine_1 *copy;
  delete_subroutine_1 *del;
  MPI_Fint extra;
};

static int copy_1(MPI_Comm old, int keyval, void *data, void *value, void *copy, int *flag) {
  const struct key_1 *key = data;
  MPI_Fint comm = PMPI_Comm_toint(old), in = (MPI_Fint)(MPI_Aint)value, out = 0;
  MPI_Fint extra = key->extra, ierror = MPI_SUCCESS;
  key->copy(&comm, &keyval, &extra, &in, &out, flag, &ierror);
  *(void **)copy = (void *)(MPI_Aint)out;
  return ierror;
}

static int delete_1(MPI_Comm object, int keyval, void *value, void *data) {
  const struct key_1 *key = data;
  MPI_Fint comm = PMPI_Comm_toint(object), in = (MPI_Fint)(MPI_Aint)value;
  MPI_Fint extra = key->extra, ierror = MPI_SUCCESS;
  key->del(&comm, &keyval, &in, &extra, &ierror);
  return ierror;
}

static struct key_1 *key_1_new(copy_subroutine_1 *copy, delete_subroutine_1 *del,
                               const MPI_Fint *extra) {
  struct key_1 *key = tmf_array(1, sizeof *key);
  *key = (struct key_1){copy, del, *extra};
  return key;
}

#pragma weak mpi_keyval_create_
void mpi_keyval_create_(copy_subroutine_1 *copy, delete_subroutine_1 *del, MPI_Fint *keyval,
                        MPI_Fint *extra, MPI_Fint *ierror) {
  struct key_1 *key = key_1_new(copy, del, extra);
  int error = MPI_Comm_create_keyval(copy_1, delete_1, keyval, key);
  tmf_end(ierror, key_made(error, keyval, key));
}

void pmpi_keyval_create_(copy_subroutine_1 *copy, delete_subroutine_1 *del, MPI_Fint *keyval,
                         MPI_Fint *extra, MPI_Fint *ierror) {
  struct key_1 *key = key_1_new(copy, del, extra);
  int error = PMPI_Comm_create_keyval(copy_1, delete_1, keyval, key);
  tmf_end(ierror, key_made(error, keyval, key));
}

#pragma weak mpi_null_copy_fn_
void mpi_null_copy_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *extra, MPI_Fint *value,
                       MPI_Fint *copy, MPI_Fint *flag, MPI_Fint *ierror) {
  (void)comm, (void)keyval, (void)extra, (void)value, (void)copy;
  *flag = 0;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_dup_fn_
void mpi_dup_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *extra, MPI_Fint *value, MPI_Fint *copy,
                 MPI_Fint *flag, MPI_Fint *ierror) {
  (void)comm, (void)keyval, (void)extra;
  *copy = *value;
  *flag = 1;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_null_delete_fn_
void mpi_null_delete_fn_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *extra,
                         MPI_Fint *ierror) {
  (void)comm, (void)keyval, (void)value, (void)extra;
  tmf_end(ierror, MPI_SUCCESS);
}

#pragma weak mpi_attr_get_
void mpi_attr_get_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *flag,
                   MPI_Fint *ierror) {
  MPI_Aint wide = 0;
  mpi_comm_get_attr_(comm, keyval, &wide, flag, ierror);
  if (*ierror == MPI_SUCCESS && *flag) *value = (MPI_Fint)wide;
}

#pragma weak mpi_attr_put_
void mpi_attr_put_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *ierror) {
  MPI_Aint wide = *value;
  mpi_comm_set_attr_(comm, keyval, &wide, ierror);
}

void pmpi_attr_get_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *flag,
                    MPI_Fint *ierror) {
  MPI_Aint wide = 0;
  pmpi_comm_get_attr_(comm, keyval, &wide, flag, ierror);
  if (*ierror == MPI_SUCCESS && *flag) *value = (MPI_Fint)wide;
}

void pmpi_attr_put_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *value, MPI_Fint *ierror) {
  MPI_Aint wide = *value;
  pmpi_comm_set_attr_(comm, keyval, &wide, ierror);
}
