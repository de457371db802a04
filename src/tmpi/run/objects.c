/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlopen() and variants. A library that a rank opens is its own copy (loader/open.h), but for
 * libraries that all ranks share. A thread that belongs to no rank gets libc's functions. The
 * return address identifies the caller: its search path counts, and RTLD_NEXT begins after it.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/loader/open.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/override.h"
#include "tmpi/run/process.h"

/* The calling rank's; NULL: the caller belongs to none. */
static struct tm_opened *opened_of(int *rank) {
  const struct tm_process *process = tm_process_self();
  if (process == NULL || tm_the_program->opened == NULL) return NULL;
  *rank = process->number;
  return &tm_the_program->opened[*rank];
}

static struct tm_image *caller_image_at(const void *address, size_t *offset) {
  return (struct tm_image *)(uintptr_t)tm_program_image_at(tm_the_program, address, offset);
}

static struct tm_image *caller_image(const void *address) {
  size_t offset;
  return caller_image_at(address, &offset);
}

/* @return the text of the calling thread's last error. */
static char *error_of(struct tm_opened *opened) {
  static __thread char of_pthread[TM_REFUSAL];
  return tm_on_pthread() ? of_pthread : opened->error;
}

static void fail(struct tm_opened *opened, const char *what, const char *name) {
  snprintf(error_of(opened), TM_REFUSAL, "%s: %s", name, what);
}

/* libc keeps its last error for the kernel thread, which other ranks run on, too: a failure's is
 * fetched at once, and what searches have left is dropped. opened: NULL: the caller is no rank. */
static void fetch_error(struct tm_opened *opened, bool failed) {
  if (opened == NULL) return;
  const char *why = dlerror();
  if (failed && why != NULL) snprintf(error_of(opened), TM_REFUSAL, "%s", why);
}

static void *open_by_libc(struct tm_opened *opened, const char *where, int mode) {
  void *handle = dlopen(where, mode);
  fetch_error(opened, handle == NULL);
  return handle;
}

static void *open_from(const char *name, int mode, struct tm_image *from) {
  int rank;
  bool shared;
  char where[PATH_MAX];
  struct tm_opened *opened = opened_of(&rank);
  if (opened == NULL) return dlopen(name, mode);
  error_of(opened)[0] = '\0';
  if ((mode & RTLD_BINDING_MASK) == 0) {
    fail(opened, "invalid mode for dlopen()", name != NULL ? name : "the program");
    return NULL;
  }
  if (name == NULL || name[0] == '\0') return tm_program_map(tm_the_program, rank, 0);
  if (from == NULL) from = tm_the_program->images[0];
  void *handle = tm_open(tm_the_program, rank, from, name, mode, &shared, where, error_of(opened));
  if (shared) return open_by_libc(opened, where, mode);
  fetch_error(opened, false);
  return handle;
}

static void *open_object(const char *name, int mode) {
  return open_from(name, mode, caller_image(__builtin_return_address(0)));
}

static void *open_in_namespace(Lmid_t space, const char *name, int mode) {
  int rank;
  struct tm_opened *opened = opened_of(&rank);
  if (opened == NULL) return dlmopen(space, name, mode);
  if (space == LM_ID_BASE) return open_from(name, mode, caller_image(__builtin_return_address(0)));
  fail(opened, "ranks have no namespaces (use dlopen)", name != NULL ? name : "dlmopen");
  return NULL;
}

/* What tmpirun has in the place of a function of libc's. */
static void *replaced(void *found, const char *name) {
  const void *override = found != NULL ? tm_the_program->override(name) : NULL;
  return override != NULL ? (void *)(uintptr_t) override : found;
}

static void *shared_symbol(struct tm_opened *opened, void *handle, const struct tm_wanted *wanted) {
  void *found = wanted->version != NULL ? dlvsym(handle, wanted->name, wanted->version)
                                        : dlsym(handle, wanted->name);
  fetch_error(opened, found == NULL);
  return replaced(found, wanted->name);
}

