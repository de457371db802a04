/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that ranks open: open.h has the protocol. */
#include "tmpi/loader/open.h"

#include <dlfcn.h>
#include <limits.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/env/other_mpi.h"
#include "tmpi/loader/policy.h"
#include "tmpi/loader/search.h"

/* Constructors run without it: they may open more. */
static mltp_lock_t lock = MLTP_LOCK_INIT;

/* ---- room */

bool tm_open_prepare(struct tm_program *program) {
  if (!tm_program_opens(program)) return true;
  program->opened = calloc((size_t)program->ranks, sizeof *program->opened);
  return program->opened != NULL
             ? true
             : tm_refuse(program->images[0]->path, "no memory for %d ranks (fewer ranks)",
                         program->ranks);
}

size_t tm_open_room(int ranks) {
  size_t most = (size_t)1 << 30, all = (size_t)1 << 43, limit = os_address_space_limit();
  if (limit / 8 < all) all = limit / 8;
  size_t each = all / (size_t)ranks / ((size_t)2 << 20) * ((size_t)2 << 20);
  return each < most ? each : most;
}

static size_t align_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

/* Gives a new image its place behind all others. @return false after a message. */
static bool lay_out(const struct tm_program *program, struct tm_image *image) {
  size_t at = program->open_place,
         locals = program->locals_place + program->locals_size - TM_OPEN_LOCALS;
  for (int i = 0; i < program->image_count && program->images[i] != image; i++) {
    const struct tm_image *before = program->images[i];
    if (i >= program->start_count) at = before->place + before->span;
    if (i >= program->start_count && before->tls_size > 0)
      locals = before->tls_place + before->tls_size;
  }
  image->place = align_up(at, image->align);
  if (image->align > program->align)
    return tm_refuse(image->path,
                     "it needs a multiple of %zu KiB as address (link it to the program)",
                     image->align / 1024);
  if (image->place + image->span > program->slot)
    return tm_refuse(image->path, "no address space for it in each rank (fewer ranks)");
  if (image->tls_size == 0) return true;
  image->tls_place = align_up(locals, image->tls_align);
  if (image->tls_align <= program->locals_align &&
      image->tls_place + image->tls_size <= program->locals_place + program->locals_size)
    return true;
  return tm_refuse(image->path,
                   "its thread-local variables are too large (link it to the program)");
}

/* ---- a new object */

static bool prepare(struct tm_program *program, struct tm_image *image) {
  if (image->runs_code_on_stack && !mti_stacks_are_executable())
    return tm_refuse(
        image->path,
        "it needs executable stacks, and ranks run with others already (link it to the "
        "program, or the program with -z execstack)");
  image->opened = calloc((size_t)program->ranks, 1);
  if (image->opened == NULL) return tm_refuse(image->path, "no memory (free some)");
  if (!lay_out(program, image)) return false;
  return tm_program_make_maps_of(program, image, program->ranks)
             ? true
             : tm_refuse(image->path, "no memory (free some)");
}

/* Reads an object and what it needs that is not there. @return its image; NULL after a message. */
static struct tm_image *add(struct tm_program *program, struct tm_image *from, const char *name) {
  struct tm_need need = {NULL, NULL};
  int before = program->image_count;
  bool good = tm_program_add_private(program, from, name, &need) && need.image != NULL;
  for (int i = before; good && i < program->image_count; i++)
    good = tm_program_find_needs(program, program->images[i]);
  program->walk_again = false; /* too late: ranks run already */
  for (int i = before; good && i < program->image_count; i++)
    good = prepare(program, program->images[i]);
  if (!good) {
    while (program->image_count > before) tm_image_drop(program->images[--program->image_count]);
    return NULL;
  }
  /* OB-2 release: publishes the new images; pairs OB-1, OB-5, OB-6 */
  mt_store_release(&program->visible_count, program->image_count);
  return need.image;
}

/* ---- a rank's copy */

/* Images, each once. */
struct list {
  struct tm_image **of;
  int count;
};

static void put(struct list *list, struct tm_image *image) {
  for (int i = 0; i < list->count; i++)
    if (list->of[i] == image) return;
  list->of[list->count++] = image;
}

