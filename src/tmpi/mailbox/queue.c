/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in bins; queue.h says what for. */
#include "tmpi/mailbox/queue.h"

#include <stdlib.h>

#include "tmpi/mpi.h"

enum { FEW = 8, BINS_FIRST = 16, PER_BIN = 2 };

static bool is_wild(const struct tm_envelope *e) {
  return e->source == MPI_ANY_SOURCE || e->tag == MPI_ANY_TAG;
}

static bool same(const struct tm_envelope *a, const struct tm_envelope *b) {
  return a->context == b->context && a->source == b->source && a->tag == b->tag;
}

bool tm_envelope_fits(const struct tm_envelope *message, const struct tm_envelope *wanted) {
  return message->context == wanted->context &&
         (wanted->source == MPI_ANY_SOURCE || wanted->source == message->source) &&
         (wanted->tag == MPI_ANY_TAG || wanted->tag == message->tag);
}

static struct tm_bin *bin_of(struct tm_queue *queue, const struct tm_envelope *e) {
  if (queue->bins == NULL) return &queue->few;
  uint64_t key = e->context * 0x9e3779b97f4a7c15u + (uint32_t)e->source;
  key = key * 0x9e3779b97f4a7c15u + (uint32_t)e->tag;
  return &queue->bins[(key * 0x9e3779b97f4a7c15u >> 32) & (queue->bin_count - 1)];
}

static struct tm_bin *home_of(struct tm_queue *queue, const struct tm_envelope *e) {
  return is_wild(e) ? &queue->wild : bin_of(queue, e);
}

static void append(struct tm_bin *bin, struct tm_entry *entry) {
  entry->next = NULL;
  entry->prev = bin->last;
  *(bin->last != NULL ? &bin->last->next : &bin->first) = entry;
  bin->last = entry;
}

/* More bins, if there is memory: or else lists are longer. */
static void grow(struct tm_queue *queue) {
  uint32_t count = queue->bin_count == 0 ? BINS_FIRST : queue->bin_count * 2;
  struct tm_bin *bins = calloc(count, sizeof *bins);
  if (bins == NULL) return;
  free(queue->bins);
  queue->bins = bins;
  queue->bin_count = count;
  for (struct tm_entry *e = queue->earliest; e != NULL; e = e->later)
    if (!is_wild(e->envelope)) append(bin_of(queue, e->envelope), e);
}

void tm_queue_add(struct tm_queue *queue, struct tm_entry *entry) {
  if (queue->count++ >= (queue->bins == NULL ? FEW : PER_BIN * queue->bin_count)) grow(queue);
  entry->order = queue->order++;
  entry->later = NULL;
  entry->earlier = queue->latest;
  *(queue->latest != NULL ? &queue->latest->later : &queue->earliest) = entry;
  queue->latest = entry;
  append(home_of(queue, entry->envelope), entry);
}

void tm_queue_remove(struct tm_queue *queue, struct tm_entry *entry) {
  struct tm_bin *bin = home_of(queue, entry->envelope);
  queue->count--;
  *(entry->earlier != NULL ? &entry->earlier->later : &queue->earliest) = entry->later;
  *(entry->later != NULL ? &entry->later->earlier : &queue->latest) = entry->earlier;
  *(entry->prev != NULL ? &entry->prev->next : &bin->first) = entry->next;
  *(entry->next != NULL ? &entry->next->prev : &bin->last) = entry->prev;
}

struct tm_entry *tm_queue_find_receive(struct tm_queue *queue, const struct tm_envelope *message) {
  struct tm_entry *exact = bin_of(queue, message)->first, *wild = queue->wild.first;
  while (exact != NULL && !same(exact->envelope, message)) exact = exact->next;
  while (wild != NULL && !tm_envelope_fits(message, wild->envelope)) wild = wild->next;
  if (exact == NULL || wild == NULL) return exact != NULL ? exact : wild;
  return exact->order < wild->order ? exact : wild;
}

struct tm_entry *tm_queue_find_message(struct tm_queue *queue, const struct tm_envelope *wanted) {
  if (is_wild(wanted)) {
    struct tm_entry *any = queue->earliest;
    while (any != NULL && !tm_envelope_fits(any->envelope, wanted)) any = any->later;
    return any;
  }
  struct tm_entry *exact = bin_of(queue, wanted)->first;
  while (exact != NULL && !same(exact->envelope, wanted)) exact = exact->next;
  return exact;
}
