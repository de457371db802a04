/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in bins; queue.h says what for. */
#include "tmpi/mailbox/queue.h"

#include <stddef.h>
#include <stdlib.h>

#include "tmpi/mpi.h"

enum { FEW = 8, BINS_FIRST = 16, PER_BIN = 1, WALK = 16, PER_LINE = 8 /* bins */ };

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
 * generalized golden ratios); the upper bits count. Tags that follow each other have bins in one
 * line: programs that number their messages use them in that order. */
static size_t index_of(const struct tm_queue *queue, const struct tm_envelope *e) {
  uint32_t group = (uint32_t)e->tag / PER_LINE;
  uint64_t key = e->context * 0x8cb92ba72f3d8dd7u + (uint32_t)e->source * 0xabc98388fb8fac03u +
                 group * 0xd1b54a32d192ed03u;
  return (key >> (33 + __builtin_clz(queue->bin_count))) ^ ((uint32_t)e->tag % PER_LINE);
}

/* ---- bins */

/* An entry is looked for, and then taken out: the second time its bin is known. */
static struct tm_bin *exact_bin(struct tm_queue *queue, const struct tm_envelope *e) {
  if (queue->bins[TM_EXACT] == NULL) return &queue->few;
  if (queue->recent_bin != NULL && same(&queue->recent, e)) return queue->recent_bin;
  tm_envelope_copy(&queue->recent, e);
  queue->recent_bin = &queue->bins[TM_EXACT][index_of(queue, e)];
  return queue->recent_bin;
}

/* Receives are in the bins of TM_EXACT, whatever they name. */
static struct tm_bin *bin_of(struct tm_queue *queue, const struct tm_entry *entry, int class) {
  if (class == TM_EXACT) return exact_bin(queue, &entry->envelope);
  struct tm_envelope e = as(&entry->envelope, (enum tm_wild) class);
  return &queue->bins[class][index_of(queue, &e)];
}

static struct tm_link *link_of(struct tm_entry *entry, int class) {
  return class == TM_EXACT ? &entry->link : &((struct tm_message_entry *)entry)->wild[class - 1];
}

static void append(struct tm_queue *queue, struct tm_entry *entry, int class) {
  struct tm_bin *bin = bin_of(queue, entry, class);
  struct tm_link *link = link_of(entry, class);
  link->next = NULL;
  link->prev = entry;
  if (bin->first == NULL) {
    bin->first = entry;
    return;
  }
  struct tm_link *first = link_of(bin->first, class);
  link->prev = first->prev;
  link_of(link->prev, class)->next = entry;
  first->prev = entry;
}

static inline void unlink_entry(struct tm_bin *bin, struct tm_entry *entry, int class) {
  struct tm_link *link = link_of(entry, class);
  struct tm_entry *after = link->next != NULL ? link->next : bin->first; /* whose prev it is */
  link_of(after, class)->prev = link->prev;
  *(entry != bin->first ? &link_of(link->prev, class)->next : &bin->first) = link->next;
}

static void take_out(struct tm_queue *queue, struct tm_entry *entry, int class) {
  unlink_entry(bin_of(queue, entry, class), entry, class);
}

/* Puts all messages into the bins of a class of wildcards, which are empty. */
static void fill_bins(struct tm_queue *queue, int class) {
  for (struct tm_message_entry *m = queue->earliest; m != NULL; m = m->later)
    append(queue, &m->entry, class);
}

/* Puts the entries of an old bin into the new ones. Those with one envelope keep their order, since
 * all of them were in one old bin. */
static void split(struct tm_queue *queue, const struct tm_bin *old, int class) {
  struct tm_entry *next;
  for (struct tm_entry *e = old->first; e != NULL; e = next) {
    next = link_of(e, class)->next;
    append(queue, e, class);
  }
}

static struct tm_bin *new_bins(uint32_t count) { return calloc(count, sizeof(struct tm_bin)); }

/* More bins of each class there is, if there is memory: or else lists are longer. */
static void grow(struct tm_queue *queue) {
  uint32_t before = queue->bin_count, count = before == 0 ? BINS_FIRST : before * 2;
  struct tm_bin *bins[TM_WILDS] = {NULL};
  bool enough = count != 0;
  for (int c = 0; c < TM_WILDS && enough; c++)
    if (c == TM_EXACT || queue->bins[c] != NULL) enough = (bins[c] = new_bins(count)) != NULL;
  if (enough) queue->bin_count = count, queue->recent_bin = NULL;
  for (int c = 0; c < TM_WILDS; c++) {
    struct tm_bin *old = queue->bins[c];
    if (enough) queue->bins[c] = bins[c];
    for (uint32_t i = 0; enough && i < before; i++)
      if (old != NULL) split(queue, &old[i], c);
    free(enough ? old : bins[c]);
  }
  if (enough && before == 0) split(queue, &queue->few, TM_EXACT);
}

