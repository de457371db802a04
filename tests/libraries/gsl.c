/* SPDX-License-Identifier: Apache-2.0 */
/* GSL has one error handler for the process, and generators that the environment chooses. */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf_log.h>
#include <math.h>

#include "work.h"

static int errors;

static void count_error(const char *reason, const char *file, int line, int number) {
  (void)reason, (void)file, (void)line, (void)number;
  errors++;
}

static double wave(double x, void *rank) { return sin(x * *(int *)rank) + x; }

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  double result, error;
  gsl_sf_result log_result;
  gsl_set_error_handler(count_error);
  gsl_rng_env_setup();
  gsl_rng *random = gsl_rng_alloc(gsl_rng_default);
  gsl_rng_set(random, (unsigned long)rank + 1);
  gsl_integration_workspace *space = gsl_integration_workspace_alloc(1000);
  gsl_function function = {wave, &rank};
  work_mix();
  gsl_integration_qags(&function, 0, 10, 0, 1e-7, 1000, space, &result, &error);
  gsl_sf_log_e(-1.0 - rank, &log_result);
  work_mix();
  for (int i = 0; i < 1000; i++) result += gsl_rng_uniform(random);
  gsl_integration_workspace_free(space);
  gsl_rng_free(random);
  return work_end(result + errors);
}
