/* SPDX-License-Identifier: Apache-2.0 */
/* See parts.h. */
#include "tmpi/run/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "tmpi/run/foreign_options.h"

int tm_parts_cut(int argc, char **argv) {
  int end = 0;
  while (end < argc && strcmp(argv[end], ":") != 0) end++;
  return end;
}

bool tm_parts_add(struct tm_parts *parts, int ranks, int argc, char **argv) {
  struct tm_part *list = realloc(parts->list, ((size_t)parts->count + 1) * sizeof *list);
  if (list == NULL) {
    fprintf(stderr, "tmpirun: no memory for the command line (free some)\n");
    return false;
  }
  list[parts->count++] = (struct tm_part){ranks, argc, argv};
  parts->list = list;
  return true;
}

int tm_parts_ranks(const struct tm_parts *parts) {
  int ranks = 0;
  for (int i = 0; i < parts->count; i++) ranks += parts->list[i].ranks;
  return ranks;
}

int tm_parts_of(const struct tm_parts *parts, int rank) {
  int i = 0;
  for (; i + 1 < parts->count && rank >= parts->list[i].ranks; i++) rank -= parts->list[i].ranks;
  return i;
}

/* @return the number, 0 after a message. */
static int ranks_of(const char *word, int most) {
  uint64_t value;
  if (mt_is_number(word, 1, (unsigned)most, &value)) return (int)value;
  fprintf(stderr, "tmpirun: -n: '%s' is no number from 1 to %d (tmpirun --help)\n", word, most);
  return 0;
}

/* A part behind the first one: -n alone is its own, for the other options hold for all ranks.
 * words[0] is the ':' in front of it. @return false after a message. */
static bool add_part(struct tm_parts *parts, int count, char **words, int most,
                     bool (*takes_next)(const char *word)) {
  int at = 1, ranks = 1;
  count = tm_foreign_options(count, &words, true, takes_next);
  if (count < 0) return false;
  while (at + 1 < count && (strcmp(words[at], "-n") == 0 || strcmp(words[at], "--np") == 0)) {
    ranks = ranks_of(words[at + 1], most);
    if (ranks == 0) return false;
    at += 2;
  }
  if (at < count && words[at][0] == '-') {
    fprintf(stderr,
            "tmpirun: %s: not behind a ':', where only -n is an option (give it before the first "
            "program)\n",
            words[at]);
    return false;
  }
  if (at < count) return tm_parts_add(parts, ranks, count - at, words + at);
  fprintf(stderr, "tmpirun: no program behind a ':' (tmpirun --help)\n");
  return false;
}

bool tm_parts_add_rest(struct tm_parts *parts, int first, int argc, char **argv, int most,
                       bool (*takes_next)(const char *word)) {
  for (int begin = first; begin < argc;) {
    int count = 1 + tm_parts_cut(argc - begin - 1, argv + begin + 1);
    if (!add_part(parts, count, argv + begin, most - tm_parts_ranks(parts), takes_next))
      return false;
    begin += count;
  }
  return true;
}
