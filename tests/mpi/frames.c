/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Locations of calls without tmpirun (src/tmpi/report/location.c): which frame is the program's,
 * and how it is printed. Frames, a program and a library are made here; the dynamic linker's calls
 * are stand-ins that tell of these.
 */
#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "captured.h"
#include "core/internal/process.h"
#include "tmpi/bindings/code_note.h"
#include "tmpi/report/location.h"

enum { SIZE = 4096, CODE = 2000, CODE_END = 2100 /* the subroutines for Fortran */, MOST = 64 };

/* Stack frames, the innermost first. */
static struct {
  const void *caller, *return_address;
} frames[MOST + 2];

static char program[SIZE], ours[SIZE], other[SIZE];
static alignas(4) struct {
  Elf64_Nhdr head;
  char owner[8];
  int32_t distances[2];
} note;
static const void *unreadable;
static bool has_symbol;

bool mti_peek(void *copy, const void *from, size_t size) {
  if (from == unreadable) return false;
  memcpy(copy, from, size);
  return true;
}

static bool is_in(const char *object, const void *address) {
  return (const char *)address >= object && (const char *)address < object + SIZE;
}

int __wrap_dladdr(const void *address, Dl_info *info);
int __wrap_dladdr(const void *address, Dl_info *info) {
  bool own = address == (const void *)(uintptr_t)tm_location_call_site || is_in(ours, address);
  *info = (Dl_info){.dli_fname = own ? "/lib/ours" : "/bin/prog",
                    .dli_fbase = own ? ours : program,
                    .dli_sname = has_symbol ? "work" : NULL};
  if (is_in(other, address)) info->dli_fbase = other;
  return own || is_in(program, address) || is_in(other, address);
}

static int objects; /* that the linker has listed */

/* The library comes first. It says of the same offsets that they are its subroutines. Segments of
 * the program are loaded at 0, and from 1000 on. */
int __wrap_dl_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data);
int __wrap_dl_iterate_phdr(int (*look)(struct dl_phdr_info *, size_t, void *), void *data) {
  const ElfW(Phdr) of_program[] = {
      {.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = 500},
      {.p_type = PT_LOAD, .p_vaddr = 1000, .p_memsz = SIZE - 1000},
      {.p_type = PT_NOTE, .p_vaddr = 500, .p_filesz = sizeof note},
      {.p_type = PT_NULL, .p_vaddr = 0, .p_memsz = SIZE, .p_filesz = 0},
  };
  const ElfW(Phdr) of_other[] = {{.p_type = PT_LOAD, .p_vaddr = 0, .p_memsz = SIZE}};
  struct dl_phdr_info both[] = {
      {.dlpi_addr = (uintptr_t)other, .dlpi_phdr = of_other, .dlpi_phnum = 1},
      {.dlpi_addr = (uintptr_t)program, .dlpi_phdr = of_program, .dlpi_phnum = 4},
      {.dlpi_addr = (uintptr_t)program, .dlpi_phdr = of_other, .dlpi_phnum = 1}, /* never asked */
  };
  int found = 0;
  for (objects = 0; found == 0 && objects < 3; objects++)
    found = look(&both[objects], sizeof both[0], data);
  return found;
}

static int start(void **state) {
  (void)state;
  note.head = (Elf64_Nhdr){sizeof TMF_CODE_OWNER, sizeof note.distances, TMF_CODE_TYPE};
  strcpy(note.owner, TMF_CODE_OWNER);
  size_t at = 500 + offsetof(__typeof__(note), distances);
  note.distances[0] = CODE - (int)at;
  note.distances[1] = CODE_END - (int)at - 4;
  memcpy(program + 500, &note, sizeof note);
  memset(frames, 0, sizeof frames);
  for (int i = 0; i <= MOST; i++) {
    frames[i].caller = &frames[i + 1];
    frames[i].return_address = ours + 10 * i;
  }
  unreadable = NULL;
  has_symbol = true;
  return 0;
}

static const void *site(void) { return tm_location_call_site(&frames[0]); }

static void the_first_frame_of_the_program_is_the_site(void **state) {
  (void)state;
  assert_null(site());
  assert_null(tm_location_call_site(NULL));
  frames[3].return_address = program + 1200;
  frames[4].return_address = program + 1300;
  assert_ptr_equal(site(), program + 1200);
  assert_int_equal(objects, 2);
  frames[3].return_address = frames; /* in no object */
  assert_ptr_equal(site(), program + 1300);
  frames[2].return_address = other + 5;
  assert_ptr_equal(site(), other + 5);
  assert_int_equal(objects, 1);
}

/* Also a damaged stack ends: each caller's frame is above. */
static void frames_are_followed_upwards(void **state) {
  (void)state;
  frames[3].return_address = program + 1200;
  unreadable = &frames[3];
  assert_null(site());
  unreadable = NULL;
  frames[2].caller = &frames[2];
  assert_null(site());
  frames[2].caller = &frames[1];
  assert_null(site());
  frames[2].caller = &frames[3];
  assert_non_null(site());
}

