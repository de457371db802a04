/* SPDX-License-Identifier: Apache-2.0 */
/* --report: how often each rank has made each call, for how long, and what it has sent. */
#include <errno.h>
#include <jansson.h>
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/internal/park.h"
#include "tmpi/check/check.h"
#include "tmpi/layout/type.h"
#include "tmpi/mailbox/mailbox.h"
#include "tmpi/rank/rank.h"

struct count {
  uint64_t calls, messages, bytes, ns;
};

static struct count *counts; /* [rank] a row of all calls for each rank */
static const char *file;
static struct tm_library *(*list_libraries)(size_t *count);

static struct count *count_of(int rank, int call) {
  return &counts[(size_t)rank * (size_t)tm_call_count + (size_t)call];
}

bool tm_traffic_start(const struct tm_check_options *options) {
  file = options->report_file;
  list_libraries = options->libraries;
  counts = calloc((size_t)tm_job.most * (size_t)tm_call_count, sizeof *counts);
  return counts != NULL;
}

/* ---- counting */

static size_t bytes_of(const struct tm_data *data) {
  if (data->count <= 0 || data->buffer == MPI_IN_PLACE) return 0; /* the type may be anything */
  const struct tm_type *type = tm_type_of(data->type);
  return type != NULL ? (size_t)data->count * type->size : 0;
}

