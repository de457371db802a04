/* SPDX-License-Identifier: Apache-2.0 */
/* Slots: their layout, and how one is filled. */
#include "tmpi/loader/program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "os/map.h"
#include "os/os.h"
#include "tmpi/loader/open.h"

enum { PAGE = 4096 };

struct tm_program *tm_the_program;

/* LeakSanitizer's, if it is there: what ranks' globals point to is no leak. */
__attribute__((weak)) void __lsan_register_root_region(const void *address, size_t size);

typedef void constructor(int argc, char **argv, char **environment);
typedef void destructor(void);
typedef size_t chooser(void);

static size_t align_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

static char *slot_of(const struct tm_program *program, int rank) {
  return program->arena + (size_t)rank * program->slot;
}

int tm_program_rank_of(const struct tm_program *program, const void *address) {
  if (program == NULL || program->arena == NULL) return -1;
  uintptr_t distance = (uintptr_t)address - (uintptr_t)program->arena;
  size_t rank = distance / program->slot;
  return rank < (size_t)program->ranks ? (int)rank : -1;
}

const struct tm_image *tm_program_image_at(const struct tm_program *program, const void *address,
                                           size_t *offset) {
  int rank = tm_program_rank_of(program, address);
  if (rank < 0) return NULL;
  size_t at = (size_t)((const char *)address - slot_of(program, rank));
  /* OB-1 acquire: sees the images that this count covers, and their list; pairs OB-2 */
  int first = 0, end = mt_load_acquire(&program->visible_count); /* they lie in this order */
  struct tm_image *const *images = program->images;
  while (end - first > 1) {
    int middle = first + (end - first) / 2;
    if (images[middle]->place <= at)
      first = middle;
    else
      end = middle;
  }
  *offset = at - images[first]->place;
  return *offset < images[first]->span && tm_image_is_loaded(images[first], rank) ? images[first]
                                                                                  : NULL;
}

bool tm_program_in_bindings(const struct tm_program *program, const void *return_address) {
  size_t offset; /* of the call, which may be the last thing there */
  const struct tm_image *image =
      tm_program_image_at(program, (const char *)return_address - 1, &offset);
  return image != NULL && offset - image->bindings < image->bindings_size;
}

const void *tm_program_entry(const struct tm_program *program, int rank) {
  return slot_of(program, rank) + program->images[0]->place + program->images[0]->entry;
}

void tm_program_lay_out(struct tm_program *program) {
  size_t at = 0, align = PAGE, locals_align = PAGE;
  for (int i = 0; i < program->image_count; i++) {
    struct tm_image *image = program->images[i];
    at = align_up(at, image->align);
    image->place = at;
    at += image->span;
    if (image->align > align) align = image->align;
    if (image->tls_align > locals_align) locals_align = image->tls_align;
  }
  at = align_up(at, locals_align);
  program->locals_place = at;
  program->locals_align = locals_align;
  for (int i = 0; i < program->image_count; i++) {
    struct tm_image *image = program->images[i];
    if (image->tls_size == 0) continue;
    at = align_up(at, image->tls_align);
    image->tls_place = at;
    at += image->tls_size;
  }
  program->locals_size = at - program->locals_place;
  if (program->opened != NULL) {
    program->locals_size += TM_OPEN_LOCALS;
    at = align_up(program->locals_place + program->locals_size, align);
  }
  program->open_place = at;
  if (program->opened != NULL) at += tm_open_room(program->ranks);
  program->align = align > locals_align ? align : locals_align;
  program->slot = align_up(at, program->align);
}

/* ---- the order of constructors: each library before all that need it */

struct ordering {
  const struct tm_program *program;
  bool *seen;
  int *order, count;
};

static int number_of(const struct tm_program *program, const struct tm_image *image) {
  int i = 0;
  while (program->images[i] != image) i++;
  return i;
}

