/* SPDX-License-Identifier: Apache-2.0 */
#include "tmpi/check/signature.h"

#include "tmpi/layout/recipe.h"

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

static struct tm_signature of_one(const struct tm_type *type) {
  if (type->predefined || type->lasting)
    return (struct tm_signature){1, (uint64_t)type->basic + 1, FACTOR,
                                 type == tm_type_of(MPI_PACKED)};
  struct tm_signature all = empty;
  for (MPI_Count i = 0; i < tm_recipe_parts(type); i++)
    all = join(all, repeat(of_one(type->recipe.types[i]), tm_recipe_repeats(type, i)));
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
  for (MPI_Count i = 0; wanted > 0 && i < tm_recipe_parts(type); i++) {
    struct tm_signature part =
        tm_signature_start(type->recipe.types[i], tm_recipe_repeats(type, i), wanted);
    all = join(all, part);
    wanted -= part.count;
  }
  return all;
}
