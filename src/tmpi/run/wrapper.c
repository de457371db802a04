/* SPDX-License-Identifier: Apache-2.0 */
/* See wrapper.h. */
#include "tmpi/run/wrapper.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "os/map.h"
#include "tmpi/env/launch.h"
#include "tmpi/env/other_mpi.h"
#include "tmpi/loader/image.h"
#include "tmpi/run/audited.h"
#include "tmpi/run/prefix.h"
#include "tmpi/run/python.h"
#include "tmpi/run/wrapped.h"

/* libmpi_abi asks for it, and so knows that the process is tmpirun. */
__attribute__((visibility("default"))) const char tmpi_is_tmpirun = 1;

/* ---- ELF files */

static bool needs_mpi(const struct tm_image *image) {
  for (size_t i = 0; i < image->dynamic_count && image->dynamic[i].d_tag != DT_NULL; i++)
    if (image->dynamic[i].d_tag == DT_NEEDED &&
        strncmp(tm_image_string(image, image->dynamic[i].d_un.d_val), "libmpi_abi.so", 13) == 0)
      return true;
  return false;
}

static bool asks_for_one(const struct tm_image *image, const char *const *names) {
  while (*names != NULL && !tm_image_asks(image, *names)) names++;
  return *names != NULL;
}

/* Shells and tools can load objects, but MPI is in none of these. */
static bool is_starter(const char *path) {
  static const char *const starters[] = {
      "sh",   "bash",   "dash", "zsh",  "ksh",   "ksh93", "mksh",   "busybox", "gdb",  "lldb",
      "perf", "ltrace", "rr",   "make", "gmake", "ssh",   "screen", "tmux",    "xterm"};
  for (size_t i = 0; i < sizeof starters / sizeof starters[0]; i++)
    if (strcmp(tm_file_name(path), starters[i]) == 0) return true;
  return false;
}

static bool may_load(const struct tm_image *image, const char *path) {
  static const char *const loads[] = {"dlopen", "dlmopen", NULL};
  return !is_starter(path) && asks_for_one(image, loads);
}

static bool may_start(const struct tm_image *image) {
  static const char *const starts[] = {"execve",   "execv",       "execvp",       "execvpe",
                                       "execl",    "execlp",      "execle",       "fexecve",
                                       "execveat", "posix_spawn", "posix_spawnp", NULL};
  return asks_for_one(image, starts);
}

/* A program that may load MPI later, such as the interpreter of a language, runs as ranks. */
static bool image_wraps(const struct tm_image *image, const char *path) {
  return image->is_executable && !needs_mpi(image) && may_start(image) && !may_load(image, path);
}

static bool image_may_have_ranks(const struct tm_image *image, const char *path) {
  return image->is_executable && (needs_mpi(image) || may_load(image, path) || may_start(image));
}

/* What cannot be read is refused later, with a message. */
static bool file_is(const char *path, bool (*kind)(const struct tm_image *, const char *)) {
  char why[TM_REFUSAL], *real = realpath(path, NULL);
  if (real == NULL) return false;
  tm_refuse_into(why);
  struct tm_image *image = tm_image_read(real);
  tm_refuse_into(NULL);
  bool is = image != NULL && kind(image, real);
  if (image != NULL) tm_image_keep(image);
  free(real);
  return is;
}

static bool file_wraps(const char *path) { return file_is(path, image_wraps); }

static bool file_may_have_ranks(const char *path) {
  return tm_python_is_fixed(path) || file_is(path, image_may_have_ranks);
}

/* ---- scripts */

/* The first line of a script, behind "#!". @return false: it is none. */
static bool read_first_line(const char *path, char *line) {
  int fd;
  size_t size;
  char start[TM_SCRIPT_LINE] = {0};
  if (os_file_open(path, &fd, &size) != 0) return false;
  if (size >= TM_SCRIPT_LINE) size = TM_SCRIPT_LINE - 1;
  bool read = os_file_read(fd, start, size, 0) == 0;
  os_file_close(fd);
  if (!read || start[0] != '#' || start[1] != '!') return false;
  start[strcspn(start, "\n")] = '\0';
  const char *text = start + 2 + strspn(start + 2, " \t");
  snprintf(line, TM_SCRIPT_LINE, "%s", text);
  for (size_t end = strlen(line); end > 0 && strchr(" \t\r", line[end - 1]) != NULL;)
    line[--end] = '\0';
  return line[0] != '\0';
}

