/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of ranks (src/tmpi/loader/program.c): where images and thread-locals lie in one, how many
 * there are, in which order constructors run, and which programs are refused.
 */
#include "loaded_program.h"

/* ---- reading a program */

static const struct tm_ranks one = {1, 0, false};

static int set_up(void **state) {
  if (read_into != NULL) *read_into = (struct tm_program){0};
  tm_the_program = NULL;
  return set_up_program(state);
}

static int tear_down(void **state) {
  (void)state;
  if (read_into != NULL) free(read_into->order);
  assert_int_equal(blocks, 0);
  return 0;
}

static const void *no_override(const char *name) {
  (void)name;
  return NULL;
}

static struct tm_program *read_program(const struct tm_ranks *ranks) {
  struct tm_program *program = tm_program_read("program", ranks, no_override);
  assert_ptr_equal(program, tm_the_program);
  if (program != NULL) assert_true(program->override == no_override);
  return program;
}

/* ---- where things lie */

/* Images one behind the other, thread-locals behind all images. */
static void images_and_thread_locals_have_places_in_a_slot(void **state) {
  (void)state;
  library_count = 2;
  images[0].span = 3 * PAGE;
  images[1].align = 4 * PAGE;
  images[1].span = 2 * PAGE;
  images[0].tls_size = 20;
  images[0].tls_align = 8;
  images[1].tls_align = 64; /* it has none */
  images[2].tls_size = 8;
  images[2].tls_align = 16;
  const struct tm_program *program = read_program(&one);
  assert_non_null(program);
  assert_true(images[0].place == 0 && images[1].place == 4 * PAGE && images[2].place == 6 * PAGE);
  assert_true(program->locals_place == 7 * PAGE && program->locals_align == PAGE);
  assert_true(images[0].tls_place == 7 * PAGE && images[1].tls_place == 0);
  assert_int_equal(images[2].tls_place, 7 * PAGE + 32);
  assert_int_equal(program->locals_size, 40);
  assert_int_equal(program->open_place, 7 * PAGE + 40);
  assert_true(program->align == 4 * PAGE && program->slot == 8 * PAGE);
}

static void objects_that_ranks_open_have_room_behind_all(void **state) {
  (void)state;
  opens = true;
  images[0].align = 2 * PAGE;
  images[0].tls_size = 8;
  const struct tm_program *program = read_program(&one);
  assert_int_equal(program->locals_place, PAGE);
  assert_int_equal(program->locals_size, 8 + TM_OPEN_LOCALS);
  size_t end = PAGE + 8 + TM_OPEN_LOCALS;
  assert_int_equal(program->open_place, (end / (2 * PAGE) + 1) * (2 * PAGE));
  size_t all = program->open_place + OPEN_PAGES * PAGE;
  assert_int_equal(program->slot, (all + 2 * PAGE - 1) / (2 * PAGE) * (2 * PAGE));
}

/* As far as an image asks for. */
static void thread_locals_are_aligned(void **state) {
  (void)state;
  images[0].tls_align = 8 * PAGE;
  images[0].tls_size = 1;
  memory_lead = 3 * PAGE;
  const struct tm_program *program = read_program(&one);
  assert_true(program->locals_align == 8 * PAGE && program->align == 8 * PAGE);
  assert_int_equal(program->locals_place, 8 * PAGE);
  assert_true(images[0].tls_place == 8 * PAGE && program->slot == 16 * PAGE);
  assert_int_equal(memory_asked, 16 * PAGE + 8 * PAGE);
  assert_int_equal((uintptr_t)program->arena % (8 * PAGE), 0);
  assert_ptr_equal(program->arena, memory + 8 * PAGE);
}

static void an_address_tells_its_rank(void **state) {
  const struct tm_ranks ranks = {3, 0, false};
  (void)state;
  assert_int_equal(tm_program_rank_of(NULL, memory), -1);
  const struct tm_program nothing = {.slot = PAGE, .ranks = 1};
  assert_int_equal(tm_program_rank_of(&nothing, NULL), -1);
  const struct tm_program *program = read_program(&ranks);
  assert_int_equal(program->slot, PAGE);
  assert_int_equal(memory_asked, 3 * PAGE);
  assert_int_equal(tm_program_rank_of(program, memory - 1), -1);
  assert_int_equal(tm_program_rank_of(program, memory), 0);
  assert_int_equal(tm_program_rank_of(program, memory + PAGE - 1), 0);
  assert_int_equal(tm_program_rank_of(program, memory + PAGE), 1);
  assert_int_equal(tm_program_rank_of(program, memory + 3 * PAGE - 1), 2);
  assert_int_equal(tm_program_rank_of(program, memory + 3 * PAGE), -1);
}

static void check_image_at(const struct tm_program *program, size_t at, int expected) {
  size_t offset;
  const struct tm_image *image = tm_program_image_at(program, program->arena + at, &offset);
  assert_ptr_equal(image, expected < 0 ? NULL : &images[expected]);
  if (image != NULL) assert_int_equal(offset, at % program->slot - image->place);
}

