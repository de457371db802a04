/* SPDX-License-Identifier: Apache-2.0 */
/* See foreign_options.h. */
#include "tmpi/run/foreign_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tmpi/run/hosts.h"
#include "tmpi/run/process.h"

/* A function that carries out an option. values: the words that belong to it. @return false after a
 * message. */
typedef bool perform(const char *option, char **values);

struct foreign {
  const char *names; /* separated by blanks, as typed, each with the blank behind it */
  int words;         /* that belong to it */
  perform *does;
  const char *ours;    /* the word that takes its place; the words stay */
  const char *instead; /* refused: what to do */
};

static bool fail(const char *option, const char *what, const char *why, const char *instead) {
  fprintf(stderr, "tmpirun: %s: '%s': %s (%s)\n", option, what, why, instead);
  return false;
}

/* ---- orders */

static bool set_variable(const char *option, const char *name, const char *value) {
  return setenv(name, value, 1) == 0 ||
         fail(option, name, strerror(errno), "give a name and a value");
}

/* -x NAME=VALUE; -x NAME says that ranks get it, which they do. */
static bool export_variable(const char *option, char **values) {
  char *equals = strchr(values[0], '=');
  if (equals == NULL) return true;
  *equals = '\0';
  bool good = set_variable(option, values[0], equals + 1);
  *equals = '=';
  return good;
}

static bool set_variable_to(const char *option, char **values) {
  return set_variable(option, values[0], values[1]);
}

static bool keep_others(const char *option, char **values) {
  (void)option, (void)values;
  tm_ends_keep_others();
  return true;
}

static bool change_folder(const char *option, char **values) {
  return chdir(values[0]) == 0 || fail(option, values[0], strerror(errno), "name a folder");
}

/* ---- hosts */

static bool add_hosts(const char *option, char **values) { return tm_hosts_add(option, values[0]); }

static bool add_host_file(const char *option, char **values) {
  return tm_hosts_add_file(option, values[0]);
}

/* ---- the table: names without their hyphens */

static const char all_get_all[] = "ranks get tmpirun's environment: start it by env -i NAME=VALUE";
static const char one_process[] = "ranks are threads of this process";

static const struct foreign table[] = {
    {"np c ", 1, NULL, "-n", NULL},
    {"l prepend-rank tag-output ", 0, NULL, "--label", NULL},
    {"outfile-pattern output-filename ", 1, NULL, "--output", NULL},
    {"x ", 1, export_variable, NULL, NULL},
    {"genv env ", 2, set_variable_to, NULL, NULL},
    {"wdir wd dir ", 1, change_folder, NULL, NULL},
    {"disable-auto-cleanup ", 0, keep_others, NULL, NULL},
    {"host hosts H ", 1, add_hosts, NULL, NULL},
    {"hostfile machinefile f default-hostfile ", 1, add_host_file, NULL, NULL},
    /* where ranks run is tmpirun's decision; what concerns several machines has no meaning here */
    {"oversubscribe nooversubscribe no-oversubscribe use-hwthread-cpus allow-run-as-root "
     "report-bindings display-map display-allocation bind-to-core bind-to-socket bind-to-none "
     "bycore bysocket byslot bynode nolocal genvall envall enable-recovery disable-recovery "
     "localhost disable-hostname-propagation q quiet v verbose "
     "merge-stderr-to-stdout ",
     0, NULL, NULL, NULL},
    {"bind-to map-by rank-by npernode npersocket N ppn perhost membind cpu-set "
     "cpu-list launcher rmk iface usize order-nodes personality stdin prefix display topolib "
     "s max-restarts ",
     1, NULL, NULL, NULL},
    {"mca gmca pmca prtemca pmixmca omca tune ", 2, NULL, NULL, NULL},
    {"genvnone envnone ", 0, NULL, NULL, all_get_all},
    {"genvlist envlist ", 1, NULL, NULL, all_get_all},
    {"configfile app ", 1, NULL, NULL, "write its programs with : between them"},
    {"errfile-pattern ", 1, NULL, NULL, "--output=PREFIX writes both streams of each rank"},
    {"xterm debug tv gdb ", 0, NULL, NULL, "gdb --args tmpirun ... debugs all ranks"},
    {"preload-binary preload-files ", 0, NULL, NULL, one_process},
    {"gpus-per-proc gpu-subdevs-per-proc ", 1, NULL, NULL, one_process},
};

static bool names_have(const char *names, const char *word, size_t length) {
  for (const char *at = names; *at != '\0'; at += strcspn(at, " ") + 1)
    if (strncmp(at, word, length) == 0 && at[length] == ' ') return true;
  return false;
}

/* A word of one letter has one hyphen, as getopt's; others have one or two. */
static const struct foreign *find(const char *word) {
  const char *name = word + strspn(word, "-");
  size_t hyphens = (size_t)(name - word), length = strcspn(name, "=");
  if (hyphens < 1 || hyphens > 2 || length == 0 || (length == 1 && hyphens != 1)) return NULL;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (names_have(table[i].names, name, length)) return &table[i];
  return NULL;
}

/* Finds the words that belong to an option, the first of which may be behind a '='.
 * @return how many words of the command line it has, -1 after a message. */
static int gather(const struct foreign *option, char **words, int count, char **values) {
  char *equals = option->words > 0 ? strchr(words[0], '=') : NULL;
  int taken = 1, found = 0;
  if (equals != NULL) {
    *equals = '\0';
    values[found++] = equals + 1;
  }
  while (found < option->words && taken < count) values[found++] = words[taken++];
  if (found == option->words) return taken;
  fprintf(stderr, "tmpirun: %s: %d word%s must follow (tmpirun --help)\n", words[0], option->words,
          option->words > 1 ? "s" : "");
  return -1;
}

/* @return false after a message. */
static bool carry_out(const struct foreign *option, const char *name, char **values, bool later) {
  if (option->instead != NULL || (later && option->does != NULL)) {
    fprintf(stderr, "tmpirun: %s: refused: no option of tmpirun (%s)\n", name,
            option->instead != NULL ? option->instead
                                    : "in front of the first program it holds for all ranks");
    return false;
  }
  return option->does == NULL || option->does(name, values);
}

int tm_foreign_options(int argc, char ***argv, bool later, bool (*takes_next)(const char *word)) {
  char **from = *argv, **to = calloc(2 * (size_t)argc + 1, sizeof *to), *values[2];
  int left = 0, i = 0;
  if (to == NULL) {
    fprintf(stderr, "tmpirun: no memory for the command line (free some)\n");
    return -1;
  }
  to[left++] = from[i++];
  while (i < argc && from[i][0] == '-' && strcmp(from[i], "--") != 0) {
    const struct foreign *option = find(from[i]);
    if (option == NULL) {
      bool two = takes_next(from[i]) && i + 1 < argc;
      to[left++] = from[i++];
      if (two) to[left++] = from[i++];
      continue;
    }
    int taken = gather(option, from + i, argc - i, values);
    if (taken < 0) goto refused;
    if (option->ours != NULL) {
      to[left++] = (char *)(uintptr_t)option->ours;
      if (option->words > 0) to[left++] = values[0];
    } else if (!carry_out(option, from[i], values, later)) {
      goto refused;
    }
    i += taken;
  }
  while (i < argc) to[left++] = from[i++];
  *argv = to;
  return left;

refused:
  free(to);
  return -1;
}
