/* SPDX-License-Identifier: Apache-2.0 */
/* Prints in all ways there are: what output.py looks at. */
#define _GNU_SOURCE
#include <stdio_ext.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { LINES = 20, LONG = 100000, CHARACTERS = 5000 };

/* A line in pieces, with other ranks in between. */
static void print_pieces(int rank, int number) {
  printf("pieces ");
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%d", number);
  putchar(' ');
  fwrite("of ", 1, 3, stdout);
  fputs("rank", stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  fprintf(stdout, " %d\n", rank);
}

/* Without locks, into a buffer of its own: as a process with one thread may. */
static void print_unlocked(int rank) {
  static char buffer[BUFSIZ];
  char text[2] = {(char)('a' + rank), '\0'};
  CHECK(setvbuf(stdout, buffer, _IOFBF, sizeof buffer) == 0);
  __fsetlocking(stdout, FSETLOCKING_BYCALLER);
  for (int i = 0; i < CHARACTERS; i++) {
    CHECK(putc_unlocked(*text, stdout) == *text);
    CHECK((putchar_unlocked)(*text) == *text);
    CHECK(fputs_unlocked(text, stdout) >= 0);
    CHECK(fwrite_unlocked(text, 1, 1, stdout) == 1);
    CHECK(putc(*text, stdout) == *text);
  }
  CHECK(fflush_unlocked(stdout) == 0);
}

int main(int argc, char **argv) {
  char text[64];
  int size, rank = check_start(&argc, &argv, &size);
  if (argc > 1 && strcmp(argv[1], "unlocked") == 0) {
    print_unlocked(rank);
    MPI_Finalize();
    return 0;
  }
  for (int i = 0; i < LINES; i++) {
    printf("line %d of rank %d\n", i, rank);
    print_pieces(rank, i);
    fprintf(stderr, "error %d of rank %d\n", i, rank);
    int length = snprintf(text, sizeof text, "write %d of rank %d\ntwice\n", i, rank);
    CHECK(write(STDOUT_FILENO, text, (size_t)length) == length);
  }
  if (argc > 1 && strcmp(argv[1], "long") == 0) {
    char *line = malloc(LONG + 1);
    memset(line, 'a' + rank % 26, LONG);
    line[LONG] = '\0';
    puts(line);
    free(line);
  }
  printf("not ended by rank %d", rank);
  if (argc > 1 && strcmp(argv[1], "abort") == 0) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Abort(MPI_COMM_WORLD, 9);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