/* An image and what it needs, breadth first. */
static void put_group(struct list *list, struct tm_image *image) {
  int first = list->count;
  put(list, image);
  for (int i = first; i < list->count; i++)
    for (size_t n = 0; n < list->of[i]->need_count; n++)
      if (list->of[i]->needs[n].image != NULL) put(list, list->of[i]->needs[n].image);
}

/* What image->opened[rank] says. */
enum { OPENED = 1, GLOBAL = 2 };

/* Only the rank itself changes it, under the lock. */
static bool is_global(const struct tm_image *image, int rank) {
  return image->opened == NULL || (image->opened[rank] & GLOBAL) != 0;
}

/* What a rank's symbols are searched in first. */
static void put_global(struct list *list, const struct tm_program *program, int rank) {
  for (int i = 0; i < program->start_count; i++) put(list, program->images[i]);
  const struct tm_opened *opened = &program->opened[rank];
  for (int i = 0; i < opened->count; i++)
    if (is_global(program->images[opened->order[i]], rank))
      put(list, program->images[opened->order[i]]);
}

static bool note_opened(struct tm_opened *opened, const struct tm_image *image, int number) {
  if (opened->count == opened->room) {
    int room = opened->room * 2 + 16;
    int *larger = realloc(opened->order, (size_t)room * sizeof *larger);
    if (larger == NULL) return tm_refuse(image->path, "no memory (free some)");
    opened->order = larger;
    opened->room = room;
  }
  opened->order[opened->count++] = number;
  return true;
}

static int number_of(const struct tm_program *program, const struct tm_image *image) {
  int i = 0;
  while (program->images[i] != image) i++;
  return i;
}

/* A binding of a language names all of MPI, and a program uses some of it. */
static void warn_missing(struct tm_image *image, size_t count) {
  if (!image->warned_missing)
    fprintf(stderr,
            "tmpirun: '%s' names %zu functions of MPI that tmpi does not have yet: a call of one "
            "ends the job\n",
            image->path, count);
  image->warned_missing = true;
}

/* Looks up what the new copies of a rank ask for. Their symbols may mean other things in another
 * rank, which has opened other objects. */
static bool bind_list(struct tm_program *program, int rank, const struct list *group, bool deep,
                      struct tm_bindings *bindings) {
  struct list scope = {calloc((size_t)program->image_count, sizeof(struct tm_image *)), 0};
  if (scope.of == NULL) return tm_refuse(group->of[0]->path, "no memory (free some)");
  if (!deep) put_global(&scope, program, rank);
  for (int i = 0; i < group->count; i++) put(&scope, group->of[i]);
  if (deep) put_global(&scope, program, rank);
  size_t missing = 0;
  *bindings = (struct tm_bindings){.scope = scope.of,
                                   .scope_count = scope.count,
                                   .override = program->override,
                                   .missing = program->override("tm_missing_mpi"),
                                   .missing_count = &missing};
  bool good = true;
  for (int i = 0; good && i < group->count; i++)
    if (!tm_image_is_loaded(group->of[i], rank)) good = tm_bind_image(bindings, group->of[i]);
  if (good && missing > 0) warn_missing(group->of[0], missing);
  free(scope.of);
  return good;
}

static bool is_noted(const struct tm_opened *opened, int number) {
  for (int i = 0; i < opened->count; i++)
    if (opened->order[i] == number) return true;
  return false;
}

/* The order of constructors: an image behind all that it needs. One of a circle finds itself
 * `placing`, and is not gone through again. */
static bool note_behind_needs(const struct tm_program *program, int rank, struct tm_image *image) {
  struct tm_opened *opened = &program->opened[rank];
  int number = number_of(program, image);
  if (tm_image_is_loaded(image, rank) || image->placing || is_noted(opened, number)) return true;
  bool good = image->placing = true;
  for (size_t n = 0; good && n < image->need_count; n++)
    if (image->needs[n].image != NULL)
      good = note_behind_needs(program, rank, image->needs[n].image);
  image->placing = false;
  return good && note_opened(opened, image, number);
}

