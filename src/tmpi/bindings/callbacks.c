/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations and error handlers that are Fortran subroutines.
 *
 * The C library passes handles to them, a subroutine expects numbers. So each subroutine gets a C
 * function of its own that converts. Such functions cannot be made while the program runs, so there
 * is a fixed number of them. A subroutine that is given again has its function already.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "tmpi/bindings/bindings.h"

enum { MOST = 32 };

typedef void any(void);
typedef void op_subroutine(void *in, void *inout, MPI_Fint *count, MPI_Fint *type);
typedef void handler_subroutine(MPI_Fint *object, MPI_Fint *code);

static _Atomic(any *) ops[MOST], handlers[MOST];

/* @return the index of a subroutine in a table; MOST: the table is full. */
static int index_of(_Atomic(any *) *table, any *subroutine) {
  for (int i = 0; i < MOST; i++) {
    any *there = NULL;
    if (atomic_compare_exchange_strong(&table[i], &there, subroutine) || there == subroutine)
      return i;
  }
  fprintf(stderr,
          "tmpi: more than %d different Fortran subroutines as operations or error handlers\n",
          MOST);
  return MOST;
}

static void run_op(int i, void *in, void *inout, int *count, MPI_Datatype *type) {
  MPI_Fint number = PMPI_Type_toint(*type);
  ((op_subroutine *)ops[i])(in, inout, count, &number);
}
static void run_comm(int i, MPI_Comm *comm, int *code) {
  MPI_Fint number = PMPI_Comm_toint(*comm);
  ((handler_subroutine *)handlers[i])(&number, code);
}
static void run_win(int i, MPI_Win *win, int *code) {
  MPI_Fint number = PMPI_Win_toint(*win);
  ((handler_subroutine *)handlers[i])(&number, code);
}
static void run_file(int i, MPI_File *file, int *code) {
  MPI_Fint number = PMPI_File_toint(*file);
  ((handler_subroutine *)handlers[i])(&number, code);
}
static void run_session(int i, MPI_Session *session, int *code) {
  MPI_Fint number = PMPI_Session_toint(*session);
  ((handler_subroutine *)handlers[i])(&number, code);
}

/* The functions, one for each index. */
#define FUNCTIONS(i)                                                                               \
  static void op_##i(void *in, void *inout, int *count, MPI_Datatype *type) {                      \
    run_op(i, in, inout, count, type);                                                             \
  }                                                                                                \
  static void comm_##i(MPI_Comm *comm, int *code, ...) { run_comm(i, comm, code); }                \
  static void win_##i(MPI_Win *win, int *code, ...) { run_win(i, win, code); }                     \
  static void file_##i(MPI_File *file, int *code, ...) { run_file(i, file, code); }                \
  static void session_##i(MPI_Session *session, int *code, ...) { run_session(i, session, code); }
FUNCTIONS(0)
FUNCTIONS(1)
FUNCTIONS(2)
FUNCTIONS(3)
FUNCTIONS(4)
FUNCTIONS(5)
FUNCTIONS(6)
FUNCTIONS(7)
FUNCTIONS(8)
FUNCTIONS(9)
FUNCTIONS(10)
FUNCTIONS(11)
FUNCTIONS(12)
FUNCTIONS(13)
FUNCTIONS(14)
FUNCTIONS(15)
FUNCTIONS(16)
FUNCTIONS(17)
FUNCTIONS(18)
FUNCTIONS(19)
FUNCTIONS(20)
FUNCTIONS(21)
FUNCTIONS(22)
FUNCTIONS(23)
FUNCTIONS(24)
FUNCTIONS(25)
FUNCTIONS(26)
FUNCTIONS(27)
FUNCTIONS(28)
FUNCTIONS(29)
FUNCTIONS(30)
FUNCTIONS(31)

static MPI_User_function *const op_functions[MOST] = {
    op_0,  op_1,  op_2,  op_3,  op_4,  op_5,  op_6,  op_7,  op_8,  op_9,  op_10,
    op_11, op_12, op_13, op_14, op_15, op_16, op_17, op_18, op_19, op_20, op_21,
    op_22, op_23, op_24, op_25, op_26, op_27, op_28, op_29, op_30, op_31};
static MPI_Comm_errhandler_function *const comm_functions[MOST] = {
    comm_0,  comm_1,  comm_2,  comm_3,  comm_4,  comm_5,  comm_6,  comm_7,
    comm_8,  comm_9,  comm_10, comm_11, comm_12, comm_13, comm_14, comm_15,
    comm_16, comm_17, comm_18, comm_19, comm_20, comm_21, comm_22, comm_23,
    comm_24, comm_25, comm_26, comm_27, comm_28, comm_29, comm_30, comm_31};