/* Splits the line as the kernel does: an interpreter and at most one argument. That of env(1) is
 * the interpreter. @return the interpreter's file, to be freed; NULL: there is none. */
static char *interpreter_of(char *line, char **argument) {
  char *rest = line + strcspn(line, " \t");
  if (*rest != '\0') *rest++ = '\0';
  rest += strspn(rest, " \t");
  const char *slash = strrchr(line, '/');
  bool is_env = slash != NULL && strcmp(slash, "/env") == 0;
  if (is_env && *rest != '\0' && strpbrk(rest, " \t=-") == NULL) {
    *argument = NULL;
    return tm_find_program(rest);
  }
  *argument = *rest != '\0' ? rest : NULL;
  return strdup(line);
}

char *tm_script_interpreter(const char *path, char *line, char **argument) {
  return read_first_line(path, line) ? interpreter_of(line, argument) : NULL;
}

/* Puts an interpreter in front of a script. @return false: no memory. */
static bool run_script_by(char *interpreter, const char *argument, const char *path,
                          char ***command, int *count) {
  char **words = calloc((size_t)*count + 3, sizeof *words);
  if (words == NULL) {
    free(interpreter);
    return false;
  }
  int n = 0;
  words[n++] = interpreter;
  if (argument != NULL) words[n++] = strdup(argument);
  words[n++] = strdup(path);
  bool complete = words[n - 2] != NULL && words[n - 1] != NULL;
  for (int i = 1; i < *count; i++) words[n++] = (*command)[i];
  *command = words;
  *count = n;
  return complete;
}

/* ---- words for what follows */

static bool no_memory(const char *name) {
  fprintf(stderr, "tmpirun: cannot run '%s': no memory (free some)\n", name);
  return false;
}

