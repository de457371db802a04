/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives the loader of tmpirun files of any content: reading, relocating and placing them must end
 * with a message or well, whatever they say. Nothing of them is executed.
 *
 * Built with clang's libFuzzer (./dev fuzz), which finds inputs that reach new lines; with other
 * compilers main() is here, and damages each file it is given in random places.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/map.h"
#include "tmpi/loader/program.h"

enum { RANKS = 2, SLOT_MAX = 64 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void drop(struct tm_program *program) {
  for (int i = 0; i < program->image_count; i++) tm_image_drop(program->images[i]);
  if (program->arena != NULL) os_unmap(program->arena, program->slot * RANKS);
  for (int i = 0; i < program->shared_count; i++) free((void *)program->shared[i].name);
  free(program->shared);
  free(program->images);
  free(program->opened);
  tm_bindings_drop(&program->bindings);
}

/* What tm_program_read() does, but for a file that may be anything, and without an end of the
 * process's life. */
static void load(const char *path) {
  static const char *const names[] = {"main", "", "no such name"};
  struct tm_program program = {.ranks = RANKS};
  struct tm_image *image = tm_image_read(path);
  if (image == NULL || !tm_program_add(&program, image)) return;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct tm_wanted wanted = tm_want(names[i], NULL);
    tm_image_find(image, &wanted);
  }
  tm_image_name_at(program.images[0], program.images[0]->entry);
  if (tm_program_find_libraries(&program)) {
    tm_program_lay_out(&program);
    program.start_count = program.visible_count = program.image_count;
    bool ready = tm_program_relocate(&program) && program.slot <= SLOT_MAX;
    program.bindings.choice_count = 0; /* they would be called */
    if (ready) program.arena = os_map_memory(program.slot * RANKS);
    if (program.arena != NULL) tm_program_place(&program, 0, RANKS, false);
  }
  drop(&program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[64];
  int fd = memfd_create("input", MFD_CLOEXEC);
  if (fd < 0 || write(fd, data, size) != (ssize_t)size) abort();
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  load(path);
  close(fd);
  return 0;
}

#ifndef WITH_LIBFUZZER
enum { TRIES = 300, CHANGES_MAX = 8, HEADERS = 4096 };

/* Most of the changes are where headers and tables are. */
static void damage(uint8_t *data, size_t size, unsigned *seed) {
  int changes = 1 + rand_r(seed) % CHANGES_MAX;
  for (int i = 0; i < changes; i++) {
    size_t within = rand_r(seed) % 4 != 0 && size > HEADERS ? HEADERS : size;
    data[(size_t)rand_r(seed) % within] ^= (uint8_t)(1 << rand_r(seed) % 8);
  }
}

int main(int argc, char **argv) {
  if (freopen("/dev/null", "w", stderr) == NULL) return 1; /* messages by the thousand */
  for (int i = 1; i < argc; i++) {
    int fd;
    size_t size;
    if (os_file_open(argv[i], &fd, &size) != 0) return 1;
    uint8_t *whole = malloc(size), *data = malloc(size);
    if (whole == NULL || data == NULL || os_file_read(fd, whole, size, 0) != 0) return 1;
    os_file_close(fd);
    for (unsigned seed = 0; seed <= TRIES; seed++) {
      unsigned state = seed;
      memcpy(data, whole, size);
      if (seed > 0) damage(data, size, &state);
      LLVMFuzzerTestOneInput(data, size);
    }
    free(whole);
    free(data);
    printf("%s: as it is, and damaged %d times\n", argv[i], TRIES);
  }
  return 0;
}
#endif