/* ---- entries of both kinds */

static void add(struct tm_queue *queue, struct tm_entry *entry) {
  if (queue->count++ >= (queue->bin_count == 0 ? FEW : PER_BIN * queue->bin_count)) grow(queue);
  entry->order = queue->order++;
  append(queue, entry, TM_EXACT);
}

static void forget(struct tm_queue *queue, struct tm_entry *entry) {
  queue->count--;
  take_out(queue, entry, TM_EXACT);
}

/* ---- receives: wildcards are values like others */

void tm_queue_add_receive(struct tm_queue *queue, struct tm_entry *entry) {
  queue->counts[class_of(&entry->envelope)]++;
  add(queue, entry);
}

void tm_queue_remove_receive(struct tm_queue *queue, struct tm_entry *entry) {
  queue->counts[class_of(&entry->envelope)]--;
  forget(queue, entry);
}

/* @return the oldest entry of a bin that names exactly that. */
static inline struct tm_entry *find_in(struct tm_queue *queue, const struct tm_bin *bin,
                                       const struct tm_envelope *e) {
  struct tm_entry *entry = bin->first;
  while (entry != NULL && !same(&entry->envelope, e)) {
    queue->looked++;
    entry = entry->link.next;
  }
  return entry;
}

static struct tm_entry *find_named(struct tm_queue *queue, const struct tm_envelope *e) {
  return find_in(queue, exact_bin(queue, e), e);
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

struct tm_entry *tm_queue_take_receive(struct tm_queue *queue, const struct tm_envelope *message) {
  if (queue->count == 0) return NULL;
  struct tm_entry *entry;
  if (queue->counts[TM_EXACT] != queue->count) {
    entry = tm_queue_find_receive(queue, message);
    if (entry != NULL) tm_queue_remove_receive(queue, entry);
    return entry;
  }
  struct tm_bin *bin = exact_bin(queue, message);
  entry = find_in(queue, bin, message);
  if (entry == NULL) return NULL;
  queue->counts[TM_EXACT]--;
  queue->count--;
  unlink_entry(bin, entry, TM_EXACT);
  return entry;
}

/* ---- messages: in the bins of each class there are bins of */

void tm_queue_add_message(struct tm_queue *queue, struct tm_message_entry *message) {
  add(queue, &message->entry);
  message->later = NULL;
  message->earlier = queue->latest;
  *(queue->latest != NULL ? &queue->latest->later : &queue->earliest) = message;
  queue->latest = message;
  if (!queue->wild) return;
  for (int c = TM_ANY_SOURCE; c < TM_WILDS; c++)
    if (queue->bins[c] != NULL) append(queue, &message->entry, c);
}

void tm_queue_remove_message(struct tm_queue *queue, struct tm_message_entry *message) {
  forget(queue, &message->entry);
  *(message->earlier != NULL ? &message->earlier->later : &queue->earliest) = message->later;
  *(message->later != NULL ? &message->later->earlier : &queue->latest) = message->earlier;
  if (!queue->wild) return;
  for (int c = TM_ANY_SOURCE; c < TM_WILDS; c++)
    if (queue->bins[c] != NULL) take_out(queue, &message->entry, c);
}

/* Looks at all, or at the first few. *left: there are more. */
static struct tm_entry *walk(struct tm_queue *queue, const struct tm_envelope *wanted, int most,
                             bool *left) {
  struct tm_message_entry *m = queue->earliest;
  for (; m != NULL && most > 0; most--, m = m->later) {
    if (tm_envelope_fits(&m->entry.envelope, wanted)) return &m->entry;
    queue->looked++;
  }
  *left = m != NULL;
  return NULL;
}

static struct tm_entry *find_in_bin(struct tm_queue *queue, const struct tm_envelope *wanted,
                                    int class) {
  struct tm_entry *entry = queue->bins[class][index_of(queue, wanted)].first;
  while (entry != NULL && !tm_envelope_fits(&entry->envelope, wanted)) {
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
    fill_bins(queue, class);
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
