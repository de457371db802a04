/* SPDX-License-Identifier: Apache-2.0 */
/* One row of mltp-bench growth: rows ROW N. growth.py counts the instructions. */
#include <mltp/mltp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "threads/growth_rows.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    fputs("usage: rows ROW N\n", stderr);
    return 2;
  }
  int row = 0;
  const char *name;
  while ((name = bench_growth_name(row)) != NULL && strcmp(name, argv[1]) != 0) row++;
  if (mltp_init(1) != 0 || bench_growth_run(row, atoi(argv[2])) != 0) return 1;
  return mltp_finalize();
}
