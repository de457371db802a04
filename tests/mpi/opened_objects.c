/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that ranks open (src/tmpi/loader/open.c): where a new one lies, in which order copies are
 * bound, placed and constructed, what is global, which symbols are found, and what is left after a
 * step that fails. The test is the rest of the loader.
 */
#include "captured.h"
#include "object_loader.h"

static void check_refused(int line, const char *name, const char *expected) {
  int number = open_as(0, name, RTLD_NOW);
  if (number != -1 || strcmp(why, expected) != 0) fail_msg("line %d: %d '%s'", line, number, why);
  assert_true(program.opened[0].count == 0 && program.visible_count == STARTED);
}
#define REFUSED(name, expected) check_refused(__LINE__, name, expected)

/* ---- room */

static void only_a_program_that_opens_objects_has_room(void **state) {
  char text[TM_REFUSAL];
  (void)state;
  struct tm_program other = {.images = listed, .ranks = 2};
  opens = false;
  assert_true(tm_open_prepare(&other));
  assert_null(other.opened);
  opens = true;
  tm_refuse_into(text);
  memory_is_out = true;
  assert_false(tm_open_prepare(&other));
  memory_is_out = false;
  tm_refuse_into(NULL);
  assert_string_equal(text, "0: no memory for 2 ranks (fewer ranks)");
  tm_open_destruct(&other, 0); /* nothing was opened */
  assert_string_equal(calls, "");
}

/* A GiB for each rank, of 8 TiB for all, or of an eighth of what the process may have. */
static void room_in_a_slot(void **state) {
  const size_t mib = 1 << 20, gib = 1 << 30;
  (void)state;
  assert_int_equal(tm_open_room(1), gib);
  assert_int_equal(tm_open_room(8192), gib);
  assert_int_equal(tm_open_room(8193), 1022 * mib);
  assert_int_equal(tm_open_room(16384), 512 * mib);
  address_space_limit = 64 * gib;
  assert_int_equal(tm_open_room(8), gib);
  assert_int_equal(tm_open_room(9), 910 * mib);
  assert_int_equal(tm_open_room(8192), 0);
  address_space_limit = 66 * 1024 * gib; /* an eighth of it is more than that */
  assert_int_equal(tm_open_room(8193), 1022 * mib);
}

static void objects_lie_one_behind_the_other(void **state) {
  (void)state;
  images[A].span = 3 * PAGE;
  images[A].tls_size = 1;
  images[B].align = 2 * PAGE;
  images[C].tls_size = 16;
  images[D].tls_size = 16;
  images[D].tls_align = 64;
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  assert_int_equal(open_as(1, "b", RTLD_NOW), B);
  assert_int_equal(open_as(0, "c", RTLD_NOW), C);
  assert_int_equal(open_as(0, "d", RTLD_NOW), D);
  assert_true(images[A].place == OPEN && images[B].place == OPEN + 4 * PAGE);
  assert_int_equal(images[C].place, OPEN + 5 * PAGE);
  assert_int_equal(images[A].tls_place, LOCALS + 100);
  assert_int_equal(images[B].tls_place, 0);
  assert_int_equal(images[C].tls_place, LOCALS + 101);
  assert_int_equal(images[D].tls_place, LOCALS + 128);
  assert_int_equal(program.visible_count, STARTED + 4);
  assert_false(program.walk_again);
}

static void objects_for_which_there_is_no_room(void **state) {
  (void)state;
  images[A].align = 4 * PAGE;
  REFUSED("a", "a: it needs a multiple of 16 KiB as address (link it to the program)");
  images[A].align = 2 * PAGE;
  images[A].span = SLOT - OPEN + PAGE;
  REFUSED("a", "a: no address space for it in each rank (fewer ranks)");
  images[A].span = SLOT - OPEN;
  images[A].tls_size = TM_OPEN_LOCALS + 1;
  REFUSED("a", "a: its thread-local variables are too large (link it to the program)");
  images[A].tls_size = 1;
  images[A].tls_align = 128;
  REFUSED("a", "a: its thread-local variables are too large (link it to the program)");
  images[A].tls_align = 1;
  images[A].tls_size = TM_OPEN_LOCALS;
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
}