/* Places a rank's copies of a group. @return false after a message. */
static bool place(struct tm_program *program, int rank, const struct list *group, bool deep) {
  struct tm_bindings bindings = {.records = NULL}; /* where there is no memory to look up any */
  struct tm_opened *opened = &program->opened[rank];
  int before = opened->count;
  bool good = bind_list(program, rank, group, deep, &bindings);
  for (int i = 0; good && i < group->count; i++)
    if (!tm_image_is_loaded(group->of[i], rank))
      good = tm_program_place_image(program, group->of[i], rank);
  if (good) tm_program_apply(program, &bindings, rank);
  tm_bindings_drop(&bindings);
  good = good && note_behind_needs(program, rank, group->of[0]);
  if (!good) opened->count = before;
  for (int i = before; i < opened->count; i++) {
    struct tm_image *image = program->images[opened->order[i]];
    tm_program_start_locals(program, image, rank);
    tm_program_list_map(&image->maps[rank]);
    mt_store_release(&image->opened[rank],
                     OPENED); /* OB-4 release: the copy is placed; pairs OB-3 */
  }
  return good;
}

/* With the lock. *first and *end: the copies that are new, in the rank's order. */
static struct tm_image *open_locked(struct tm_program *program, int rank, struct tm_image *from,
                                    const char *name, int mode, int *first, int *end,
                                    char why[TM_REFUSAL]) {
  struct tm_opened *opened = &program->opened[rank];
  *first = *end = opened->count;
  struct tm_image *image = strchr(name, '/') == NULL ? tm_program_find_image(program, name) : NULL;
  char where[PATH_MAX];
  if (image == NULL && !tm_search(from, name, where))
    snprintf(why, TM_REFUSAL, "%s: cannot open shared object file: No such file or directory",
             name);
  else if (image == NULL && tm_is_other_mpi(name))
    tm_refuse(where,
              "it is another MPI, in which each rank would be a job of its own (build what "
              "opens it by tmpicc)");
  else if (image == NULL)
    image = add(program, from, name);
  if (image == NULL) return NULL;
  if ((mode & RTLD_NOLOAD) != 0 && !tm_image_is_loaded(image, rank)) return NULL;
  struct list group = {calloc((size_t)program->image_count, sizeof(struct tm_image *)), 0};
  if (group.of == NULL) {
    tm_refuse(image->path, "no memory (free some)");
    return NULL;
  }
  put_group(&group, image);
  bool placed = place(program, rank, &group, (mode & RTLD_DEEPBIND) != 0);
  for (int i = 0; placed && (mode & RTLD_GLOBAL) != 0 && i < group.count; i++)
    if (!is_global(group.of[i], rank))
      mt_store_relaxed(&group.of[i]->opened[rank],
                       OPENED | GLOBAL); /* relaxed: it was visible before */
  free(group.of);
  *end = opened->count;
  return placed ? image : NULL;
}

/* Constructors of a process get what main() gets; dlopen() gives objects the same. */
static void construct(const struct tm_program *program, int rank, int first, int end) {
  static char *no_arguments[] = {NULL};
  for (int i = first; i < end; i++)
    tm_program_construct_image(program, program->images[program->opened[rank].order[i]], rank, 0,
                               no_arguments, environ);
}

/* With the lock: the search reads the cache of ld.so once. @return whether ranks share an object of
 * that name, which is no library with thread-locals at fixed places of the program's own. */
static bool is_shared(struct tm_image *from, const char *name, char *where) {
  if (tm_policy_shared(name) == NULL) return false;
  if (!tm_search(from, name, where)) snprintf(where, PATH_MAX, "%s", name);
  return true;
}

struct link_map *tm_open(struct tm_program *program, int rank, struct tm_image *from,
                         const char *name, int mode, bool *shared, char *where,
                         char why[TM_REFUSAL]) {
  int first = 0, end = 0;
  struct tm_image *image = NULL;
  mltp_lock(&lock);
  *shared = is_shared(from, name, where);
  if (!*shared) {
    tm_refuse_into(why);
    image = open_locked(program, rank, from, name, mode, &first, &end, why);
    tm_refuse_into(NULL);
  }
  mltp_unlock(&lock);
  if (image == NULL) return NULL;
  construct(program, rank, first, end);
  return &image->maps[rank];
}

