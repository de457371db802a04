/* SPDX-License-Identifier: Apache-2.0 */
/*
 * getopt() and variants: libc keeps its position in variables that all ranks would share. These
 * follow getopt(3) with GNU's extensions, but for "W;".
 *
 * Words that are no options are skipped: [first, last), where last was the next word to read. They
 * are moved behind each option that is found after them.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *optarg;
int optind = 1, opterr = 1, optopt = '?';

enum order { PERMUTE, STOP, RETURN };

static struct {
  const char *rest; /* of a word with several short options */
  int first, last;
  enum order order;
  bool started;
} at = {.rest = ""};

/* A call: its long options, and how it tells what is wrong. */
struct call {
  const struct option *of; /* long options; NULL: none */
  int *index;
  bool one_dash;
  bool loud;          /* errors print a message */
  int missing;        /* returned when there is no argument */
  const char *dashes; /* of the word that is looked at */
};

static bool is_option(const char *word) { return word[0] == '-' && word[1] != '\0'; }

static void start(const char *shorts) {
  if (optind == 0) optind = 1;
  at.first = at.last = optind;
  at.rest = "";
  at.order = PERMUTE;
  if (shorts[0] == '-') at.order = RETURN;
  if (shorts[0] == '+' || (shorts[0] != '-' && getenv("POSIXLY_CORRECT") != NULL)) at.order = STOP;
  at.started = true;
}

static void reverse(char **from, char **to) {
  while (from < to) {
    char *word = *from;
    *from++ = *--to;
    *to = word;
  }
}

/* Moves the words passed over behind the options found since. */
static void move_words(char **argv) {
  if (at.first == at.last) {
    at.first = optind;
  } else if (at.last != optind) {
    reverse(argv + at.first, argv + at.last);
    reverse(argv + at.last, argv + optind);
    reverse(argv + at.first, argv + optind);
    at.first += optind - at.last;
  }
  at.last = optind;
}

/* Finds the next word that is an option. @return -1: the end; 1: a word that is none; 0. */
static int next_word(int argc, char **argv) {
  if (at.last > optind) at.last = optind; /* the program went back */
  if (at.first > optind) at.first = optind;
  if (at.order == PERMUTE) {
    move_words(argv);
    while (optind < argc && !is_option(argv[optind])) optind++;
    at.last = optind;
  }
  if (optind < argc && strcmp(argv[optind], "--") == 0) {
    optind++;
    move_words(argv);
    at.last = optind = argc;
  }
  if (optind >= argc) {
    if (at.first != at.last) optind = at.first;
    return -1;
  }
  if (is_option(argv[optind])) return 0;
  if (at.order == STOP) return -1;
  optarg = argv[optind++];
  return 1;
}

/* ---- long options */

static bool same(const struct option *a, const struct option *b) {
  return a->has_arg == b->has_arg && a->flag == b->flag && a->val == b->val;
}

/* @return the option of that name, or that alone begins so. With one dash two that begin so are
 * ambiguous even if they are the same. */
static const struct option *find_long(const struct call *call, const char *name, size_t length,
                                      bool *ambiguous) {
  const struct option *found = NULL;
  *ambiguous = false;
  for (const struct option *o = call->of; o->name != NULL; o++) {
    if (strncmp(o->name, name, length) != 0) continue;
    if (strlen(o->name) == length) {
      *ambiguous = false;
      return o;
    }
    if (found != NULL && (call->one_dash || !same(found, o))) *ambiguous = true;
    if (found == NULL) found = o;
  }
  return *ambiguous ? NULL : found;
}

