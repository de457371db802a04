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

struct arch_switch_pair;

/** mltp_sim_wait(). */
struct arch_switch_pair sm_wait(mltp_sim_event_t *event);

/** mltp_sim_waitfor(). */
struct arch_switch_pair sm_waitfor(mltp_sim_time_t duration);

#endif
