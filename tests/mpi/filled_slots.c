/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes into a rank's slot (src/tmpi/loader/program.c): segments from the file, data, what
 * relocations say, and then constructors and destructors, in their order.
 */
#include "loaded_program.h"

enum { RANKS = 4, SLOT = 8 * PAGE, LIBRARY = 4 * PAGE };

static struct tm_program program;
static char pristine[LIBRARY];

static int set_up(void **state) {
  set_up_program(state);
  program = (struct tm_program){.images = listed,
                                .image_count = 2,
                                .start_count = 2,
                                .visible_count = 2,
                                .arena = memory,
                                .slot = SLOT,
                                .align = PAGE,
                                .ranks = RANKS,
                                .first_ranks = RANKS};
  images[1].place = LIBRARY;
  for (size_t i = 0; i < sizeof pristine; i++) pristine[i] = (char)(i % 127 + 1);
  images[0].pristine = images[1].pristine = pristine;
  return 0;
}

static char *slot(int rank) { return memory + (size_t)rank * SLOT; }

static const char *word_at(int rank, size_t at) {
  const char *word;
  memcpy(&word, slot(rank) + at, sizeof word);
  return word;
}

/* ---- segments */

enum { READ_ONLY, CODE, DATA }; /* kinds of segments */

static void add_segment(struct tm_image *image, size_t start, size_t size, size_t file_offset,
                        int kind) {
  image->segments[image->segment_count++] = (struct tm_segment){
      start, start + size, start + size, file_offset, kind == DATA, kind == CODE};
}

static void check_piece(const struct piece *piece, const char *address, size_t size, off_t offset,
                        bool executable) {
  assert_ptr_equal(piece->address, address);
  assert_int_equal(piece->size, size);
  assert_int_equal(piece->offset, offset);
  assert_int_equal(piece->executable, executable);
}

/* Whole pages, from the beginning of the first one. */
static void read_only_parts_are_mapped(void **state) {
  (void)state;
  add_segment(&images[1], 0, PAGE - 8, 0, READ_ONLY);
  add_segment(&images[1], PAGE + 0x100, PAGE + 0x100, 0x5100, CODE);
  add_segment(&images[1], 3 * PAGE + 0x10, 0x20, 0x9010, DATA);
  add_segment(&images[1], 4 * PAGE, 8, 0xa000, READ_ONLY);
  assert_true(tm_program_place_image(&program, &images[1], 2));
  assert_true(mapped_count == 3 && touched_count == 1);
  char *base = slot(2) + LIBRARY;
  check_piece(&mapped[0], base, PAGE, 0, false);
  check_piece(&mapped[1], base + PAGE, 2 * PAGE, 0x5000, true);
  assert_true(mapped[0].fd == 11 && mapped[1].fd == 11);
  check_piece(&touched[0], base + 3 * PAGE + 0x10, 0x20, 0, false);
  assert_memory_equal(base + 3 * PAGE + 0x10, pristine + 3 * PAGE + 0x10, 0x20);
  assert_int_equal(base[3 * PAGE + 0xf], 0);
  assert_int_equal(base[3 * PAGE + 0x30], 0);
  assert_int_equal(base[0], 0); /* it is mapped, not copied */
}

static void check_together(int expected) {
  assert_int_equal(tm_program_mapped_together(&images[0], 0), expected);
}

/* As far from each other in the file as in memory, and nothing else is between them. */
static void neighbors_are_mapped_together(void **state) {
  (void)state;
  add_segment(&images[0], 0, PAGE, 0, READ_ONLY);
  check_together(1);
  add_segment(&images[0], PAGE, PAGE, PAGE, CODE);
  check_together(2);
  add_segment(&images[0], 2 * PAGE, 8, 2 * PAGE, READ_ONLY);
  check_together(3);
  assert_int_equal(tm_program_mapped_together(&images[0], 1), 2);
  assert_int_equal(tm_program_mapped_together(&images[0], 2), 1);
  assert_true(tm_program_place_image(&program, &images[0], 0));
  assert_true(mapped_count == 1 && touched_count == 0);
  check_piece(&mapped[0], slot(0), 3 * PAGE, 0, true); /* one of them is code */
  images[0].segments[2].file_offset++;                 /* it is elsewhere in the file */
  check_together(2);
  images[0].segments[2].file_offset--;
  images[0].segments[1].writable = true;
  check_together(1);
  images[0].segments[1].writable = false;
  images[0].segments[0].end++; /* there are zeroes behind it */
  check_together(1);
  assert_int_equal(tm_program_mapped_together(&images[0], 1), 2);
}

