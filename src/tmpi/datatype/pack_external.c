/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MPI_Pack_external() and variants: the standard's "external32". Numbers have their most
 * significant byte first; a long has 4 bytes, a wchar_t 2, a long double the 16 of IEEE's quadruple
 * precision.
 */
#include "tmpi/datatype/external.h"

#include <stdlib.h>
#include <string.h>

#include "tmpi/datatype/calls.h"
#include "tmpi/error/errors.h"
#include "tmpi/layout/type.h"
#include "tmpi/request/request.h"

/* How a basic element is in memory and outside: `parts` numbers of each. */
struct format {
  size_t inside, outside;
};

static const struct format formats[] = {
    [TM_EXT_1] = {1, 1},     [TM_EXT_2] = {2, 2},    [TM_EXT_4] = {4, 4},
    [TM_EXT_8] = {8, 8},     [TM_EXT_LONG] = {8, 4}, [TM_EXT_ULONG] = {8, 4},
    [TM_EXT_WCHAR] = {4, 2}, [TM_EXT_16] = {16, 16}, [TM_EXT_QUAD] = {16, 16},
};

static void reverse(unsigned char *to, const unsigned char *from, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) to[i] = from[bytes - 1 - i];
}

/* One number out of memory. */
static void put(unsigned char *to, const unsigned char *from, enum tm_external external) {
  if (external == TM_EXT_QUAD) {
    long double value;
    memcpy(&value, from, sizeof value);
    __float128 quad = value;
    unsigned char bytes[sizeof quad];
    memcpy(bytes, &quad, sizeof quad);
    reverse(to, bytes, sizeof bytes);
  } else { /* little-endian: the low bytes come first */
    reverse(to, from, formats[external].outside);
  }
}

/* One number into memory. */
static void get(unsigned char *to, const unsigned char *from, enum tm_external external) {
  size_t outside = formats[external].outside, inside = formats[external].inside;
  if (external == TM_EXT_QUAD) {
    __float128 quad;
    unsigned char bytes[sizeof quad];
    reverse(bytes, from, sizeof bytes);
    memcpy(&quad, bytes, sizeof quad);
    long double value = (long double)quad;
    memset(to, 0, inside);
    memcpy(to, &value, 10); /* the rest is padding */
  } else {
    bool negative = external == TM_EXT_LONG && (from[0] & 0x80) != 0;
    reverse(to, from, outside);
    memset(to + outside, negative ? 0xff : 0, inside - outside);
  }
}

size_t tm_external_size(const struct tm_type *type) {
  size_t size = 0;
  for (size_t r = 0; r < type->run_count; r++) {
    const struct format *format = &formats[type->runs[r].external];
    size += type->runs[r].count * type->runs[r].size / format->inside * format->outside;
  }
  return size * type->run_repeats;
}

void tm_external_convert(unsigned char *packed, unsigned char *outside, const struct tm_type *type,
                         size_t count, bool out) {
  for (size_t i = 0; i < count * type->run_repeats; i++)
    for (size_t r = 0; r < type->run_count; r++) {
      const struct tm_run *run = &type->runs[r];
      const struct format *format = &formats[run->external];
      for (size_t n = run->count * run->size / format->inside; n > 0; n--) {
        if (out)
          put(outside, packed, run->external);
        else
          get(packed, outside, run->external);
        packed += format->inside;
        outside += format->outside;
      }
    }
}

/* position NULL: there is no buffer. *bytes: outside. */
static int check(const char *call, const char *datarep, MPI_Count count, MPI_Datatype handle,
                 MPI_Count size, const MPI_Count *position, struct tm_type **type,
                 MPI_Count *bytes) {
  tm_enter(call);
  if (datarep == NULL || strcmp(datarep, "external32") != 0)
    return tm_fail(NULL, call, MPI_ERR_ARG, "the data representation is not \"external32\"");
  if (count < 0)
    return tm_fail(NULL, call, MPI_ERR_COUNT, "count %lld is negative", (long long)count);
  int error = tm_get_type(NULL, call, handle, type);
  if (error == MPI_SUCCESS) error = tm_check_bytes(NULL, call, count, *type);
  if (error != MPI_SUCCESS) return error;
  if (__builtin_mul_overflow(count, (MPI_Count)tm_external_size(*type), bytes))
    return tm_too_many_bytes(NULL, call, count, *type);
  if (position != NULL && (*position < 0 || *position > size || *bytes > size - *position))
    return tm_fail(NULL, call, *position < 0 ? MPI_ERR_ARG : MPI_ERR_TRUNCATE,
                   "%lld bytes from %lld on do not fit into %lld", (long long)*bytes,
                   (long long)*position, (long long)size);
  return MPI_SUCCESS;
}

int tm_call_pack_external(const char *call, const char *datarep, const void *in, MPI_Count count,
                          MPI_Datatype handle, void *out, MPI_Count size, MPI_Count *position) {
  struct tm_type *type;
  MPI_Count bytes;
  int error = check(call, datarep, count, handle, size, position, &type, &bytes);
  if (error != MPI_SUCCESS) return error;
  size_t inside = (size_t)count * type->size;
  unsigned char *packed = malloc(inside + 1);
  if (packed == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  tm_type_pack(packed, in, type, 0, inside);
  tm_external_convert(packed, (unsigned char *)out + *position, type, (size_t)count, true);
  free(packed);
  *position += bytes;
  return MPI_SUCCESS;
}

int tm_call_unpack_external(const char *call, const char *datarep, const void *in, MPI_Count size,
                            MPI_Count *position, void *out, MPI_Count count, MPI_Datatype handle) {
  struct tm_type *type;
  MPI_Count bytes;
  int error = check(call, datarep, count, handle, size, position, &type, &bytes);
  if (error != MPI_SUCCESS) return error;
  size_t inside = (size_t)count * type->size;
  unsigned char *packed = malloc(inside + 1);
  if (packed == NULL) return tm_fail_code(NULL, call, MPI_ERR_NO_MEM);
  tm_external_convert(packed, (unsigned char *)(uintptr_t)in + *position, type, (size_t)count,
                      false);
  tm_type_unpack(out, type, 0, packed, inside);
  free(packed);
  *position += bytes;
  return MPI_SUCCESS;
}

int tm_call_pack_external_size(const char *call, const char *datarep, MPI_Count count,
                               MPI_Datatype handle, MPI_Count *size) {
  struct tm_type *type;
  return check(call, datarep, count, handle, 0, NULL, &type, size);
}
