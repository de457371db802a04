/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views: which bytes of a file a rank sees. A file type is repeated from the displacement on; its
 * blocks (layout/type.h) are the visible bytes, in the order of the type map.
 *
 * Relaxed: only the holder of a reference adds one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "tmpi/coll/coll.h"
#include "tmpi/datatype/external.h"
#include "tmpi/error/errors.h"
#include "tmpi/io/file.h"
#include "tmpi/io/representation.h"
#include "tmpi/object/info.h"

/* ---- their life */

static struct tm_view *make(MPI_Offset disp, struct tm_type *etype, struct tm_type *filetype) {
  struct tm_view *view = calloc(1, sizeof *view);
  if (view == NULL) return NULL;
  view->refs = 1;
  view->disp = disp;
  view->etype = etype;
  view->filetype = filetype;
  view->unit = etype->size;
  strcpy(view->datarep, "native");
  tm_type_hold(etype);
  tm_type_hold(filetype);
  return view;
}

struct tm_view *tm_view_bytes(void) {
  struct tm_type *byte = tm_type_of(MPI_BYTE);
  return make(0, byte, byte);
}

void tm_view_hold(struct tm_view *view) { mt_add_relaxed(&view->refs, 1); }

void tm_view_release(struct tm_view *view) {
  /* VW-1 acq_rel: other holders' use of it; pairs VW-1 */
  if (mt_add_acq_rel(&view->refs, (uint32_t)-1) != 1) return;
  tm_type_release(view->etype);
  tm_type_release(view->filetype);
  free(view);
}

/* ---- places in the file. A cursor's `element` counts repetitions of the blocks: of a type that
 * does not repeat them, elements. */

static MPI_Offset repetition_bytes(const struct tm_type *type) {
  return (MPI_Offset)(type->size / type->repeats);
}

static MPI_Offset repetition_at(const struct tm_type *type, MPI_Offset repetition) {
  MPI_Offset repeats = (MPI_Offset)type->repeats;
  return repetition / repeats * tm_type_extent(type) + repetition % repeats * type->period;
}

/* Visible bytes follow each other: all of a dense type's do. */
static bool is_dense(const struct tm_view *view) { return view->filetype->dense; }

struct tm_view_cursor tm_view_start(const struct tm_view *view, MPI_Offset position) {
  const struct tm_type *type = view->filetype;
  struct tm_view_cursor c = {view, 0, 0, 0, (size_t)position};
  if (is_dense(view)) return c;
  c.element = position / repetition_bytes(type);
  c.skip = (size_t)(position % repetition_bytes(type));
  const struct tm_block *b = type->blocks;
  for (; c.skip >= b->length * b->count; b++) c.skip -= b->length * b->count;
  c.block = (size_t)(b - type->blocks);
  c.piece = c.skip / b->length;
  c.skip %= b->length;
  return c;
}

size_t tm_view_segment(const struct tm_view_cursor *c, size_t most, MPI_Offset *at) {
  const struct tm_type *type = c->view->filetype;
  const struct tm_block *b = &type->blocks[c->block];
  *at = c->view->disp + repetition_at(type, c->element) + b->at + (ptrdiff_t)c->piece * b->stride +
        (MPI_Offset)c->skip;
  if (is_dense(c->view)) return most;
  return most < b->length - c->skip ? most : b->length - c->skip;
}

void tm_view_advance(struct tm_view_cursor *c, size_t bytes) {
  const struct tm_type *type = c->view->filetype;
  const struct tm_block *b = &type->blocks[c->block];
  c->skip += bytes;
  if (is_dense(c->view) || c->skip < b->length) return;
  c->skip = 0;
  if (++c->piece < b->count) return;
  c->piece = 0;
  if (++c->block < type->block_count) return;
  c->block = 0;
  c->element++;
}

