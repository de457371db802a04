/* SPDX-License-Identifier: Apache-2.0 */
/* Each call that blocks a kernel thread: a rank makes it, and the next rank ends the wait when a
 * message has announced it. On one VP that rank is then ready behind the caller. */
#include "support/blocking_calls.h"

#include <stdint.h>

#include "check.h"

static struct blocked states[BLOCKING_CALLS_MOST];

static void block(const struct blocking_call *call, struct blocked *on, int next) {
  uintptr_t address = (uintptr_t)on;
  int line = call->begin(on);
  if (line == 0) MPI_Send(&address, sizeof address, MPI_BYTE, next, 1, MPI_COMM_WORLD);
  if (line == 0) line = call->block(on);
  if (line == 0) return;
  fprintf(stderr, "%s: line %d\n", call->name, line);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void end(const struct blocking_call *call, int from) {
  uintptr_t address;
  MPI_Recv(&address, sizeof address, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(call->end((struct blocked *)address) == 0);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  const struct blocking_call *call;
  for (int i = 0; (call = blocking_call(i)) != NULL; i++) {
    if (rank % 2 == 0)
      block(call, &states[i], rank + 1);
    else
      end(call, rank - 1);
  }
  MPI_Finalize();
  return 0;
}
