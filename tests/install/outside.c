/* SPDX-License-Identifier: Apache-2.0 */
/* A program that knows of MLTP only what is installed: a thread doubles a number. */
#include <mltp/mltp.h>
#include <stdio.h>

static void *twice(void *number) {
  *(int *)number *= 2;
  return number;
}

int main(void) {
  int number = 21;
  void *result = NULL;
  mltp_t *thread = NULL;
  if (mltp_init(0) != 0 || mltp_create(&thread, NULL, twice, &number) != 0) return 1;
  if (mltp_join(thread, &result) != 0 || mltp_finalize() != 0) return 1;
  if (result != &number || number != 42) return 1;
  printf("outside: MLTP %s works\n", mltp_version());
  return 0;
}
