/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In the manner of SWEEP3D (TMPI-2): discrete ordinates on a cube. wavefront SIZE. Ranks have
 * columns of the cube, in two dimensions. In each of eight octants, for a block of angles and of
 * planes, a rank takes the faces of its two neighbours upstream, sweeps its part and passes its own
 * faces on (KBA).
 *
 * The source is such that the flux of every angle is a linear function of the place, which the
 * scheme has exactly; so every cell is checked, and a face that went astray shows.
 */
#include <math.h>

#include "line.h"

enum { ANGLES = 6, ANGLE_BLOCK = 3, PLANES = 8, OCTANTS = 8 };

static int n, rank, ranks;
static int across[2], place[2], cells[2], start[2]; /* ranks, this one, its cells and their first */
static MPI_Comm grid;
static double *flux; /* [k][j][i], of all angles */
static double *east, *north,
    *above; /* faces: [angle][plane][j], [angle][plane][i], [angle][j][i] */
static double *leaving[ANGLE_BLOCK]; /* what leaves the cells of a row, in part */

/* What a cell does with what enters it, for an angle of the block. */
static struct ordinate {
  double i, j, k; /* so much of what enters through each face leaves */
  double fixed;   /* of the source: that leaves, of any cell */
  double emitted; /* of the source: so much of the solution there leaves */
  double weight;  /* of what leaves, in the flux */
} ordinates[ANGLE_BLOCK];

static const double sigma = 0.7;

static double cosine(int angle, int dimension) {
  return 0.2 + 0.1 * ((angle * 3 + dimension * 5) % 7);
}

static double weight(int angle) { return 0.05 * (angle + 1); }

static double solution(double i, double j, double k) { return 2 + 0.3 * i - 0.2 * j + 0.1 * k; }

/* How much it changes from a cell to the next one downstream. */
static double slope(int dimension, int direction) {
  static const double by[3] = {0.3, -0.2, 0.1};
  return by[dimension] * direction;
}

static double source(int angle, const int way[3], double value) {
  double sum = sigma * value;
  for (int d = 0; d < 3; d++) sum += cosine(angle, d) * slope(d, way[d]);
  return sum;
}

/* The cell upstream of the first, in the direction of the sweep. */
static int before(int dimension, const int way[3], int count, int first) {
  return way[dimension] > 0 ? first - 1 : first + count;
}

/* Faces of a block of angles and planes: what comes from upstream, or from outside of the cube. */
static void take_faces(const int way[3], int angle0, int k0, const int upstream[2]) {
  int faces[2] = {ANGLE_BLOCK * PLANES * cells[1], ANGLE_BLOCK * PLANES * cells[0]};
  if (upstream[0] != MPI_PROC_NULL)
    MPI_Recv(east, faces[0], MPI_DOUBLE, upstream[0], angle0, grid, MPI_STATUS_IGNORE);
  if (upstream[1] != MPI_PROC_NULL)
    MPI_Recv(north, faces[1], MPI_DOUBLE, upstream[1], angle0, grid, MPI_STATUS_IGNORE);
  int i = before(0, way, cells[0], start[0]), j = before(1, way, cells[1], start[1]);
  for (int a = 0; a < ANGLE_BLOCK; a++)
    for (int p = 0; p < PLANES; p++) {
      int k = k0 + p * way[2];
      for (int y = 0; y < cells[1] && upstream[0] == MPI_PROC_NULL; y++)
        east[(a * PLANES + p) * cells[1] + y] = solution(i, start[1] + y, k);
      for (int x = 0; x < cells[0] && upstream[1] == MPI_PROC_NULL; x++)
        north[(a * PLANES + p) * cells[0] + x] = solution(start[0] + x, j, k);
    }
}

static void start_column(const int way[3]) {
  int k = way[2] > 0 ? -1 : n;
  for (int a = 0; a < ANGLE_BLOCK; a++)
    for (int y = 0; y < cells[1]; y++)
      for (int x = 0; x < cells[0]; x++)
        above[(a * cells[1] + y) * cells[0] + x] = solution(start[0] + x, start[1] + y, k);
}

static void set_ordinates(const int way[3], int angle0) {
  for (int a = 0; a < ANGLE_BLOCK; a++) {
    double mu = cosine(angle0 + a, 0), eta = cosine(angle0 + a, 1), xi = cosine(angle0 + a, 2);
    double scale = 1 / (sigma + mu + eta + xi);
    ordinates[a] = (struct ordinate){.i = mu * scale,
                                     .j = eta * scale,
                                     .k = xi * scale,
                                     .fixed = source(angle0 + a, way, 0) * scale,
                                     .emitted = sigma * scale,
                                     .weight = weight(angle0 + a)};
  }
}

/* What leaves the cells of a row but for the part that comes from the cell before. */
static void enter_row(const struct ordinate *o, int y, int k, const double *face_j,
                      const double *face_k, double *restrict out) {
  for (int x = 0; x < cells[0]; x++) {
    double here = solution(start[0] + x, start[1] + y, k);
    out[x] = o->fixed + o->emitted * here + o->j * face_j[x] + o->k * face_k[x];
  }
}

