/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operations, error handlers and data representations that are subroutines of Fortran
 * (src/tmpi/bindings: callbacks.c and datarep.c): each subroutine has a C function of its own, of
 * which there is a fixed number.
 */
#include "captured.h"
#include "fortran_memory.h"

enum { MOST = 32 }; /* functions of each kind */

static int error;  /* that the C functions return */
static int ierror; /* that subroutines of the program return */

int PMPI_Type_toint(MPI_Datatype type) { return NUMBER(type); }
int PMPI_Comm_toint(MPI_Comm comm) { return NUMBER(comm); }
int PMPI_Win_toint(MPI_Win win) { return NUMBER(win); }
int PMPI_File_toint(MPI_File file) { return NUMBER(file); }
int PMPI_Session_toint(MPI_Session session) { return NUMBER(session); }
int PMPI_Op_toint(MPI_Op op) { return NUMBER(op); }
int PMPI_Errhandler_toint(MPI_Errhandler handler) { return NUMBER(handler); }

int PMPI_Comm_call_errhandler(MPI_Comm comm, int code) {
  note("handler:%d,%d", comm == MPI_COMM_WORLD, code == MPI_ERR_NO_MEM);
  return MPI_SUCCESS;
}

/* ---- operations and error handlers */

typedef void any(void);

static MPI_User_function *op;

static int Op_create_of_c(MPI_User_function *function, int commute, MPI_Op *made) {
  note("op:%d", commute);
  op = function;
  if (error == MPI_SUCCESS) *made = HANDLE(9000);
  return error;
}
BOTH_NAMES(Op_create, (MPI_User_function * function, int commute, MPI_Op *made),
           (function, commute, made))