/* Depth first; libraries that need each other in a circle come in the order they are met. */
static void put_behind_needs(struct ordering *to, int number) {
  if (to->seen[number]) return;
  to->seen[number] = true;
  const struct tm_image *image = to->program->images[number];
  for (size_t i = image->need_count; i > 0; i--)
    if (image->needs[i - 1].image != NULL)
      put_behind_needs(to, number_of(to->program, image->needs[i - 1].image));
  to->order[to->count++] = number;
}

static bool find_order(struct tm_program *program) {
  size_t count = (size_t)program->image_count;
  bool *seen = calloc(count, sizeof *seen);
  program->order = calloc(count, sizeof *program->order);
  if (seen != NULL && program->order != NULL) {
    struct ordering to = {program, seen, program->order, 0};
    for (int i = program->image_count - 1; i > 0; i--) /* what only the application needs: last */
      if (program->images[i]->name == NULL) put_behind_needs(&to, i); /* our own library: first */
    put_behind_needs(&to, 0);
  }
  free(seen);
  if (seen != NULL && program->order != NULL) return true;
  return tm_refuse(program->images[0]->path, "no memory for its libraries (free some)");
}

/* Reserves the slots. @return false: no address space. */
static bool make_arena(struct tm_program *program) {
  size_t size;
  if (__builtin_mul_overflow(program->slot, (size_t)program->ranks, &size)) return false;
  size_t more = program->align > PAGE ? program->align : 0;
  char *memory = os_map_memory(size + more);
  if (memory == NULL) return false;
  program->arena = (char *)align_up((uintptr_t)memory, program->align);
  return true;
}

/* @return whether the program or a library names one of the functions ("PMPI_X": also MPI_X), NULL
 * at the end. */
static bool names_any(const struct tm_program *program, const char *const functions[]) {
  for (int i = 0; i < program->image_count; i++)
    for (const char *const *name = functions; *name != NULL; name++)
      if (tm_image_asks(program->images[i], *name) || tm_image_asks(program->images[i], *name + 1))
        return true;
  return false;
}

/* Fortran's bindings, which are linked into the program, call the functions of C. An interpreter
 * opens its bindings later, so it names no function yet by which a program of MPI begins. */
static bool may_spawn(const struct tm_program *program) {
  static const char *const spawn[] = {"PMPI_Comm_spawn", "PMPI_Comm_spawn_multiple", NULL};
  static const char *const begin[] = {"PMPI_Init", "PMPI_Init_thread", "PMPI_Session_init", NULL};
  return names_any(program, spawn) || !names_any(program, begin);
}

static bool read_program(struct tm_program *program, const char *path,
                         const struct tm_ranks *ranks) {
  struct tm_image *application = tm_image_read(path);
  if (application == NULL) return false;
  if (!tm_program_add(program, application)) {
    tm_image_drop(application);
    return false;
  }
  bool complete = (tm_image_dynamic(program->images[0], DT_FLAGS_1) & DF_1_PIE) != 0;
  struct tm_wanted mark =
      tm_want("tmpi_program", NULL); /* mold makes no interpreter of start.c's */
  bool is_program = application->is_executable || tm_image_find(application, &mark) != NULL;
  if (!is_program && complete)
    return tm_refuse(path, "it is statically linked (link it by tmpicc)");
  if (!is_program)
    return tm_refuse(path, "it is a library, not a program (link a program by tmpicc)");
  if (!tm_program_find_libraries(program) || !find_order(program)) return false;
  bool is_limited = os_address_space_limit() != SIZE_MAX; /* it is wanted for the first ranks */
  if (ranks->fixed || (!is_limited && may_spawn(program))) program->ranks += ranks->spare;
  if (!tm_open_prepare(program)) return false;
  tm_program_lay_out(program);
  program->start_count = program->visible_count = program->image_count;
  if (!tm_program_relocate(program)) return false;
  if (!make_arena(program) && !ranks->fixed && program->ranks > ranks->first) {
    program->ranks = ranks->first; /* places in a slot stay */
    tm_program_lay_out(program);
    make_arena(program);
  }
  if (program->arena != NULL && tm_program_make_maps(program)) return true;
  return tm_refuse(path,
                   "no address space for %d copies of %zu KiB (fewer ranks, or a higher ulimit -v)",
                   program->ranks, program->slot / 1024);
}

