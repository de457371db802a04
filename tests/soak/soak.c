/* SPDX-License-Identifier: Apache-2.0 */
/* soak SEED ROUNDS: a random program; soak.h says which. */
#include <stdio.h>
#include <stdlib.h>

#include "soak.h"

enum {
  BUFFER = 256 << 20,
  COLLECTIVES = 3,
  WINDOWS = 3,
  FILES = 6 /* rounds for each that has one */
};

static void make_world(struct world *world) {
  MPI_Comm_rank(MPI_COMM_WORLD, &world->world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world->world_size);
  int rank = world->world_rank, size = world->world_size;
  if (size > RANKS_MAX) fail("more than %d ranks", RANKS_MAX);
  world->colours = size > 3 ? 2 : 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &world->comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &world->comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % world->colours, rank, &world->comms[2]);
  for (int c = 0; c < COMMS; c++) {
    MPI_Comm_rank(world->comms[c], &world->ranks[c]);
    MPI_Comm_size(world->comms[c], &world->sizes[c]);
  }
}

/* @return the messages the caller got. */
static long do_round(const struct world *world, uint64_t seed, int round) {
  struct plan plan;
  struct pending pending;
  long got = 0;
  uint64_t same = seed * 7777777 + (uint64_t)round,
           chance = same + (uint64_t)world->world_rank * 31337;
  draw(&chance);
  make_plan(&plan, world, seed, round);
  bool overlaps = draw_below(&same, 2) == 0;
  if (overlaps) collective_start(&pending, world, draw_below(&same, 1000), round);
  perform(&plan, world, &chance);
  for (int i = draw_below(&same, COLLECTIVES); i > 0; i--) collective(world, &same);
  uint64_t of_window = draw(&same), of_file = draw(&same);
  if (draw_below(&same, WINDOWS) == 0) window_round(world, of_window, &chance);
  if (draw_below(&same, FILES) == 0) file_round(world, of_file, &chance);
  if (overlaps) collective_end(&pending, world);
  for (int i = 0; i < plan.count; i++) got += plan.messages[i].taken;
  free(plan.messages);
  return got;
}

int main(int argc, char **argv) {
  struct world world;
  MPI_Init(&argc, &argv);
  if (argc != 3) fail("soak SEED ROUNDS");
  uint64_t seed = strtoull(argv[1], NULL, 10);
  int rounds = atoi(argv[2]), size;
  long got = 0, all = 0;
  char *buffer = malloc(BUFFER);
  make_world(&world);
  MPI_Buffer_attach(buffer, BUFFER);
  for (int round = 0; round < rounds; round++) got += do_round(&world, seed, round);
  MPI_Reduce(&got, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Buffer_detach(&buffer, &size);
  free(buffer);
  for (int c = 0; c < COMMS; c++) MPI_Comm_free(&world.comms[c]);
  if (world.world_rank == 0) printf("soak: %ld messages in %d rounds\n", all, rounds);
  MPI_Finalize();
  return 0;
}