/* ---- the order of what is done */

static void what_an_object_needs_starts_first(void **state) {
  (void)state;
  needs[A][0] = LIBRARY;
  needs[A][1] = B;
  needs[A][2] = C;
  needs[B][0] = C;
  assert_int_equal(open_as(2, "a", RTLD_NOW), A);
  assert_string_equal(calls,
                      "bind a bind b bind c place a place b place c locals c locals b "
                      "locals a construct c construct b construct a");
  assert_true(applied == 1 && bindings_left == -1 && maps_listed == 3);
  assert_int_equal(rank_of_constructors, 2);
  assert_string_equal(scope, "01abc");
  calls[0] = '\0';
  tm_open_destruct(&program, 2);
  assert_string_equal(calls, "destruct a destruct b destruct c");
}

static void objects_that_need_each_other(void **state) {
  (void)state;
  needs[A][0] = B;
  needs[B][0] = A;
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  assert_string_equal(calls,
                      "bind a bind b place a place b locals b locals a construct b "
                      "construct a");
  assert_false(images[A].placing || images[B].placing);
}

/* Each rank has a copy of its own, and constructors run once in each. */
static void an_object_that_is_open_already(void **state) {
  (void)state;
  needs[B][0] = A;
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  assert_string_equal(calls, "");
  is_found = false; /* nobody looks for it */
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  is_found = true;
  assert_int_equal(open_as(0, "b", RTLD_NOW), B);
  assert_string_equal(calls, "bind b place b locals b construct b");
  assert_int_equal(open_as(1, "b", RTLD_NOW), B);
  assert_string_equal(calls,
                      "bind b bind a place b place a locals a locals b construct a "
                      "construct b");
  assert_true(program.opened[0].count == 2 && program.opened[1].count == 2);
  assert_int_equal(program.opened[2].count, 0);
  assert_int_equal(program.image_count, STARTED + 2);
}

static void an_object_that_is_not_to_be_loaded(void **state) {
  (void)state;
  assert_int_equal(open_as(0, "a", RTLD_NOW | RTLD_NOLOAD), -1);
  assert_string_equal(why, "");
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  assert_int_equal(open_as(1, "a", RTLD_NOW | RTLD_NOLOAD), -1); /* the other rank has it */
  assert_int_equal(open_as(0, "a", RTLD_NOW | RTLD_NOLOAD), A);
}

/* By a path the file is looked at again, and is the same. */
static void an_object_by_its_path(void **state) {
  (void)state;
  assert_int_equal(open_as(0, "/a", RTLD_NOW), A);
  assert_int_equal(open_as(0, "/a", RTLD_NOW), A);
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  assert_int_equal(program.opened[0].count, 1);
}

static void many_objects(void **state) {
  (void)state;
  for (int i = STARTED; i < MOST; i++) assert_int_equal(open_as(0, names[i], RTLD_NOW), i);
  assert_int_equal(program.opened[0].count, MOST - STARTED);
  for (int i = STARTED; i < MOST; i++) assert_int_equal(program.opened[0].order[i - STARTED], i);
  assert_true(program.opened[0].room >= MOST - STARTED);
}

/* ---- what is global */

static void global_objects_are_searched_first(void **state) {
  (void)state;
  needs[A][0] = B;
  assert_int_equal(open_as(0, "a", RTLD_NOW | RTLD_GLOBAL), A);
  assert_int_equal(open_as(0, "c", RTLD_NOW), C);
  assert_string_equal(scope, "01bac"); /* in the order of their constructors */
  assert_int_equal(open_as(1, "c", RTLD_NOW), C);
  assert_string_equal(scope, "01c"); /* they are the other rank's */
  assert_int_equal(open_as(0, "d", RTLD_NOW | RTLD_DEEPBIND), D);
  assert_string_equal(scope, "d01ba");
  assert_int_equal(open_as(0, "c", RTLD_NOW | RTLD_GLOBAL), C); /* it becomes global */
  assert_int_equal(open_as(0, "e", RTLD_NOW), D + 1);
  assert_string_equal(scope, "01bace");
}