/* @return whether an object of the process is one that ranks have copies of: a preloaded tool. */
static bool is_copied(const struct link_map *map) {
  for (int i = 0; i < tm_the_program->start_count; i++)
    if (strcmp(tm_the_program->images[i]->path, map->l_name) == 0) return true;
  return false;
}

/* What stands behind a tool's copy is not what the tool has in the process: that would be called
 * for all ranks, and would look for what stands behind it in turn. */
static void *shared_symbol_behind(struct tm_opened *opened, const struct tm_wanted *wanted) {
  Dl_info info;
  struct link_map *map = NULL;
  void *found = shared_symbol(opened, RTLD_DEFAULT, wanted);
  bool known = found != NULL && dladdr1(found, &info, (void **)&map, RTLD_DL_LINKMAP) != 0;
  if (!known || map == NULL || !is_copied(map)) return found;
  found = NULL;
  for (map = map->l_next; map != NULL && found == NULL; map = map->l_next) {
    void *handle = is_copied(map) ? NULL : dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == NULL) continue;
    found = shared_symbol(opened, handle, wanted);
    dlclose(handle);
  }
  fetch_error(opened, false);
  return found;
}

static void *find_symbol(void *handle, const struct tm_wanted *wanted, const void *caller) {
  int rank;
  struct tm_opened *opened = opened_of(&rank);
  const struct tm_image *from = caller_image(caller), *image = NULL;
  if (opened == NULL) return shared_symbol(opened, handle, wanted);
  error_of(opened)[0] = '\0';
  bool next = handle == RTLD_NEXT && from != NULL;
  if (handle == RTLD_DEFAULT || next) {
    void *found = tm_open_find_global(tm_the_program, rank, next ? from : NULL, wanted);
    if (found != NULL) return found;
    return next ? shared_symbol_behind(opened, wanted)
                : shared_symbol(opened, RTLD_DEFAULT, wanted);
  }
  image = tm_open_image(tm_the_program, rank, handle);
  if (image == NULL) return shared_symbol(opened, handle, wanted);
  bool whole = image == tm_the_program->images[0];
  void *found = whole ? tm_open_find_global(tm_the_program, rank, NULL, wanted)
                      : tm_open_find_in(tm_the_program, rank, image, wanted);
  fetch_error(opened, false);
  if (found == NULL && whole) found = shared_symbol(opened, RTLD_DEFAULT, wanted);
  if (found == NULL)
    snprintf(error_of(opened), TM_REFUSAL, "%s: undefined symbol: %s", image->path, wanted->name);
  return found;
}

static void *find_any_version(void *handle, const char *name) {
  struct tm_wanted wanted = tm_want(name, NULL);
  return find_symbol(handle, &wanted, __builtin_return_address(0));
}

static void *find_version(void *handle, const char *name, const char *version) {
  struct tm_wanted wanted = tm_want(name, version);
  return find_symbol(handle, &wanted, __builtin_return_address(0));
}

/* It stays until the rank ends. */
static int close_object(void *handle) {
  int rank;
  struct tm_opened *opened = opened_of(&rank);
  if (opened == NULL) return dlclose(handle);
  error_of(opened)[0] = '\0';
  if (tm_open_image(tm_the_program, rank, handle) != NULL) return 0;
  int result = dlclose(handle);
  fetch_error(opened, result != 0);
  return result;
}

static char *last_error(void) {
  int rank;
  static __thread char text[TM_REFUSAL];
  struct tm_opened *opened = opened_of(&rank);
  if (opened == NULL) return dlerror();
  if (error_of(opened)[0] == '\0') return NULL;
  snprintf(text, sizeof text, "%s", error_of(opened));
  error_of(opened)[0] = '\0';
  return text;
}

