// SPDX-License-Identifier: Apache-2.0
// LRM 2.1: functions of C's library, declared as on a machine of 32 bits
//> 5 hello
//> 42 18446744073709551615
#include <stdio.h>
#include <sim.sh>

extern void *malloc(unsigned int);
extern void *memcpy(void *, const void *, unsigned int), *memset(void *, int, unsigned int);
extern void free(void *);
behavior Main {
  int main(void) {
    char *text = (char *)malloc(6);
    memset(text, 0, 6);
    memcpy(text, "hello", 5);
    printf("%d %s\n", 5, text);
    free(text);
    printf("%lld %llu\n", str2ll(10, "42"), str2ull(16, "ffffffffffffffff"));
    return 0;
  }
};