/* What an object with an error handler has. */
#define OBJECT(name, lower)                                                                        \
  static MPI_##name##_errhandler_function *name##_handler;                                         \
  static int name##_create_errhandler_of_c(MPI_##name##_errhandler_function *function,             \
                                           MPI_Errhandler *made) {                                 \
    note(#lower);                                                                                  \
    name##_handler = function;                                                                     \
    if (error == MPI_SUCCESS) *made = HANDLE(9000);                                                \
    return error;                                                                                  \
  }                                                                                                \
  BOTH_NAMES(name##_create_errhandler,                                                             \
             (MPI_##name##_errhandler_function * function, MPI_Errhandler * made),                 \
             (function, made))                                                                     \
  static any *name##_function(void) { return (any *)name##_handler; }                              \
  static void name##_called(int number, int code) {                                                \
    MPI_##name object = HANDLE(number);                                                            \
    name##_handler(&object, &code);                                                                \
  }                                                                                                \
  void mpi_##lower##_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *result);     \
  void pmpi_##lower##_create_errhandler_(any *subroutine, MPI_Fint *handler, MPI_Fint *result);
OBJECT(Comm, comm)
OBJECT(Win, win)
OBJECT(File, file)
OBJECT(Session, session)

void mpi_op_create_(any *subroutine, MPI_Fint *commute, MPI_Fint *made, MPI_Fint *result);
void pmpi_op_create_(any *subroutine, MPI_Fint *commute, MPI_Fint *made, MPI_Fint *result);

static const struct object {
  const char *name;
  void (*create[2])(any *subroutine, MPI_Fint *handler, MPI_Fint *result);
  any *(*function)(void);
  void (*called)(int number, int code);
  bool reports_to_world; /* a session may be there before it */
} objects[] = {
    {"comm ", BOTH(comm_create_errhandler_), Comm_function, Comm_called, true},
    {"win ", BOTH(win_create_errhandler_), Win_function, Win_called, true},
    {"file ", BOTH(file_create_errhandler_), File_function, File_called, true},
    {"session ", BOTH(session_create_errhandler_), Session_function, Session_called, false}};

enum { OBJECTS = sizeof objects / sizeof objects[0] };

static void handle_error(MPI_Fint *object, MPI_Fint *code) { note("error:%d,%d", *object, *code); }
static void add(int *in, int *inout, MPI_Fint *count, MPI_Fint *type) {
  note("add:%d,%d", *count, *type);
  *inout += *in;
}

/* Subroutines that are never called. */
static any *other(int number) {
  static char all[MOST];
  return (any *)(void *)&all[number];
}

static void make_op(int p, any *subroutine, int expected) {
  void (*const create[])(any *, MPI_Fint *, MPI_Fint *, MPI_Fint *) = BOTH(op_create_);
  MPI_Fint commute = 1, made = -7, result = -7;
  profiled = p;
  create[p](subroutine, &commute, &made, &result);
  assert_int_equal(result, expected);
  assert_int_equal(made, expected == MPI_SUCCESS ? 9000 : NUMBER(MPI_OP_NULL));
}

static void make_handler(const struct object *object, int p, any *subroutine, int expected) {
  MPI_Fint made = -7, result = -7;
  profiled = p;
  object->create[p](subroutine, &made, &result);
  assert_int_equal(result, expected);
  assert_int_equal(made, expected == MPI_SUCCESS ? 9000 : NUMBER(MPI_ERRHANDLER_NULL));
}

static void an_operation_gets_the_number_of_the_type(void **state) {
  (void)state;
  for (int p = 0; p < 2; p++) {
    int in = 5, inout = 6, count = 1;
    MPI_Datatype type = HANDLE(8000);
    make_op(p, (any *)add, MPI_SUCCESS);
    op(&in, &inout, &count, &type);
    assert_int_equal(inout, 11);
    check_trace("op:1 add:1,8000 ");
    error = MPI_ERR_ARG;
    make_op(p, (any *)add, MPI_ERR_ARG);
    check_trace("op:1 ");
    error = MPI_SUCCESS;
  }
}

static void a_handler_gets_the_number_of_the_object(void **state) {
  (void)state;
  for (int i = 0; i < 2 * OBJECTS; i++) {
    const struct object *object = &objects[i / 2];
    make_handler(object, i % 2, (any *)handle_error, MPI_SUCCESS);
    check_trace(object->name);
    object->called(6000 + i, 3);
    char line[30];
    snprintf(line, sizeof line, "error:%d,3 ", 6000 + i);
    check_trace(line);
    error = MPI_ERR_ARG;
    make_handler(object, i % 2, (any *)handle_error, MPI_ERR_ARG);
    check_trace(object->name);
    error = MPI_SUCCESS;
  }
}

/* One of each kind is taken by the tests above. */
static void subroutines_have_functions_of_their_own_as_long_as_there_are_some(void **state) {
  const struct object *comm = &objects[0];
  any *handlers[MOST], *ops[MOST];
  (void)state;
  for (int i = 0; i < MOST; i++) {
    any *subroutine = i == 0 ? (any *)handle_error : other(i);
    make_handler(comm, i % 2, subroutine, MPI_SUCCESS);
    handlers[i] = comm->function();
    make_op(i % 2, i == 0 ? (any *)add : other(i), MPI_SUCCESS);
    ops[i] = (any *)op;
    for (int k = 0; k < i; k++) assert_true(handlers[k] != handlers[i] && ops[k] != ops[i]);
  }
  make_handler(comm, 0, other(MOST - 1), MPI_SUCCESS); /* given again */
  assert_true(comm->function() == handlers[MOST - 1]);
  trace[0] = '\0';
}

/* All are taken by the test above. */
static void a_subroutine_too_many_is_refused(void **state) {
  char text[1000];
  (void)state;
  struct captured captured = captured_begin();
  make_op(0, other(0), MPI_ERR_NO_MEM);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text,
                      "tmpi: more than 32 different Fortran subroutines as operations or "
                      "error handlers\n");
  check_trace("handler:1,1 ");
  captured = captured_begin();
  make_op(1, other(0), MPI_ERR_NO_MEM);
  check_trace("handler:1,1 ");
  for (int i = 0; i < 2 * OBJECTS; i++) {
    make_handler(&objects[i / 2], i % 2, other(0), MPI_ERR_NO_MEM);
    check_trace(objects[i / 2].reports_to_world ? "handler:1,1 " : "");
  }
  captured_end(&captured, text, sizeof text);
}

/* ---- data representations */

static MPI_Datarep_conversion_function *read_by, *write_by;
static MPI_Datarep_extent_function *extent_by;
static void *record;

static int Register_datarep_of_c(const char *name, MPI_Datarep_conversion_function *read_,
                                 MPI_Datarep_conversion_function *write_,
                                 MPI_Datarep_extent_function *extent, void *extra) {
  note("register:%s", name);
  read_by = read_;
  write_by = write_;
  extent_by = extent;
  record = extra;
  return error;
}
BOTH_NAMES(Register_datarep,
           (const char *name, MPI_Datarep_conversion_function *read_,
            MPI_Datarep_conversion_function *write_, MPI_Datarep_extent_function *extent,
            void *extra),
           (name, read_, write_, extent, extra))

typedef void conversion_subroutine(void *, MPI_Fint *, MPI_Fint *, void *, MPI_Offset *, MPI_Aint *,
                                   MPI_Fint *);