bool tm_view_element(const struct tm_view *view, const struct tm_type *type, size_t *bytes,
                     bool *same) {
  struct tm_items items;
  if (view->representation != NULL) {
    if (!tm_representation_items(view->representation, type, &items)) return false;
    *bytes = items.outside;
    *same = items.same;
    return true;
  }
  *bytes = view->external ? tm_external_size(type) : type->size;
  *same = *bytes == type->size;
  return true;
}

bool tm_view_interleaves(const struct tm_view *view) {
  const struct tm_type *type = view->filetype;
  return type->size > 0 && tm_type_extent(type) < type->true_ub - type->true_lb;
}

/* Bytes of the first repetition that lie before a place in it. */
static MPI_Offset before_in_blocks(const struct tm_type *type, MPI_Offset place) {
  MPI_Offset sum = 0;
  for (size_t i = 0; i < type->block_count; i++) {
    const struct tm_block *b = &type->blocks[i];
    for (size_t k = 0; k < b->count; k++) {
      MPI_Offset inside = place - b->at - (ptrdiff_t)k * b->stride;
      if (inside <= 0) break;
      sum += inside < (MPI_Offset)b->length ? inside : (MPI_Offset)b->length;
    }
  }
  return sum;
}

/* Bytes of an element that lie before a place in it. */
static MPI_Offset before_in_element(const struct tm_type *type, MPI_Offset place) {
  MPI_Offset sum = 0;
  for (size_t r = 0; r < type->repeats; r++)
    sum += before_in_blocks(type, place - (ptrdiff_t)r * type->period);
  return sum;
}

MPI_Offset tm_view_before(const struct tm_view *view, MPI_Offset offset) {
  const struct tm_type *type = view->filetype;
  MPI_Offset extent = tm_type_extent(type), first = type->true_lb;
  MPI_Offset rest = offset - view->disp - first; /* an element's data may begin after its bound */
  if (rest <= 0 || type->size == 0) return 0;
  if (is_dense(view)) return rest;
  if (tm_view_interleaves(view)) return before_in_element(type, rest + first);
  return rest / extent * (MPI_Offset)type->size + before_in_element(type, rest % extent + first);
}

/* ---- the calls */

/* @return what is wrong with the places of a type's pieces in a file; NULL: nothing. Places must
 * not descend, and where data are written not overlap. */
static const char *bad_places(const struct tm_type *type, bool writable) {
  ptrdiff_t start = 0, end = 0;
  size_t shown = type->repeats > 1 ? 2 : 1; /* repetitions, which are all alike */
  for (size_t i = 0; i < shown * type->block_count; i++) {
    const struct tm_block *b = &type->blocks[i % type->block_count];
    ptrdiff_t at = b->at + (i < type->block_count ? 0 : type->period);
    if (at < start || (b->count > 1 && b->stride < 0)) return "descend, or begin before 0";
    if (writable && (at < end || (b->count > 1 && b->stride < (ptrdiff_t)b->length)))
      return "overlap";
    start = at + (ptrdiff_t)(b->count - 1) * b->stride;
    end = start + (ptrdiff_t)b->length;
  }
  return NULL;
}

static int check_types(struct tm_file *file, const char *call, MPI_Datatype etype_handle,
                       MPI_Datatype filetype_handle, struct tm_type **etype,
                       struct tm_type **filetype) {
  *etype = tm_type_of(etype_handle);
  *filetype = tm_type_of(filetype_handle);
  if (*etype == NULL || *filetype == NULL || !(*etype)->committed || !(*filetype)->committed)
    return tm_file_fail(file, call, MPI_ERR_TYPE, "a datatype is not valid, or not committed");
  if ((*etype)->size == 0 ? (*filetype)->size > 0 : (*filetype)->size % (*etype)->size != 0)
    return tm_file_fail(file, call, MPI_ERR_TYPE,
                        "a file type of %zu bytes is not made of etypes of %zu", (*filetype)->size,
                        (*etype)->size);
  bool writable = (file->common->amode & MPI_MODE_RDONLY) == 0;
  const char *bad = bad_places(*etype, writable);
  if (bad == NULL) bad = bad_places(*filetype, writable);
  if (bad != NULL)
    return tm_file_fail(file, call, MPI_ERR_IO, "places of the view's types %s", bad);
  return MPI_SUCCESS;
}

