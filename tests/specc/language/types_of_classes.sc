// SPDX-License-Identifier: Apache-2.0
// LRM 2.3.1: two behaviors declare the same type
//> 3 4
#include <stdio.h>

behavior A(out int sum) {
  typedef struct { int x, y; } Point;
  void main(void) { Point p; p.x = 1; p.y = 2; sum = p.x + p.y; }
};
behavior B(out int sum) {
  typedef struct { int x, y; } Point;
  Point last;
  void main(void) { last.x = last.y = 2; sum = last.x + last.y; }
};
behavior Main {
  int first, second;
  A a(first);
  B b(second);
  int main(void) { a; b; printf("%d %d\n", first, second); return 0; }
};
