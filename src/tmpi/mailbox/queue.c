/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in bins; queue.h says what for. */
#include "tmpi/mailbox/queue.h"

#include <stddef.h>
#include <stdlib.h>

#include "tmpi/mpi.h"

enum { FEW = 8, BINS_FIRST = 16, PER_BIN = 2, WALK = 16 };

static enum tm_wild class_of(const struct tm_envelope *e) {
  return (enum tm_wild)((e->source == MPI_ANY_SOURCE) * TM_ANY_SOURCE |
                        (e->tag == MPI_ANY_TAG) * TM_ANY_TAG);
}

/* @return the envelope as an envelope of a class names it. */
static struct tm_envelope as(const struct tm_envelope *e, enum tm_wild class) {
  return (struct tm_envelope){e->context, class & TM_ANY_SOURCE ? MPI_ANY_SOURCE : e->source,
                              class & TM_ANY_TAG ? MPI_ANY_TAG : e->tag};
}

static bool same(const struct tm_envelope *a, const struct tm_envelope *b) {
  return a->context == b->context && a->source == b->source && a->tag == b->tag;
}

bool tm_envelope_fits(const struct tm_envelope *message, const struct tm_envelope *wanted) {
  return message->context == wanted->context &&
         (wanted->source == MPI_ANY_SOURCE || wanted->source == message->source) &&
         (wanted->tag == MPI_ANY_TAG || wanted->tag == message->tag);
}

/* Linear, by three multipliers that spread numbers evenly which follow each other (Roberts's
 * generalized golden ratios); the upper bits count. */
static size_t index_of(const struct tm_queue *queue, const struct tm_envelope *e) {
  uint64_t key = e->context * 0x8cb92ba72f3d8dd7u + (uint32_t)e->source * 0xabc98388fb8fac03u +
                 (uint32_t)e->tag * 0xd1b54a32d192ed03u;
  return key >> (33 + __builtin_clz(queue->bin_count));
}

/* ---- bins */

static struct tm_bin *exact_bin(struct tm_queue *queue, const struct tm_envelope *e) {
  if (queue->bins[TM_EXACT] == NULL) return &queue->few;
  return &queue->bins[TM_EXACT][index_of(queue, e)];
}

static struct tm_bin *wild_bin(struct tm_queue *queue, const struct tm_entry *message, int class) {
  struct tm_envelope e = as(message->envelope, (enum tm_wild) class);
  return &queue->bins[class][index_of(queue, &e)];
}

static struct tm_link *link_of(struct tm_entry *entry, int class) {
  return class == TM_EXACT ? &entry->link : &((struct tm_message_entry *)entry)->wild[class - 1];
}

static void append(struct tm_bin *bin, struct tm_entry *entry, int class) {
  struct tm_link *link = link_of(entry, class);
  link->next = NULL;
  link->prev = bin->last;
  *(bin->last != NULL ? &link_of(bin->last, class)->next : &bin->first) = entry;
  bin->last = entry;
}

static void take_out(struct tm_bin *bin, struct tm_entry *entry, int class) {
  struct tm_link *link = link_of(entry, class);
  *(link->prev != NULL ? &link_of(link->prev, class)->next : &bin->first) = link->next;
  *(link->next != NULL ? &link_of(link->next, class)->prev : &bin->last) = link->prev;
}

/* Puts all entries into the bins of a class, which are empty. */
static void refill(struct tm_queue *queue, int class) {
  for (struct tm_entry *e = queue->earliest; e != NULL; e = e->later)
    append(class == TM_EXACT ? exact_bin(queue, e->envelope) : wild_bin(queue, e, class), e, class);
}

static struct tm_bin *new_bins(uint32_t count) { return calloc(count, sizeof(struct tm_bin)); }

/* More bins of each class there is, if there is memory: or else lists are longer. */
static void grow(struct tm_queue *queue) {
  uint32_t count = queue->bin_count == 0 ? BINS_FIRST : queue->bin_count * 2;
  struct tm_bin *bins[TM_WILDS] = {NULL};
  bool enough = count != 0;
  for (int c = 0; c < TM_WILDS && enough; c++)
    if (c == TM_EXACT || queue->bins[c] != NULL) enough = (bins[c] = new_bins(count)) != NULL;
  for (int c = 0; c < TM_WILDS; c++) {
    free(enough ? queue->bins[c] : bins[c]);
    if (enough) queue->bins[c] = bins[c];
  }
  if (!enough) return;
  queue->bin_count = count;
  for (int c = 0; c < TM_WILDS; c++)
    if (queue->bins[c] != NULL) refill(queue, c);
}

/* ---- entries of both kinds */

static void add(struct tm_queue *queue, struct tm_entry *entry) {
  if (queue->count++ >= (queue->bin_count == 0 ? FEW : PER_BIN * queue->bin_count)) grow(queue);
  entry->order = queue->order++;
  entry->later = NULL;
  entry->earlier = queue->latest;
  *(queue->latest != NULL ? &queue->latest->later : &queue->earliest) = entry;
  queue->latest = entry;
  append(exact_bin(queue, entry->envelope), entry, TM_EXACT);
}

