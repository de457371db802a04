/* SPDX-License-Identifier: Apache-2.0 */
/* Reading descriptors of threads. The process is stopped, so what they say is consistent,
 * but for a thread that was stopped in the middle of a change: nothing read is trusted. */
#include "threads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "message.h"

/* What stays the same while one descriptor after the other is read. */
struct reader {
  const struct layout *layout;
  const struct process *process;
  size_t size;          /* of a descriptor */
  unsigned char *other; /* room for one */
  uint64_t now;         /* in units of parked_at */
  uint64_t main, main_low, main_size;
  struct threads *threads;
};

static void name_of(const struct reader *r, const void *descriptor, char *name, size_t size) {
  name[0] = '\0';
  if (layout_field(r->layout, "thread.named", descriptor) != 0)
    process_read_text(r->process, layout_field(r->layout, "thread.name", descriptor), name, size);
}

/* Notes id and name of another thread, for reports. */
static void note_holder(const struct reader *r, struct thread *thread, uint64_t address) {
  if (address == 0 || !process_read(r->process, address, r->other, r->size)) return;
  thread->holder_id = layout_field(r->layout, "thread.id", r->other);
  name_of(r, r->other, thread->holder_name, sizeof thread->holder_name);
}

/* @return the row "WHAT.suffix". */
static const struct mt_layout_row *row_of(const struct reader *r, const char *what,
                                          const char *suffix) {
  char name[64];
  snprintf(name, sizeof name, "%s.%s", what, suffix);
  return layout_find(r->layout, name);
}

/* The object a thread waits for, from the address of the queue in it. */
static void note_object(const struct reader *r, struct thread *thread, uint64_t queue) {
  const struct mt_layout_row *row;
  uint64_t word;
  if (queue == 0) return;
  if (row_of(r, thread->reason, "thread") != NULL) {
    note_holder(r, thread, queue);
    return;
  }
  row = row_of(r, thread->reason, "queue");
  if (row == NULL) return; /* a sleep, say */
  thread->object = queue - row->value;
  row = row_of(r, thread->reason, "name");
  if (row != NULL && process_read(r->process, thread->object + row->value, &word, sizeof word))
    process_read_text(r->process, word, thread->object_name, sizeof thread->object_name);
  row = row_of(r, thread->reason, "holder");
  if (row != NULL && process_read(r->process, thread->object + row->value, &word, sizeof word))
    note_holder(r, thread, word & ~(uint64_t)row->more);
}

static void note_stack(const struct reader *r, struct thread *thread, uint64_t at,
                       const void *descriptor) {
  unsigned char stack[64];
  uint64_t address = layout_field(r->layout, "thread.stack", descriptor);
  if (address != 0) {
    if (!process_read(r->process, address, stack, sizeof stack)) return;
    thread->stack_low = layout_field(r->layout, "stack.low", stack);
    thread->stack_size = (uint64_t)1 << (layout_field(r->layout, "stack.class_log2", stack) & 63);
  } else if (at == r->main) {
    thread->stack_low = r->main_low;
    thread->stack_size = r->main_size;
  } else if (strcmp(thread->kind, "unbound") != 0) {
    thread->stack_low = layout_field(r->layout, "thread.stack_low", descriptor);
    thread->stack_size = layout_field(r->layout, "thread.stack_size", descriptor);
  }
}

static void note_wait(const struct reader *r, struct thread *thread, const void *descriptor) {
  uint64_t why = layout_field(r->layout, "thread.why", descriptor);
  uint32_t parked_at = (uint32_t)layout_field(r->layout, "thread.parked_at", descriptor);
  uint32_t units = (uint32_t)r->now - parked_at;
  if (why == 0) return;
  thread->reason = layout_word(&r->layout->reasons, why);
  thread->waited = (double)((uint64_t)units << layout_value(r->layout, "parked_at.shift")) / 1e9;
  const struct mt_layout_row *text = row_of(r, thread->reason, "text");
  if (text == NULL)
    note_object(r, thread, layout_field(r->layout, "thread.waitq", descriptor));
  else
    process_read_text(r->process, layout_field(r->layout, text->name, descriptor), thread->call,
                      sizeof thread->call);
}