/* Of the plane k, which is the p-th of its block. The angles go along the row together: a cell
 * waits for the cell before, but not for another angle. */
static void sweep_row(int way, int p, int y, int k) {
  double in[ANGLE_BLOCK], part[ANGLE_BLOCK], share[ANGLE_BLOCK];
  double *face_j[ANGLE_BLOCK], *face_k[ANGLE_BLOCK];
  for (int a = 0; a < ANGLE_BLOCK; a++) {
    face_j[a] = &north[(a * PLANES + p) * cells[0]];
    face_k[a] = &above[(a * cells[1] + y) * cells[0]];
    enter_row(&ordinates[a], y, k, face_j[a], face_k[a], leaving[a]);
    in[a] = east[(a * PLANES + p) * cells[1] + y];
    part[a] = ordinates[a].i;
    share[a] = ordinates[a].weight;
  }
  double *sum = &flux[((size_t)k * (size_t)cells[1] + (size_t)y) * (size_t)cells[0]];
  for (int l = 0; l < cells[0]; l++) {
    int x = way > 0 ? l : cells[0] - 1 - l;
    double total = sum[x];
    for (int a = 0; a < ANGLE_BLOCK; a++) {
      in[a] = leaving[a][x] + part[a] * in[a];
      face_j[a][x] = face_k[a][x] = in[a];
      total += share[a] * in[a];
    }
    sum[x] = total;
  }
  for (int a = 0; a < ANGLE_BLOCK; a++) east[(a * PLANES + p) * cells[1] + y] = in[a];
}

static void sweep_block(const int way[3], int k0) {
  for (int p = 0; p < PLANES; p++)
    for (int m = 0; m < cells[1]; m++)
      sweep_row(way[0], p, way[1] > 0 ? m : cells[1] - 1 - m, k0 + p * way[2]);
}

static void pass_faces(int angle0, const int downstream[2]) {
  if (downstream[0] != MPI_PROC_NULL)
    MPI_Send(east, ANGLE_BLOCK * PLANES * cells[1], MPI_DOUBLE, downstream[0], angle0, grid);
  if (downstream[1] != MPI_PROC_NULL)
    MPI_Send(north, ANGLE_BLOCK * PLANES * cells[0], MPI_DOUBLE, downstream[1], angle0, grid);
}

static void sweep_octant(int octant) {
  const int way[3] = {octant & 1 ? 1 : -1, octant & 2 ? 1 : -1, octant & 4 ? 1 : -1};
  int upstream[2], downstream[2];
  for (int d = 0; d < 2; d++) MPI_Cart_shift(grid, d, way[d], &upstream[d], &downstream[d]);
  for (int angle = 0; angle < ANGLES; angle += ANGLE_BLOCK) {
    start_column(way);
    set_ordinates(way, angle);
    for (int block = 0; block < n / PLANES; block++) {
      int k0 = way[2] > 0 ? block * PLANES : n - 1 - block * PLANES;
      take_faces(way, angle, k0, upstream);
      sweep_block(way, k0);
      pass_faces(angle, downstream);
    }
  }
}

static int is_right(void) {
  double weights = 0;
  for (int angle = 0; angle < ANGLES; angle++) weights += OCTANTS * weight(angle);
  for (int k = 0; k < n; k++)
    for (int y = 0; y < cells[1]; y++)
      for (int x = 0; x < cells[0]; x++) {
        double sum =
            flux[((size_t)k * (size_t)cells[1] + (size_t)y) * (size_t)cells[0] + (size_t)x];
        if (fabs(sum - weights * solution(start[0] + x, start[1] + y, k)) > 1e-8) return 0;
      }
  return 1;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  n = size_argument(argc, argv, 1 << 10);
  MPI_Dims_create(ranks, 2, across);
  if (n % PLANES != 0 || across[0] > n) {
    fprintf(stderr, "wavefront: %d: not a multiple of %d, or more ranks than cells\n", n, PLANES);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Cart_create(MPI_COMM_WORLD, 2, across, (int[]){0, 0}, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, place);
  for (int d = 0; d < 2; d++) {
    start[d] = n * place[d] / across[d];
    cells[d] = n * (place[d] + 1) / across[d] - start[d];
  }
  flux = numbers((size_t)n * (size_t)cells[0] * (size_t)cells[1]);
  east = numbers((size_t)(ANGLE_BLOCK * PLANES) * (size_t)cells[1]);
  north = numbers((size_t)(ANGLE_BLOCK * PLANES) * (size_t)cells[0]);
  above = numbers((size_t)ANGLE_BLOCK * (size_t)cells[0] * (size_t)cells[1]);
  for (int a = 0; a < ANGLE_BLOCK; a++) leaving[a] = numbers((size_t)cells[0]);
  MPI_Barrier(grid);
  double begin = MPI_Wtime();
  for (int octant = 0; octant < OCTANTS; octant++) sweep_octant(octant);
  double taken = MPI_Wtime() - begin;
  int status = print_line("wavefront", n, taken, is_right());
  free(flux);
  free(east);
  free(north);
  free(above);
  for (int a = 0; a < ANGLE_BLOCK; a++) free(leaving[a]);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return status;
}