/* ---- what cannot be opened */

static void objects_that_are_not_found(void **state) {
  (void)state;
  is_found = false;
  REFUSED("a", "a: cannot open shared object file: No such file or directory");
  is_found = true;
  REFUSED("nothing", "nothing: no such object");
  REFUSED("libmpi.so.40",
          "/lib/libmpi.so.40: it is another MPI, in which each rank would be a job "
          "of its own (build what opens it by tmpicc)");
  adds_shared = true; /* it has no copies */
  REFUSED("a", "");
}

static void objects_that_need_executable_stacks(void **state) {
  (void)state;
  images[A].runs_code_on_stack = true;
  REFUSED("a",
          "a: it needs executable stacks, and ranks run with others already (link it to the "
          "program, or the program with -z execstack)");
  stacks_are_executable = true;
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
}

/* Nothing of it is left, and it can be opened when the cause is gone. */
static void steps_that_fail(void **state) {
  static const struct {
    enum step step;
    int image;
    const char *why;
    bool is_kept; /* the image is read */
  } rows[] = {{NEEDS, B, "b: needs", false},
              {MAPS, A, "a: no memory (free some)", false},
              {MAPS, B, "b: no memory (free some)", false},
              {BIND, A, "a: bind", true},
              {BIND, B, "b: bind", true},
              {PLACE, B, "b: place", true}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    needs[A][0] = B;
    failing_step = rows[i].step;
    fails_at = rows[i].image;
    assert_int_equal(open_as(0, "a", RTLD_NOW), -1);
    assert_string_equal(why, rows[i].why);
    assert_int_equal(program.image_count, rows[i].is_kept ? STARTED + 2 : STARTED);
    assert_int_equal(program.visible_count, program.image_count);
    assert_true(program.opened[0].count == 0 && applied == 0 && maps_listed == 0);
    assert_false(program.walk_again);
    failing_step = NO_STEP;
    assert_int_equal(open_as(0, "a", RTLD_NOW), A);
    assert_int_equal(program.opened[0].count, 2);
    tear_down(state);
    set_up(state);
  }
}

/* For whether ranks have it, the group, the search, and the order of constructors. */
static void no_memory(void **state) {
  enum { ALLOCATIONS = 7 }; /* two are of the test's needs and maps */
  (void)state;
  for (int before = 0; before < ALLOCATIONS; before++) {
    if (before == 0 || before == 2) continue;
    tear_down(state);
    set_up(state);
    allocations_left = before;
    int number = open_as(0, "a", RTLD_NOW);
    allocations_left = -1;
    assert_int_equal(number, before < 6 ? -1 : A);
    if (before < 6) assert_string_equal(why, "a: no memory (free some)");
    assert_int_equal(program.opened[0].count, before < 6 ? 0 : 1);
    assert_int_equal(images[A].opened != NULL && images[A].opened[0] != 0, before == 6);
  }
}

/* The order has room for 16 at first: the second one of a group does not come into it. */
static void no_memory_for_more_objects(void **state) {
  enum { FIRST = A + 15 };
  (void)state;
  for (int i = A; i < FIRST; i++) assert_int_equal(open_as(0, names[i], RTLD_NOW), i);
  needs[FIRST][0] = FIRST + 1;
  cannot_grow = true;
  assert_int_equal(open_as(0, names[FIRST], RTLD_NOW), -1);
  assert_int_equal(program.opened[0].count, 15);
  assert_false(tm_image_is_loaded(&images[FIRST + 1], 0));
  cannot_grow = false;
  assert_int_equal(open_as(0, names[FIRST], RTLD_NOW), FIRST);
  assert_int_equal(program.opened[0].count, 17);
}

