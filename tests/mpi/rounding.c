/* SPDX-License-Identifier: Apache-2.0 */
/* Each rank has its own rounding mode, traps and exception flags, which it keeps while it waits. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <xmmintrin.h>

#include "check.h"

static const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/* What one third is under a mode: the other two are rounded down, too. */
static int is_third_of(double third, int mode) {
  return mode == FE_UPWARD ? third == 0x1.5555555555556p-2 : third == 0x1.5555555555555p-2;
}

/* Waits of several kinds; before and after each the others run with their own modes. */
static void others_run(int rank, int size) {
  int mine = rank, other;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, 0, &other, 1, MPI_INT,
               (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(other == (rank + size - 1) % size);
}

static void check_modes(int rank, int size) {
  volatile double one = 1, three = 3;
  int mode = modes[rank % 4];
  CHECK(fegetround() == FE_TONEAREST);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(fesetround(mode) == 0);
  for (int i = 0; i < 20; i++) {
    others_run(rank, size);
    CHECK(fegetround() == mode && is_third_of(one / three, mode));
  }
  CHECK(fesetround(FE_TONEAREST) == 0);
}

/* As -ffast-math does at the start of a program, without a function that libc has. */
static void check_flush_to_zero(int rank, int size) {
  volatile double small = 0x1p-1022, half = .5;
  if (rank == 1) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  for (int i = 0; i < 20; i++) {
    others_run(rank, size);
    CHECK((small * half == 0) == (rank == 1));
  }
  if (rank == 1) _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_OFF);
}

static void check_flags(int rank, int size) {
  volatile double one = 1, zero = 0;
  volatile long double large = 1.0L;
  feclearexcept(FE_ALL_EXCEPT);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(isinf(one / zero));
  if (rank == 2) large = large / zero; /* by the x87, whose flags are not kept, nor given away */
  others_run(rank, size);
  if (rank != 2) CHECK(fetestexcept(FE_DIVBYZERO) == (rank == 0 ? FE_DIVBYZERO : 0));
  feclearexcept(FE_ALL_EXCEPT);
}

/* A trap that another rank has enabled ends a program that divides by 0 as IEEE 754 says. */
static void check_traps(int rank, int size) {
  volatile double one = 1, zero = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) CHECK(feenableexcept(FE_DIVBYZERO) == 0);
  others_run(rank, size);
  if (rank != 0) CHECK(isinf(one / zero));
  CHECK(fegetexcept() == (rank == 0 ? FE_DIVBYZERO : 0));
  fedisableexcept(FE_ALL_EXCEPT);
}

int main(int argc, char **argv) {
  int size, rank = check_start(&argc, &argv, &size);
  check_modes(rank, size);
  check_flush_to_zero(rank, size);
  check_flags(rank, size);
  check_traps(rank, size);
  MPI_Finalize();
  return 0;
}
