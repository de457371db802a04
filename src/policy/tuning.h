/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file tuning.h
 * The table of constants: what operations cost on this machine, and what follows from it.
 *
 * The first rows are costs. The runtime measures them at start or learns them while it runs
 * (core/vp/tuned.h). Every other row is a multiple of one cost within bounds, so no constant names
 * a machine. MLTP_TUNING=FILE sets rows by hand; a row that was set is not derived again.
 *
 * Constants that are times of people or of the kernel stand beside the decision that uses them.
 */
#ifndef MT_POLICY_TUNING_H
#define MT_POLICY_TUNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mt_tunable {
  /* costs */
  MT_CLOCK_NS,  /**< one reading of the clock */
  MT_PAUSE_PS,  /**< one pause of a spinning processor */
  MT_LOCKED_PS, /**< one locked instruction on a line that the CPU owns */
  MT_LINE_NS,   /**< one transfer of a modified cache line from CPU to CPU */
  MT_PARK_NS,   /**< a park and an unpark on one VP */
  MT_WAKE_NS,   /**< from waking a sleeping VP until it runs */
  MT_COSTS,
  /* what follows from them */
  MT_IDLE_SPIN_NS = MT_COSTS,
  MT_ALONE_SPIN_NS,
  MT_AWAIT_SPIN_NS,
  MT_SCAN_PAUSES,
  MT_INBOX_PAUSES,
  MT_LOOKS_PER_CLOCK,
  MT_LOOK_PAUSES,
  MT_REPLY_PAUSES,
  MT_LONE_NS,
  MT_MOVE_NS,
  MT_RANK_MOVE_NS,
  MT_RANK_LONE_NS,
  MT_REQUEST_WAIT_NS,
  MT_INSIDE_WAIT_NS,
  MT_LOCK_SPIN_NS,
  MT_LOCK_DELAY_PAUSES,
  MT_TUNABLES
};

/** A row of the table. */
struct mt_tunable_row {
  const char *key;     /**< in MLTP_TUNING's file; ends with the unit */
  enum mt_tunable of;  /**< the cost it is a multiple of; a cost names itself */
  uint32_t tenths;     /**< the multiple, in tenths */
  bool in_pauses;      /**< that time is counted in pauses */
  uint64_t least;      /**< bounds of a measured or derived value */
  uint64_t most;       /**< */
  uint64_t assumed;    /**< of a cost: the value until it is known */
  const char *meaning; /**< what it is and why it has this size */
};

/** Values of all rows. */
struct mt_tuning {
  uint64_t value[MT_TUNABLES];
  uint32_t fixed; /**< bits of rows that were set and keep their value */
  uint32_t known; /**< bits of costs that were measured or learned */
};

/** Returns the row of a tunable. */
const struct mt_tunable_row *mt_tunable_row(enum mt_tunable which);

/** Returns a value within the bounds of its row. */
uint64_t mt_tunable_bound(enum mt_tunable which, uint64_t value);

/** Returns the value of a derived row, if the cost that it is a multiple of has this value. */
uint64_t mt_tunable_derived(enum mt_tunable which, uint64_t cost, uint64_t pause_ps);

/**
 * Returns a cost after one more sample. The value moves to a smaller sample by an eighth of the
 * difference, to a larger one by a sixteenth, and by a sixteenth of itself at most. So it settles
 * below the median, and a sample that another program delayed changes little.
 */
uint64_t mt_cost_learned(enum mt_tunable which, uint64_t value, uint64_t sample);

/** Derives every row that was not set. */
void mt_tuning_derive(struct mt_tuning *tuning);

/** Sets the costs that are assumed until they are known, and derives the rest. */
void mt_tuning_assume(struct mt_tuning *tuning);

/**
 * Sets and fixes rows by the text of a file: one `key=value` in a line, in the unit of the key's
 * name; empty lines and lines that begin with # are skipped. Derives the rest.
 * @return 0; else the number of the first wrong line, and nothing is changed.
 */
int mt_tuning_parse(struct mt_tuning *tuning, const char *text);

#endif