bool tm_open_place_ranks(struct tm_program *program, int first, int count, int present,
                         char why[TM_REFUSAL]) {
  mltp_lock(&lock);
  tm_refuse_into(why);
  /* a spawn that was given up may have mapped some of the slots, and others behind them */
  program->mapped = first;
  bool good = tm_program_fits(program, present + count, present) &&
              tm_program_place(program, first, count, false);
  tm_refuse_into(NULL);
  mltp_unlock(&lock);
  return good;
}

void tm_open_list_rank(const struct tm_program *program, int rank) {
  mltp_lock(&lock);
  tm_program_add_maps(program, rank);
  mltp_unlock(&lock);
}

/* ---- looking for symbols */

struct tm_image *tm_open_image(const struct tm_program *program, int rank, const void *handle) {
  int count = mt_load_acquire(&program->visible_count); /* OB-5 acquire: as OB-1; pairs OB-2 */
  for (int i = 0; i < count; i++)
    if (handle == &program->images[i]->maps[rank] && tm_image_is_loaded(program->images[i], rank))
      return program->images[i];
  return NULL;
}

struct address {
  char *block;
  size_t offset;
};

/* The address of a symbol in a rank's copy, for the calling thread. */
static void *address_of(const struct tm_program *program, int rank, const struct tm_image *image,
                        const Elf64_Sym *symbol) {
  char *slot = program->arena + (size_t)rank * program->slot;
  char *address = slot + image->place + symbol->st_value;
  if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) return ((void *(*)(void))address)();
  if (ELF64_ST_TYPE(symbol->st_info) != STT_TLS) return address;
  const struct address local = {slot + image->tls_place, symbol->st_value};
  void *(*get)(const struct address *);
  *(const void **)&get = program->override("__tls_get_addr");
  return get(&local);
}

static void *find_in(const struct tm_program *program, int rank, const struct list *list,
                     const struct tm_image *after, const struct tm_wanted *wanted) {
  int i = 0;
  while (after != NULL && i < list->count && list->of[i] != after) i++;
  for (i += after != NULL; i < list->count; i++) {
    const Elf64_Sym *symbol = tm_image_find(list->of[i], wanted);
    if (symbol != NULL) return address_of(program, rank, list->of[i], symbol);
  }
  return NULL;
}

void *tm_open_find_global(const struct tm_program *program, int rank, const struct tm_image *after,
                          const struct tm_wanted *wanted) {
  mltp_lock(&lock);
  struct list list = {calloc((size_t)program->image_count, sizeof(struct tm_image *)), 0};
  if (list.of != NULL) {
    put_global(&list, program, rank);
    if (after != NULL && !is_global(after, rank))
      put_group(&list, program->images[number_of(program, after)]);
  }
  mltp_unlock(&lock);
  void *found = list.of != NULL ? find_in(program, rank, &list, after, wanted) : NULL;
  free(list.of);
  return found;
}

void *tm_open_find_in(const struct tm_program *program, int rank, const struct tm_image *image,
                      const struct tm_wanted *wanted) {
  mltp_lock(&lock);
  struct list list = {calloc((size_t)program->image_count, sizeof(struct tm_image *)), 0};
  if (list.of != NULL) put_group(&list, program->images[number_of(program, image)]);
  mltp_unlock(&lock);
  void *found = list.of != NULL ? find_in(program, rank, &list, NULL, wanted) : NULL;
  for (int i = 0; found == NULL && i < list.count; i++) /* what it needs that ranks share */
    for (size_t n = 0; found == NULL && n < list.of[i]->need_count; n++)
      if (list.of[i]->needs[n].shared != NULL)
        found = wanted->version != NULL
                    ? dlvsym(list.of[i]->needs[n].shared, wanted->name, wanted->version)
                    : dlsym(list.of[i]->needs[n].shared, wanted->name);
  free(list.of);
  return found;
}

void tm_open_destruct(const struct tm_program *program, int rank) {
  if (program->opened == NULL) return;
  const struct tm_opened *opened = &program->opened[rank];
  for (int i = opened->count - 1; i >= 0; i--)
    tm_program_destruct_image(program, program->images[opened->order[i]], rank);
}
