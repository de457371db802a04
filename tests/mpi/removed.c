/* SPDX-License-Identifier: Apache-2.0 */
/* The functions and types that MPI 3.0 removed do what their successors do. One rank or more. */
#define MPI_Type_hvector MPI_Type_create_hvector /* mpi.h keeps such macros */
#include <string.h>

#include "check.h"

static int handled;

static void count(MPI_Comm *comm, int *code, ...) {
  (void)comm, (void)code;
  handled++;
}

static MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint extent = -1;
  CHECK(MPI_Type_extent(type, &extent) == MPI_SUCCESS);
  return extent;
}

/* Bounds that a program gives are the only ones of what is made of it, and are not rounded. */
static void check_bounds(MPI_Datatype type, MPI_Aint lb, MPI_Aint extent) {
  MPI_Aint found_lb = -1, found_extent = -1;
  MPI_Type_get_extent(type, &found_lb, &found_extent);
  CHECK(found_lb == lb && found_extent == extent);
}

static void test_bounds(void) {
  MPI_Datatype first, second;
  char name[MPI_MAX_OBJECT_NAME];
  int length, size;
  MPI_Type_get_name(MPI_LB, name, &length);
  CHECK(strcmp(name, "MPI_LB") == 0);
  MPI_Type_struct(3, (int[]){1, 4, 1}, (MPI_Aint[]){-3, 0, 6},
                  (MPI_Datatype[]){MPI_LB, MPI_BYTE, MPI_UB}, &first);
  MPI_Type_size(first, &size);
  CHECK(size == 4);
  check_bounds(first, -3, 9);
  MPI_Type_struct(2, (int[]){1, 2}, (MPI_Aint[]){100, 0}, (MPI_Datatype[]){MPI_INT, first},
                  &second);
  check_bounds(second, -3, 18); /* the int lies outside */
  MPI_Type_free(&second);
  MPI_Type_struct(2, (int[]){1, 1}, (MPI_Aint[]){8, 4}, (MPI_Datatype[]){MPI_DOUBLE, MPI_LB},
                  &second);
  check_bounds(second, 4, 16); /* the upper bound is that of the data, rounded */
  MPI_Type_free(&second);
  MPI_Type_free(&first);
  MPI_Type_create_resized(MPI_INT, 0, 50, &first);
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 200}, (MPI_Datatype[]){first, MPI_INT},
                         &second);
  check_bounds(second, 0, 50);
  MPI_Type_free(&second);
  MPI_Type_free(&first);
  MPI_Type_create_struct(1, (int[]){1}, (MPI_Aint[]){10}, (MPI_Datatype[]){MPI_LB}, &first);
  check_bounds(first, 10, -10);
  MPI_Type_free(&first);
}

static void test_types(void) {
  MPI_Datatype made;
  MPI_Aint lb = -1, ub = -1, address = -1;
  MPI_Type_hindexed(2, (int[]){1, 2}, (MPI_Aint[]){8, 16}, MPI_INT, &made);
  MPI_Type_lb(made, &lb);
  MPI_Type_ub(made, &ub);
  CHECK(lb == 8 && ub == 24 && extent_of(made) == 16);
  MPI_Type_free(&made);
  MPI_Type_hvector(3, 1, 20, MPI_INT, &made);
  CHECK(extent_of(made) == 44);
  MPI_Type_free(&made);
  MPI_Type_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 40}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE},
                  &made);
  CHECK(extent_of(made) == 48);
  MPI_Type_free(&made);
  MPI_Address(&lb, &address);
  CHECK(address == (MPI_Aint)&lb);
}

static void test_handlers(void) {
  MPI_Errhandler mine, found;
  MPI_Errhandler_create(count, &mine);
  MPI_Errhandler_set(MPI_COMM_SELF, mine);
  MPI_Errhandler_get(MPI_COMM_SELF, &found);
  CHECK(found == mine);
  MPI_Send(NULL, 0, MPI_INT, 7, 0, MPI_COMM_SELF);
  CHECK(handled == 1);
  EXPECT(MPI_ERR_ARG, MPI_Type_ub(MPI_INT, NULL));
  EXPECT(MPI_ERR_ARG, MPI_Type_extent(MPI_INT, NULL));
  MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&mine);
  MPI_Errhandler_free(&found);
}

int main(int argc, char **argv) {
  int size;
  check_start(&argc, &argv, &size);
  test_types();
  test_bounds();
  MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  test_handlers();
  MPI_Finalize();
  return 0;
}
