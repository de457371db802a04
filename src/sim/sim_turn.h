/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file sim_turn.h
 * Waits without the switch: for what specc makes of models, and for the calls of mltp/sim.h.
 *
 * Whoever calls one of these does mt_arch_switch(turn.from, turn.to) at once, unless turn.to is
 * NULL: then it has waited already. So a thread goes on where the switch stands in its own code:
 * the processor predicts the jump there by its history, but not the returns through frames of ours.
 */
#ifndef SM_TURN_H
#define SM_TURN_H

#include <mltp/sim.h>

struct arch_switch_pair;

/** sim_wait(). */
struct arch_switch_pair sm_wait(sim_event_t *event);

/** sim_waitfor(). */
struct arch_switch_pair sm_waitfor(sim_time_t duration);

#endif
