/* SPDX-License-Identifier: Apache-2.0 */
/* The table of constants. */
#include "policy/tuning.h"

#include <ctype.h>
#include <string.h>

enum { SET_MOST = 1000000000 }; /* a time set by hand is a second at most */

/* clang-format off: a table reads better as one */
static const struct mt_tunable_row rows[MT_TUNABLES] = {
    /* costs: key, itself, -, -, least, most, assumed, meaning */
    [MT_CLOCK_NS] = {"clock_ns", MT_CLOCK_NS, 10, false, 5, 5000, 20,
                     "one reading of the clock; measured at start"},
    [MT_PAUSE_PS] = {"pause_ps", MT_PAUSE_PS, 10, false, 500, 200000, 28000,
                     "one pause of a spinning processor; measured at start"},
    [MT_LOCKED_PS] = {"locked_ps", MT_LOCKED_PS, 10, false, 500, 200000, 6000,
                      "one locked instruction on a line in the own cache; measured at start"},
    [MT_LINE_NS] = {"line_ns", MT_LINE_NS, 10, false, 30, 2000, 100,
                    "one transfer of a modified cache line between CPUs; learned by searches"},
    [MT_PARK_NS] = {"park_ns", MT_PARK_NS, 10, false, 20, 50000, 250,
                    "a park and an unpark on one VP; measured at start"},
    [MT_WAKE_NS] = {"wake_ns", MT_WAKE_NS, 10, false, 2000, 400000, 50000,
                    "from waking a sleeping VP until it runs; learned by wake-ups"},
    /* key, of, tenths, in pauses, least, most, -, meaning */
    [MT_IDLE_SPIN_NS] =
        {"idle_spin_ns", MT_WAKE_NS, 10, false, 10000, 200000, 0,
         "an idle VP searches before it sleeps: as long as a wake-up takes, so it never costs more "
         "than twice the best choice"},
    [MT_ALONE_SPIN_NS] =
        {"alone_spin_ns", MT_WAKE_NS, 200, false, 200000, 5000000, 0,
         "the same if each thread has a VP and a CPU for itself: 20 wake-ups, so sleeping adds at "
         "most a twentieth to a wait"},
    [MT_AWAIT_SPIN_NS] = {"await_spin_ns", MT_PARK_NS, 10, false, 0, 50000, 0,
                          "a waiter spins while its waker runs: as long as a park takes"},
    [MT_SCAN_PAUSES] =
        {"scan_pauses", MT_LINE_NS, 45, true, 4, 256, 0,
         "pauses between two looks of a searcher at other queues: each look takes a line from the "
         "VP that owns the queue"},
    [MT_INBOX_PAUSES] =
        {"inbox_pauses", MT_LINE_NS, 180, true, 8, 512, 0,
         "pauses for the inbox before a search: a round trip through another VP, some nine lines, "
         "each of which may take twice what is learned"},
    [MT_LOOKS_PER_CLOCK] =
        {"looks_per_clock", MT_CLOCK_NS, 224, true, 4, 512, 0,
         "looks of a spinner between two readings of the clock: the clock takes a small share"},
    [MT_LOOK_PAUSES] =
        {"look_pauses", MT_LINE_NS, 2, true, 1, 16, 0,
         "pauses between two looks of a thread that spins alone: a look takes the line from a CPU "
         "that is about to write it, so there are some five in the time of a transfer"},
    [MT_REPLY_PAUSES] =
        {"reply_pauses", MT_LINE_NS, 20, true, 2, 256, 0,
         "longest learned delay before a look for the answer to a message: two lines, there and "
         "back"},
    [MT_LONE_NS] =
        {"lone_ns", MT_LINE_NS, 500, false, 1000, 100000, 0,
         "a VP that passes no scheduling point for this time will not soon run its lone thread"},
    [MT_MOVE_NS] =
        {"move_ns", MT_LINE_NS, 25, false, 50, 10000, 0,
         "a theft pays if each thread keeps the thief busy for this time: a share of the request "
         "and two lines"},
    [MT_RANK_MOVE_NS] =
        {"rank_move_ns", MT_LINE_NS, 200, false, 400, 80000, 0,
         "the same for MPI ranks: their messages and what they work on cross between VPs"},
    [MT_RANK_LONE_NS] = {"rank_lone_ns", MT_LINE_NS, 5000, false, 10000, 1000000, 0,
                         "the same as lone_ns for MPI ranks: thousands of lines that a rank works "
                         "on follow it, some ten at a time; waiting costs twice the best choice "
                         "at most"},
    [MT_REQUEST_WAIT_NS] =
        {"request_wait_ns", MT_LINE_NS, 1000, false, 2000, 200000, 0,
         "a thief waits for the owner's answer before it insists: insisting interrupts every CPU"},
    [MT_INSIDE_WAIT_NS] = {"inside_wait_ns", MT_LINE_NS, 200, false, 500, 50000, 0,
                           "an owner that stays inside its queue for longer has lost its CPU"},
    [MT_LOCK_SPIN_NS] = {"lock_spin_ns", MT_LINE_NS, 200, false, 500, 100000, 0,
                         "a lock's waiter spins while the holder runs, then parks"},
    [MT_LOCK_DELAY_PAUSES] =
        {"lock_delay_pauses", MT_LINE_NS, 400, true, 4, 4096, 0,
         "longest learned delay before a waiter's first look: a look takes the line from the "
         "holder twice, so at most a twentieth of the holder's time"},
};
/* clang-format on */