/* Of each image once. */
static void functions_of_mpi_that_nobody_has(void **state) {
  char text[200];
  (void)state;
  missing_count = 3;
  struct captured captured = captured_begin();
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text,
                      "tmpirun: 'a' names 3 functions of MPI that tmpi does not have yet: a "
                      "call of one ends the job\n");
  captured = captured_begin();
  assert_int_equal(open_as(1, "a", RTLD_NOW), A);
  missing_count = 0;
  assert_int_equal(open_as(0, "b", RTLD_NOW), B);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text, "");
}

static void an_object_that_ranks_share(void **state) {
  bool is_shared = false;
  (void)state;
  assert_null(tm_open(&program, 0, images, "shared", RTLD_NOW, &is_shared, where, why));
  assert_true(is_shared);
  assert_string_equal(where, "/lib/shared");
  is_found = false;
  assert_null(tm_open(&program, 0, images, "shared", RTLD_NOW, &is_shared, where, why));
  assert_string_equal(where, "shared");
}

/* ---- symbols */

static void a_handle_is_of_one_rank(void **state) {
  (void)state;
  images[A].maps = NULL;
  images[APPLICATION].maps = images[LIBRARY].maps = NULL;
  struct link_map maps[2][RANKS];
  images[APPLICATION].maps = maps[0];
  images[LIBRARY].maps = maps[1];
  assert_int_equal(open_as(1, "a", RTLD_NOW), A);
  assert_ptr_equal(tm_open_image(&program, 1, &images[A].maps[1]), &images[A]);
  assert_null(tm_open_image(&program, 0, &images[A].maps[0])); /* it has not opened it */
  assert_null(tm_open_image(&program, 0, &images[A].maps[1]));
  assert_ptr_equal(tm_open_image(&program, 0, &maps[0][0]), &images[APPLICATION]);
  assert_null(tm_open_image(&program, 0, arena));
}

static void *find_global(int rank, int after, const char *name) {
  struct tm_wanted wanted = tm_want(name, NULL);
  return tm_open_find_global(&program, rank, after >= 0 ? &images[after] : NULL, &wanted);
}

static void *find_in(int rank, int image, const char *name, const char *version) {
  struct tm_wanted wanted = tm_want(name, version);
  return tm_open_find_in(&program, rank, &images[image], &wanted);
}

static char *in_slot(int rank, int image, size_t value) {
  return arena + (size_t)rank * SLOT + images[image].place + value;
}

static void symbols_of_what_a_rank_has(void **state) {
  (void)state;
  images[LIBRARY].place = PAGE;
  defines[LIBRARY] = defines[A] = defines[B] = "symbol";
  symbols[LIBRARY].st_value = 16;
  symbols[A].st_value = 32;
  symbols[B].st_value = 48;
  defines[C] = "hidden";
  assert_int_equal(open_as(1, "a", RTLD_NOW | RTLD_GLOBAL), A);
  needs[B][0] = C;
  assert_int_equal(open_as(1, "b", RTLD_NOW), B);
  assert_ptr_equal(find_global(1, -1, "symbol"), in_slot(1, LIBRARY, 16));
  assert_ptr_equal(find_global(1, APPLICATION, "symbol"), in_slot(1, LIBRARY, 16));
  assert_ptr_equal(find_global(1, LIBRARY, "symbol"), in_slot(1, A, 32));
  assert_null(find_global(1, A, "symbol")); /* the next one is not global */
  assert_null(find_global(1, -1, "hidden"));
  assert_ptr_equal(find_global(1, B, "hidden"), in_slot(1, C, 0)); /* of its own group */
  assert_null(find_global(1, B, "symbol"));
  assert_null(find_global(0, LIBRARY, "symbol")); /* another rank has it */
  assert_ptr_equal(find_in(1, B, "symbol", NULL), in_slot(1, B, 48));
  assert_ptr_equal(find_in(1, B, "hidden", NULL), in_slot(1, C, 0));
  assert_null(find_in(1, A, "hidden", NULL));
  assert_null(find_in(1, APPLICATION, "symbol", NULL));
  memory_is_out = true;
  assert_null(find_global(1, -1, "symbol"));
  assert_null(find_in(1, B, "symbol", NULL));
  memory_is_out = false;
}

