/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of Fortran in C (src/tmpi/bindings/convert.c): addresses that have a meaning, character
 * variables, and how many types a call has. The C functions that are asked are stand-ins.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured.h"
#include "counted_blocks.h"
#include "tmpi/bindings/bindings.h"

/* The notes of the bindings name the section of their code. */
__attribute__((section("tmpi_fortran"), used)) static void in_section(void) {}

static int inter, kind, failing; /* the call that fails, by its order below; 0: none */

static int answer(int call, int *to, int value) {
  if (call == failing) return MPI_ERR_COMM;
  *to = value;
  return MPI_SUCCESS;
}

int PMPI_Comm_test_inter(MPI_Comm comm, int *flag) {
  assert_true(comm == MPI_COMM_SELF);
  return answer(1, flag, inter);
}

int PMPI_Comm_size(MPI_Comm comm, int *size) {
  assert_true(comm == MPI_COMM_SELF);
  return answer(2, size, 7);
}

int PMPI_Comm_remote_size(MPI_Comm comm, int *size) {
  assert_true(comm == MPI_COMM_SELF);
  return answer(3, size, 9);
}

int PMPI_Topo_test(MPI_Comm comm, int *status) {
  assert_true(comm == MPI_COMM_SELF);
  return answer(4, status, kind);
}

int PMPI_Cartdim_get(MPI_Comm comm, int *dimensions) {
  assert_true(comm == MPI_COMM_SELF);
  return answer(5, dimensions, 3);
}

int PMPI_Comm_rank(MPI_Comm comm, int *rank) {
  assert_true(comm == MPI_COMM_SELF);
  return answer(6, rank, 11);
}

int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *count) {
  assert_true(comm == MPI_COMM_SELF && rank == 11);
  return answer(7, count, 5);
}

static int sources, destinations;

int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int *in, int *out, int *weighted) {
  assert_true(comm == MPI_COMM_SELF);
  *weighted = 1;
  *out = destinations;
  return answer(8, in, sources);
}

/* ---- addresses */

static void addresses_of_constants_are_those_of_c(void **state) {
  MPI_Fint number[MPI_F_STATUS_SIZE];
  (void)state;
  assert_ptr_equal(tmf_address(&tmpi_bottom_), MPI_BOTTOM);
  assert_ptr_equal(tmf_address(&tmpi_in_place_), MPI_IN_PLACE);
  assert_ptr_equal(tmf_address(&tmpi_buffer_automatic_), MPI_BUFFER_AUTOMATIC);
  assert_ptr_equal(tmf_address(number), number);
  assert_ptr_equal(tmf_weights(tmpi_unweighted_), MPI_UNWEIGHTED);
  assert_ptr_equal(tmf_weights(tmpi_weights_empty_), MPI_WEIGHTS_EMPTY);
  assert_ptr_equal(tmf_weights(number), number);
  assert_ptr_equal(tmf_status(tmpi_status_ignore_), MPI_STATUS_IGNORE);
  assert_ptr_equal(tmf_status(tmpi_statuses_ignore_), tmpi_statuses_ignore_);
  assert_ptr_equal(tmf_status(number), number);
  assert_ptr_equal(tmf_statuses(tmpi_statuses_ignore_), MPI_STATUSES_IGNORE);
  assert_ptr_equal(tmf_statuses(tmpi_status_ignore_), tmpi_status_ignore_);
  assert_ptr_equal(tmf_statuses(number), number);
}

/* ---- memory and text */

static void check_string(const char *text, size_t length, const char *expected) {
  char *copy = tmf_string(text, length);
  assert_string_equal(copy, expected);
  free(copy);
  assert_int_equal(blocks, 0);
}

static void blanks_at_the_ends_are_no_text(void **state) {
  (void)state;
  check_string("word", 4, "word");
  check_string("word and more", 4, "word");
  check_string("  two words   ", 14, "two words");
  check_string("x", 1, "x");
  check_string("   ", 3, "");
  check_string(" ", 1, "");
  check_string("more", 0, "");
}

static void check_padded(size_t length, const char *text, const char *expected) {
  char variable[9] = "########";
  tmf_pad(variable, length, text);
  assert_string_equal(variable, expected);
}

static void a_variable_is_filled_with_blanks(void **state) {
  (void)state;
  check_padded(6, "word", "word  ##");
  check_padded(4, "word", "word####");
  check_padded(2, "word", "wo######");
  check_padded(3, "", "   #####");
  check_padded(0, "word", "########");
}

static void an_array_has_room_for_one_at_least(void **state) {
  (void)state;
  for (int count = -1; count < 3; count++) {
    int *array = tmf_array(count, sizeof *array);
    for (int i = 0; i < count || i == 0; i++) {
      assert_int_equal(array[i], 0);
      array[i] = 1;
    }
    free(array);
  }
  assert_int_equal(blocks, 0);
}

static void an_array_without_memory_ends_the_process(void **state) {
  char text[100];
  int status;
  (void)state;
  struct captured captured = captured_begin();
  pid_t child = fork();
  if (child == 0) {
    memory_is_out = true;
    signal(SIGABRT, SIG_DFL);
    tmf_array(12, 1);
    _exit(0);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text, "tmpi: no memory for an array of 12 handles (Fortran bindings)\n");
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* ---- how many types there are */

static void a_call_has_a_type_for_each_rank_of_the_other_side(void **state) {
  (void)state;
  for (inter = 0; inter < 2; inter++) {
    failing = 0;
    assert_int_equal(tmf_size(MPI_COMM_SELF), inter ? 9 : 7);
    failing = inter ? 3 : 2;
    assert_int_equal(tmf_size(MPI_COMM_SELF), 0);
    failing = 1;
    assert_int_equal(tmf_size(MPI_COMM_SELF), 0);
  }
  failing = 0;
}

static void check_neighbors(int topology, int call, int expected) {
  kind = topology;
  failing = call;
  assert_int_equal(tmf_neighbors(MPI_COMM_SELF), expected);
  failing = 0;
}

static void a_call_has_a_type_for_each_neighbour(void **state) {
  (void)state;
  check_neighbors(MPI_CART, 0, 6);
  check_neighbors(MPI_CART, 5, 0);
  check_neighbors(MPI_GRAPH, 0, 5);
  check_neighbors(MPI_GRAPH, 6, 0);
  check_neighbors(MPI_GRAPH, 7, 0);
  sources = 4;
  destinations = 2;
  check_neighbors(MPI_DIST_GRAPH, 0, 4);
  destinations = 8;
  check_neighbors(MPI_DIST_GRAPH, 0, 8);
  check_neighbors(MPI_UNDEFINED, 0, 0);
  check_neighbors(MPI_DIST_GRAPH, 4, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(addresses_of_constants_are_those_of_c),
      cmocka_unit_test(blanks_at_the_ends_are_no_text),
      cmocka_unit_test(a_variable_is_filled_with_blanks),
      cmocka_unit_test(an_array_has_room_for_one_at_least),
      cmocka_unit_test(an_array_without_memory_ends_the_process),
      cmocka_unit_test(a_call_has_a_type_for_each_rank_of_the_other_side),
      cmocka_unit_test(a_call_has_a_type_for_each_neighbour),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
