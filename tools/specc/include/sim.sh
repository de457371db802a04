/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated time, for models. */
#ifndef SIM_SH
#define SIM_SH

#include <mltp/sim.h>
#include <stdio.h>

typedef unsigned long long sim_time;

/* The simulated time. */
#define now() ((sim_time)mltp_sim_now())

/* A time as text, in memory that the fourth next call uses again. */
#define time2str(t) sc_time_text(t)

#endif
