/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings in words.
 *
 * Relaxed: a count.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "tmpi/check/check.h"
#include "tmpi/layout/type.h"
#include "tmpi/report/location.h"

enum { SAID_MAX = 100 /* findings printed */ };

static unsigned said; /* [atomic] */

unsigned tm_finding_count(void) { return mt_load_relaxed(&said); }

static void print(const char *before, const char *format, va_list arguments) {
  char text[1200];
  int used = snprintf(text, sizeof text, "tmpi: %s", before);
  vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
  fprintf(stderr, "%s\n", text);
}

void tm_finding_print(const char *format, ...) {
  unsigned number = mt_add_relaxed(&said, 1);
  va_list arguments;
  va_start(arguments, format);
  if (number < SAID_MAX) print("check: ", format, arguments);
  va_end(arguments);
  if (number == SAID_MAX) fprintf(stderr, "tmpi: check: further findings are counted only\n");
}

void tm_finding_note(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print("check: ", format, arguments);
  va_end(arguments);
}

void tm_finding_continue(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (tm_finding_count() <= SAID_MAX) print("  ", format, arguments);
  va_end(arguments);
}

void tm_describe_data(char *text, size_t size, size_t count, MPI_Datatype handle) {
  const struct tm_type *type = tm_type_of(handle);
  const char *name = type == NULL                    ? "of no valid type"
                     : type->predefined_name != NULL ? type->predefined_name
                     : type->name != NULL            ? type->name
                                                     : NULL;
  if (name != NULL)
    snprintf(text, size, "%zu %s", count, name);
  else
    snprintf(text, size, "%zu of a derived type of %zu bytes", count, type->size);
}

void tm_describe_site(char *text, size_t size, const void *site) {
  int used = snprintf(text, size, " at ");
  tm_location_name(text + used, size - (size_t)used, site);
}

/* Appends to an argument list. */
__attribute__((format(printf, 3, 4))) static size_t add(char *text, size_t used, const char *format,
                                                        ...) {
  va_list arguments;
  if (text[used - 1] != '(') used += (size_t)snprintf(text + used, TM_CALL_TEXT - used, ", ");
  va_start(arguments, format);
  int more = vsnprintf(text + used, TM_CALL_TEXT - used, format, arguments);
  va_end(arguments);
  return used + (size_t)more < TM_CALL_TEXT - 100 ? used + (size_t)more : TM_CALL_TEXT - 100;
}

static size_t add_data(char *text, size_t used, const struct tm_data *data, const char *verb) {
  char what[100];
  if (data->count < 0 || data->buffer == MPI_IN_PLACE) return used;
  tm_describe_data(what, sizeof what, (size_t)data->count, data->type);
  return add(text, used, "%s%s", verb, what);
}

void tm_describe(char text[TM_CALL_TEXT], const struct tm_seen *seen) {
  size_t used = (size_t)snprintf(text, TM_CALL_TEXT, "%s(", tm_calls[seen->call]);
  bool two = seen->data.count >= 0 && seen->other.count >= 0 && seen->op == 0;
  used = add_data(text, used, &seen->data, two ? "sends " : "");
  if (two) used = add_data(text, used, &seen->other, "receives ");
  if (seen->root != TM_NONE) used = add(text, used, "root %d", seen->root);
  if (seen->peer != TM_NONE) used = add(text, used, "rank %d", seen->peer);
  if (seen->tag != TM_NONE) used = add(text, used, "tag %d", seen->tag);
  if (seen->op != 0) used = add(text, used, "%s", tm_op_name(seen->op));
  used += (size_t)snprintf(text + used, TM_CALL_TEXT - used, ")");
  tm_describe_site(text + used, TM_CALL_TEXT - used, seen->site);
}

const char *tm_op_name(MPI_Op op) {
  static const struct {
    MPI_Op op;
    const char *name;
  } names[] = {
      {MPI_SUM, "MPI_SUM"},         {MPI_MIN, "MPI_MIN"},       {MPI_MAX, "MPI_MAX"},
      {MPI_PROD, "MPI_PROD"},       {MPI_BAND, "MPI_BAND"},     {MPI_BOR, "MPI_BOR"},
      {MPI_BXOR, "MPI_BXOR"},       {MPI_LAND, "MPI_LAND"},     {MPI_LOR, "MPI_LOR"},
      {MPI_LXOR, "MPI_LXOR"},       {MPI_MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, "MPI_MAXLOC"},
      {MPI_REPLACE, "MPI_REPLACE"}, {MPI_NO_OP, "MPI_NO_OP"},
  };
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (names[i].op == op) return names[i].name;
  return "an operation of its own";
}
