// SPDX-License-Identifier: Apache-2.0
// LRM 2.1: a program of C alone, and functions without a type
//> 8 bits: 255
#include <stdio.h>

int bits = 8;
largest(int count) { return (1 << count) - 1; }

main(int argc, char *argv[])
{
  unsigned bit[8] all = largest(bits);
  printf("%d bits: %d\n", bits, (int)all);
  return argc - 1;
}