/* @return false: no memory. */
static bool add_thread(const struct reader *r, uint64_t address, const void *descriptor) {
  struct threads *threads = r->threads;
  uint32_t where = (uint32_t)layout_field(r->layout, "thread.where", descriptor);
  uint32_t bits = layout_value(r->layout, "where.state_bits");
  const char *state = layout_word(&r->layout->states, where & ((1u << bits) - 1));
  if (strcmp(state, "free") == 0) return true;
  if ((threads->count & (threads->count + 1)) == 0) { /* room for 1, 3, 7, ... is used up */
    size_t room = 2 * threads->count + 1;
    struct thread *list = realloc(threads->list, (room + 1) * sizeof *list);
    if (list == NULL) return false;
    threads->list = list;
  }
  struct thread *thread = &threads->list[threads->count++];
  memset(thread, 0, sizeof *thread);
  thread->id = layout_field(r->layout, "thread.id", descriptor);
  name_of(r, descriptor, thread->name, sizeof thread->name);
  thread->kind = layout_word(&r->layout->kinds, layout_field(r->layout, "thread.kind", descriptor));
  thread->state = state;
  thread->fresh = layout_field(r->layout, "thread.special", descriptor) &
                  layout_value(r->layout, "special.fresh");
  bool unbound = strcmp(thread->kind, "unbound") == 0;
  thread->vp = unbound && strcmp(state, "ended") != 0 ? (int)(where >> bits) : -1;
  thread->at_most = unbound;
  bool suspended = unbound && (strcmp(state, "parked") == 0 || strcmp(state, "ready") == 0);
  if (suspended && !thread->fresh)
    thread->context = address + layout_value(r->layout, "thread.context");
  if (strcmp(state, "ended") != 0) note_stack(r, thread, address, descriptor);
  note_wait(r, thread, descriptor);
  return true;
}

static bool read_chunk(const struct reader *r, uint64_t address, size_t count) {
  unsigned char *copy = malloc(count * r->size);
  bool good = copy != NULL && process_read(r->process, address, copy, count * r->size);
  for (size_t i = 0; good && i < count; i++)
    good = add_thread(r, address + i * r->size, copy + i * r->size);
  free(copy);
  return good;
}

static bool read_slab(const struct reader *r, uint64_t slab) {
  const struct mt_layout_row *used_row = layout_find(r->layout, "slab.used");
  uint32_t used = 0, per_chunk = layout_value(r->layout, "slab.per_chunk");
  uint64_t chunks = slab + layout_value(r->layout, "slab.chunks"), chunk;
  if (used_row == NULL || !process_read(r->process, slab + used_row->value, &used, sizeof used))
    return false;
  for (; used > 0; chunks += sizeof chunk) {
    uint32_t count = used < per_chunk ? used : per_chunk;
    if (!process_read(r->process, chunks, &chunk, sizeof chunk) || !read_chunk(r, chunk, count))
      return false;
    used -= count;
  }
  return true;
}

static int by_id(const void *a, const void *b) {
  uint64_t x = ((const struct thread *)a)->id, y = ((const struct thread *)b)->id;
  return (x > y) - (x < y);
}

bool threads_read(struct threads *threads, const struct layout *layout,
                  const struct process *process) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  struct reader r = {.layout = layout, .process = process, .threads = threads};
  r.size = layout_value(layout, "thread");
  r.other = malloc(r.size);
  r.now = ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) >>
          layout_value(layout, "parked_at.shift");
  memset(threads, 0, sizeof *threads);
  uint32_t running = 0;
  uint64_t rt = layout->runtime, slab_size = layout_value(layout, "slab");
  bool good =
      r.other != NULL &&
      process_read(process, rt + layout_value(layout, "runtime.running"), &running, 4) &&
      process_read(process, rt + layout_value(layout, "runtime.main"), &r.main, 8) &&
      process_read(process, rt + layout_value(layout, "runtime.main_low"), &r.main_low, 8) &&
      process_read(process, rt + layout_value(layout, "runtime.main_size"), &r.main_size, 8) &&
      process_read(process, rt + layout_value(layout, "runtime.vp_count"), &threads->vps, 4) &&
      process_read(process, rt + layout_value(layout, "runtime.awake"), &threads->awake, 4);
  threads->running = running != 0;
  for (uint64_t i = 0; good && running && i < 2; i++)
    good = read_slab(&r, layout->slabs + i * slab_size);
  free(r.other);
  if (good) {
    if (threads->count > 0) qsort(threads->list, threads->count, sizeof *threads->list, by_id);
    return true;
  }
  message("cannot read the threads of process %d: its memory makes no sense (has it just ended?)",
          (int)process->pid);
  threads_free(threads);
  return false;
}

void threads_free(struct threads *threads) {
  for (size_t i = 0; i < threads->count; i++) free(threads->list[i].frames);
  free(threads->list);
  memset(threads, 0, sizeof *threads);
}
