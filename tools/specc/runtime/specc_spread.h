/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file specc_spread.h
 * Ports that are mapped to bits of variables or signals, and to several joined.
 *
 * Such a port has a list of the places of its bits, the highest first. A signal's bits are read
 * where its value of now is, and written where the one to come is. A port of signals is a view of
 * them, too: it has events of its own.
 */
#ifndef SPECC_SPREAD_H
#define SPECC_SPREAD_H

#include <sim_switch.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "specc_bits.h"

/** Bits of one variable or signal: `count`, of which the last one is bit `last`. */
struct sc_part {
  struct sm_signal *signal; /**< NULL: of a variable */
  void *variable;           /**< of a signal: of its value now */
  int size, width, last, count;
  int is_signed;
};

struct sc_spread {
  struct sm_view view; /**< of signals */
  int count, width;
  struct sc_part *parts;
};

static inline void *sc_new(void *old, size_t size) {
  void *made = realloc(old, size);
  if (made == NULL) {
    fputs("specc: no memory for the model\n", stderr);
    exit(1);
  }
  return made;
}

static inline struct sc_spread *sc_spread_new(void) {
  struct sc_spread *spread = sc_new(NULL, sizeof *spread);
  *spread = (struct sc_spread){.count = 0};
  return spread;
}

static inline void sc_spread_add_part(struct sc_spread *spread, struct sc_part part) {
  spread->parts = sc_new(spread->parts, (size_t)(spread->count + 1) * sizeof part);
  spread->parts[spread->count++] = part;
  spread->width += part.count;
}

static inline void sc_spread_add(struct sc_spread *spread, struct sm_signal *signal, void *variable,
                                 size_t size, int width, int is_signed, int last, int count) {
  sc_spread_add_part(spread,
                     (struct sc_part){signal, variable, (int)size, width, last, count, is_signed});
}

/** Adds bits of a port that is spread itself. */
static inline void sc_spread_cut(struct sc_spread *spread, const struct sc_spread *whole, int last,
                                 int count) {
  int end = whole->width; /* the last bit of the part, in the whole */
  for (int i = 0; i < whole->count; i++) {
    struct sc_part part = whole->parts[i];
    end -= part.count;
    int low = last > end ? last : end;
    int high = last + count < end + part.count ? last + count : end + part.count;
    if (low >= high) continue;
    part.last += low - end;
    part.count = high - low;
    sc_spread_add_part(spread, part);
  }
}

/** Where the part's variable has the value to come. */
static inline void *sc_spread_next(const struct sc_part *part) {
  if (part->signal == NULL) return part->variable;
  const mltp_sim_buffered_t *signal = &part->signal->buffered;
  return (char *)signal->pending_ + ((char *)part->variable - (char *)signal->current_);
}

/** Copies all bits of a port; next: those to come. */
static inline void *sc_spread_read(const struct sc_spread *spread, void *to, int next) {
  int at = spread->width;
  for (int i = 0; i < spread->count; i++) {
    const struct sc_part *part = &spread->parts[i];
    at -= part->count;
    sc_bits_move(to, at, next ? sc_spread_next(part) : part->variable, part->last, part->count);
  }
  return to;
}

/** Changes the bits of a port; those beside them stay. */
static inline void sc_spread_set(const struct sc_spread *spread, const void *value) {
  int at = spread->width;
  if (mltp_sim_parallel != 0) mltp_sim_ordered();
  for (int i = 0; i < spread->count; i++) {
    const struct sc_part *part = &spread->parts[i];
    void *to = sc_spread_next(part);
    if (part->signal != NULL) mltp_sim_write(&part->signal->buffered);
    at -= part->count;
    sc_bits_move(to, part->last, value, at, part->count);
    sc_bits_fit(to, (size_t)part->size, part->width, part->is_signed);
  }
}

static inline unsigned __int128 sc_spread_get(const struct sc_spread *spread, int next) {
  unsigned __int128 value = 0;
  if (mltp_sim_parallel != 0) mltp_sim_ordered();
  sc_spread_read(spread, &value, next);
  return value;
}

/** The same of more than 128 bits. */
static inline sc_word *sc_spread_get_wide(sc_word *to, int width, int is_signed,
                                          const struct sc_spread *spread, int next) {
  if (mltp_sim_parallel != 0) mltp_sim_ordered();
  sc_spread_read(spread, to, next);
  return sc_bits_fitted(to, width, is_signed);
}

static inline void sc_spread_view(const struct sm_view *view, void *to) {
  sc_spread_read((const struct sc_spread *)view, to, 0);
}

/** Gives a port of signals its events. */
static inline void sc_spread_watch(struct sc_spread *spread, const char *name) {
  struct sm_view *view = &spread->view;
  sm_view_init(view, name);
  view->read = sc_spread_view;
  view->size = (size_t)(spread->width + 7) / 8;
  view->before = memset(sc_new(NULL, view->size), 0, view->size);
  view->now = memset(sc_new(NULL, view->size), 0, view->size);
  for (int i = 0; i < spread->count; i++)
    sm_view_add(view, spread->parts[i].signal, sc_new(NULL, sizeof(struct sm_view_link)));
}

#endif