static int take_long(int argc, char **argv, const struct call *call, const struct option *o,
                     const char *value) {
  const char *wrong = NULL;
  if (value != NULL && o->has_arg == no_argument) wrong = "doesn't allow";
  if (value == NULL && o->has_arg == required_argument) {
    if (optind == argc)
      wrong = "requires";
    else
      value = argv[optind++];
  }
  if (wrong != NULL) {
    if (call->loud)
      fprintf(stderr, "%s: option '%s%s' %s an argument\n", argv[0], call->dashes, o->name, wrong);
    optopt = o->val;
    return value == NULL ? call->missing : '?';
  }
  optarg = (char *)(size_t)value;
  if (call->index != NULL) *call->index = (int)(o - call->of);
  if (o->flag == NULL) return o->val;
  *o->flag = o->val;
  return 0;
}

/* @return -1: it is not one, and may be short ones. */
static int long_option(int argc, char **argv, const char *shorts, struct call *call) {
  const char *word = argv[optind];
  bool two = word[1] == '-', ambiguous;
  call->dashes = two ? "--" : "-";
  const char *name = word + (two ? 2 : 1);
  size_t length = strcspn(name, "=");
  const struct option *o = find_long(call, name, length, &ambiguous);
  if (o == NULL && !ambiguous && !two && strchr(shorts, name[0]) != NULL) return -1;
  optind++;
  if (o != NULL)
    return take_long(argc, argv, call, o, name[length] == '=' ? name + length + 1 : NULL);
  if (call->loud)
    fprintf(stderr, ambiguous ? "%s: option '%s' is ambiguous\n" : "%s: unrecognized option '%s'\n",
            argv[0], word);
  optopt = 0;
  return '?';
}

/* ---- short ones */

static int short_option(int argc, char **argv, const char *shorts, const struct call *call) {
  int letter = (unsigned char)*at.rest++;
  const char *found = letter != ':' && letter != ';' ? strchr(shorts, letter) : NULL;
  if (*at.rest == '\0') optind++;
  if (found == NULL) {
    if (call->loud) fprintf(stderr, "%s: invalid option -- '%c'\n", argv[0], letter);
    optopt = letter;
    return '?';
  }
  if (found[1] != ':') return letter;
  bool optional = found[2] == ':';
  if (*at.rest != '\0') {
    optarg = (char *)(size_t)at.rest;
    optind++;
  } else if (!optional && optind < argc) {
    optarg = argv[optind++];
  } else if (!optional) {
    if (call->loud) fprintf(stderr, "%s: option requires an argument -- '%c'\n", argv[0], letter);
    optopt = letter;
    letter = call->missing;
  }
  at.rest = "";
  return letter;
}

static int scan(int argc, char **argv, const char *shorts, struct call *call) {
  optarg = NULL;
  if (argc < 1) return -1;
  if (!at.started || optind == 0) start(shorts);
  if (*shorts == '+' || *shorts == '-') shorts++;
  bool quiet = *shorts == ':';
  call->loud = opterr != 0 && !quiet;
  call->missing = quiet ? ':' : '?';
  if (*at.rest == '\0') {
    int found = next_word(argc, argv);
    if (found != 0) return found;
    const char *word = argv[optind];
    bool is_long = call->of != NULL && (word[1] == '-' || (call->one_dash && word[2] != '\0') ||
                                        (call->one_dash && strchr(shorts, word[1]) == NULL));
    int result = is_long ? long_option(argc, argv, shorts, call) : -1;
    if (result != -1) return result;
    at.rest = word + 1;
  }
  return short_option(argc, argv, shorts, call);
}

int getopt(int argc, char *const argv[], const char *shorts) {
  return scan(argc, (char **)(size_t)argv, shorts, &(struct call){.of = NULL});
}

int getopt_long(int argc, char *const argv[], const char *shorts, const struct option *longs,
                int *index) {
  return scan(argc, (char **)(size_t)argv, shorts, &(struct call){.of = longs, .index = index});
}

int getopt_long_only(int argc, char *const argv[], const char *shorts, const struct option *longs,
                     int *index) {
  return scan(argc, (char **)(size_t)argv, shorts,
              &(struct call){.of = longs, .index = index, .one_dash = true});
}
