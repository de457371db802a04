/* SPDX-License-Identifier: Apache-2.0 */
/* See hosts.h. */
#include "tmpi/run/hosts.h"

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "tmpi/run/prefix.h"

enum { HOST_TEXT = 256, STATUS_FAILED = 1, STATUS_USAGE = 2 };

static struct {
  char (*names)[HOST_TEXT]; /* without their slots */
  int count;
  bool far; /* one is another machine */
} hosts;

static bool fail(const char *option, const char *what, const char *why, const char *instead) {
  fprintf(stderr, "tmpirun: %s: '%s': %s (%s)\n", option, what, why, instead);
  return false;
}

static bool is_this_host(const char *name) {
  static const char *const names[] = {"localhost", "127.0.0.1", "::1"};
  char here[HOST_TEXT] = "";
  gethostname(here, sizeof here - 1);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strcasecmp(name, names[i]) == 0) return true;
  size_t length = strlen(name);
  return (strlen(here) == length || strcspn(here, ".") == length) &&
         strncasecmp(name, here, length) == 0;
}

static bool is_known(const char *name) {
  struct addrinfo *found = NULL;
  if (is_this_host(name)) return true;
  if (getaddrinfo(name, NULL, NULL, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

static bool add(const char *option, const char *host, size_t length) {
  char name[HOST_TEXT];
  snprintf(name, sizeof name, "%.*s", (int)length, host);
  if (!is_this_host(name)) name[strcspn(name, ":")] = '\0'; /* ::1 has no slots */
  if (!is_known(name))
    return fail(option, name, "no machine has this name",
                "correct it, or add its address to /etc/hosts");
  void *more = realloc(hosts.names, ((size_t)hosts.count + 1) * sizeof *hosts.names);
  if (more == NULL) return fail(option, name, "no memory", "name fewer hosts");
  hosts.names = more;
  strcpy(hosts.names[hosts.count++], name);
  hosts.far |= !is_this_host(name);
  return true;
}

bool tm_hosts_add(const char *option, const char *list) {
  for (const char *at = list; *at != '\0';) {
    size_t length = strcspn(at, ",");
    if (length > 0 && !add(option, at, length)) return false;
    at += length + (at[length] == ',');
  }
  return true;
}

bool tm_hosts_add_file(const char *option, const char *path) {
  char *line = NULL;
  size_t room = 0;
  bool good = true;
  FILE *file = fopen(path, "re");
  if (file == NULL) return fail(option, path, strerror(errno), "name a file of hosts");
  while (good && getline(&line, &room, file) >= 0) {
    const char *name = line + strspn(line, " \t\r\n");
    size_t length = strcspn(name, " \t\r\n#");
    good = length == 0 || add(option, name, length);
  }
  /* a folder opens, and cannot be read */
  if (good && !feof(file)) good = fail(option, path, strerror(errno), "name a file of hosts");
  free(line);
  fclose(file);
  return good;
}

bool tm_hosts_are_far(void) { return hosts.far; }

/* ---- the launcher */

static bool same_host(const char *one, const char *other) {
  return strcasecmp(one, other) == 0 || (is_this_host(one) && is_this_host(other));
}

/* @return false after a message: the hosts do not make a job. */
static bool are_nodes(int ranks) {
  if (getenv("PMIX_NAMESPACE") != NULL)
    return fail("--hosts", hosts.names[0],
                "a launcher has started this tmpirun, and names the hosts",
                "name hosts to one of them only");
  for (int i = 0; i < hosts.count; i++)
    for (int k = 0; k < i; k++)
      if (same_host(hosts.names[i], hosts.names[k]))
        return fail("--hosts", hosts.names[i], "this machine is named twice, and is one node",
                    "name each machine once");
  if (ranks % hosts.count == 0) return true;
  fprintf(stderr,
          "tmpirun: -n %d: %d hosts are named, and each must have as many ranks (choose a multiple "
          "of %d)\n",
          ranks, hosts.count, hosts.count);
  return false;
}

/* Variables that describe a machine, a login or a launcher stay here; ranks get all others. */
static bool travels(const char *name) {
  static const char *const stay[] = {"HOME",       "HOSTNAME", "LOGNAME", "OLDPWD",
                                     "PWD",        "SHLVL",    "TMPDIR",  "USER",
                                     "XAUTHORITY", "_",        "DISPLAY"};
  static const char *const starts[] = {"OMPI_",  "ORTE_", "PMIX_", "PRTE_",
                                       "SLURM_", "SSH_",  "XDG_"};
  for (size_t i = 0; i < sizeof stay / sizeof stay[0]; i++)
    if (strcmp(name, stay[i]) == 0) return false;
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
    if (strncmp(name, starts[i], strlen(starts[i])) == 0) return false;
  return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")] ==
         '\0';
}

static size_t export_all(char **to) {
  size_t count = 0;
  for (char **variable = environ; *variable != NULL; variable++) {
    char *name = strndup(*variable, strcspn(*variable, "="));
    if (name == NULL || !travels(name)) {
      free(name);
      continue;
    }
    to[count++] = (char *)(uintptr_t)"-x";
    to[count++] = name; /* until the launcher takes the place of this process */
  }
  return count;
}

static char *list_hosts(void) {
  char *list = calloc((size_t)hosts.count, HOST_TEXT + 1), *at = list;
  for (int i = 0; list != NULL && i < hosts.count; i++)
    at += sprintf(at, "%s%s", i > 0 ? "," : "", hosts.names[i]);
  return list;
}

/* @return the path of a launcher of Open MPI or PRRTE; NULL: there is none. */
static char *find_launcher(void) {
  static const char *const names[] = {"prterun", "orterun"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char *path = tm_find_program(names[i]);
    if (path != NULL && strchr(path, '/') != NULL) return path;
    free(path);
  }
  return NULL;
}

/* They refuse to run as root, but tmpirun does. */
static void allow_root(void) {
  static const char *const names[] = {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
                                      "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"};
  for (size_t i = 0; geteuid() == 0 && i < sizeof names / sizeof names[0]; i++)
    setenv(names[i], "1", 0);
}

int tm_hosts_launch(int ranks, char *const *words, size_t count) {
  char number[16], own[PATH_MAX] = "";
  size_t variables = 0, used = 0;
  if (!are_nodes(ranks)) return STATUS_USAGE;
  allow_root();
  for (char **variable = environ; *variable != NULL; variable++) variables++;
  char **line = calloc(2 * variables + count + 8, sizeof *line);
  char *list = list_hosts(), *launcher = find_launcher();
  snprintf(number, sizeof number, "%d", hosts.count);
  if (launcher == NULL) {
    fail("--hosts", list, "no launcher in PATH that starts processes on other machines",
         "install PRRTE's prterun, or Open MPI's orterun; or srun --mpi=pmix tmpirun");
  } else if (line == NULL || list == NULL) {
    fail("--hosts", "tmpirun", strerror(ENOMEM), "name fewer hosts");
  } else if (readlink("/proc/self/exe", own, sizeof own - 1) < 0) {
    fail("--hosts", "tmpirun", "/proc is missing, which says where it is", "mount it");
  } else {
    char *first[] = {launcher, (char *)(uintptr_t)"--host", list, (char *)(uintptr_t)"-n", number};
    memcpy(line, first, sizeof first);
    used = sizeof first / sizeof first[0];
    used += export_all(line + used);
    line[used++] = own;
    memcpy(line + used, words + 1, (count - 1) * sizeof *words);
    execv(launcher, line);
    fail("--hosts", launcher, strerror(errno), "install it anew");
  }
  free(line);
  free(list);
  free(launcher);
  return STATUS_FAILED;
}
