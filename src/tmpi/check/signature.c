/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/check/signature.h"

enum { FACTOR = 1000003 };

static const struct tm_signature empty = {0, 0, 1, false};

static struct tm_signature join(struct tm_signature a, struct tm_signature b) {
  return (struct tm_signature){a.count + b.count, a.hash * b.power + b.hash, a.power * b.power,
                               a.packed || b.packed};
}

static struct tm_signature repeat(struct tm_signature one, uint64_t count) {
  struct tm_signature all = empty;
  for (; count > 0; count /= 2) {
    if (count % 2 != 0) all = join(all, one);
    one = join(one, one);
  }
  return all;
}

/* A derived type is made of one other, but for structures. */
static MPI_Count part_count(const struct tm_type *type) {
  MPI_Count count = type->recipe.type_count;
  return type->combiner == MPI_COMBINER_STRUCT || count == 0 ? count : 1;
}

static const struct tm_type *part_of(const struct tm_type *type, MPI_Count i) {
  return type->recipe.types[i];
}

static uint64_t repeats(const struct tm_type *type, MPI_Count i) {
  const struct tm_recipe *recipe = &type->recipe;
  if (type->combiner != MPI_COMBINER_STRUCT)
    return part_of(type, 0)->size > 0 ? type->size / part_of(type, 0)->size : 0;
  return recipe->large_count > 0 ? (uint64_t)recipe->large_counts[1 + i]
                                 : (uint64_t)recipe->integers[1 + i];
}

static struct tm_signature of_one(const struct tm_type *type) {
  if (type->predefined || type->lasting)
    return (struct tm_signature){1, (uint64_t)type->basic + 1, FACTOR,
                                 type == tm_type_of(MPI_PACKED)};
  struct tm_signature all = empty;
  for (MPI_Count i = 0; i < part_count(type); i++)
    all = join(all, repeat(of_one(part_of(type, i)), repeats(type, i)));
  return all;
}

struct tm_signature tm_signature_of(const struct tm_type *type, uint64_t count) {
  return repeat(of_one(type), count);
}

struct tm_signature tm_signature_start(const struct tm_type *type, uint64_t count,
                                       uint64_t wanted) {
  struct tm_signature one = of_one(type);
  if (one.count == 0 || wanted / one.count >= count) return repeat(one, count);
  struct tm_signature all = repeat(one, wanted / one.count);
  wanted %= one.count;
  for (MPI_Count i = 0; wanted > 0 && i < part_count(type); i++) {
    struct tm_signature part = tm_signature_start(part_of(type, i), repeats(type, i), wanted);
    all = join(all, part);
    wanted -= part.count;
  }
  return all;
}
