/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of a round, and their receivers. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "soak.h"

uint64_t draw(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

int draw_below(uint64_t *state, int limit) { return (int)(draw(state) % (uint64_t)limit); }

void fail(const char *format, ...) {
  int rank;
  va_list arguments;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "soak: rank %d: ", rank);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fputc('\n', stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
  abort();
}

/* Around the size up to which messages are copied at once, and far from it. */
static int draw_count(uint64_t *same) {
  static const int limits[] = {1, 4, 64, 1000, 5000, 40000};
  int limit = limits[draw_below(same, 6)];
  return draw_below(same, 12) == 0 ? 4096 + draw_below(same, 5) - 2 : draw_below(same, limit + 1);
}

/* A pair of ranks of a communicator, by their ranks in the world; a rank may send to itself. */
static void draw_pair(struct message *m, const struct world *world, uint64_t *same,
                      int *world_dest) {
  int size = world->world_size, source = draw_below(same, size), dest = draw_below(same, size);
  if (m->comm == 2) dest += (source % world->colours - dest % world->colours);
  if (dest < 0) dest += world->colours;
  if (dest >= size) dest = source;
  *world_dest = dest;
  m->source = source;
  m->dest = dest;
  if (m->comm == 1) { /* ranks in the opposite order */
    m->source = size - 1 - source;
    m->dest = size - 1 - dest;
  } else if (m->comm == 2) {
    m->source = source / world->colours;
    m->dest = dest / world->colours;
  }
}

void make_plan(struct plan *plan, const struct world *world, uint64_t seed, int round) {
  uint64_t same = seed * 1000003 + (uint64_t)round;
  int mine = world->world_rank;
  plan->kind = (enum kind)draw_below(&same, KINDS);
  plan->count = 0;
  int all = draw_below(&same, 8 * world->world_size + 1);
  plan->messages = malloc(((size_t)all + 1) * sizeof *plan->messages);
  if (plan->messages == NULL) fail("no memory");
  uint64_t styles = same ^ (uint64_t)(mine + 1) * 7919;
  for (int c = 0; c < COMMS; c++) plan->styles[c] = (enum style)draw_below(&styles, STYLES);
  for (int i = 0; i < all; i++) {
    int world_dest;
    struct message m = {.id = round * 100000 + i, .comm = draw_below(&same, COMMS)};
    m.tag = draw_below(&same, TAGS);
    m.count = draw_count(&same);
    draw_pair(&m, world, &same, &world_dest);
    bool in_part = m.comm != 2 || world_dest % world->colours == mine % world->colours;
    bool sent = m.source == world->ranks[m.comm] && in_part;
    if (sent || world_dest == mine) plan->messages[plan->count++] = m;
  }
}

struct message *model_match(struct plan *plan, const struct world *world, int comm, int source,
                            int tag) {
  for (int i = 0; i < plan->count; i++) {
    struct message *m = &plan->messages[i];
    if (m->taken || m->comm != comm || m->dest != world->ranks[comm]) continue;
    if (m->source != source || (tag != MPI_ANY_TAG && m->tag != tag)) continue;
    m->taken = true;
    return m;
  }
  return NULL;
}