static void an_address_tells_its_image(void **state) {
  const struct tm_ranks ranks = {2, 0, false};
  uint8_t opened[] = {0, 1};
  (void)state;
  library_count = 3;
  images[1].align = 2 * PAGE;
  images[2].span = 2 * PAGE;
  images[3].opened = opened;
  images[0].entry = 16;
  const struct tm_program *program = read_program(&ranks);
  assert_int_equal(images[3].place, 5 * PAGE);
  assert_ptr_equal(tm_program_entry(program, 1), memory + program->slot + 16);
  for (size_t slot = 0; slot < 2 * program->slot; slot += program->slot) {
    check_image_at(program, slot, 0);
    check_image_at(program, slot + PAGE - 1, 0);
    check_image_at(program, slot + PAGE, -1);
    check_image_at(program, slot + 2 * PAGE - 1, -1);
    check_image_at(program, slot + 2 * PAGE, 1);
    check_image_at(program, slot + 3 * PAGE - 1, 1);
    check_image_at(program, slot + 3 * PAGE, 2);
    check_image_at(program, slot + 5 * PAGE - 1, 2);
    check_image_at(program, slot + 5 * PAGE, slot > 0 ? 3 : -1); /* rank 1 has opened it */
    check_image_at(program, slot + 6 * PAGE - 1, slot > 0 ? 3 : -1);
    if (program->slot > 6 * PAGE) check_image_at(program, slot + 6 * PAGE, -1);
  }
  check_image_at(program, 2 * program->slot, -1);
}

/* The call before the address that is returned to. */
static void a_call_of_the_subroutines_for_fortran(void **state) {
  (void)state;
  images[0].bindings = 100;
  images[0].bindings_size = 50;
  const struct tm_program *program = read_program(&one);
  assert_false(tm_program_in_bindings(program, memory + 100));
  assert_true(tm_program_in_bindings(program, memory + 101));
  assert_true(tm_program_in_bindings(program, memory + 150));
  assert_false(tm_program_in_bindings(program, memory + 151));
  assert_false(tm_program_in_bindings(program, memory + MEMORY + 1));
}

/* ---- the order of constructors */

static void check_order(int first, int second, int third, int fourth) {
  const struct tm_program *program = read_program(&one);
  assert_non_null(program);
  assert_true(program->order[0] == first && program->order[1] == second);
  assert_true(program->order[2] == third && program->order[3] == fourth);
}

static void an_image_starts_behind_what_it_needs(void **state) {
  struct tm_need application[] = {{&images[1], NULL}, {NULL, memory}, {&images[2], NULL}},
                 first[] = {{&images[3], NULL}}, circle[] = {{&images[1], NULL}};
  (void)state;
  library_count = 3;
  images[0].needs = application;
  images[0].need_count = 3;
  check_order(2, 1, 0, 0); /* the last one that is needed first; nobody needs 3 */
  free(read_into->order);
  images[1].needs = first;
  images[1].need_count = 1;
  check_order(2, 3, 1, 0);
  free(read_into->order);
  images[3].needs = circle;
  images[3].need_count = 1;
  check_order(2, 3, 1, 0);
}

/* No image needs it by a name: it is what ranks have in the place of libc's. */
static void the_library_of_ranks_starts_first(void **state) {
  struct tm_need application[] = {{&images[3], NULL}, {&images[2], NULL}, {&images[1], NULL}};
  (void)state;
  library_count = 3;
  images[0].needs = application;
  images[0].need_count = 3;
  check_order(1, 2, 3, 0);
  free(read_into->order);
  images[3].name = NULL;
  check_order(3, 1, 2, 0);
  free(read_into->order);
  images[3].name = images[1].name;
  images[2].name = NULL;
  check_order(2, 1, 3, 0);
}

/* ---- how many slots there are */

static void spare_slots_are_for_programs_that_may_spawn(void **state) {
  static const struct {
    const char *application, *library;
    size_t limit;
    bool fixed;
    int ranks;
  } rows[] = {
      {"PMPI_Comm_spawn", NULL, SIZE_MAX, false, 7},
      {"MPI_Comm_spawn", "MPI_Init", SIZE_MAX, false, 7},
      {"MPI_Init", "MPI_Comm_spawn_multiple", SIZE_MAX, false, 7},
      {"PMPI_Comm_spawn_multiple", "MPI_Init", SIZE_MAX, false, 7},
      {"MPI_Init", NULL, SIZE_MAX, false, 4},
      {"MPI_Init", NULL, SIZE_MAX, true, 7},
      {NULL, "PMPI_Init_thread", SIZE_MAX, false, 4},
      {"MPI_Session_init", NULL, SIZE_MAX, false, 4},
      {"MPI_Send", NULL, SIZE_MAX, false, 7}, /* an interpreter, which opens what begins */
      {NULL, NULL, SIZE_MAX, false, 7},
      {"MPI_Comm_spawn", NULL, 1 << 30, false, 4}, /* ulimit -v */
      {"MPI_Comm_spawn", NULL, 1 << 30, true, 7},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const struct tm_ranks ranks = {4, 3, rows[i].fixed};
    set_up(state);
    library_count = 1;
    asks[0][0] = rows[i].application;
    asks[1][1] = rows[i].library;
    address_space_limit = rows[i].limit;
    const struct tm_program *program = read_program(&ranks);
    if (program->ranks != rows[i].ranks) fail_msg("row %zu: %d ranks", i, program->ranks);
    assert_int_equal(program->first_ranks, 4);
    assert_int_equal(memory_asked, (size_t)rows[i].ranks * 2 * PAGE);
    tear_down(state);
    read_into->order = NULL;
  }
}

