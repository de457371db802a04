/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/io/representation.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/locks.h"
#include "tmpi/error/errors.h"
#include "tmpi/io/file.h"
#include "tmpi/layout/recipe.h"
#include "tmpi/rank/rank.h"

/* ---- what is registered */

static struct tm_representation *find(struct tm_rank *rank, const char *name) {
  struct tm_representation *r = rank->representations;
  while (r != NULL && strcmp(r->name, name) != 0) r = r->next;
  return r;
}

const struct tm_representation *tm_representation_find(const char *name) {
  struct tm_rank *rank = tm_rank_self();
  mti_lock(&rank->box.ilock);
  const struct tm_representation *found = find(rank, name);
  mti_unlock(&rank->box.ilock);
  return found;
}

static bool is_own(const char *name) {
  return strcmp(name, "native") == 0 || strcmp(name, "internal") == 0 ||
         strcmp(name, "external32") == 0;
}

int tm_call_register_datarep(const struct tm_registering *r) {
  struct tm_rank *rank = tm_enter(r->call);
  if (r->name == NULL || r->name[0] == '\0' || strlen(r->name) >= MPI_MAX_DATAREP_STRING)
    return tm_file_fail(NULL, r->call, MPI_ERR_ARG, "the name has no characters, or %d or more",
                        MPI_MAX_DATAREP_STRING);
  if (r->extent == NULL)
    return tm_file_fail(NULL, r->call, MPI_ERR_ARG, "there is no function for extents");
  struct tm_representation *new = calloc(1, sizeof *new);
  if (new == NULL) return tm_file_fail(NULL, r->call, MPI_ERR_NO_MEM, "no memory");
  strcpy(new->name, r->name);
  new->large = r->large;
  new->read = r->read;
  new->write = r->write;
  new->extent = r->extent;
  new->extra = r->extra;
  mti_lock(&rank->box.ilock);
  bool there = is_own(r->name) || find(rank, r->name) != NULL;
  if (!there) {
    new->next = rank->representations;
    rank->representations = new;
  }
  mti_unlock(&rank->box.ilock);
  if (!there) return MPI_SUCCESS;
  free(new);
  return tm_file_fail(NULL, r->call, MPI_ERR_DUP_DATAREP, "'%s' is there already", r->name);
}

/* ---- elements */

static struct tm_items join(struct tm_items a, struct tm_items b) {
  return (struct tm_items){a.count + b.count, a.inside + b.inside, a.outside + b.outside,
                           a.same && b.same};
}

static struct tm_items repeat(struct tm_items one, size_t count) {
  return (struct tm_items){one.count * count, one.inside * count, one.outside * count, one.same};
}

static bool is_basic(const struct tm_type *type) { return type->predefined || type->lasting; }

bool tm_representation_items(const struct tm_representation *representation,
                             const struct tm_type *type, struct tm_items *items) {
  if (is_basic(type)) {
    MPI_Aint bytes = -1;
    int error = representation->extent(tm_type_handle(type), &bytes, representation->extra);
    *items = (struct tm_items){1, type->size, (size_t)bytes, bytes == (MPI_Aint)type->size};
    return error == MPI_SUCCESS && bytes >= 0;
  }
  *items = (struct tm_items){.same = true};
  for (MPI_Count i = 0; i < tm_recipe_parts(type); i++) {
    struct tm_items part;
    const struct tm_type *kind = type->recipe.types[i];
    size_t repeats = tm_recipe_repeats(type, i);
    if (repeats * kind->size == 0) continue; /* MPI_LB and variants, too */
    if (!tm_representation_items(representation, kind, &part)) return false;
    *items = join(*items, repeat(part, repeats));
  }
  return true;
}

bool tm_representation_whole(const struct tm_representation *representation,
                             const struct tm_type *type, size_t count, size_t bytes,
                             struct tm_items *items) {
  struct tm_items one, part;
  if (!tm_representation_items(representation, type, &one)) return false;
  size_t whole = one.outside > 0 && bytes / one.outside < count ? bytes / one.outside : count;
  *items = repeat(one, whole);
  if (whole == count || is_basic(type)) return true;
  bytes -= items->outside;
  for (MPI_Count i = 0; i < tm_recipe_parts(type); i++) {
    const struct tm_type *kind = type->recipe.types[i];
    size_t repeats = tm_recipe_repeats(type, i);
    if (repeats * kind->size == 0) continue;
    if (!tm_representation_whole(representation, kind, repeats, bytes, &part)) return false;
    *items = join(*items, part);
    if (part.inside < repeats * kind->size) break;
    bytes -= part.outside;
  }
  return true;
}

bool tm_representation_convert(const struct tm_representation *representation, bool out,
                               void *memory, const struct tm_type *type, size_t items, void *file) {
  tm_conversion *conversion = out ? representation->write : representation->read;
  MPI_Datatype handle = tm_type_handle(type);
  int error = MPI_ERR_COUNT;
  if (representation->large)
    error = ((MPI_Datarep_conversion_function_c *)conversion)(memory, handle, (MPI_Count)items,
                                                              file, 0, representation->extra);
  else if (items <= INT_MAX)
    error = ((MPI_Datarep_conversion_function *)conversion)(memory, handle, (int)items, file, 0,
                                                            representation->extra);
  return error == MPI_SUCCESS;
}
