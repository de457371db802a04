/* SPDX-License-Identifier: Apache-2.0 */
/* mltp dump: stops the process, reads its threads and their backtraces, lets it continue,
 * and then takes its time to look up names and write. docs/design/009 has the reasons. */
#include "dump.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copies.h"
#include "frames.h"
#include "message.h"

/* ---- as text */

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static void print_frame(size_t number, uint64_t address, const struct place *place) {
  printf("    #%-2zu ", number);
  if (place->function != NULL)
    printf("%s", place->function);
  else
    printf("0x%" PRIx64, address);
  if (place->file != NULL) printf(" at %s:%d", place->file, place->line);
  if (place->module != NULL && place->file == NULL)
    printf(" (%s+0x%" PRIx64 ")", base_name(place->module), place->offset);
  printf("\n");
}

static void print_wait(const struct thread *t) {
  printf("waits for %s", t->call[0] != '\0' ? t->call : t->reason);
  if (t->object != 0) {
    printf(" 0x%" PRIx64 " '%s'", t->object, t->object_name);
    if (t->holder_id != 0)
      printf(" (held by thread %" PRIu64 " '%s')", t->holder_id, t->holder_name);
  } else if (t->holder_id != 0) {
    printf(" %" PRIu64 " '%s'", t->holder_id, t->holder_name);
  }
  if (!t->fresh) printf(", for %s%.1f s", t->at_most ? "at most " : "", t->waited);
}

static void print_thread(const struct thread *t, Dwfl *dwfl) {
  printf("  thread %" PRIu64 " '%s' (%s): ", t->id, t->name, t->kind);
  if (t->reason != NULL)
    print_wait(t);
  else
    printf("%s", t->fresh ? "ready, not started" : t->state);
  if (t->vp >= 0) printf(", %s VP %d", strcmp(t->state, "parked") == 0 ? "last on" : "on", t->vp);
  if (t->tid != 0) printf(", kernel thread %d", (int)t->tid);
  printf("\n");
  for (size_t i = 0; i < t->frame_count; i++) {
    struct place place = frames_place(dwfl, t->frames[i], i == 0);
    print_frame(i, t->frames[i], &place);
  }
}

static void print_text(const struct threads *threads, pid_t pid, Dwfl *dwfl) {
  printf("mltp: all threads of process %d:\n", (int)pid);
  for (size_t i = 0; i < threads->count; i++) print_thread(&threads->list[i], dwfl);
  printf("  %zu threads; %u VPs, %d awake\n", threads->count, threads->vps, (int)threads->awake);
}

/* ---- as JSON */

/* A text that is no UTF-8 is left out. */
static void set_text(json_t *object, const char *key, const char *text) {
  if (text != NULL) json_object_set_new(object, key, json_string(text));
}

static void set_address(json_t *object, const char *key, uint64_t address) {
  char text[24];
  snprintf(text, sizeof text, "0x%" PRIx64, address);
  set_text(object, key, text);
}

static void set_number(json_t *object, const char *key, uint64_t number) {
  json_object_set_new(object, key, json_integer((json_int_t)number));
}

static json_t *frame_json(uint64_t address, const struct place *place) {
  json_t *frame = json_object();
  set_address(frame, "address", address);
  set_text(frame, "function", place->function);
  set_text(frame, "module", place->module);
  if (place->module != NULL) set_address(frame, "offset", place->offset);
  set_text(frame, "file", place->file);
  if (place->file != NULL) set_number(frame, "line", (uint64_t)place->line);
  return frame;
}

static json_t *wait_json(const struct thread *t) {
  json_t *wait = json_object();
  set_text(wait, "what", t->reason);
  if (t->call[0] != '\0') set_text(wait, "call", t->call);
  if (t->object != 0) {
    set_address(wait, "address", t->object);
    set_text(wait, "name", t->object_name);
  }
  if (t->holder_id != 0) set_number(wait, t->object != 0 ? "held_by" : "thread", t->holder_id);
  if (!t->fresh) {
    json_object_set_new(wait, "seconds", json_real(t->waited));
    json_object_set_new(wait, "at_most", json_boolean(t->at_most));
  }
  return wait;
}

static json_t *thread_json(const struct thread *t, Dwfl *dwfl) {
  json_t *thread = json_object(), *frames = json_array();
  set_number(thread, "id", t->id);
  set_text(thread, "name", t->name);
  set_text(thread, "kind", t->kind);
  set_text(thread, "state", t->state);
  json_object_set_new(thread, "started", json_boolean(!t->fresh));
  if (t->vp >= 0) set_number(thread, "vp", (uint64_t)t->vp);
  if (t->tid != 0) set_number(thread, "kernel_thread", (uint64_t)t->tid);
  if (t->reason != NULL) json_object_set_new(thread, "waits_for", wait_json(t));
  for (size_t i = 0; i < t->frame_count; i++) {
    struct place place = frames_place(dwfl, t->frames[i], i == 0);
    json_array_append_new(frames, frame_json(t->frames[i], &place));
  }
  json_object_set_new(thread, "frames", frames);
  return thread;
}

/* Writes one thread at a time, each on a line of its own: 10^5 threads as one object took 800 MB.
 * @return false: no memory, or the output failed. */
static bool print_json(const struct threads *threads, pid_t pid, Dwfl *dwfl) {
  bool good = true;
  printf("{\n \"pid\": %d,\n \"vps\": %u,\n \"awake\": %d,\n \"threads\": [", (int)pid,
         threads->vps, (int)threads->awake);
  for (size_t i = 0; good && i < threads->count; i++) {
    json_t *thread = thread_json(&threads->list[i], dwfl);
    printf("%s\n  ", i == 0 ? "" : ",");
    good = json_dumpf(thread, stdout, JSON_COMPACT) == 0;
    json_decref(thread);
  }
  printf("\n ]\n}\n");
  return good;
}

/* ---- the command */

/* While the process is stopped. @return false after a message. */
static bool read_all(struct threads *threads, struct layout *layout, struct process *process,
                     Dwfl *dwfl) {
  if (!layout_read(layout, process, dwfl) || !threads_read(threads, layout, process)) return false;
  if (!threads->running)
    message("nothing to show of process %d: it is not between mltp_init() and mltp_finalize()",
            (int)process->pid);
  else
    frames_read(threads, layout, process, dwfl);
  return threads->running;
}

int dump(pid_t pid, bool json) {
  struct process process;
  struct threads threads = {0};
  struct layout layout = {0};
  if (!process_stop(&process, pid)) return 1;
  copies_read(pid);
  Dwfl *dwfl = frames_open(pid);
  bool good = dwfl != NULL && read_all(&threads, &layout, &process, dwfl);
  process_continue(&process);
  if (good && json)
    good = print_json(&threads, pid, dwfl);
  else if (good)
    print_text(&threads, pid, dwfl);
  if (good && (fflush(stdout) != 0 || ferror(stdout) != 0)) {
    message("cannot write: the output is closed or full (nothing is lost: ask again)");
    good = false;
  }
  threads_free(&threads);
  layout_free(&layout);
  dwfl_end(dwfl);
  copies_free();
  return good ? 0 : 1;
}