static MPI_Win_errhandler_function *const win_functions[MOST] = {
    win_0,  win_1,  win_2,  win_3,  win_4,  win_5,  win_6,  win_7,  win_8,  win_9,  win_10,
    win_11, win_12, win_13, win_14, win_15, win_16, win_17, win_18, win_19, win_20, win_21,
    win_22, win_23, win_24, win_25, win_26, win_27, win_28, win_29, win_30, win_31};
static MPI_File_errhandler_function *const file_functions[MOST] = {
    file_0,  file_1,  file_2,  file_3,  file_4,  file_5,  file_6,  file_7,
    file_8,  file_9,  file_10, file_11, file_12, file_13, file_14, file_15,
    file_16, file_17, file_18, file_19, file_20, file_21, file_22, file_23,
    file_24, file_25, file_26, file_27, file_28, file_29, file_30, file_31};
static MPI_Session_errhandler_function *const session_functions[MOST] = {
    session_0,  session_1,  session_2,  session_3,  session_4,  session_5,  session_6,  session_7,
    session_8,  session_9,  session_10, session_11, session_12, session_13, session_14, session_15,
    session_16, session_17, session_18, session_19, session_20, session_21, session_22, session_23,
    session_24, session_25, session_26, session_27, session_28, session_29, session_30, session_31};

#pragma weak mpi_op_create_
void mpi_op_create_(any *subroutine, MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror) {
  int i = index_of(ops, subroutine);
  MPI_Op made = MPI_OP_NULL;
  tmf_end(ierror, i == MOST ? MPI_ERR_NO_MEM : MPI_Op_create(op_functions[i], *commute, &made));
  if (i == MOST) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  *op = PMPI_Op_toint(made);
}

#pragma weak mpi_comm_create_errhandler_
void mpi_comm_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *ierror) {
  int i = index_of(handlers, subroutine);
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  tmf_end(ierror,
          i == MOST ? MPI_ERR_NO_MEM : MPI_Comm_create_errhandler(comm_functions[i], &made));
  if (i == MOST) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  *handler = PMPI_Errhandler_toint(made);
}

#pragma weak mpi_win_create_errhandler_
void mpi_win_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *ierror) {
  int i = index_of(handlers, subroutine);
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  tmf_end(ierror, i == MOST ? MPI_ERR_NO_MEM : MPI_Win_create_errhandler(win_functions[i], &made));
  if (i == MOST) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  *handler = PMPI_Errhandler_toint(made);
}

#pragma weak mpi_file_create_errhandler_
void mpi_file_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *ierror) {
  int i = index_of(handlers, subroutine);
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  tmf_end(ierror,
          i == MOST ? MPI_ERR_NO_MEM : MPI_File_create_errhandler(file_functions[i], &made));
  if (i == MOST) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  *handler = PMPI_Errhandler_toint(made);
}

#pragma weak mpi_session_create_errhandler_
void mpi_session_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *ierror) {
  int i = index_of(handlers, subroutine);
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  tmf_end(ierror,
          i == MOST ? MPI_ERR_NO_MEM : MPI_Session_create_errhandler(session_functions[i], &made));
  *handler = PMPI_Errhandler_toint(made);
}

void pmpi_op_create_(any *subroutine, MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror) {
  int i = index_of(ops, subroutine);
  MPI_Op made = MPI_OP_NULL;
  tmf_end(ierror, i == MOST ? MPI_ERR_NO_MEM : PMPI_Op_create(op_functions[i], *commute, &made));
  if (i == MOST) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  *op = PMPI_Op_toint(made);
}

void pmpi_comm_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *ierror) {
  int i = index_of(handlers, subroutine);
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  tmf_end(ierror,
          i == MOST ? MPI_ERR_NO_MEM : PMPI_Comm_create_errhandler(comm_functions[i], &made));
  if (i == MOST) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  *handler = PMPI_Errhandler_toint(made);
}

void pmpi_win_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *ierror) {
  int i = index_of(handlers, subroutine);
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  tmf_end(ierror, i == MOST ? MPI_ERR_NO_MEM : PMPI_Win_create_errhandler(win_functions[i], &made));
  if (i == MOST) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  *handler = PMPI_Errhandler_toint(made);
}

void pmpi_file_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *ierror) {
  int i = index_of(handlers, subroutine);
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  tmf_end(ierror,
          i == MOST ? MPI_ERR_NO_MEM : PMPI_File_create_errhandler(file_functions[i], &made));
  if (i == MOST) PMPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
  *handler = PMPI_Errhandler_toint(made);
}

void pmpi_session_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *ierror) {
  int i = index_of(handlers, subroutine);
  MPI_Errhandler made = MPI_ERRHANDLER_NULL;
  tmf_end(ierror,
          i == MOST ? MPI_ERR_NO_MEM : PMPI_Session_create_errhandler(session_functions[i], &made));
  *handler = PMPI_Errhandler_toint(made);
}
