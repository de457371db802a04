/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file log.h
 * What simulated threads did, in order, as text; and the same model on several numbers of VPs.
 */
#ifndef TESTS_SIM_LOG_H
#define TESTS_SIM_LOG_H

#include <mltp/sim.h>
#include <stdio.h>
#include <string.h>

#include "support/support.h"

static char sim_log[1 << 18];

/** Adds a word; from a simulated thread, or between simulations. */
static inline void say(const char *word) {
  mltp_sim_ordered();
  size_t length = strlen(sim_log);
  snprintf(sim_log + length, sizeof sim_log - length, "%s%s", length > 0 ? " " : "", word);
}

/** Adds a word and the simulated time: "a@3". */
static inline void log_at(const char *word) {
  char text[64];
  snprintf(text, sizeof text, "%s@%d", word, (int)mltp_sim_now());
  say(text);
}

static const int vps_tried[] = {1, 2, 3};
enum { VPS_TRIED = sizeof vps_tried / sizeof *vps_tried };

/** Runs a model on each number of VPs, and checks how it ends and what it says. */
static inline void expect_end(void (*model)(void *), int error, const char *said) {
  for (int i = 0; i < VPS_TRIED; i++) {
    check_case("%d VPs", vps_tried[i]);
    sim_log[0] = '\0';
    CHECK_EQUAL(mltp_sim_set_vps(vps_tried[i]), 0);
    CHECK_EQUAL(mltp_sim_run(model, NULL), error);
    CHECK_TEXT(sim_log, said);
  }
  mltp_sim_set_vps(1);
}

static inline void expect(void (*model)(void *), const char *said) { expect_end(model, 0, said); }

#define CHILD(body, arg) {(body), (void *)(arg), #body}
#define PAR(...)                                                                                   \
  mltp_sim_par((const mltp_sim_child_t[]){__VA_ARGS__},                                            \
               sizeof((const mltp_sim_child_t[]){__VA_ARGS__}) / sizeof(mltp_sim_child_t))

#endif