const struct mt_tunable_row *mt_tunable_row(enum mt_tunable which) { return &rows[which]; }

uint64_t mt_tunable_bound(enum mt_tunable which, uint64_t value) {
  const struct mt_tunable_row *row = &rows[which];
  return value < row->least ? row->least : value > row->most ? row->most : value;
}

uint64_t mt_tunable_derived(enum mt_tunable which, uint64_t cost, uint64_t pause_ps) {
  const struct mt_tunable_row *row = &rows[which];
  uint64_t value = cost * row->tenths / 10;
  if (row->in_pauses) value = value * 1000 / (pause_ps + 1);
  return mt_tunable_bound(which, value);
}

uint64_t mt_cost_learned(enum mt_tunable which, uint64_t value, uint64_t sample) {
  if (sample <= value) return mt_tunable_bound(which, value - (value - sample) / 8);
  uint64_t more = sample - value < value ? sample - value : value;
  return mt_tunable_bound(which, value + (more + 15) / 16);
}

void mt_tuning_derive(struct mt_tuning *tuning) {
  for (int i = MT_COSTS; i < MT_TUNABLES; i++)
    if ((tuning->fixed >> i & 1) == 0)
      tuning->value[i] = mt_tunable_derived((enum mt_tunable)i, tuning->value[rows[i].of],
                                            tuning->value[MT_PAUSE_PS]);
}

void mt_tuning_assume(struct mt_tuning *tuning) {
  tuning->fixed = tuning->known = 0;
  for (int i = 0; i < MT_COSTS; i++) tuning->value[i] = rows[i].assumed;
  mt_tuning_derive(tuning);
}

/* @return the row that a line of a file names; -1: none. */
static int row_of(const char *key, size_t length) {
  for (int i = 0; i < MT_TUNABLES; i++)
    if (strlen(rows[i].key) == length && strncmp(rows[i].key, key, length) == 0) return i;
  return -1;
}

/* @return whether a line, without its end, was understood. */
static bool parse_line(struct mt_tuning *tuning, const char *line, size_t length) {
  const char *end = line + length;
  while (line < end && isspace((unsigned char)*line)) line++;
  while (end > line && isspace((unsigned char)end[-1])) end--;
  if (line == end || *line == '#') return true;
  const char *equals = memchr(line, '=', (size_t)(end - line));
  int row = equals != NULL ? row_of(line, (size_t)(equals - line)) : -1;
  if (row < 0 || equals + 1 == end || end - equals > 11) return false;
  uint64_t value = 0;
  for (const char *digit = equals + 1; digit < end; digit++) {
    if (!isdigit((unsigned char)*digit)) return false;
    value = value * 10 + (uint64_t)(*digit - '0');
  }
  if (value > SET_MOST) return false;
  tuning->value[row] = value;
  tuning->fixed |= 1u << row;
  return true;
}

int mt_tuning_parse(struct mt_tuning *tuning, const char *text) {
  struct mt_tuning changed = *tuning;
  for (int number = 1; *text != '\0'; number++) {
    size_t length = strcspn(text, "\n");
    if (!parse_line(&changed, text, length)) return number;
    text += length + (text[length] == '\n');
  }
  mt_tuning_derive(&changed);
  *tuning = changed;
  return 0;
}
