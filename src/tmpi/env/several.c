/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A launcher has started several processes as one job, and no PMIx tells them of each other. Each
 * would run the whole job, and write what the others write, too.
 *
 * An environment outlives its launcher in shells and containers. A launcher with PMI gives each
 * process an open descriptor, so its variables alone say nothing.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "tmpi/env/launch.h"

static const struct launcher {
  const char *sign;     /* it has started this process; the number of a descriptor, or any text */
  const char *variable; /* how many processes */
  bool is_descriptor, has_pmix;
} launchers[] = {
    {"PMI_FD", "PMI_SIZE", true, false}, /* MPICH, Intel MPI; Slurm's --mpi=pmi2 */
    {"PMI_PORT", "PMI_SIZE", false, false},
    {"SLURM_STEP_ID", "SLURM_STEP_NUM_TASKS", false, false}, /* not in a batch script */
    {"PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE", false, true},
};

const char *tm_launch_several(bool with_pmix) {
  for (size_t i = 0; i < sizeof launchers / sizeof launchers[0]; i++) {
    const struct launcher *launcher = &launchers[i];
    const char *sign = getenv(launcher->sign), *count = getenv(launcher->variable);
    if (sign == NULL || count == NULL || atoi(count) < 2) continue;
    if (launcher->is_descriptor && fcntl(atoi(sign), F_GETFD) < 0) continue;
    if (with_pmix || !launcher->has_pmix) return launcher->variable;
  }
  return NULL;
}
