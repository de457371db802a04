/* SPDX-License-Identifier: Apache-2.0 */
/* Simulated time, for models. */
#ifndef SIM_SH
#define SIM_SH

#include <mltp/sim.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long sim_time, sim_delta;
typedef char sim_time_string[21], sim_delta_string[21];

/* Units of time, to be written behind a number. */
#define PICO_SEC *1ull
#define NANO_SEC *1000ull
#define MICRO_SEC *1000000ull
#define MILLI_SEC *1000000000ull
#define SEC *1000000000000ull

/* The simulated time, and how many deltas have passed. */
#define now() ((sim_time)mltp_sim_now())
#define delta() ((sim_delta)mltp_sim_deltas())

/* time2str(buffer, time) writes a time as text; time2str(time) uses memory that the fourth next call
 * uses again. The others alike. */
#define time2str(...) sc_text(__VA_ARGS__, sc_text_2, sc_text_1)(__VA_ARGS__)
#define delta2str(...) time2str(__VA_ARGS__)
#define sc_text(a, b, name, ...) name
#define sc_text_1(t) sc_time_text(sc_text_buffer(), t)
#define sc_text_2(buffer, t) sc_time_text(buffer, t)

/* A number as text to a base of 2 to 36: ull2str(base, buffer_end, value) fills a buffer from its end,
 * as does bit2str(). */
#define str2time(text) ((sim_time)strtoull(text, 0, 10))
#define str2delta(text) ((sim_delta)strtoull(text, 0, 10))
#define ll2str(base, end, value) sc_number(base, end, (unsigned long long)((value) < 0 ? -(value) : (value)), (value) < 0)
#define ull2str(base, end, value) sc_number(base, end, value, 0)
#define str2ll(base, text) strtoll(text, 0, (int)(base))
#define str2ull(base, text) strtoull(text, 0, (int)(base))
#define bit2str(base, end, value) ll2str(base, end, (long long)(value))
#define ubit2str(base, end, value) sc_number(base, end, (unsigned long long)(value), 0)

/* Ends the simulation and the program. */
#define sim_exit(status) exit(status)

static inline char *sc_text_buffer(void) {
  static char texts[4][21];
  static unsigned next;
  return texts[next++ % 4];
}

static inline char *sc_time_text(char *buffer, sim_time time) {
  sprintf(buffer, "%llu", time);
  return buffer;
}

static inline char *sc_number(unsigned base, char *end, unsigned long long value, int negative) {
  *end = 0;
  do {
    *--end = "0123456789abcdefghijklmnopqrstuvwxyz"[value % base];
    value /= base;
  } while (value != 0);
  if (negative) *--end = '-';
  return end;
}

#endif
