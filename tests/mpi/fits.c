/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a job can begin: ranks fit into the machine, or a message says why not; and a launcher
 * may have started several processes as one job.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/env/launch.h"
#include "tmpi/loader/program.h"

/* ---- whether ranks fit */

static long mappings_max;
static size_t memory_available, stack_mappings_asked;
static char refusal[512];

long os_max_mappings(void) { return mappings_max; }

size_t os_memory_available(void) { return memory_available; }

size_t mti_stack_mappings(size_t stacks) {
  stack_mappings_asked = stacks;
  return stacks / 4;
}

/* As the loader does, for segments that are next to each other in the file. */
int tm_program_mapped_together(const struct tm_image *image, int s) {
  return s + 1 < image->segment_count && !image->segments[s + 1].writable ? 2 : 1;
}

bool tm_refuse(const char *path, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = snprintf(refusal, sizeof refusal, "%s: ", path);
  vsnprintf(refusal + length, sizeof refusal - (size_t)length, format, arguments);
  va_end(arguments);
  return false;
}

static void ranks_fit_or_a_message_says_why_not(void **state) {
  (void)state;
  enum { PAGE = 4096, OTHERS = 200, OF_RANK = 6, MIB = 1 << 20 };
  static char program_path[] = "program", library_path[] = "library";
  /* Two mappings for the two read-only parts together, two for the last one; 3 pages of data. */
  struct tm_image application = {
      .path = program_path,
      .tls_file_size = 100,
      .segments = {{0, PAGE, PAGE, 0, false, false},
                   {PAGE, 2 * PAGE, 2 * PAGE, PAGE, false, true},
                   {2 * PAGE, 4 * PAGE, 9 * PAGE, 2 * PAGE, true, false},
                   {9 * PAGE, 10 * PAGE, 10 * PAGE, 4 * PAGE, false, false}},
      .segment_count = 4};
  struct tm_image library = {
      .path = library_path, .segments = {{0, PAGE - 1, PAGE, 0, true, false}}, .segment_count = 1};
  struct tm_image *images[] = {&application, &library};
  struct tm_program program = {.images = images, .image_count = 2};
  assert_int_equal(tm_program_memory_of(&application), 3 * PAGE);
  application.tls_file_size = PAGE - 1;
  assert_int_equal(tm_program_memory_of(&application), 3 * PAGE);
  application.tls_file_size = PAGE;
  assert_int_equal(tm_program_memory_of(&application), 4 * PAGE);
  assert_int_equal(tm_program_memory_of(&library), PAGE);

  /* Memory: 4 pages, 1 page, and a rank's own. */
  const size_t each = (size_t)(4 + 1 + OF_RANK) * PAGE;
  mappings_max = 1 << 20;
  memory_available = 1000 * each;
  assert_true(tm_program_fits(&program, 1000, 0));
  assert_int_equal(stack_mappings_asked, 1000);
  assert_true(tm_program_fits(&program, 1400, 400)); /* those have it */
  assert_false(tm_program_fits(&program, 1001, 0));
  assert_string_equal(refusal,
                      "program: 1001 ranks need 43 MiB at least, and 42 MiB of memory are "
                      "free (at most 1000 ranks)");
  assert_false(tm_program_fits(&program, 2001, 1000));
  memory_available = 0; /* unknown */
  assert_true(tm_program_fits(&program, 100000, 0));

  /* Mappings: 4 of a rank, 1 of its stack for each four, and others. */
  mappings_max = OTHERS + 250 + 4000;
  assert_true(tm_program_fits(&program, 1000, 0));
  mappings_max--;
  assert_false(tm_program_fits(&program, 1000, 1000)); /* all of them count */
  assert_string_equal(refusal,
                      "program: 1000 ranks need 4450 mappings, and the system allows 4449 "
                      "(at most 999 ranks, or a higher vm.max_map_count)");
  mappings_max = OTHERS + 250;
  assert_false(tm_program_fits(&program, 1000, 0));
  assert_non_null(strstr(refusal, "(at most 0 ranks, "));
  mappings_max = OTHERS;
  assert_false(tm_program_fits(&program, 1000, 0));
  assert_non_null(strstr(refusal, "(at most 0 ranks, "));
  program.images = &images[1]; /* whose copies are memory alone */
  program.image_count = 1;
  assert_true(tm_program_fits(&program, 1000, 0));
}

/* ---- several processes of one job */

static void a_launcher_of_several_processes(void **state) {
  (void)state;
  static const char *const variables[] = {"PMI_FD",
                                          "PMI_SIZE",
                                          "PMI_PORT",
                                          "SLURM_STEP_ID",
                                          "SLURM_STEP_NUM_TASKS",
                                          "PMIX_NAMESPACE",
                                          "OMPI_COMM_WORLD_SIZE"};
  static const struct {
    const char *sign, *text, *variable, *count;
    bool with_pmix;
    const char *says; /* NULL: there are no several */
  } all[] = {
      {"PMI_FD", "OPEN", "PMI_SIZE", "2", false, "PMI_SIZE"},
      {"PMI_FD", "OPEN", "PMI_SIZE", "1", false, NULL},
      {"PMI_FD", "OPEN", "PMI_SIZE", "", false, NULL},
      {"PMI_FD", "CLOSED", "PMI_SIZE", "2", false, NULL},
      {"PMI_FD", "OPEN", "OMPI_COMM_WORLD_SIZE", "2", true, NULL},
      {"PMI_PORT", "host:1", "PMI_SIZE", "2", false, "PMI_SIZE"},
      {"PMI_PORT", "host:1", "PMI_SIZE", "1", false, NULL},
      {"SLURM_STEP_ID", "0", "SLURM_STEP_NUM_TASKS", "3", false, "SLURM_STEP_NUM_TASKS"},
      {"SLURM_STEP_ID", "0", "PMI_SIZE", "3", true, NULL},
      {"PMIX_NAMESPACE", "job", "OMPI_COMM_WORLD_SIZE", "2", true, "OMPI_COMM_WORLD_SIZE"},
      {"PMIX_NAMESPACE", "job", "OMPI_COMM_WORLD_SIZE", "2", false, NULL},
      {"PMIX_NAMESPACE", "job", "OMPI_COMM_WORLD_SIZE", "1", true, NULL},
      {"PMI_SIZE", "4", "OMPI_COMM_WORLD_SIZE", "4", true, NULL}, /* no sign of a launcher */
  };
  char open_number[16], closed_number[16];
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  int fd = ends[0], closed = ends[1];
  close(closed);
  snprintf(open_number, sizeof open_number, "%d", fd);
  snprintf(closed_number, sizeof closed_number, "%d", closed);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    for (size_t v = 0; v < sizeof variables / sizeof variables[0]; v++) unsetenv(variables[v]);
    const char *text = strcmp(all[i].text, "OPEN") == 0     ? open_number
                       : strcmp(all[i].text, "CLOSED") == 0 ? closed_number
                                                            : all[i].text;
    setenv(all[i].sign, text, 1);
    setenv(all[i].variable, all[i].count, 1);
    const char *says = tm_launch_several(all[i].with_pmix);
    if (all[i].says == NULL ? says != NULL : says == NULL || strcmp(says, all[i].says) != 0)
      fail_msg("%s=%s %s=%s: %s", all[i].sign, text, all[i].variable, all[i].count,
               says != NULL ? says : "none");
  }
  close(fd);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ranks_fit_or_a_message_says_why_not),
      cmocka_unit_test(a_launcher_of_several_processes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
