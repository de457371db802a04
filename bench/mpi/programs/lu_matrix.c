/* SPDX-License-Identifier: Apache-2.0 */
/* Where the matrix of lu.c comes from: made here, or a file. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "line.h"
#include "lu.h"

int *lu_integers(long count) {
  int *memory = calloc((size_t)count + 1, sizeof *memory);
  if (memory == NULL) {
    fprintf(stderr, "no memory for %ld integers\n", count);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static void allocate(struct lu_matrix *matrix, int n, long elements) {
  matrix->n = n;
  matrix->start = lu_integers(n + 1);
  matrix->column = lu_integers(elements);
  matrix->value = numbers((size_t)elements);
}

/* ---- a matrix made here */

/* Unknowns at each node of the grid. The elements of a row are then about as many as in the
 * matrices of the paper: GOODWIN (7320 rows), TID (14454), E40R0100 (17281). */
static int unknowns_at_node(int n) {
  switch (n) {
    case 7320: return 5;
    case 14454: return 2;
    default: return 3;
  }
}

static unsigned mixed(unsigned i, unsigned j) {
  unsigned hash = i * 0x9e3779b1u ^ (j + 0x7f4a7c15u) * 0x85ebca6bu;
  hash = (hash ^ hash >> 15) * 0xc2b2ae35u;
  return hash ^ hash >> 13;
}

/* The last unknown of each node, like a pressure, is not in its own equation. Of the other pairs
 * one in ten is left out, in one direction. @return 0: there is no such element */
static double element(int i, int j, int unknowns) {
  unsigned hash = mixed((unsigned)i, (unsigned)j);
  if (i == j) return i % unknowns == unknowns - 1 && unknowns > 1 ? 0 : 2 + (hash >> 8) * 0x1p-24;
  return hash % 10 == 0 && i / unknowns != j / unknowns ? 0 : (hash >> 8) * 0x1p-23 - 1;
}

void lu_generate(struct lu_matrix *matrix, int n) {
  int unknowns = unknowns_at_node(n), nodes = (n + unknowns - 1) / unknowns;
  int width = (int)ceil(sqrt(nodes));
  long count = 0;
  allocate(matrix, n, 9L * unknowns * n);
  for (int i = 0; i < n; i++) {
    int node = i / unknowns, x = node % width, y = node / width;
    for (int place = 0; place < 9 * unknowns; place++) {
      int neighbour_x = x + place / unknowns % 3 - 1, neighbour_y = y + place / unknowns / 3 - 1;
      int j = (neighbour_y * width + neighbour_x) * unknowns + place % unknowns;
      if (neighbour_x < 0 || neighbour_x >= width || j < 0 || j >= n) continue;
      double value = element(i, j, unknowns);
      if (value == 0) continue;
      matrix->column[count] = j;
      matrix->value[count++] = value;
    }
    matrix->start[i + 1] = (int)count;
  }
}

/* ---- a matrix from a file */

struct reader {
  FILE *file;
  const char *path;
  char line[1024]; /* the longest line the format allows, and its end */
  long number;
};

static void complain(const struct reader *reader, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void complain(const struct reader *reader, const char *format, ...) {
  va_list arguments;
  fprintf(stderr, "lu: %s:%ld: ", reader->path, reader->number);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

/* The next line that is neither empty nor a comment. */
static void next_line(struct reader *reader) {
  do {
    reader->number++;
    if (fgets(reader->line, sizeof reader->line, reader->file) == NULL)
      complain(reader, "the file ends here, but there should be more lines");
  } while (reader->line[0] == '%' || reader->line[strspn(reader->line, " \t\r\n")] == '\0');
}

/* How a file's elements stand for others: a symmetric one has the lower triangle only. */
enum symmetry { GENERAL, SYMMETRIC, SKEW };

static enum symmetry read_header(struct reader *reader) {
  char object[64], format[64], field[64], symmetry[64];
  reader->number = 1;
  if (fgets(reader->line, sizeof reader->line, reader->file) == NULL ||
      sscanf(reader->line, "%%%%MatrixMarket %63s %63s %63s %63s", object, format, field,
             symmetry) != 4)
    complain(reader, "not a Matrix Market file: the first line is not \"%%%%MatrixMarket ...\"");
  if (strcmp(object, "matrix") != 0 || strcmp(format, "coordinate") != 0)
    complain(reader, "\"%s %s\": only \"matrix coordinate\" can be read", object, format);
  if (strcmp(field, "real") != 0 && strcmp(field, "integer") != 0)
    complain(reader, "elements are \"%s\": only real and integer ones can be read", field);
  if (strcmp(symmetry, "general") == 0) return GENERAL;
  if (strcmp(symmetry, "symmetric") == 0) return SYMMETRIC;
  if (strcmp(symmetry, "skew-symmetric") != 0)
    complain(reader, "\"%s\": only general, symmetric and skew-symmetric can be read", symmetry);
  return SKEW;
}

static void read_element(struct reader *reader, int n, int *i, int *j, double *value) {
  next_line(reader);
  if (sscanf(reader->line, "%d %d %lf", i, j, value) != 3)
    complain(reader, "not a row, a column and a number");
  if (*i < 1 || *i > n || *j < 1 || *j > n)
    complain(reader, "element (%d, %d) is outside of a matrix of %d rows", *i, *j, n);
  if (!isfinite(*value)) complain(reader, "%g is not a number to compute with", *value);
  --*i;
  --*j;
}

/* Elements in the order of the file become rows. */
static void sort(struct lu_matrix *matrix, int n, long count, const int *i, const int *j,
                 const double *value) {
  allocate(matrix, n, count);
  for (long e = 0; e < count; e++) matrix->start[i[e] + 1]++;
  for (int row = 0; row < n; row++) matrix->start[row + 1] += matrix->start[row];
  int *place = lu_integers(n);
  memcpy(place, matrix->start, (size_t)n * sizeof *place);
  for (long e = 0; e < count; e++) {
    matrix->column[place[i[e]]] = j[e];
    matrix->value[place[i[e]]++] = value[e];
  }
  free(place);
}

void lu_read(struct lu_matrix *matrix, const char *path) {
  struct reader reader = {.file = fopen(path, "r"), .path = path};
  int n, columns;
  long lines, count = 0;
  if (reader.file == NULL) complain(&reader, "cannot be opened: %s", strerror(errno));
  enum symmetry symmetry = read_header(&reader);
  next_line(&reader);
  if (sscanf(reader.line, "%d %d %ld", &n, &columns, &lines) != 3 || n < 1 || lines < 0 ||
      lines > 1L << 29)
    complain(&reader, "not the numbers of rows, columns and elements");
  if (n != columns) complain(&reader, "%d rows and %d columns: not square", n, columns);
  int *i = lu_integers(2 * lines), *j = lu_integers(2 * lines);
  double *value = numbers(2 * (size_t)lines);
  for (long line = 0; line < lines; line++) {
    read_element(&reader, n, &i[count], &j[count], &value[count]);
    count++;
    if (symmetry == GENERAL || i[count - 1] == j[count - 1]) continue;
    i[count] = j[count - 1];
    j[count] = i[count - 1];
    value[count] = symmetry == SKEW ? -value[count - 1] : value[count - 1];
    count++;
  }
  fclose(reader.file);
  sort(matrix, n, count, i, j, value);
  free(i);
  free(j);
  free(value);
}