static int link_info(void *handle, int request, void *result) {
  int rank;
  struct tm_opened *opened = opened_of(&rank);
  const struct tm_image *image =
      opened != NULL ? tm_open_image(tm_the_program, rank, handle) : NULL;
  if (image == NULL) return dlinfo(handle, request, result);
  error_of(opened)[0] = '\0';
  const char *slash = strrchr(image->path, '/');
  switch (request) {
    case RTLD_DI_LINKMAP: *(struct link_map **)result = handle; return 0;
    case RTLD_DI_LMID: *(Lmid_t *)result = LM_ID_BASE; return 0;
    case RTLD_DI_ORIGIN:
      sprintf(result, "%.*s", slash != NULL ? (int)(slash - image->path) : 1,
              slash != NULL ? image->path : ".");
      return 0;
    default:
      fail(opened, "this request of dlinfo() is not known for ranks", image->path);
      return -1;
  }
}

/* ---- addresses */

static const struct tm_symbol *symbol_at(const struct tm_image *image, size_t offset) {
  const struct tm_symbol *best = NULL;
  for (size_t i = 0; i < image->export_count; i++) {
    const Elf64_Sym *symbol = image->exports[i].symbol;
    bool at = symbol->st_value <= offset && ELF64_ST_TYPE(symbol->st_info) != STT_TLS &&
              (offset - symbol->st_value < symbol->st_size || offset == symbol->st_value);
    if (at && (best == NULL || symbol->st_value > best->symbol->st_value))
      best = &image->exports[i];
  }
  return best;
}

static int find_address(const void *address, Dl_info *info) {
  size_t offset;
  const struct tm_image *image = tm_program_image_at(tm_the_program, address, &offset);
  if (image == NULL) return dladdr(address, info);
  char *base = (char *)(uintptr_t)address - offset;
  const struct tm_symbol *symbol = symbol_at(image, offset);
  *info = (Dl_info){.dli_fname = image->path, .dli_fbase = base};
  if (symbol != NULL) {
    info->dli_sname = symbol->name;
    info->dli_saddr = base + symbol->symbol->st_value;
  }
  return 1;
}

static int find_address_with(const void *address, Dl_info *info, void **extra, int flags) {
  size_t offset;
  const struct tm_image *image = tm_program_image_at(tm_the_program, address, &offset);
  if (image == NULL) return dladdr1(address, info, extra, flags);
  const struct tm_symbol *symbol = symbol_at(image, offset);
  int rank = tm_program_rank_of(tm_the_program, address);
  if (flags == RTLD_DL_LINKMAP) *extra = &image->maps[rank];
  if (flags == RTLD_DL_SYMENT) *(const Elf64_Sym **)extra = symbol != NULL ? symbol->symbol : NULL;
  return find_address(address, info);
}

/* In the place of all functions of MPI that an opened object names and tmpi does not have. */
__attribute__((noreturn)) static void missing_mpi(void) {
  size_t offset = 0;
  const struct tm_image *image = caller_image_at(__builtin_return_address(0), &offset);
  const char *name = image != NULL ? tm_image_name_at(image, offset) : "";
  fprintf(stderr,
          "tmpirun: rank %d called a function of MPI that tmpi does not have, in %s of '%s'\n",
          tm_process_here()->number, name[0] != '\0' ? name : "a function",
          image != NULL ? image->path : "a library");
  tm_job_abort(1);
}

const struct tm_override tm_override_objects[] = {
    {"tm_missing_mpi", (tm_any *)missing_mpi},
    {"dlopen", (tm_any *)open_object},
    {"dlmopen", (tm_any *)open_in_namespace},
    {"dlsym", (tm_any *)find_any_version},
    {"dlvsym", (tm_any *)find_version},
    {"dlclose", (tm_any *)close_object},
    {"dlerror", (tm_any *)last_error},
    {"dlinfo", (tm_any *)link_info},
    {"dladdr", (tm_any *)find_address},
    {"dladdr1", (tm_any *)find_address_with},
    {NULL, NULL},
};