/* Without spare ones where there is too little address space. */
static void spare_slots_are_given_up_first(void **state) {
  const struct tm_ranks spare = {4, 3, false}, fixed = {4, 3, true}, none = {4, 0, false};
  (void)state;
  memory_most = 4 * PAGE;
  const struct tm_program *program = read_program(&spare);
  assert_non_null(program);
  assert_true(program->ranks == 4 && program->slot == PAGE && memory_calls == 2);
  tear_down(state);
  set_up(state);
  memory_most = 4 * 24 * PAGE; /* fewer ranks have more room for what they open */
  opens = true;
  program = read_program(&spare);
  assert_int_equal(program->slot, 24 * PAGE);
  assert_int_equal(memory_asked, 4 * 24 * PAGE);
  tear_down(state);
  set_up(state);
  memory_most = 4 * PAGE;
  assert_null(read_program(&fixed));
  assert_string_equal(said,
                      "program: no address space for 7 copies of 4 KiB (fewer ranks, or a "
                      "higher ulimit -v)");
  tear_down(state);
  set_up(state);
  memory_most = 3 * PAGE;
  assert_null(read_program(&none));
  assert_int_equal(memory_calls, 1);
  assert_non_null(strstr(said, "no address space for 4 copies of 4 KiB"));
  tear_down(state);
  set_up(state);
  memory_most = SIZE_MAX; /* more than there are addresses */
  images[0].span = (size_t)1 << 62;
  assert_null(read_program(&fixed));
  assert_int_equal(memory_calls, 0);
}

/* ---- programs that are refused */

static void what_is_no_program(void **state) {
  (void)state;
  images[0].is_executable = false;
  assert_null(read_program(&one));
  assert_string_equal(said, "program: it is a library, not a program (link a program by tmpicc)");
  flags_1 = DF_1_PIE;
  assert_null(read_program(&one));
  assert_string_equal(said, "program: it is statically linked (link it by tmpicc)");
  defines[0] = "tmpi_program"; /* mold names no interpreter in what tmpicc links */
  assert_non_null(read_program(&one));
  assert_int_equal(dropped, 0);
}

/* Each step that fails has said why. */
static void steps_that_fail(void **state) {
  for (enum step step = READ; step < NO_STEP; step++) {
    set_up(state);
    failing_step = step;
    assert_null(read_program(&one));
    assert_int_equal(dropped, step == ADD);
    assert_int_equal(memory_calls, step == MAPS);
    tear_down(state);
    if (read_into != NULL) read_into->order = NULL;
  }
}

static void no_memory_for_the_order(void **state) {
  for (int before = 0; before < 2; before++) {
    set_up(state);
    allocations_left = before;
    assert_null(read_program(&one));
    allocations_left = -1;
    assert_string_equal(said, "program: no memory for its libraries (free some)");
    tear_down(state);
    read_into->order = NULL;
  }
}

static void an_image_that_asks_for_executable_stacks(void **state) {
  (void)state;
  library_count = 1;
  const struct tm_program *program = read_program(&one);
  assert_false(tm_program_runs_code_on_stack(program));
  images[1].runs_code_on_stack = true;
  assert_true(tm_program_runs_code_on_stack(program));
  images[2].runs_code_on_stack = true; /* it is no image of the program */
  images[1].runs_code_on_stack = false;
  assert_false(tm_program_runs_code_on_stack(program));
  images[0].runs_code_on_stack = true;
  assert_true(tm_program_runs_code_on_stack(program));
}

#define SLOT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      SLOT_TEST(images_and_thread_locals_have_places_in_a_slot),
      SLOT_TEST(objects_that_ranks_open_have_room_behind_all),
      SLOT_TEST(thread_locals_are_aligned),
      SLOT_TEST(an_address_tells_its_rank),
      SLOT_TEST(an_address_tells_its_image),
      SLOT_TEST(a_call_of_the_subroutines_for_fortran),
      SLOT_TEST(an_image_starts_behind_what_it_needs),
      SLOT_TEST(the_library_of_ranks_starts_first),
      SLOT_TEST(spare_slots_are_for_programs_that_may_spawn),
      SLOT_TEST(spare_slots_are_given_up_first),
      SLOT_TEST(what_is_no_program),
      SLOT_TEST(steps_that_fail),
      SLOT_TEST(no_memory_for_the_order),
      SLOT_TEST(an_image_that_asks_for_executable_stacks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
