// SPDX-License-Identifier: Apache-2.0
// LRM 2.5.1: import: once, with its ending, without the importer's macros
//> 99
#include <stdio.h>
#define lim 0
typedef int count;
typedef int count;
import "parts/limited";
import "parts/limited.sc";
behavior Main { int v; L l(v); int main(void) { l; printf("%d\n", v); return 0; } };