static void forget(struct tm_queue *queue, struct tm_entry *entry) {
  queue->count--;
  *(entry->earlier != NULL ? &entry->earlier->later : &queue->earliest) = entry->later;
  *(entry->later != NULL ? &entry->later->earlier : &queue->latest) = entry->earlier;
  take_out(exact_bin(queue, entry->envelope), entry, TM_EXACT);
}

/* ---- receives: wildcards are values like others */

void tm_queue_add_receive(struct tm_queue *queue, struct tm_entry *entry) {
  queue->counts[class_of(entry->envelope)]++;
  add(queue, entry);
}

void tm_queue_remove_receive(struct tm_queue *queue, struct tm_entry *entry) {
  queue->counts[class_of(entry->envelope)]--;
  forget(queue, entry);
}

/* @return the oldest receive that names exactly that. */
static struct tm_entry *find_named(struct tm_queue *queue, const struct tm_envelope *e) {
  struct tm_entry *entry = exact_bin(queue, e)->first;
  while (entry != NULL && !same(entry->envelope, e)) {
    queue->looked++;
    entry = entry->link.next;
  }
  return entry;
}

/* The oldest with wildcards, if it is older than the best so far. */
static struct tm_entry *find_wild(struct tm_queue *queue, const struct tm_envelope *message,
                                  struct tm_entry *best) {
  for (int c = TM_ANY_SOURCE; c < TM_WILDS; c++) {
    if (queue->counts[c] == 0) continue;
    struct tm_envelope e = as(message, (enum tm_wild)c);
    struct tm_entry *entry = find_named(queue, &e);
    if (entry != NULL && (best == NULL || entry->order < best->order)) best = entry;
  }
  return best;
}

struct tm_entry *tm_queue_find_receive(struct tm_queue *queue, const struct tm_envelope *message) {
  if (queue->count == 0) return NULL;
  struct tm_entry *exact = find_named(queue, message);
  return queue->counts[TM_EXACT] == queue->count ? exact : find_wild(queue, message, exact);
}

/* ---- messages: in the bins of each class there are bins of */

void tm_queue_add_message(struct tm_queue *queue, struct tm_message_entry *message) {
  add(queue, &message->entry);
  if (!queue->wild) return;
  for (int c = TM_ANY_SOURCE; c < TM_WILDS; c++)
    if (queue->bins[c] != NULL) append(wild_bin(queue, &message->entry, c), &message->entry, c);
}

void tm_queue_remove_message(struct tm_queue *queue, struct tm_message_entry *message) {
  forget(queue, &message->entry);
  if (!queue->wild) return;
  for (int c = TM_ANY_SOURCE; c < TM_WILDS; c++)
    if (queue->bins[c] != NULL) take_out(wild_bin(queue, &message->entry, c), &message->entry, c);
}

/* Looks at all, or at the first few. *left: there are more. */
static struct tm_entry *walk(struct tm_queue *queue, const struct tm_envelope *wanted, int most,
                             bool *left) {
  struct tm_entry *entry = queue->earliest;
  for (; entry != NULL && most > 0; most--, entry = entry->later) {
    if (tm_envelope_fits(entry->envelope, wanted)) return entry;
    queue->looked++;
  }
  *left = entry != NULL;
  return NULL;
}

static struct tm_entry *find_in_bin(struct tm_queue *queue, const struct tm_envelope *wanted,
                                    int class) {
  struct tm_entry *entry = queue->bins[class][index_of(queue, wanted)].first;
  while (entry != NULL && !tm_envelope_fits(entry->envelope, wanted)) {
    queue->looked++;
    entry = link_of(entry, class)->next;
  }
  return entry;
}

static struct tm_entry *find_message(struct tm_queue *queue, const struct tm_envelope *wanted) {
  if (queue->count == 0) return NULL;
  int class = class_of(wanted);
  if (class == TM_EXACT) return find_named(queue, wanted);
  if (queue->bins[class] == NULL) {
    bool left;
    struct tm_entry *found = walk(queue, wanted, WALK, &left);
    if (found != NULL || !left) return found;
    queue->bins[class] = queue->bin_count > 0 ? new_bins(queue->bin_count) : NULL;
    if (queue->bins[class] == NULL) return walk(queue, wanted, INT32_MAX, &left); /* no memory */
    queue->wild = true;
    refill(queue, class);
  }
  return find_in_bin(queue, wanted, class);
}

struct tm_message_entry *tm_queue_find_message(struct tm_queue *queue,
                                               const struct tm_envelope *wanted) {
  return (struct tm_message_entry *)find_message(queue, wanted); /* its first member */
}

void tm_queue_free(struct tm_queue *queue) {
  for (int c = 0; c < TM_WILDS; c++) free(queue->bins[c]);
}
