/* SPDX-License-Identifier: Apache-2.0 */
/* What ranks of several nodes have in common beside messages; nodes.py starts the nodes. The first
 * argument is what to do: partitioned, files, not_one_file, windows, deferred, stuck_lock,
 * stuck_deferred or stuck_start. The second one is a file.
 */
#include "shared_by_nodes.h"

#include <string.h>

#include "check.h"

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  const char *what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "partitioned") == 0) partitioned(rank, size);
  if (strcmp(what, "files") == 0) files(argv[2], rank, size);
  if (strcmp(what, "not_one_file") == 0) not_one_file(argv[2], rank, size);
  if (strcmp(what, "windows") == 0) windows(rank, size);
  if (strcmp(what, "deferred") == 0) deferred_lock(rank, size);
  if (strncmp(what, "stuck", 5) == 0) stuck(what, rank, size);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) puts("right");
  MPI_Finalize();
  return 0;
}