static void sixty_four_frames_are_enough(void **state) {
  (void)state;
  frames[MOST].return_address = program + 1200;
  assert_null(site());
  frames[MOST - 1].return_address = program + 1300;
  assert_ptr_equal(site(), program + 1300);
}

/* What counts is the call, which ends where it returns to. */
static void subroutines_for_fortran_are_not_the_program(void **state) {
  (void)state;
  frames[5].return_address = program + 1200;
  for (int i = 0; i < 2; i++) {
    frames[4].return_address = program + (i == 0 ? CODE + 1 : CODE_END);
    assert_ptr_equal(site(), program + 1200);
    frames[4].return_address = program + (i == 0 ? CODE : CODE_END + 1);
    assert_ptr_equal(site(), frames[4].return_address);
  }
  program[500 + offsetof(__typeof__(note), owner)] = 'X'; /* a note of others */
  frames[4].return_address = program + CODE + 1;
  assert_ptr_equal(site(), frames[4].return_address);
}

static void a_caller_is_where_a_subroutine_returns_to(void **state) {
  (void)state;
  frames[5].return_address = program + 1200;
  assert_ptr_equal(tm_location_caller(program + 1400, frames), program + 1400);
  assert_ptr_equal(tm_location_caller(program + CODE + 1, frames), program + 1200);
  frames[5].return_address = ours;
  assert_ptr_equal(tm_location_caller(program + CODE + 1, frames), program + CODE + 1);
}

static void check_name(const void *address, const char *expected) {
  char text[100];
  tm_location_name(text, sizeof text, address);
  assert_string_equal(text, expected);
}

static void a_location_is_object_offset_and_symbol(void **state) {
  char pointer[40];
  (void)state;
  check_name(program + 0x123, "/bin/prog+0x123 (work)");
  has_symbol = false;
  check_name(program + 0x124, "/bin/prog+0x124");
  snprintf(pointer, sizeof pointer, "%p", (const void *)frames);
  check_name(frames, pointer);
}

static void check_trace(const void *frame, int most, const char *expected) {
  char text[300];
  struct captured captured = captured_begin();
  tm_location_trace(frame, most);
  captured_end(&captured, text, sizeof text);
  assert_string_equal(text, expected);
}

static void a_trace_has_the_frames_it_is_asked_for(void **state) {
  (void)state;
  has_symbol = false;
  frames[2].return_address = program + 16;
  frames[3].return_address = NULL;
  check_trace(frames, 3, "    #0  /lib/ours+0x0\n    #1  /lib/ours+0xa\n    #2  /bin/prog+0x10\n");
  check_trace(frames, 2, "    #0  /lib/ours+0x0\n    #1  /lib/ours+0xa\n    ...\n");
  frames[1].caller = &frames[1];
  check_trace(frames, 9, "    #0  /lib/ours+0x0\n    #1  /lib/ours+0xa\n");
  unreadable = &frames[1];
  check_trace(frames, 9, "    #0  /lib/ours+0x0\n");
  check_trace(NULL, 9, "");
}

/* ---- tmpirun knows better */

static bool is_program(const void *address) { return address == &frames[7]; }
static void name_it(char *text, size_t size, const void *address) {
  snprintf(text, size, "line %td", (const char *)address - (const char *)frames);
}
static void trace_it(const void *frame, int most) {
  fprintf(stderr, "%td %d", (const char *)frame - (const char *)frames, most);
}
static const void *find_it(const struct mltp_thread *thread, char *callee, size_t size) {
  snprintf(callee, size, "fft");
  return thread;
}

static void another_source_is_asked(void **state) {
  const struct tm_locations source = {is_program, name_it, trace_it, find_it};
  char callee[10] = "before";
  (void)state;
  assert_null(tm_location_find((void *)frames, callee, sizeof callee)); /* the linker has none */
  assert_string_equal(callee, "");
  tm_locations_set(&source);
  frames[3].return_address = &frames[7];
  assert_ptr_equal(site(), &frames[7]);
  check_name((const char *)frames + 12, "line 12");
  check_trace((const char *)frames + 5, 4, "5 4");
  assert_ptr_equal(tm_location_find((void *)frames, callee, sizeof callee), frames);
  assert_string_equal(callee, "fft");
}

#define FRAMES(test) cmocka_unit_test_setup(test, start)

int main(void) {
  const struct CMUnitTest tests[] = {
      FRAMES(the_first_frame_of_the_program_is_the_site),
      FRAMES(frames_are_followed_upwards),
      FRAMES(sixty_four_frames_are_enough),
      FRAMES(subroutines_for_fortran_are_not_the_program),
      FRAMES(a_caller_is_where_a_subroutine_returns_to),
      FRAMES(a_location_is_object_offset_and_symbol),
      FRAMES(a_trace_has_the_frames_it_is_asked_for),
      FRAMES(another_source_is_asked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
