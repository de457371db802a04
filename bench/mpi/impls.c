/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file impls.c The ways to run MPI programs.
 *
 * A peer gets the settings that its users would give it for that number of ranks. While each rank
 * can have a CPU it runs as it comes and with each rank pinned to a core, and the better one
 * counts. Beyond that polling ranks take each other's CPUs, so Open MPI yields when idle and MPICH
 * yields after each poll.
 */
#include "mpi.h"

#include <string.h>

#define OPENMPI(launcher) {launcher, "--oversubscribe", "--allow-run-as-root"}
#define OPENMPI_PINNED(launcher)                                                                   \
  {launcher, "--bind-to", "core", "--oversubscribe", "--allow-run-as-root"}
#define OPENMPI_YIELD {"OMPI_MCA_mpi_yield_when_idle", "1"}
#define MPICH_YIELD                                                                                \
  {"MPIR_CVAR_POLLS_BEFORE_YIELD",                                                                 \
   "1",                                                                                            \
   "MPIR_CVAR_CH4_PROGRESS_THROTTLE",                                                              \
   "1",                                                                                            \
   "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT",                                            \
   "1"}

/* More ranks than these take minutes, or do not start. */
enum { OURS_MAX = 10000, KERNEL_MAX = 256, YIELD_MAX = 64, POLL_MAX = 16 };

/* clang-format off: a table */
#define OPENMPI_WAYS(peer, launcher)                                                               \
  {peer "-default", peer, OPENMPI(launcher), {0}, false, POLL_MAX, MPI_WITHIN_CPUS},               \
      {peer "-pinned", peer, OPENMPI_PINNED(launcher), {0}, false, POLL_MAX, MPI_WITHIN_CPUS}, {   \
    peer "-yield", peer, OPENMPI(launcher), OPENMPI_YIELD, false, YIELD_MAX, MPI_BEYOND_CPUS       \
  }
#define MPICH_WAYS(peer, launcher)                                                                   \
  {peer "-default", peer, {launcher}, {0}, false, POLL_MAX, MPI_WITHIN_CPUS},                        \
      {peer "-pinned", peer, {launcher, "-bind-to", "core"}, {0}, false, POLL_MAX, MPI_WITHIN_CPUS}, \
  {                                                                                                  \
    peer "-yield", peer, {launcher}, MPICH_YIELD, false, YIELD_MAX, MPI_BEYOND_CPUS                  \
  }

const struct mpi_impl mpi_impls[] = {
    {"tmpi", "tmpi", {"tmpirun"}, {0}, true, OURS_MAX, MPI_ANY_RANKS},
    {"checked", "tmpi", {"tmpirun", "--check"}, {0}, true, OURS_MAX, MPI_ANY_RANKS},
    {"one-to-one", "tmpi", {"tmpirun", "--one-to-one"}, {0}, true, KERNEL_MAX, MPI_ANY_RANKS},
    OPENMPI_WAYS("openmpi", "mpirun.openmpi"),
    MPICH_WAYS("mpich", "mpiexec.mpich"),
    OPENMPI_WAYS("openmpi5", "mpiexec.openmpi5"),
    MPICH_WAYS("mpich5", "mpiexec.mpich5"),
    {0},
};
/* clang-format on */

const struct mpi_impl *mpi_impl_of(const char *name) {
  const struct mpi_impl *impl = mpi_impls;
  while (impl->name != NULL && strcmp(impl->name, name) != 0) impl++;
  return impl->name != NULL ? impl : NULL;
}