struct tm_program *tm_program_read(const char *path, const struct tm_ranks *ranks,
                                   const void *(*override)(const char *name)) {
  static struct tm_program program; /* the one there is; what it has stays until the end */
  program.override = override;
  program.ranks = program.first_ranks = ranks->first;
  if (!read_program(&program, path, ranks)) return NULL;
  tm_the_program = &program;
  return tm_the_program;
}

/* ---- filling a slot */

int tm_program_mapped_together(const struct tm_image *image, int s) {
  const struct tm_segment *first = &image->segments[s];
  int last = s;
  while (last + 1 < image->segment_count) {
    const struct tm_segment *before = &image->segments[last], *next = before + 1;
    if (before->end != before->file_end || next->writable ||
        next->start - first->start != next->file_offset - first->file_offset)
      break;
    last++;
  }
  return last - s + 1;
}

static bool map_segments(const struct tm_image *image, int s, int count, char *base, int rank) {
  const struct tm_segment *first = &image->segments[s], *last = first + count - 1;
  size_t start = first->start / PAGE * PAGE, lead = first->start - start;
  bool executable = false;
  for (int i = 0; i < count; i++) executable |= first[i].executable;
  int error = os_map_file(base + start, align_up(last->file_end - start, PAGE), image->fd,
                          (off_t)(first->file_offset - lead), executable);
  if (error == 0) return true;
  if (executable && os_file_is_noexec(image->fd))
    return tm_refuse(image->path,
                     "its file system is mounted noexec (mount it with exec, or copy the file)");
  return tm_refuse(image->path, "rank %d's copy cannot be mapped: %s (%s)", rank, strerror(error),
                   error == ENOMEM ? "fewer ranks, or a higher vm.max_map_count"
                                   : "a filter or a security module refuses it");
}

/* Code and constants, from the file. @return false after a message. */
static bool map_image(const struct tm_program *program, const struct tm_image *image, int rank) {
  char *base = slot_of(program, rank) + image->place;
  for (int i = 0, count; i < image->segment_count; i += count) {
    count = image->segments[i].writable ? 1 : tm_program_mapped_together(image, i);
    if (!image->segments[i].writable && !map_segments(image, i, count, base, rank)) return false;
  }
  return true;
}

static void fill_image(const struct tm_program *program, const struct tm_image *image, int rank) {
  char *base = slot_of(program, rank) + image->place;
  for (int i = 0; i < image->segment_count; i++) {
    const struct tm_segment *s = &image->segments[i];
    if (!s->writable) continue;
    os_touch(base + s->start, s->file_end - s->start);
    memcpy(base + s->start, image->pristine + s->start, s->file_end - s->start);
  }
}

bool tm_program_place_image(const struct tm_program *program, const struct tm_image *image,
                            int rank) {
  if (!map_image(program, image, rank)) return false;
  fill_image(program, image, rank);
  return true;
}

/* Not aligned in a packed structure. */
static void store_address(char *slot, size_t at, size_t value) {
  const char *address = slot + value;
  memcpy(slot + at, &address, sizeof address);
}

/* A function of the program's, or one that all ranks share. */
static void make_choice(const struct tm_program *program, struct tm_choice *choice, char *slot) {
  if (!choice->known) {
    size_t chosen = ((chooser *)(slot + choice->function))();
    choice->in_slot = chosen - (size_t)slot < program->slot;
    choice->value = choice->in_slot ? chosen - (size_t)slot : chosen;
    choice->known = true;
  }
  if (choice->in_slot)
    store_address(slot, choice->at, choice->value);
  else
    memcpy(slot + choice->at, &choice->value, sizeof choice->value);
}

