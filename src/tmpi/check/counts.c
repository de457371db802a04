/* SPDX-License-Identifier: Apache-2.0 */
/* --report: how often each rank has made each call, for how long, and what it has sent. */
#include <errno.h>
#include <jansson.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tmpi/check/check.h"
#include "tmpi/dt/type.h"
#include "tmpi/match/mailbox.h"
#include "tmpi/rank/rank.h"

struct count {
  uint64_t calls, messages, bytes, ns;
};

static struct count *counts; /* [rank] a row of all calls for each rank */
static const char *file;

static struct count *count_of(int rank, int call) {
  return &counts[(size_t)rank * (size_t)tm_call_count + (size_t)call];
}

bool tm_counts_start(const char *name) {
  file = name;
  counts = calloc((size_t)tm_job.size * (size_t)tm_call_count, sizeof *counts);
  return counts != NULL;
}

/* ---- counting */

static size_t bytes_of(const struct tm_data *data) {
  const struct tm_type *type = tm_type_of(data->type);
  bool real = data->count > 0 && type != NULL && data->buffer != MPI_IN_PLACE;
  return real ? (size_t)data->count * type->size : 0;
}

static bool is_receive(const char *name) {
  return strstr(name, "recv") == name + 5 || strstr(name, "Recv") == name + 4 ||
         strcmp(name, "MPI_Mrecv") == 0 || strcmp(name, "MPI_Imrecv") == 0;
}

/* Persistent sends. */
static void count_started(struct count *count, const struct tm_seen *seen) {
  MPI_Request *requests = seen->object;
  for (int i = 0; i < seen->count; i++) {
    const struct tm_request *request = (const struct tm_request *)requests[i];
    if (request->kind != TM_SEND) continue;
    count->messages++;
    count->bytes += request->count * request->type->size;
  }
}

void tm_counts_end(const struct tm_seen *seen, uint64_t now) {
  const char *name = tm_calls[seen->call];
  struct count *count = count_of(seen->rank, seen->call);
  count->calls++;
  if (seen->outer == NULL || seen->outer == seen) count->ns += now - seen->start;
  if (strncmp(name, "MPI_Start", 9) == 0) {
    count_started(count, seen);
  } else if (strstr(name, "_init") == NULL && !is_receive(name) && seen->comm != 0) {
    count->messages += seen->peer >= 0 && seen->data.count >= 0;
    if (seen->peer != MPI_PROC_NULL) count->bytes += bytes_of(&seen->data);
  }
}

/* ---- telling */

/* What all ranks have made of a call, and who was in it longest. */
static struct count sum_of(int call, int *longest) {
  struct count sum = {0, 0, 0, 0};
  *longest = 0;
  for (int i = 0; i < tm_job.size; i++) {
    const struct count *count = count_of(i, call);
    sum.calls += count->calls;
    sum.messages += count->messages;
    sum.bytes += count->bytes;
    sum.ns += count->ns;
    if (count->ns > count_of(*longest, call)->ns) *longest = i;
  }
  return sum;
}

/* Waits of all ranks' main threads: without a processor. */
static uint64_t parks(void) {
  uint64_t sum = 0;
  for (int i = 0; i < tm_job.size; i++) sum += tm_job.ranks[i].parks;
  return sum;
}

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

static void print_text(FILE *out) {
  fprintf(out, "tmpi: report of %d ranks; seconds are those spent in the call, waiting included\n",
          tm_job.size);
  fprintf(out, "%-28s %12s %12s %16s %12s %12s  %s\n", "call", "calls", "messages", "bytes",
          "seconds", "most", "of rank");
  for (int c = 0; c < tm_call_count; c++) {
    int longest;
    struct count sum = sum_of(c, &longest);
    if (sum.calls == 0) continue;
    fprintf(out, "%-28s %12lu %12lu %16lu %12.6f %12.6f  %d\n", tm_calls[c],
            (unsigned long)sum.calls, (unsigned long)sum.messages, (unsigned long)sum.bytes,
            seconds(sum.ns), seconds(count_of(longest, c)->ns), longest);
  }
  mltp_await_counters_t spins;
  mltp_await_counts(&spins);
  fprintf(out,
          "ranks have waited %lu times: %lu parked, %lu spun until it came; %lu spun in vain\n",
          (unsigned long)(parks() + spins.spins_paid), (unsigned long)parks(),
          (unsigned long)spins.spins_paid, (unsigned long)spins.spins_vain);
}

static json_t *json_of_rank(int rank) {
  json_t *calls = json_object();
  for (int c = 0; c < tm_call_count; c++) {
    const struct count *count = count_of(rank, c);
    if (count->calls == 0) continue;
    json_object_set_new(calls, tm_calls[c],
                        json_pack("{s:I, s:I, s:I, s:f}", "calls", (json_int_t)count->calls,
                                  "messages", (json_int_t)count->messages, "bytes",
                                  (json_int_t)count->bytes, "seconds", seconds(count->ns)));
  }
  return json_pack("{s:i, s:o, s:I}", "rank", rank, "calls", calls, "parks",
                   (json_int_t)tm_job.ranks[rank].parks);
}

static bool print_json(FILE *out) {
  json_t *ranks = json_array();
  for (int i = 0; i < tm_job.size; i++) json_array_append_new(ranks, json_of_rank(i));
  mltp_await_counters_t spins;
  mltp_await_counts(&spins);
  json_t *waits =
      json_pack("{s:I, s:I, s:I}", "parks", (json_int_t)parks(), "spins_paid",
                (json_int_t)spins.spins_paid, "spins_vain", (json_int_t)spins.spins_vain);
  json_t *whole = json_pack("{s:i, s:o, s:o}", "size", tm_job.size, "waits", waits, "ranks", ranks);
  bool written = whole != NULL && json_dumpf(whole, out, JSON_INDENT(1)) == 0;
  if (written) fputc('\n', out);
  json_decref(whole);
  return written;
}

void tm_counts_finish(void) {
  if (file == NULL) {
    print_text(stderr);
    return;
  }
  FILE *out = fopen(file, "we");
  const char *dot = strrchr(file, '.');
  bool written = out != NULL;
  if (written && dot != NULL && strcmp(dot, ".json") == 0)
    written = print_json(out);
  else if (written)
    print_text(out);
  if (out != NULL && fclose(out) != 0) written = false;
  if (!written)
    fprintf(stderr, "tmpirun: the report cannot be written to '%s': %s (another --report)\n", file,
            strerror(errno));
}
