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

/** mltp_sim_wait(). */
struct arch_switch_pair sm_wait(mltp_sim_event_t *event);

/** mltp_sim_waitfor(). */
struct arch_switch_pair sm_waitfor(mltp_sim_time_t duration);

#endif