/* Gives a new view its data representation. */
static int represent(struct tm_file *file, const char *call, const char *datarep,
                     struct tm_view *view) {
  bool same;
  view->external = datarep != NULL && strcmp(datarep, "external32") == 0;
  bool native =
      datarep != NULL && (strcmp(datarep, "native") == 0 || strcmp(datarep, "internal") == 0);
  if (datarep != NULL && !native && !view->external)
    view->representation = tm_representation_find(datarep);
  if (!native && !view->external && view->representation == NULL)
    return tm_file_fail(file, call, MPI_ERR_UNSUPPORTED_DATAREP,
                        "there is no data representation '%.100s'", datarep != NULL ? datarep : "");
  strcpy(view->datarep, datarep);
  if (!tm_view_element(view, view->etype, &view->unit, &same))
    return tm_file_fail_errno(file, call, TM_NOT_CONVERTED, file->common->name);
  if (!view->filetype->dense && !same)
    return tm_file_fail(file, call, MPI_ERR_UNSUPPORTED_DATAREP,
                        "%s with gaps between types that have another size there", datarep);
  return MPI_SUCCESS;
}

#pragma weak MPI_File_set_view = PMPI_File_set_view
int PMPI_File_set_view(MPI_File handle, MPI_Offset disp, MPI_Datatype etype_handle,
                       MPI_Datatype filetype_handle, const char *datarep, MPI_Info info) {
  static const char call[] = "MPI_File_set_view";
  struct tm_file *file;
  struct tm_type *etype, *filetype;
  int error = tm_get_file(call, handle, &file);
  if (error != MPI_SUCCESS) return error;
  bool sequential = (file->common->amode & MPI_MODE_SEQUENTIAL) != 0;
  if (disp < 0 && !(sequential && disp == MPI_DISPLACEMENT_CURRENT))
    return tm_file_fail(file, call, MPI_ERR_ARG, "displacement %lld is negative", (long long)disp);
  if (tm_info_is_wrong(info))
    return tm_file_fail(file, call, MPI_ERR_INFO, "the info is not valid");
  error = check_types(file, call, etype_handle, filetype_handle, &etype, &filetype);
  if (error != MPI_SUCCESS) return error;
  struct tm_view *view = make(disp, etype, filetype);
  if (view == NULL) tm_panic("no memory for the view of a file");
  error = represent(file, call, datarep, view);
  if (error != MPI_SUCCESS) {
    tm_view_release(view);
    return error;
  }
  tm_barrier(file->comm, call); /* nobody uses the shared pointer in the old view any more */
  if (disp == MPI_DISPLACEMENT_CURRENT) {
    struct tm_view_cursor c = tm_view_start(file->view, tm_file_claim(file->common, call, 0));
    tm_view_segment(&c, 1, &view->disp);
  }
  tm_view_release(file->view);
  file->view = view;
  file->position = 0;
  tm_barrier(file->comm, call);
  if (file->comm->rank == 0) file->common->shared = 0;
  tm_barrier(file->comm, call);
  return MPI_SUCCESS;
}

#pragma weak MPI_File_get_view = PMPI_File_get_view
int PMPI_File_get_view(MPI_File handle, MPI_Offset *disp, MPI_Datatype *etype,
                       MPI_Datatype *filetype, char *datarep) {
  struct tm_file *file;
  int error = tm_get_file("MPI_File_get_view", handle, &file);
  if (error != MPI_SUCCESS) return error;
  *disp = file->view->disp;
  tm_type_hold(file->view->etype); /* the program frees what is not predefined */
  tm_type_hold(file->view->filetype);
  *etype = tm_type_handle(file->view->etype);
  *filetype = tm_type_handle(file->view->filetype);
  strcpy(datarep, file->view->datarep);
  return MPI_SUCCESS;
}
