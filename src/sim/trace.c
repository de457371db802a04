/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces in the value change dump format of IEEE 1364 (chapter 18). Variables are looked at when
 * the time moves on, between sim steps, so that a trace is the same on any number of VPs.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/kernel.h"

struct variable {
  char *name;
  const void *address;
  size_t size;
  mltp_sim_trace_kind_t kind;
  union {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    float single;
    double real;
  } last; /* as written */
};

static struct {
  FILE *file;
  char *unit;
  struct variable *variables;
  size_t count;
  bool written; /* first values are */
} trace;

bool sm_trace_on;

/* Variables are named by numbers to the base of printable characters. */
static const char *code_of(size_t number, char code[16]) {
  enum { FIRST = '!', LAST = '~', BASE = LAST - FIRST + 1 };
  char *end = code;
  do {
    *end++ = (char)(FIRST + number % BASE);
    number /= BASE;
  } while (number > 0);
  *end = '\0';
  return code;
}

int mltp_sim_trace(const char *name, const void *variable, size_t size,
                   mltp_sim_trace_kind_t kind) {
  bool ok = size == 4 || size == 8 || (kind == MLTP_SIM_TRACE_INTEGER && (size == 1 || size == 2));
  if (!ok) return EINVAL;
  if (sm_is_running()) return EBUSY;
  struct variable *grown = realloc(trace.variables, (trace.count + 1) * sizeof *grown);
  if (grown == NULL) return ENOMEM;
  trace.variables = grown;
  char *own_name = strdup(name);
  if (own_name == NULL) return ENOMEM;
  grown[trace.count++] =
      (struct variable){.name = own_name, .address = variable, .size = size, .kind = kind};
  return 0;
}

int mltp_sim_trace_open(const char *path, const char *unit) {
  if (sm_is_running()) return EBUSY;
  FILE *file = fopen(path, "w");
  if (file == NULL) return errno;
  if (trace.file != NULL) fclose(trace.file);
  free(trace.unit);
  trace.file = file;
  trace.unit = strdup(unit);
  return 0;
}

static void write_header(void) {
  fprintf(trace.file, "$version mltp $end\n$timescale %s $end\n",
          trace.unit != NULL ? trace.unit : "1ns");
  for (size_t i = 0; i < trace.count; i++) {
    const struct variable *v = &trace.variables[i];
    char code[16], *part = strdup(v->name), *rest = part;
    int scopes = 0;
    if (part == NULL) sm_no_memory("the trace");
    for (char *dot; (dot = strchr(rest, '.')) != NULL; rest = dot + 1, scopes++) {
      *dot = '\0';
      fprintf(trace.file, "$scope module %s $end\n", rest);
    }
    bool real = v->kind == MLTP_SIM_TRACE_REAL;
    fprintf(trace.file, "$var %s %zu %s %s $end\n", real ? "real" : "integer",
            real ? (size_t)64 : v->size * 8, code_of(i, code), rest);
    while (scopes-- > 0) fputs("$upscope $end\n", trace.file);
    free(part);
  }
  fputs("$enddefinitions $end\n", trace.file);
}

static void write_binary(const struct variable *v) {
  uint64_t value = 0;
  if (v->size == 1) value = v->last.one;
  if (v->size == 2) value = v->last.two;
  if (v->size == 4) value = v->last.four;
  if (v->size == 8) value = v->last.eight;
  char digits[65], *digit = &digits[64];
  *digit = '\0';
  do *--digit = (char)('0' + (value & 1));
  while ((value >>= 1) != 0);
  fprintf(trace.file, "b%s", digit);
}

static void write_real(const struct variable *v) {
  fprintf(trace.file, "r%.16g", v->size == sizeof(float) ? v->last.single : v->last.real);
}

void sm_trace_sample(void) {
  bool stamped = false;
  for (size_t i = 0; i < trace.count; i++) {
    struct variable *v = &trace.variables[i];
    if (trace.written && memcmp(&v->last, v->address, v->size) == 0) continue;
    memcpy(&v->last, v->address, v->size);
    if (!stamped) fprintf(trace.file, "#%" PRIu64 "\n", sm.now);
    stamped = true;
    if (v->kind == MLTP_SIM_TRACE_REAL)
      write_real(v);
    else
      write_binary(v);
    char code[16];
    fprintf(trace.file, " %s\n", code_of(i, code));
  }
  trace.written = true;
}

void sm_trace_begin(void) {
  sm_trace_on = trace.file != NULL;
  if (sm_trace_on) sm.attentive |= SM_TRACED;
  trace.written = false;
  if (sm_trace_on) write_header();
}

static void close_file(void) {
  sm_trace_sample();
  fprintf(trace.file, "#%" PRIu64 "\n", sm.now);
  bool failed = ferror(trace.file) != 0;
  failed |= fclose(trace.file) != 0;
  if (failed) fputs("mltp: the trace is incomplete: a write failed (is the disk full?)\n", stderr);
  trace.file = NULL;
}

void sm_trace_end(void) {
  if (sm_trace_on) close_file();
  sm_trace_on = false;
  free(trace.unit);
  trace.unit = NULL;
  for (size_t i = 0; i < trace.count; i++) free(trace.variables[i].name);
  free(trace.variables);
  trace.variables = NULL;
  trace.count = 0;
}
