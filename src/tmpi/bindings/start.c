/* SPDX-License-Identifier: Apache-2.0 */
/* Subroutines whose arguments differ from those of the C functions. */
#include "tmpi/bindings/bindings.h"

#pragma weak mpi_init_
void mpi_init_(MPI_Fint *ierror) { tmf_end(ierror, MPI_Init(NULL, NULL)); }
void pmpi_init_(MPI_Fint *ierror) { tmf_end(ierror, PMPI_Init(NULL, NULL)); }

#pragma weak mpi_init_thread_
void mpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror) {
  tmf_end(ierror, MPI_Init_thread(NULL, NULL, *required, provided));
}
void pmpi_init_thread_(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror) {
  tmf_end(ierror, PMPI_Init_thread(NULL, NULL, *required, provided));
}

#pragma weak mpi_pcontrol_
void mpi_pcontrol_(MPI_Fint *level) { MPI_Pcontrol(*level); }
void pmpi_pcontrol_(MPI_Fint *level) { PMPI_Pcontrol(*level); }

/* A Fortran program has no argument vector to give. */
#pragma weak mpi_info_create_env_
void mpi_info_create_env_(MPI_Fint *info, MPI_Fint *ierror) {
  MPI_Info made = MPI_INFO_NULL;
  tmf_end(ierror, MPI_Info_create_env(0, NULL, &made));
  *info = PMPI_Info_toint(made);
}
void pmpi_info_create_env_(MPI_Fint *info, MPI_Fint *ierror) {
  MPI_Info made = MPI_INFO_NULL;
  tmf_end(ierror, PMPI_Info_create_env(0, NULL, &made));
  *info = PMPI_Info_toint(made);
}

/* In C a length includes the final zero. */
#pragma weak mpi_info_get_string_
void mpi_info_get_string_(MPI_Fint *info, char *key, MPI_Fint *length, char *value, MPI_Fint *flag,
                          MPI_Fint *ierror, size_t key_n, size_t value_n) {
  char *key_ = tmf_string(key, key_n), *value_ = tmf_array(*length + 1, 1);
  int with_zero = *length > 0 ? *length + 1 : 0;
  if (tmf_end(ierror, MPI_Info_get_string(tmf_Info(*info), key_, &with_zero, value_, flag)) ==
          MPI_SUCCESS &&
      *flag) {
    if (*length > 0) tmf_pad(value, value_n, value_);
    *length = with_zero - 1;
  }
  free(key_), free(value_);
}

#pragma weak mpi_session_get_nth_pset_
void mpi_session_get_nth_pset_(MPI_Fint *session, MPI_Fint *info, MPI_Fint *n, MPI_Fint *length,
                               char *name, MPI_Fint *ierror, size_t name_n) {
  char *name_ = tmf_array(*length + 1, 1);
  int with_zero = *length > 0 ? *length + 1 : 0;
  if (tmf_end(ierror, MPI_Session_get_nth_pset(tmf_Session(*session), tmf_Info(*info), *n,
                                               &with_zero, name_)) == MPI_SUCCESS) {
    if (*length > 0) tmf_pad(name, name_n, name_);
    *length = with_zero - 1;
  }
  free(name_);
}

/* In C a length includes the final zero. */
void pmpi_info_get_string_(MPI_Fint *info, char *key, MPI_Fint *length, char *value, MPI_Fint *flag,
                           MPI_Fint *ierror, size_t key_n, size_t value_n) {
  char *key_ = tmf_string(key, key_n), *value_ = tmf_array(*length + 1, 1);
  int with_zero = *length > 0 ? *length + 1 : 0;
  if (tmf_end(ierror, PMPI_Info_get_string(tmf_Info(*info), key_, &with_zero, value_, flag)) ==
          MPI_SUCCESS &&
      *flag) {
    if (*length > 0) tmf_pad(value, value_n, value_);
    *length = with_zero - 1;
  }
  free(key_), free(value_);
}

void pmpi_session_get_nth_pset_(MPI_Fint *session, MPI_Fint *info, MPI_Fint *n, MPI_Fint *length,
                                char *name, MPI_Fint *ierror, size_t name_n) {
  char *name_ = tmf_array(*length + 1, 1);
  int with_zero = *length > 0 ? *length + 1 : 0;
  if (tmf_end(ierror, PMPI_Session_get_nth_pset(tmf_Session(*session), tmf_Info(*info), *n,
                                                &with_zero, name_)) == MPI_SUCCESS) {
    if (*length > 0) tmf_pad(name, name_n, name_);
    *length = with_zero - 1;
  }
  free(name_);
}
