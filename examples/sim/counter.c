/* SPDX-License-Identifier: Apache-2.0 */
/* A clock and a counter, without specc; with an argument, traced into that file for GTKWave. */
#include <mltp/mltp.h>
#include <mltp/sim.h>
#include <stdio.h>

static mltp_sim_event_t rising = MLTP_SIM_EVENT_INIT("rising");
static int level;       /* of the clock */
static int count, next; /* what the counter shows from the next delta on is in next */
static mltp_sim_buffered_t shown = MLTP_SIM_BUFFERED_INIT(count, next);

static void tick(void *arg) {
  for (long edges = 0; edges < 20; edges++) {
    mltp_sim_waitfor(5);
    level = !level;
    if (level) mltp_sim_notify(&rising);
  }
  *(int *)arg = (int)mltp_sim_now();
}

static void step(void *arg) {
  (void)arg;
  for (int i = 0; i < 10; i++) {
    mltp_sim_wait(&rising);
    *(int *)mltp_sim_write(&shown) = count + 1;
  }
}

static void model(void *end) {
  const mltp_sim_child_t children[] = {{tick, end, "clock"}, {step, NULL, "counter"}};
  mltp_sim_par(children, 2);
}

int main(int argc, char **argv) {
  int end = 0;
  if (mltp_init(1) != 0) return 1; /* it has said why */
  if (argc > 1) {
    int error = mltp_sim_trace_open(argv[1], "1ns");
    if (error != 0) {
      fprintf(stderr, "counter: %s: error %d\n", argv[1], error);
      return 1;
    }
    mltp_sim_trace("model.clock", &level, sizeof level, MLTP_SIM_TRACE_INTEGER);
    mltp_sim_trace("model.counter.shown", &count, sizeof count, MLTP_SIM_TRACE_INTEGER);
  }
  if (mltp_sim_run(model, &end) != 0) return 1;
  mltp_finalize();
  printf("counter: %d at time %d\n", count, end);
  return count == 10 ? 0 : 1;
}