typedef void extent_subroutine(MPI_Fint *, MPI_Aint *, MPI_Aint *, MPI_Fint *);
#define REGISTER(p)                                                                                \
  void p##register_datarep_(const char *name, conversion_subroutine *read_,                        \
                            conversion_subroutine *write_, extent_subroutine *extent,              \
                            MPI_Aint *extra, MPI_Fint *result, size_t length);
REGISTER(mpi_)
REGISTER(pmpi_)
conversion_subroutine mpi_conversion_fn_null_;

static void convert(const char *how, MPI_Fint type, MPI_Fint count, MPI_Offset position,
                    MPI_Aint *extra, MPI_Fint *result) {
  note("%s:%d,%d,%td,%td", how, type, count, (ptrdiff_t)position, (*extra)++);
  assert_int_equal(*result, MPI_SUCCESS);
  *result = ierror;
}

static char memory, file;

static void read_it(void *to, MPI_Fint *type, MPI_Fint *count, void *from, MPI_Offset *position,
                    MPI_Aint *extra, MPI_Fint *result) {
  assert_true(to == &memory && from == &file);
  convert("read", *type, *count, *position, extra, result);
}

static void write_it(void *from, MPI_Fint *type, MPI_Fint *count, void *to, MPI_Offset *position,
                     MPI_Aint *extra, MPI_Fint *result) {
  assert_true(from == &memory && to == &file);
  convert("write", *type, *count, *position, extra, result);
}

static void give_extent(MPI_Fint *type, MPI_Aint *extent, MPI_Aint *extra, MPI_Fint *result) {
  *extent = 64;
  convert("extent", *type, 0, 0, extra, result);
}

static void put_datarep(int p, conversion_subroutine *read_, conversion_subroutine *write_,
                        MPI_Aint *extra) {
  MPI_Fint result = -7;
  profiled = p;
  (p ? pmpi_register_datarep_ : mpi_register_datarep_)("name  ", read_, write_, give_extent, extra,
                                                       &result, 6);
  assert_int_equal(result, error);
  check_trace("register:name ");
}

static void a_representation_has_its_record_for_good(void **state) {
  MPI_Datatype type = HANDLE(8000);
  (void)state;
  for (int i = 0; i < 4; i++) {
    MPI_Aint extra = 5, extent = -7; /* extra: the program's variable, which subroutines change */
    put_datarep(i % 2, read_it, write_it, &extra);
    ierror = i / 2;
    assert_int_equal(read_by(&memory, type, 3, &file, 1LL << 40, record), ierror);
    assert_int_equal(write_by(&memory, type, 4, &file, 7, record), ierror);
    assert_int_equal(extent_by(type, &extent, record), ierror);
    assert_int_equal(extent, 64);
    check_trace("read:8000,3,1099511627776,5 write:8000,4,7,6 extent:8000,0,0,7 ");
    assert_int_equal(blocks, 1);
    free(record);
  }
  ierror = MPI_SUCCESS;
}

static void a_representation_that_is_refused_has_no_record(void **state) {
  MPI_Aint extra = 5;
  (void)state;
  error = MPI_ERR_DUP_DATAREP;
  for (int p = 0; p < 2; p++) {
    put_datarep(p, read_it, write_it, &extra);
    assert_int_equal(blocks, 0);
  }
  error = MPI_SUCCESS;
}

static void without_a_conversion_there_is_no_function(void **state) {
  MPI_Aint extra = 5;
  MPI_Fint result = -7;
  (void)state;
  put_datarep(0, mpi_conversion_fn_null_, write_it, &extra);
  assert_true(read_by == NULL && write_by != NULL);
  free(record);
  put_datarep(1, read_it, mpi_conversion_fn_null_, &extra);
  assert_true(read_by != NULL && write_by == NULL);
  free(record);
  mpi_conversion_fn_null_(NULL, NULL, NULL, NULL, NULL, NULL, &result); /* by a program */
  assert_int_equal(result, MPI_ERR_CONVERSION);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_operation_gets_the_number_of_the_type),
      cmocka_unit_test(a_handler_gets_the_number_of_the_object),
      cmocka_unit_test(subroutines_have_functions_of_their_own_as_long_as_there_are_some),
      cmocka_unit_test(a_subroutine_too_many_is_refused),
      cmocka_unit_test(a_representation_has_its_record_for_good),
      cmocka_unit_test(a_representation_that_is_refused_has_no_record),
      cmocka_unit_test(without_a_conversion_there_is_no_function),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
