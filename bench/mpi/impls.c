/* SPDX-License-Identifier: Apache-2.0 */
/** @file mpi_impls.c The ways to run MPI programs. */
#include "mpi.h"

#define MPICH_SETTINGS                                                                             \
  {"MPIR_CVAR_POLLS_BEFORE_YIELD",                                                                 \
   "1",                                                                                            \
   "MPIR_CVAR_CH4_PROGRESS_THROTTLE",                                                              \
   "1",                                                                                            \
   "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT",                                            \
   "1"}

/* The others with the settings that suit them best where ranks outnumber processors, and (default)
 * as they come. */
const struct mpi_impl mpi_impls[] = {
    {"tmpi", "tmpi", {"tmpirun"}, {0}, true, 10000},
    {"one-to-one", "tmpi", {"tmpirun", "--one-to-one"}, {0}, true, 256},
    {"openmpi",
     "openmpi",
     {"mpirun.openmpi", "--oversubscribe", "--allow-run-as-root"},
     {"OMPI_MCA_mpi_yield_when_idle", "1"},
     false,
     64},
    {"openmpi-default",
     "openmpi",
     {"mpirun.openmpi", "--oversubscribe", "--allow-run-as-root"},
     {0},
     false,
     16},
    {"mpich", "mpich", {"mpiexec.mpich"}, MPICH_SETTINGS, false, 64},
    {"mpich-default", "mpich", {"mpiexec.mpich"}, {0}, false, 16},
    {"openmpi5",
     "openmpi5",
     {"mpiexec.openmpi5", "--oversubscribe", "--allow-run-as-root"},
     {"OMPI_MCA_mpi_yield_when_idle", "1"},
     false,
     64},
    {"openmpi5-default",
     "openmpi5",
     {"mpiexec.openmpi5", "--oversubscribe", "--allow-run-as-root"},
     {0},
     false,
     16},
    {"mpich5", "mpich5", {"mpiexec.mpich5"}, MPICH_SETTINGS, false, 64},
    {"mpich5-default", "mpich5", {"mpiexec.mpich5"}, {0}, false, 16},
    {0},
};
