/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The constants of this process.
 *
 * Relaxed: tuned.h.
 */
#include "core/vp/tuned.h"

#include <errno.h>
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/options.h"
#include "os/os.h"

enum { TRIALS = 3, READINGS = 8, PAUSES = 16, CHANGES = 32, FILE_MOST = 8192 };

struct mt_tuning mt_tuning;

/* ---- measuring */

static void read_clock(void) {
  for (int i = 0; i < READINGS; i++) os_now();
}

static void make_pauses(void) {
  for (int i = 0; i < PAUSES; i++) mt_arch_pause();
}

static void change_word(void) {
  static uint32_t word;
  for (int i = 0; i < CHANGES; i++) mt_add_relaxed(&word, 1); /* relaxed: nobody reads it */
}

/* @return what one operation of a trial takes, ps: in the shortest trial, less the clock. */
static uint64_t measure_ps(void (*trial)(void), uint64_t operations, uint64_t clock_ns) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < TRIALS; i++) {
    uint64_t start = os_now();
    trial();
    uint64_t taken = os_now() - start;
    if (taken < best) best = taken;
  }
  return (best > clock_ns ? best - clock_ns : 0) * 1000 / operations;
}

static void measure(void) {
  mt_tuning_know(MT_CLOCK_NS, measure_ps(read_clock, READINGS + 1, 0) / 1000);
  uint64_t clock_ns = mt_tuned(MT_CLOCK_NS);
  mt_tuning_know(MT_PAUSE_PS, measure_ps(make_pauses, PAUSES, clock_ns));
  mt_tuning_know(MT_LOCKED_PS, measure_ps(change_word, CHANGES, clock_ns));
  mt_tuning_derive(&mt_tuning);
}

/* ---- options */

static int read_file(struct mt_tuning *tuning, const char *path) {
  char text[FILE_MOST];
  int error = os_read_text(path, text, sizeof text);
  if (error != 0) {
    mt_message("MLTP_TUNING: cannot read '%s': %s (name a file of lines KEY=VALUE, or unset it)",
               path, strerror(error));
    return EINVAL;
  }
  int line = mt_tuning_parse(tuning, text);
  if (line == 0) return 0;
  mt_message(
      "MLTP_TUNING: bad line %d of '%s' (write KEY=VALUE, with a key and unit of `mltp "
      "options --measured` and a whole number)",
      line, path);
  return EINVAL;
}

static void set(struct mt_tuning *tuning, enum mt_tunable which, int64_t value) {
  if (value == MT_MEASURED) return;
  tuning->value[which] = (uint64_t)value;
  tuning->fixed |= 1u << which;
}

int mt_tuning_init(void) {
  struct mt_tuning *tuning = &mt_tuning;
  mt_tuning_assume(tuning);
  measure();
  int error = strcmp(mt_options.tuning, "none") != 0 ? read_file(tuning, mt_options.tuning) : 0;
  int64_t spin_us = mt_options.spin_us;
  set(tuning, MT_IDLE_SPIN_NS, spin_us == MT_MEASURED ? MT_MEASURED : spin_us * 1000);
  set(tuning, MT_LOCK_SPIN_NS, mt_options.lock_spin_ns);
  set(tuning, MT_AWAIT_SPIN_NS, mt_options.await_spin_ns);
  return error;
}

/* ---- learning */

void mt_tuning_know(enum mt_tunable which, uint64_t value) {
  struct mt_tuning *tuning = &mt_tuning;
  if (tuning->fixed >> which & 1) return;
  value = mt_tunable_bound(which, value);
  mt_store_relaxed(&tuning->value[which], value);
  mt_or_relaxed(&tuning->known, 1u << which);
  for (int i = MT_COSTS; i < MT_TUNABLES; i++) {
    enum mt_tunable row = (enum mt_tunable)i;
    if (mt_tunable_row(row)->of == which && (tuning->fixed >> i & 1) == 0)
      mt_store_relaxed(&tuning->value[i], mt_tunable_derived(row, value, mt_tuned(MT_PAUSE_PS)));
  }
}

void mt_tuning_learn(enum mt_tunable which, uint64_t sample) {
  mt_tuning_know(which, mt_cost_learned(which, mt_tuned(which), sample));
}

/* ---- printing */

void mt_tuning_print(int fd) {
  for (int i = 0; i < MT_TUNABLES; i++) {
    const struct mt_tunable_row *row = mt_tunable_row((enum mt_tunable)i);
    bool fixed = mt_tuning.fixed >> i & 1, known = mt_load_relaxed(&mt_tuning.known) >> i & 1;
    const char *how = fixed ? "set" : i >= MT_COSTS ? "from" : known ? "measured" : "assumed";
    mt_print(fd, "%-18s %9lu  %s%s%s: %s\n", row->key, (unsigned long)mt_tuned((enum mt_tunable)i),
             how, fixed || i < MT_COSTS ? "" : " ",
             fixed || i < MT_COSTS ? "" : mt_tunable_row(row->of)->key, row->meaning);
  }
}