void tm_program_apply(const struct tm_program *program, struct tm_bindings *bindings, int rank) {
  char *slot = slot_of(program, rank);
  for (size_t i = 0; i < bindings->record_count; i++)
    store_address(slot, bindings->records[i].at, bindings->records[i].value);
  for (size_t i = 0; i < bindings->copy_count; i++) {
    const struct tm_copy *copy = &bindings->copies[i];
    memcpy(slot + copy->at, copy->from != NULL ? copy->from : slot + copy->private_from,
           copy->size);
  }
  for (size_t i = 0; i < bindings->choice_count; i++)
    make_choice(program, &bindings->choices[i], slot);
}

static void fill_slot(struct tm_program *program, int rank) {
  for (int i = 0; i < program->start_count; i++) fill_image(program, program->images[i], rank);
  tm_program_apply(program, &program->bindings, rank);
  for (int i = 0; i < program->start_count; i++)
    tm_program_fill_locals(program, program->images[i], rank, tm_program_locals(program, rank));
}

/* All mappings come first, and those of the rank that is placed next with them: the kernel splits
 * memory that nobody has written to with less work, and the data of the last slot are one mapping
 * with all that lies behind them. */
bool tm_program_place(struct tm_program *program, int first, int count, bool more) {
  int end = first + count;
  if (program->mapped < first) program->mapped = first;
  for (; program->mapped < end + more; program->mapped++) {
    if (__lsan_register_root_region != NULL)
      __lsan_register_root_region(slot_of(program, program->mapped), program->open_place);
    for (int i = 0; i < program->start_count; i++)
      if (!map_image(program, program->images[i], program->mapped)) return false;
  }
  for (int rank = first; rank < end; rank++) fill_slot(program, rank);
  return true;
}

static void run_constructors(const char *base, const struct tm_table *table, int argc, char **argv,
                             char **environment) {
  constructor *const *functions = (constructor *const *)(base + table->at);
  for (size_t i = 0; i < table->size / sizeof *functions; i++)
    functions[i](argc, argv, environment);
}

void tm_program_construct_image(const struct tm_program *program, const struct tm_image *image,
                                int rank, int argc, char **argv, char **environment) {
  const char *base = slot_of(program, rank) + image->place;
  if (image->init != 0) ((constructor *)(base + image->init))(argc, argv, environment);
  run_constructors(base, &image->init_array, argc, argv, environment);
}

void tm_program_construct_libraries(const struct tm_program *program, int rank, int argc,
                                    char **argv, char **environment) {
  run_constructors(slot_of(program, rank) + program->images[0]->place,
                   &program->images[0]->preinit_array, argc, argv, environment);
  for (int i = 0; i < program->start_count; i++)
    if (program->order[i] != 0)
      tm_program_construct_image(program, program->images[program->order[i]], rank, argc, argv,
                                 environment);
}

void tm_program_construct(const struct tm_program *program, int rank, int argc, char **argv,
                          char **environment) {
  tm_program_construct_image(program, program->images[0], rank, argc, argv, environment);
}

void tm_program_destruct_image(const struct tm_program *program, const struct tm_image *image,
                               int rank) {
  const char *base = slot_of(program, rank) + image->place;
  destructor *const *functions = (destructor *const *)(base + image->fini_array.at);
  for (size_t n = image->fini_array.size / sizeof *functions; n > 0; n--) functions[n - 1]();
  if (image->fini != 0) ((destructor *)(base + image->fini))();
}

void tm_program_destruct(const struct tm_program *program, int rank) {
  tm_open_destruct(program, rank);
  for (int i = program->start_count - 1; i >= 0; i--)
    tm_program_destruct_image(program, program->images[program->order[i]], rank);
}

bool tm_program_runs_code_on_stack(const struct tm_program *program) {
  for (int i = 0; i < program->image_count; i++)
    if (program->images[i]->runs_code_on_stack) return true;
  return false;
}
