/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for requests. */
#include <stdlib.h>

#include "part.h"

static void done(struct part *part, int index, const MPI_Status *status) {
  part->statuses[index] = *status;
  if (part->persistent[index]) MPI_Request_free(&part->requests[index]);
}

void wait_all(struct part *part) {
  int count = part->request_count, left = count, index, flag, some;
  int *indices = malloc(((size_t)count + 1) * sizeof *indices);
  MPI_Status *statuses = malloc(((size_t)count + 1) * sizeof *statuses);
  if (indices == NULL || statuses == NULL) fail("no memory");
  while (left > 0) {
    MPI_Status status;
    int first = draw_below(part->chance, count);
    switch (draw_below(part->chance, 5)) {
      case 0:
        if (part->requests[first] == MPI_REQUEST_NULL) continue;
        MPI_Wait(&part->requests[first], &status);
        done(part, first, &status);
        left--;
        break;
      case 1:
        if (part->requests[first] == MPI_REQUEST_NULL) continue;
        MPI_Test(&part->requests[first], &flag, &status);
        if (!flag) continue;
        done(part, first, &status);
        left--;
        break;
      case 2:
        MPI_Waitany(count, part->requests, &index, &status);
        done(part, index, &status);
        left--;
        break;
      case 3:
        MPI_Waitsome(count, part->requests, &some, indices, statuses);
        for (int i = 0; i < some; i++) done(part, indices[i], &statuses[i]);
        left -= some;
        break;
      default:
        if (draw_below(part->chance, 4) != 0) continue;
        for (int i = 0; i < count; i++) indices[i] = part->requests[i] != MPI_REQUEST_NULL;
        MPI_Waitall(count, part->requests, statuses);
        for (int i = 0; i < count; i++)
          if (indices[i]) done(part, i, &statuses[i]);
        left = 0;
    }
  }
  free(indices);
  free(statuses);
}
