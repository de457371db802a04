/* SPDX-License-Identifier: Apache-2.0 */
/* Prints in all ways there are: what output.py looks at. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

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

wint_t __woverflow(FILE *stream, wint_t character); /* libc's */

/* To a file of the rank's own, whose buffer the program's code fills. */
static void print_wide_to_file(int rank) {
  FILE *file = tmpfile();
  CHECK(file != NULL && fwide(file, 1) > 0);
  for (int i = 0; i < CHARACTERS; i++) {
    CHECK(__woverflow(file, L'a' + (wint_t)rank) == L'a' + (wint_t)rank);
    CHECK(fputwc_unlocked(L'b', file) == L'b');
  }
  rewind(file);
  for (int i = 0; i < CHARACTERS; i++)
    CHECK(fgetwc(file) == L'a' + (wint_t)rank && fgetwc(file) == L'b');
  CHECK(fgetwc(file) == WEOF && fclose(file) == 0);
}

/* Wide characters without locks; a buffer that a rank sets is taken from no other. */
static void print_wide(int rank) {
  static char buffer[BUFSIZ];
  wchar_t text[2] = {L'a' + rank, L'\0'};
  setbuf(stdout, buffer);
  setlinebuf(stdout);
  setbuffer(stdout, buffer, sizeof buffer);
  print_wide_to_file(rank);
  for (int i = 0; i < CHARACTERS; i++) {
    CHECK(fputwc_unlocked(*text, stdout) == (wint_t)*text);
    CHECK(putwc_unlocked(*text, stdout) == (wint_t)*text);
    CHECK(putwchar_unlocked(*text) == (wint_t)*text);
    CHECK(fputws_unlocked(text, stdout) >= 0);
    CHECK(__woverflow(stdout, (wint_t)*text) == (wint_t)*text);
  }
}

static void print_arguments(const wchar_t *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  CHECK(vfwprintf(stdout, format, arguments) > 0);
  va_end(arguments);
  va_start(arguments, format);
  CHECK(vwprintf(format, arguments) > 0);
  va_end(arguments);
}

/* In the rank's own characters. */
static void print_words(int rank) {
  CHECK(setlocale(LC_CTYPE, "C.UTF-8") != NULL && fwide(stdout, 1) > 0);
  CHECK(wprintf(L"wprintf %d \u00e4\n", rank) == 12 && fputws(L"fputws \u20ac\n", stdout) >= 0);
  CHECK(fwprintf(stdout, L"fwprintf %ls\n", L"\u00df") == 11 &&
        fputwc(L'\u00f8', stdout) == L'\u00f8');
  CHECK(putwc(L'p', stdout) == L'p' && putwchar(L'\n') == L'\n');
  print_arguments(L"%s %d\n", "listed", rank);
  CHECK(setlocale(LC_CTYPE, "C") != NULL);
  CHECK(fputws(L"\u20ac", stdout) == -1 && fputwc(L'\u20ac', stdout) == WEOF && errno == EILSEQ);
}

/* One rank has all of the input, by all functions that take no lock. */
static void copy_input(int rank) {
  if (rank != 0) return;
  char line[64], rest[64];
  setbuf(stdin, NULL);
  int first = (getchar_unlocked)(), second = (getc_unlocked)(stdin);
  int third = fgetc_unlocked(stdin);
  CHECK(fgets_unlocked(line, sizeof line, stdin) == line);
  size_t count = fread_unlocked(rest, 1, sizeof rest - 1, stdin);
  rest[count] = '\0';
  printf("%c|%c|%c|%s|%s", first, second, third, line, rest);
  CHECK((getchar_unlocked)() == EOF && fgets_unlocked(line, sizeof line, stdin) == NULL);
}

/* A pipe is no output. */
static void write_to_pipe(void) {
  int ends[2];
  char one[] = "one ", two[] = "two ", got[16] = "";
  const struct iovec parts[] = {{one, 4}, {two, 4}};
  CHECK(pipe(ends) == 0 && ends[0] > STDERR_FILENO && ends[1] > STDERR_FILENO);
  CHECK(writev(ends[1], parts, 2) == 8 && write(ends[1], "three", 5) == 5);
  CHECK(dprintf(ends[1], " %d", 4) == 2 && close(ends[1]) == 0);
  CHECK(read(ends[0], got, sizeof got) == 15 && memcmp(got, "one two three 4", 15) == 0);
  CHECK(close(ends[0]) == 0);
}

/* By a copy of the descriptor, and by children. */
static void print_copies(int rank) {
  int status;
  write_to_pipe();
  for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
    int copy = dup(fd);
    CHECK(copy > STDERR_FILENO && dprintf(copy, "copy %d\n", rank) > 0 && close(copy) == 0);
  }
  char given[8] = "";
  int input = dup(STDIN_FILENO); /* it is no output, so the rank has no file for it */
  CHECK(input > STDERR_FILENO && pread(input, given, sizeof given, 0) == 5 && close(input) == 0);
  CHECK(pread(STDIN_FILENO, given, sizeof given, 0) == 5 && memcmp(given, "given", 5) == 0);
  CHECK(system("echo command $PMI_RANK") == 0);
  pid_t child = fork();
  if (child == 0) {
    dprintf(STDOUT_FILENO, "child %d\n", rank);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* In a file that the rank leaves open: fflush(NULL) writes the first part, its end the second. */
static void store(int rank) {
  char name[24], text[24], found[24] = "";
  snprintf(name, sizeof name, "stored.%d", rank);
  snprintf(text, sizeof text, "flushed by %d", rank);
  FILE *file = fopen(name, "w");
  CHECK(file != NULL && fputs(text, file) >= 0 && fflush(NULL) == 0);
  int fd = open(name, O_RDONLY);
  CHECK(fd >= 0 && read(fd, found, sizeof found - 1) > 0 && strcmp(found, text) == 0);
  CHECK(close(fd) == 0 && fputs(", and left", file) >= 0);
}

int main(int argc, char **argv) {
  char text[64];
  int size, rank = check_start(&argc, &argv, &size);
  const struct {
    const char *name;
    void (*print)(int rank);
  } others[] = {{"unlocked", print_unlocked}, {"wide", print_wide}, {"words", print_words},
                {"copies", print_copies},     {"stored", store},    {"read", copy_input}};
  for (size_t i = 0; argc > 1 && i < sizeof others / sizeof others[0]; i++) {
    if (strcmp(argv[1], others[i].name) != 0) continue;
    others[i].print(rank);
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