static void *chosen(void) { return arena + 3; }

static void symbols_that_are_no_plain_addresses(void **state) {
  (void)state;
  defines[LIBRARY] = "local";
  images[LIBRARY].tls_place = LOCALS;
  symbols[LIBRARY] = (Elf64_Sym){.st_info = STT_TLS, .st_value = 8};
  assert_ptr_equal(find_global(2, -1, "local"), arena + 2 * SLOT + LOCALS + 8 + 1);
  defines[LIBRARY] = "function";
  symbols[LIBRARY] = (Elf64_Sym){.st_info = STT_GNU_IFUNC};
  images[LIBRARY].place = (size_t)chosen - (size_t)arena - SLOT;
  assert_ptr_equal(find_global(1, -1, "function"), arena + 3);
}

/* ld.so(8) has loaded it for all. */
static void symbols_of_a_library_that_an_object_needs_and_ranks_share(void **state) {
  (void)state;
  shared_library = arena;
  needs[A][0] = C;
  assert_int_equal(open_as(0, "a", RTLD_NOW), A);
  assert_ptr_equal(find_in(0, A, "theirs", NULL), arena + 1);
  assert_ptr_equal(find_in(0, A, "theirs", "V"), arena + 2);
  assert_null(find_in(0, A, "theirs", "W"));
  assert_null(find_in(0, A, "nobody's", NULL));
  assert_ptr_equal(find_in(0, C, "theirs", NULL), arena + 1);
  defines[C] = "theirs"; /* a rank's own comes first */
  assert_ptr_equal(find_in(0, A, "theirs", NULL), in_slot(0, C, 0));
}

/* ---- ranks that are added */

static void ranks_that_are_added_have_copies(void **state) {
  (void)state;
  program.mapped = 7;
  assert_true(tm_open_place_ranks(&program, 3, 2, 4, why));
  assert_true(fits_ranks == 6 && fits_present == 4);
  assert_true(placed_first == 3 && placed_count == 2 && mapped_then == 3);
  ranks_are_placed = false;
  assert_false(tm_open_place_ranks(&program, 3, 2, 4, why));
  ranks_fit = false;
  placed_count = 0;
  assert_false(tm_open_place_ranks(&program, 3, 2, 4, why));
  assert_string_equal(why, "program: does not fit");
  assert_int_equal(placed_count, 0);
  tm_open_list_rank(&program, 5);
  assert_int_equal(listed_rank, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      OPEN_TEST(only_a_program_that_opens_objects_has_room),
      OPEN_TEST(room_in_a_slot),
      OPEN_TEST(objects_lie_one_behind_the_other),
      OPEN_TEST(objects_for_which_there_is_no_room),
      OPEN_TEST(what_an_object_needs_starts_first),
      OPEN_TEST(objects_that_need_each_other),
      OPEN_TEST(an_object_that_is_open_already),
      OPEN_TEST(an_object_that_is_not_to_be_loaded),
      OPEN_TEST(an_object_by_its_path),
      OPEN_TEST(many_objects),
      OPEN_TEST(global_objects_are_searched_first),
      OPEN_TEST(objects_that_are_not_found),
      OPEN_TEST(objects_that_need_executable_stacks),
      OPEN_TEST(steps_that_fail),
      OPEN_TEST(no_memory),
      OPEN_TEST(no_memory_for_more_objects),
      OPEN_TEST(functions_of_mpi_that_nobody_has),
      OPEN_TEST(an_object_that_ranks_share),
      OPEN_TEST(a_handle_is_of_one_rank),
      OPEN_TEST(symbols_of_what_a_rank_has),
      OPEN_TEST(symbols_that_are_no_plain_addresses),
      OPEN_TEST(symbols_of_a_library_that_an_object_needs_and_ranks_share),
      OPEN_TEST(ranks_that_are_added_have_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
