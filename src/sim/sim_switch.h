/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sim_switch.h
 * Waits without the switch: for the code that specc makes of models, and for the calls of
 * mltp/sim.h.
 *
 * The caller of one of these does mt_arch_switch(pair.from, pair.to) at once, unless pair.to is
 * NULL: then it has waited already. So a thread continues where the switch stands in its own code.
 * The processor predicts the jump there by its history, but not the returns through frames of ours.
 */
#ifndef SM_SWITCH_H
#define SM_SWITCH_H

#include <mltp/sim.h>
#include <stdbool.h>

struct arch_switch_pair;

/** mltp_sim_wait(). */
struct arch_switch_pair sm_wait(mltp_sim_event_t *event);

/** mltp_sim_waitfor(). */
struct arch_switch_pair sm_waitfor(mltp_sim_time_t duration);

/** Names the calling simulated thread. @return its name before. */
const char *sm_rename(const char *name);

/** Returns the name of the calling simulated thread; NULL: it has none, or the caller is not one.
 * A signal handler may call it. */
const char *sm_name_here(void);

/** Bits of mltp_sim_buffered_t's written_. */
enum {
  SM_IS_WRITTEN = 1, /**< it has a new value */
  SM_IS_SIGNAL = 2,  /**< it is that of a struct sm_signal */
  SM_IS_CLOCKED = 4  /**< it is that of a struct sm_clocked with a clock */
};

/** A buffered variable that notifies events when its value changes. */
struct sm_signal {
  mltp_sim_buffered_t buffered; /**< first */
  mltp_sim_event_t changed;
  mltp_sim_event_t rising, falling; /**< it was zero before, or is zero now */
  struct sm_view_link *views;
};

/** Bits of some signals, which have events of their own. */
struct sm_view {
  mltp_sim_event_t changed, rising, falling;          /**< as a signal's */
  void (*read)(const struct sm_view *view, void *to); /**< copies the bits as they are now */
  void *before, *now; /**< two objects of `size` bytes: at the end of a delta, and to compare */
  size_t size;
  struct sm_view *next; /**< among those of which a signal changed in this delta */
  bool touched;         /**< it is among them */
};

/** A view among those of one signal. */
struct sm_view_link {
  struct sm_view *view;
  struct sm_view_link *next;
};

/** A buffered variable that takes its new value when a clock is notified. */
struct sm_clocked {
  mltp_sim_buffered_t buffered; /**< first */
  mltp_sim_event_t *clock;      /**< NULL: at the end of each delta */
};

/** Initialises a signal. current, pending: two objects of its type; the name is not copied. The new
 * value is that of now until it is assigned: so one that is assigned in part keeps the rest. */
void sm_signal_init(struct sm_signal *s, void *current, void *pending, size_t size,
                    const char *name);

/** Initialises a view's events. Its other fields are the caller's. */
void sm_view_init(struct sm_view *view, const char *name);

/** Has the events of a view notified when a signal changes. The link exists as long as the signal.
 */
void sm_view_add(struct sm_view *view, struct sm_signal *s, struct sm_view_link *link);

/** Initialises a buffered variable with a clock. */
void sm_clocked_init(struct sm_clocked *v, void *current, void *pending, size_t size,
                     mltp_sim_event_t *clock);

#endif
