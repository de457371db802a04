// SPDX-License-Identifier: Apache-2.0
// LRM 2.2.3: slices of integers, which are bit vectors of their width
//> -1235 1 9
//> abcd 5bcd
//> 1 ff
#include <stdio.h>

typedef short Word16;
behavior Main {
  int main(void) {
    short samples[2];
    Word16 word = (Word16)0xabcd;
    unsigned char byte = 0x7f;
    samples[1] = -9879;
    printf("%d %d %d\n", (int)(bit[12:0])samples[1][15:3], (int)samples[1][1:0], (int)samples[1][3:0]);
    printf("%x ", word & 0xffff);
    word[15:12] = 5;
    printf("%x\n", word);
    byte[7:6] = 2;
    printf("%d %x\n", (int)byte[7:7], (byte[7:7] @ byte[6:0]) | 0xc0);
    return 0;
  }
};