static void copies_that_cannot_be_mapped(void **state) {
  static const struct {
    int error, kind;
    bool is_noexec;
    const char *says;
  } rows[] = {
      {EPERM, CODE, true,
       "library: its file system is mounted noexec (mount it with exec, or copy the file)"},
      {EPERM, READ_ONLY, true,
       "library: rank 3's copy cannot be mapped: Operation not permitted (a filter or a security "
       "module refuses it)"},
      {EACCES, CODE, false,
       "library: rank 3's copy cannot be mapped: Permission denied (a filter or a security module "
       "refuses it)"},
      {ENOMEM, CODE, false,
       "library: rank 3's copy cannot be mapped: Cannot allocate memory (fewer ranks, or a higher "
       "vm.max_map_count)"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    set_up(state);
    add_segment(&images[1], 0, PAGE, 0, rows[i].kind);
    add_segment(&images[1], PAGE, PAGE, 0, DATA);
    map_error = rows[i].error;
    is_noexec = rows[i].is_noexec;
    assert_false(tm_program_place_image(&program, &images[1], 3));
    assert_string_equal(said, rows[i].says);
    assert_true(mapped_count == 1 && touched_count == 0);
    assert_false(tm_program_place(&program, 3, 1, false));
    assert_int_equal(locals_filled, 0);
  }
}

/* ---- ranks that are placed */

static int locals_of(int rank) { return 3 << (rank * MOST_IMAGES); }

/* Mappings come first, and those of the next rank with them. */
static void a_rank_s_code_is_mapped_once(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    add_segment(&images[i], 0, PAGE, 0, CODE);
    add_segment(&images[i], PAGE, PAGE, PAGE, DATA);
  }
  program.image_count = 3; /* ranks have opened one more */
  add_segment(&images[2], 0, PAGE, 0, CODE);
  add_segment(&images[2], PAGE, PAGE, 0, DATA);
  assert_true(tm_program_place(&program, 0, 1, true));
  assert_true(mapped_count == 4 && touched_count == 2);
  assert_ptr_equal(mapped[0].address, slot(0));
  assert_ptr_equal(mapped[1].address, slot(0) + LIBRARY);
  assert_ptr_equal(mapped[2].address, slot(1));
  assert_ptr_equal(mapped[3].address, slot(1) + LIBRARY);
  assert_ptr_equal(touched[0].address, slot(0) + PAGE);
  assert_ptr_equal(touched[1].address, slot(0) + LIBRARY + PAGE);
  assert_int_equal(locals_filled, locals_of(0));
  assert_true(tm_program_place(&program, 1, 1, false));
  assert_true(mapped_count == 4 && touched_count == 4);
  assert_true(tm_program_place(&program, 3, 1, false)); /* nobody had number 2 */
  assert_true(mapped_count == 6 && touched_count == 6 && program.mapped == 4);
  assert_ptr_equal(mapped[4].address, slot(3));
  assert_int_equal(locals_filled, locals_of(0) | locals_of(1) | locals_of(3));
}

static void several_ranks_are_placed(void **state) {
  (void)state;
  add_segment(&images[0], 0, PAGE, 0, DATA);
  struct tm_record record = {8, LIBRARY};
  program.bindings.records = &record;
  program.bindings.record_count = 1;
  assert_true(tm_program_place(&program, 1, 2, false));
  assert_int_equal(locals_filled, locals_of(1) | locals_of(2));
  for (int rank = 0; rank < RANKS; rank++) {
    bool is_placed = rank == 1 || rank == 2;
    assert_ptr_equal(word_at(rank, 8), is_placed ? slot(rank) + LIBRARY : NULL);
    assert_int_equal(slot(rank)[16], is_placed ? pristine[16] : 0);
  }
}

/* ---- what relocations say */

/* An odd place is one in a packed structure. */
static void records_are_addresses_in_the_slot(void **state) {
  struct tm_record records[] = {{16, LIBRARY}, {33, 0}};
  struct tm_bindings bindings = {.records = records, .record_count = 2};
  (void)state;
  tm_program_apply(&program, &bindings, 1);
  assert_ptr_equal(word_at(1, 16), slot(1) + LIBRARY);
  assert_ptr_equal(word_at(1, 33), slot(1));
  assert_null(word_at(1, 24));
  bindings.record_count = 1;
  tm_program_apply(&program, &bindings, 2);
  assert_null(word_at(2, 33));
}

static void copies_are_of_the_same_slot_or_shared(void **state) {
  static const char shared[] = "shared by all";
  struct tm_copy copies[] = {{64, 6, shared, 0}, {96, 4, NULL, LIBRARY}, {128, 8, shared, 0}};
  struct tm_bindings bindings = {.copies = copies, .copy_count = 2};
  (void)state;
  memcpy(slot(1) + LIBRARY, "rank's", 7);
  tm_program_apply(&program, &bindings, 1);
  assert_string_equal(slot(1) + 64, "shared");
  assert_string_equal(slot(1) + 96, "rank");
  assert_int_equal(slot(1)[128], 0);
}

static int asked; /* functions that choose */
static char *chosen;

static size_t choose(void) {
  asked++;
  return (size_t)chosen;
}

static size_t in_slot(int rank, size_t (*function)(void)) {
  return (size_t)function - (size_t)slot(rank);
}

