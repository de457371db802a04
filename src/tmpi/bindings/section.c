/* SPDX-License-Identifier: Apache-2.0 */
/* Array sections as buffers. */
#include "tmpi/bindings/section.h"

#include <stdio.h>

static MPI_Count extent_of(const struct tmf_array *array, int dimension) {
  ptrdiff_t last = array->dimensions[dimension].last, first = array->dimensions[dimension].first;
  return last < first ? 0 : last - first + 1;
}

static MPI_Aint step_of(const struct tmf_array *array, int dimension) {
  ptrdiff_t span = array->span != 0 ? array->span : (ptrdiff_t)array->element;
  return array->dimensions[dimension].stride * span;
}

/* The last dimension of an array of assumed size has no end, and no step but that of its
 * neighbours. */
static bool is_contiguous(const struct tmf_array *array) {
  MPI_Count bytes = (MPI_Count)array->element;
  for (int d = 0; d < array->rank; d++) {
    MPI_Count extent = extent_of(array, d);
    if (extent != 1 && step_of(array, d) != bytes) return extent == 0 && d < array->rank - 1;
    bytes *= extent;
  }
  return true;
}

static MPI_Count elements_of(const struct tmf_array *array) {
  MPI_Count count = 1;
  for (int d = 0; d < array->rank; d++) count *= extent_of(array, d);
  return count;
}

/* Replaces a type by one made of it. */
static void replace(MPI_Datatype *type, MPI_Datatype made) {
  PMPI_Type_free(type);
  *type = made;
}

/* @return the type of an element of the array. */
static MPI_Datatype element_type(const struct tmf_array *array, MPI_Datatype type, MPI_Count size) {
  MPI_Datatype made;
  MPI_Count element = (MPI_Count)array->element;
  if (element % size == 0)
    PMPI_Type_contiguous_c(element / size, type, &made);
  else
    PMPI_Type_contiguous_c(element, MPI_BYTE, &made);
  return made;
}

/* @return the type of all elements. */
static MPI_Datatype whole(const struct tmf_array *array, MPI_Datatype element) {
  MPI_Datatype made = element, next;
  for (int d = 0; d < array->rank; d++) {
    PMPI_Type_create_hvector_c(extent_of(array, d), 1, step_of(array, d), made, &next);
    replace(&made, next);
  }
  return made;
}

/* @return the type of the first elements, in their order; MPI_DATATYPE_NULL: no memory. Frees the
 * type of an element. */
static MPI_Datatype beginning(const struct tmf_array *array, MPI_Datatype element,
                              MPI_Count count) {
  MPI_Count at[TMF_RANK_MAX] = {0};
  MPI_Count *places = calloc(count > 0 ? (size_t)count : 1, sizeof *places);
  MPI_Datatype made = MPI_DATATYPE_NULL;
  for (MPI_Count i = 0; places != NULL && i < count; i++) {
    for (int d = 0; d < array->rank; d++) places[i] += at[d] * step_of(array, d);
    for (int d = 0; d < array->rank && ++at[d] == extent_of(array, d); d++) at[d] = 0;
  }
  if (places != NULL) PMPI_Type_create_hindexed_block_c(count, 1, places, element, &made);
  free(places);
  PMPI_Type_free(&element);
  return made;
}

static struct tmf_section refuse(const char *why) {
  fprintf(stderr, "tmpi: an array section as a buffer: %s\n", why);
  return (struct tmf_section){NULL, 1, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
}

static struct tmf_section make(const struct tmf_array *array, MPI_Count count, MPI_Datatype type) {
  MPI_Count size = 0, lb = 0, extent = 0, element = (MPI_Count)array->element;
  PMPI_Type_size_c(type, &size);
  PMPI_Type_get_extent_c(type, &lb, &extent);
  if (size <= 0 || lb != 0 || extent != size || element == 0)
    return refuse("the datatype has gaps (give one that has none, or an array without steps)");
  MPI_Count bytes = count * size, wanted = bytes / element, there = elements_of(array);
  if (bytes % element != 0 || wanted > there)
    return refuse("it has fewer elements than the count says, or the last one is not whole");
  MPI_Datatype made = element_type(array, type, size);
  made = wanted == there ? whole(array, made) : beginning(array, made, wanted);
  if (made == MPI_DATATYPE_NULL) return refuse("no memory for the places of its elements");
  PMPI_Type_commit(&made);
  return (struct tmf_section){array->base, 1, made, made};
}

struct tmf_section tmf_section(const struct tmf_array *array, MPI_Count count, MPI_Datatype type) {
  if (array->rank > 0 && count > 0 && type != MPI_DATATYPE_NULL && !is_contiguous(array))
    return make(array, count, type);
  return (struct tmf_section){tmf_address(array->base), count, type, MPI_DATATYPE_NULL};
}

void tmf_section_end(struct tmf_section *section) {
  if (section->made != MPI_DATATYPE_NULL) PMPI_Type_free(&section->made);
}

bool tmf_is_whole(const struct tmf_array *array, const char *function) {
  if (is_contiguous(array) || elements_of(array) == 0) return true;
  fprintf(
      stderr,
      "tmpi: %s: its buffer is an array section with gaps, which it would use after gfortran has "
      "freed the copy (give a contiguous array)\n",
      function);
  return false;
}

int tmf_refuse_comm(MPI_Fint comm) {
  PMPI_Comm_call_errhandler(tmf_Comm(comm), MPI_ERR_BUFFER);
  return MPI_ERR_BUFFER;
}

int tmf_refuse_win(MPI_Fint win) {
  PMPI_Win_call_errhandler(tmf_Win(win), MPI_ERR_BUFFER);
  return MPI_ERR_BUFFER;
}
