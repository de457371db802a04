/* SPDX-License-Identifier: Apache-2.0 */
/* dk-load PROGRAM [ROUNDS], or dk-load serve|fetch|flood ADDRESS. A program does a fixed amount of
 * work and checks that each round of it comes to the same result. */
#include "loads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"

static const struct program {
  const char *name;
  load_round *round;
  int rounds; /* of one run, about the same time for each program */
} programs[] = {
    {"fp", load_fp, 4},       {"integer", load_integer, 4}, {"branchy", load_branchy, 4},
    {"cache", load_cache, 4}, {"memory", load_memory, 4},   {"mixed", load_mixed, 4},
};

static const struct network {
  const char *name;
  int (*run)(const char *address);
} networks[] = {{"serve", net_serve}, {"fetch", net_fetch}, {"flood", net_flood}};

static int run_program(const struct program *program, const char *rounds_text) {
  uint64_t rounds = (uint64_t)program->rounds;
  if (rounds_text && !mt_is_number(rounds_text, 1, 1000000, &rounds)) {
    fprintf(stderr, "dk-load: rounds '%s': no number from 1 to 1000000 (leave it out)\n",
            rounds_text);
    return 2;
  }
  uint64_t first = program->round();
  for (uint64_t i = 1; i < rounds; i++) {
    if (program->round() != first) {
      fprintf(stderr, "dk-load: %s: two rounds differ (do not trust this machine)\n",
              program->name);
      return 1;
    }
  }
  printf("%s %llu\n", program->name, (unsigned long long)first);
  return 0;
}

int main(int argc, char **argv) {
  for (size_t i = 0; argc >= 2 && i < sizeof(programs) / sizeof(programs[0]); i++) {
    if (argc <= 3 && !strcmp(argv[1], programs[i].name)) {
      return run_program(&programs[i], argv[2]);
    }
  }
  for (size_t i = 0; argc == 3 && i < sizeof(networks) / sizeof(networks[0]); i++) {
    if (!strcmp(argv[1], networks[i].name)) {
      int error = networks[i].run(argv[2]);
      if (error) {
        fprintf(stderr, "dk-load: %s %s: %s (check the address)\n", argv[1], argv[2],
                strerror(error));
      }
      return error ? 1 : 0;
    }
  }
  fputs(
      "usage: dk-load fp|integer|branchy|cache|memory|mixed [ROUNDS]\n"
      "       dk-load serve|fetch|flood ADDRESS\n",
      stderr);
  return 2;
}