/* The first rank asks for all. */
static void a_choice_is_made_once(void **state) {
  char *const answers[] = {slot(0), slot(0) + SLOT - 1, slot(0) + SLOT, memory - 1};
  (void)state;
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    struct tm_choice choices[] = {{.at = 32, .function = in_slot(0, choose)}, {.at = 64}};
    struct tm_bindings bindings = {.choices = choices, .choice_count = 1};
    bool is_private = i < 2;
    asked = 0;
    chosen = answers[i];
    tm_program_apply(&program, &bindings, 0);
    chosen = memory;
    tm_program_apply(&program, &bindings, 1);
    assert_int_equal(asked, 1);
    assert_ptr_equal(word_at(0, 32), answers[i]);
    assert_ptr_equal(word_at(1, 32), is_private ? answers[i] + SLOT : answers[i]);
    assert_true(choices[0].in_slot == is_private && !choices[1].known);
  }
}

/* ---- constructors and destructors */

static char order[32]; /* a letter for each function that has run */

static void ran(char letter) { order[strlen(order)] = letter; }

static char *arguments[] = {NULL}, *environment[] = {NULL};

static void started(int argc, char **argv, char **variables) {
  assert_true(argc == 3 && argv == arguments && variables == environment);
}

static void construct_a(int argc, char **argv, char **variables) {
  started(argc, argv, variables);
  ran('a');
}

static void construct_b(int argc, char **argv, char **variables) {
  started(argc, argv, variables);
  ran('b');
}

static void construct_c(int argc, char **argv, char **variables) {
  started(argc, argv, variables);
  ran('c');
}

static void destruct_x(void) { ran('x'); }
static void destruct_y(void) { ran('y'); }
static void destruct_z(void) { ran('z'); }

enum { PREINIT = 0x100, INIT_ARRAY = 0x120, FINI_ARRAY = 0x140 };
static const size_t pointer = sizeof(void *);

/* Puts the addresses of functions into a table of rank 1. */
static void put_functions(const struct tm_image *image, size_t at, void (*first)(void),
                          void (*second)(void)) {
  void (*const functions[])(void) = {first, second};
  memcpy(slot(1) + image->place + at, functions, sizeof functions);
}

static void make_functions(void) {
  static int numbers[] = {1, 0};
  typedef void function(void);
  memset(order, 0, sizeof order);
  program.order = numbers;
  for (int i = 0; i < 2; i++) {
    images[i].init_array = (struct tm_table){INIT_ARRAY, 2 * pointer};
    images[i].fini_array = (struct tm_table){FINI_ARRAY, 2 * pointer};
  }
  put_functions(&images[0], INIT_ARRAY, (function *)construct_a, (function *)construct_b);
  put_functions(&images[0], FINI_ARRAY, destruct_x, destruct_y);
  put_functions(&images[1], INIT_ARRAY, (function *)construct_b, (function *)construct_a);
  put_functions(&images[1], FINI_ARRAY, destruct_y, destruct_x);
  images[0].preinit_array = (struct tm_table){PREINIT, pointer};
  put_functions(&images[0], PREINIT, (function *)construct_c, NULL);
}

static void constructors_run_in_order(void **state) {
  (void)state;
  make_functions();
  tm_program_construct_libraries(&program, 1, 3, arguments, environment);
  assert_string_equal(order, "cba"); /* the application's first ones, then the library's */
  tm_program_construct(&program, 1, 3, arguments, environment);
  assert_string_equal(order, "cbaab");
  make_functions();
  images[1].init = (size_t)construct_c - (size_t)(slot(1) + LIBRARY);
  tm_program_construct_image(&program, &images[1], 1, 3, arguments, environment);
  assert_string_equal(order, "cba"); /* that of DT_INIT comes first */
}

static void destructors_run_the_other_way_round(void **state) {
  (void)state;
  make_functions();
  images[1].fini = (size_t)destruct_z - (size_t)(slot(1) + LIBRARY);
  tm_program_destruct_image(&program, &images[1], 1);
  assert_string_equal(order, "xyz");
  assert_int_equal(destructed_opened, 0);
  make_functions();
  tm_program_destruct(&program, 1);
  assert_string_equal(order, "yxxyz"); /* the application's first */
  assert_int_equal(destructed_opened, 1 << 1);
}

#define SLOT_TEST(test) cmocka_unit_test_setup(test, set_up)

int main(void) {
  const struct CMUnitTest tests[] = {
      SLOT_TEST(read_only_parts_are_mapped),
      SLOT_TEST(neighbors_are_mapped_together),
      SLOT_TEST(copies_that_cannot_be_mapped),
      SLOT_TEST(a_rank_s_code_is_mapped_once),
      SLOT_TEST(several_ranks_are_placed),
      SLOT_TEST(records_are_addresses_in_the_slot),
      SLOT_TEST(copies_are_of_the_same_slot_or_shared),
      SLOT_TEST(a_choice_is_made_once),
      SLOT_TEST(constructors_run_in_order),
      SLOT_TEST(destructors_run_the_other_way_round),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
