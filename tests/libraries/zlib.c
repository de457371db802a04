/* SPDX-License-Identifier: Apache-2.0 */
/* zlib, and what a rank has packed comes out again. */
#include <string.h>
#include <zlib.h>

#include "work.h"

enum { COUNT = 100000 };

int main(int argc, char **argv) {
  int rank = work_start(&argc, &argv);
  unsigned char *plain = malloc(COUNT), *packed = malloc(2 * COUNT), *again = malloc(COUNT);
  uLongf packed_size = 2 * COUNT, again_size = COUNT;
  for (int i = 0; i < COUNT; i++) plain[i] = (unsigned char)(i * (rank + 3) % 251 / 7);
  work_mix();
  WORK(compress2(packed, &packed_size, plain, COUNT, rank % 9 + 1) == Z_OK);
  work_mix();
  WORK(uncompress(again, &again_size, packed, packed_size) == Z_OK);
  WORK(again_size == COUNT && memcmp(plain, again, COUNT) == 0);
  double result = (double)crc32(0, again, COUNT) + (double)packed_size;
  free(plain);
  free(packed);
  free(again);
  return work_end(result);
}