/* @return tmpirun's file; NULL: there is no /proc. */
static char *own_file(char self[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", self, PATH_MAX - 1);
  if (length <= 0) return NULL;
  self[length] = '\0';
  return self;
}

/* tmpirun's file and options, as TM_LAUNCH has them; to be freed. NULL: no memory, or no /proc. */
static char *launch_words(const struct tm_wrapper_options *options) {
  char self[PATH_MAX], *text = NULL;
  size_t size;
  FILE *stream = own_file(self) != NULL ? open_memstream(&text, &size) : NULL;
  if (stream == NULL) return NULL;
  fputs(self, stream);
  for (int i = 0; i < options->count; i++)
    fprintf(stream, "%c%s", TM_LAUNCH_SEPARATOR, options->words[i]);
  if (fclose(stream) == 0) return text;
  free(text);
  return NULL;
}

static bool is_command_of_r(const char *path) {
  return strcmp(tm_file_name(path), "R") == 0 || strcmp(tm_file_name(path), "Rscript") == 0;
}

/* R's commands are such a wrapper: a script would run once, and its packages would load MPI too
 * late. @return false, after a message. */
static bool may_run_once(const char *path, int ranks) {
  if (ranks == 1 || !is_command_of_r(path)) return true;
  fprintf(stderr,
          "tmpirun: cannot run '%s' as %d ranks: it starts R as another program, which would run "
          "once (name that: R_HOME=$(R RHOME) tmpirun -n %d $(R RHOME)/bin/exec/R --no-restore "
          "--no-echo -f FILE; a script that starts MPI programs: tmpirun -n %d env %s)\n",
          path, ranks, ranks, ranks, tm_file_name(path));
  return false;
}

/* ---- behind a command that becomes another */

/* @return whether a program, or the interpreter of a script, is one of MPI, may load MPI when it
 * runs, or start such a program. Others run once, as may R: a script may start MPI programs. */
static bool may_have_ranks(const char *path) {
  char line[TM_SCRIPT_LINE], *argument = NULL;
  char *interpreter = tm_script_interpreter(path, line, &argument);
  bool may =
      !is_command_of_r(path) && file_may_have_ranks(interpreter != NULL ? interpreter : path);
  free(interpreter);
  return may;
}

static bool cannot_run(const char *path, const char *why) {
  fprintf(stderr, "tmpirun: cannot run '%s': %s (check the file)\n", path, why);
  return false;
}

/* Puts tmpirun with its options in front of the word that names the program. @return false, after a
 * message; otherwise not at all. */
static bool start_behind(const char *path, char *const *command, int count, int behind,
                         const struct tm_wrapper_options *options) {
  char self[PATH_MAX], **words = calloc((size_t)count + (size_t)options->count + 3, sizeof *words);
  int n = 0;
  if (words == NULL || own_file(self) == NULL) {
    free(words);
    return cannot_run(path, "no memory, or no /proc");
  }
  for (int i = 0; i < behind; i++) words[n++] = command[i];
  words[n++] = self;
  for (int i = 0; i < options->count; i++) words[n++] = options->words[i];
  words[n++] = (char *)(uintptr_t)"--";
  for (int i = behind; i < count; i++) words[n++] = command[i];
  execv(path, words);
  free(words);
  return cannot_run(path, strerror(errno));
}

/* The auditor sees no such program (audit/audit.c). @return false, after a message. */
static bool is_no_other_mpi(const char *program, int ranks) {
  if (ranks == 1 || !tm_prefix_is_static(program, "MPI_Init")) return true;
  fprintf(
      stderr,
      "tmpirun: cannot run '%s': it is linked statically with an MPI, in which it would be a "
      "job of one rank, not of %d (link it by tmpicc, or start it by the launcher of its MPI)\n",
      program, ranks);
  return false;
}

/* @return false, after a message: the program behind a command cannot run. */
static bool look_behind(const char *path, char *const *command, int count,
                        const struct tm_wrapper_options *options) {
  char *program = NULL;
  int behind = tm_prefix_length(command, count, &program);
  if (behind == 0) return true;
  bool good = is_no_other_mpi(program, options->ranks);
  if (good && may_have_ranks(program)) good = start_behind(path, command, count, behind, options);
  free(program);
  return good;
}

/* ---- starting it */

/* @return false, after a message; otherwise not at all. */
static bool start(const char *path, char *const *command, int count,
                  const struct tm_wrapper_options *options) {
  if (!may_run_once(path, options->ranks) || !look_behind(path, command, count, options))
    return false;
  char *words = launch_words(options), ranks[12];
  snprintf(ranks, sizeof ranks, "%d", options->ranks);
  if (words == NULL || setenv(TM_LAUNCH, words, 1) != 0 || setenv(TM_RANKS, ranks, 1) != 0) {
    fprintf(stderr,
            "tmpirun: '%s' starts other programs, which cannot be given ranks: no memory, or no "
            "/proc (name the MPI program itself)\n",
            path);
    return false;
  }
  tm_audited_start();
  if (options->ranks > 1) tm_wrapped_run(path, command, options->ranks);
  execv(path, command);
  return cannot_run(path, strerror(errno));
}

/* @return false, after a message: it cannot be done. */
static bool run_or_replace(const char *path, char ***command, int *count,
                           const struct tm_wrapper_options *options) {
  char line[TM_SCRIPT_LINE], *argument = NULL;
  char *interpreter = tm_script_interpreter(path, line, &argument);
  if (interpreter == NULL) return !file_wraps(path) || start(path, *command, *count, options);
  if (!file_wraps(interpreter))
    return run_script_by(interpreter, argument, path, command, count) || no_memory(path);
  free(interpreter);
  return start(path, *command, *count, options);
}

bool tm_wrapper_run(char ***command, int *count, const struct tm_wrapper_options *options) {
  if (getenv(TM_LAUNCHED) != NULL) { /* the MPI program itself has started tmpirun */
    unsetenv(TM_LAUNCHED);
    return true;
  }
  char *path = tm_find_program((*command)[0]);
  if (path == NULL) return no_memory((*command)[0]);
  bool good = run_or_replace(path, command, count, options);
  free(path);
  return good;
}
