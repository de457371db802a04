/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point control that a program sets by instructions: it asks for no function of <fenv.h>,
 * so tmpirun lets flags of the x87 stay where they are. Control and SSE's flags are the rank's own.
 */
#include <xmmintrin.h>

#include "check.h"

enum { X87_ZERO = 4, X87_ROUND = 0xc00, X87_PRECISION = 0x300 };

static int rank, size;

static unsigned short x87_control(void) {
  unsigned short word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

static void set_x87_control(unsigned short word) { __asm__ volatile("fldcw %0" : : "m"(word)); }

static void others_run(void) {
  int mine = rank, other;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &other, 1, MPI_INT,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Old programs compute with 53 bits by the x87. */
static void check_x87(void) {
  unsigned short before = x87_control();
  unsigned short mine = before & (unsigned short)~(rank % 2 ? X87_PRECISION : X87_ROUND);
  if (rank % 2 == 0) mine |= (unsigned short)(rank % 4 << 9);
  set_x87_control(mine);
  for (int i = 0; i < 20; i++) {
    others_run();
    CHECK(x87_control() == mine);
  }
  set_x87_control(before);
}

static void check_sse(void) {
  static const unsigned modes[] = {_MM_ROUND_NEAREST, _MM_ROUND_DOWN, _MM_ROUND_UP,
                                   _MM_ROUND_TOWARD_ZERO};
  volatile float one = 1, three = 3, zero = 0;
  _MM_SET_ROUNDING_MODE(modes[rank % 4]);
  _MM_SET_EXCEPTION_STATE(0);
  if (rank == 1) one = one / zero, one = 1;
  for (int i = 0; i < 20; i++) {
    float third = one / three;
    others_run();
    CHECK(_MM_GET_ROUNDING_MODE() == modes[rank % 4]);
    CHECK((third > 1.0 / 3) == (rank % 4 == 0 || rank % 4 == 2)); /* the nearest is above */
    CHECK((_MM_GET_EXCEPTION_STATE() & _MM_EXCEPT_DIV_ZERO) ==
          (rank == 1 ? _MM_EXCEPT_DIV_ZERO : 0));
  }
  _MM_SET_ROUNDING_MODE(_MM_ROUND_NEAREST);
}

/* Rank 0 is interrupted by divisions by 0, and by none of another rank's. */
static void check_unmasked(void) {
  unsigned short before = x87_control();
  volatile long double large = 1, zero = 0;
  if (rank == 0) set_x87_control((unsigned short)(before & ~X87_ZERO));
  for (int i = 0; i < 20; i++) {
    others_run();
    if (rank != 0) large = 1 / zero;
    if (rank == 0) large = large * 3; /* it would be interrupted here */
  }
  set_x87_control(before);
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  check_x87();
  check_sse();
  check_unmasked();
  MPI_Finalize();
  return 0;
}