static bool is_receive(const char *name) {
  return strstr(name, "recv") == name + 5 || strstr(name, "Recv") == name + 4 ||
         strcmp(name, "MPI_Imrecv") == 0;
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

void tm_traffic_end(const struct tm_seen *seen, uint64_t now) {
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

/* @return the sums of all ranks for a call, and the rank that was in it longest. */
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

/* How the ranks have waited for each other. */
struct waits {
  uint64_t calls;      /* that wait where it is necessary: TMPI-2's synchronizations */
  uint64_t parks;      /* waits of all ranks' main threads without a processor */
  uint64_t paid, vain; /* waits on it that ended, and that came before a park, */
  uint64_t spin_ns;    /* so long at most */
};

/* @return whether a call waits for other ranks: receives, waits, probes, collectives. A send that
 * finds no receive waits as well, if it is large: most do not. */
static bool may_wait(const char *name) {
  static const char *const beginnings[] = {
      "Recv",     "Mrecv",   "Sendrecv",  "Ssend",  "Wait",    "Probe",
      "Mprobe",   "Barrier", "Bcast",     "Gather", "Scatter", "Allgather",
      "Alltoall", "Reduce",  "Allreduce", "Scan",   "Exscan",  "Neighbor"};
  if (strstr(name, "_init") != NULL || strstr(name, "_local") != NULL) return false;
  for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
    if (strncmp(name + strlen("MPI_"), beginnings[i], strlen(beginnings[i])) == 0) return true;
  return false;
}

/* ---- several nodes. Far ranks have rows of their own in node 0's table, which are empty until the
 * end. All nodes have the same version, and so the same calls. */

enum { PARKS = -1, SPINS = -2 }; /* of a rank; of a node, paid and vain */

struct portion {
  int32_t rank, call; /* its number in tm_calls, or one of these */
  struct count count;
};

static uint64_t far_paid, far_vain; /* waits of other nodes, as of struct waits */

void *tm_traffic_gather(size_t *bytes) {
  size_t most = (size_t)tm_job.here * ((size_t)tm_call_count + 1) + 1, n = 0;
  struct portion *all = malloc(most * sizeof *all);
  mltp_await_counters_t spins = MLTP_AWAIT_COUNTERS_INIT;
  if (all == NULL) return NULL;
  for (int rank = tm_job.first; rank < tm_job.size; rank = tm_rank_next_here(rank, tm_job.size)) {
    for (int c = 0; c < tm_call_count; c++)
      if (count_of(rank, c)->calls > 0) all[n++] = (struct portion){rank, c, *count_of(rank, c)};
    all[n++] = (struct portion){rank, PARKS, {.calls = tm_job.ranks[rank].parks}};
  }
  mltp_await_counts(&spins);
  all[n++] = (struct portion){
      tm_job.first, SPINS, {.calls = spins.spins_paid, .messages = spins.spins_failed}};
  *bytes = n * sizeof *all;
  return all;
}

void tm_traffic_add(const void *gathered, size_t bytes) {
  for (const struct portion *at = gathered; bytes >= sizeof *at; at++, bytes -= sizeof *at) {
    if (at->rank < 0 || at->rank >= tm_job.size || at->call >= tm_call_count) continue;
    if (at->call >= 0) *count_of(at->rank, at->call) = at->count;
    if (at->call == PARKS) tm_job.ranks[at->rank].parks = at->count.calls;
    if (at->call == SPINS) far_paid += at->count.calls;
    if (at->call == SPINS) far_vain += at->count.messages;
  }
}

static bool has_nodes(void) { return tm_job.local < tm_job.first_size; }

/* ---- sums */

static struct waits sum_of_waits(void) {
  mltp_await_counters_t spins = MLTP_AWAIT_COUNTERS_INIT;
  mltp_await_counts(&spins);
  struct waits w = {.paid = spins.spins_paid + far_paid, .vain = spins.spins_failed + far_vain};
  for (int c = 0; c < tm_call_count; c++)
    for (int i = 0; may_wait(tm_calls[c]) && i < tm_job.size; i++) w.calls += count_of(i, c)->calls;
  for (int i = 0; i < tm_job.size; i++) w.parks += tm_job.ranks[i].parks;
  w.spin_ns = tm_job.wait == TM_WAIT_SPIN ? tm_job.spin_ns : mti_park_ns();
  return w;
}

static double seconds(uint64_t ns) { return (double)ns / 1e9; }

static void print_libraries(FILE *out) {
  size_t count = 0;
  struct tm_library *libraries = list_libraries(&count);
  fprintf(out, "%-60s %12s  %s\n", "library", "KiB a rank", "ranks");
  for (size_t i = 0; libraries != NULL && i < count; i++) {
    const struct tm_library *l = &libraries[i];
    if (l->why_shared == NULL)
      fprintf(out, "%-60s %12zu  have copies of their own\n", l->path, l->bytes / 1024);
    else
      fprintf(out, "%-60s %12s  share it: %s\n", l->path, "", l->why_shared);
  }
  free(libraries);
}

static void print_heading(FILE *out) {
  fprintf(out, "tmpi: report of %d ranks", tm_job.size);
  if (has_nodes()) fprintf(out, " on %d nodes", tm_node_count());
  fprintf(out, "; seconds are those spent in the call, waiting included\n");
  fprintf(out, "%-28s %12s %12s %16s %12s %12s  of rank%s\n", "call", "calls", "messages", "bytes",
          "seconds", "most", has_nodes() ? "  node" : "");
}

static void print_rank(FILE *out, int rank) {
  if (has_nodes())
    fprintf(out, "  %-7d  %d\n", rank, tm_rank_node(rank));
  else
    fprintf(out, "  %d\n", rank);
}

static void print_text(FILE *out) {
  print_heading(out);
  for (int c = 0; c < tm_call_count; c++) {
    int longest;
    struct count sum = sum_of(c, &longest);
    if (sum.calls == 0) continue;
    fprintf(out, "%-28s %12lu %12lu %16lu %12.6f %12.6f", tm_calls[c], (unsigned long)sum.calls,
            (unsigned long)sum.messages, (unsigned long)sum.bytes, seconds(sum.ns),
            seconds(count_of(longest, c)->ns));
    print_rank(out, longest);
  }
  struct waits w = sum_of_waits();
  fprintf(out,
          "in %lu calls ranks have waited %lu times: %lu parked, %lu spun until it came; of those "
          "parked %lu had spun, %.6f s at most\n",
          w.calls, w.parks + w.paid, w.parks, w.paid, w.vain, seconds(w.vain * w.spin_ns));
  print_libraries(out);
}

static json_t *json_of_libraries(void) {
  size_t count = 0;
  struct tm_library *libraries = list_libraries(&count);
  json_t *all = json_array();
  for (size_t i = 0; libraries != NULL && i < count; i++) {
    const struct tm_library *l = &libraries[i];
    json_array_append_new(all, json_pack("{s:s, s:s?, s:I}", "path", l->path, "shared",
                                         l->why_shared, "bytes", (json_int_t)l->bytes));
  }
  free(libraries);
  return all;
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
  return json_pack("{s:i, s:i, s:o, s:I}", "rank", rank, "node", tm_rank_node(rank), "calls", calls,
                   "parks", (json_int_t)tm_job.ranks[rank].parks);
}

static bool print_json(FILE *out) {
  json_t *ranks = json_array();
  for (int i = 0; i < tm_job.size; i++) json_array_append_new(ranks, json_of_rank(i));
  struct waits w = sum_of_waits();
  json_t *waits = json_pack("{s:I, s:I, s:I, s:I, s:f}", "calls", (json_int_t)w.calls, "parks",
                            (json_int_t)w.parks, "spins_paid", (json_int_t)w.paid, "spins_vain",
                            (json_int_t)w.vain, "spin_us", (double)w.spin_ns / 1e3);
  json_t *whole = json_pack("{s:i, s:o, s:o, s:o}", "size", tm_job.size, "waits", waits, "ranks",
                            ranks, "libraries", json_of_libraries());
  bool written = whole != NULL && json_dumpf(whole, out, JSON_INDENT(1)) == 0;
  if (written) fputc('\n', out);
  json_decref(whole);
  return written;
}

void tm_traffic_finish(void) {
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
