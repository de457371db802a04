/* SPDX-License-Identifier: Apache-2.0 */
/* See prefix.h. */
#include "tmpi/run/prefix.h"

#include <elf.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/map.h"
#include "tmpi/env/other_mpi.h"

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A folder is no command, so one in the way hides none. */
char *tm_find_program(const char *name) {
  const char *path = getenv("PATH");
  bool is_here = access(name, F_OK) == 0 && !is_folder(name);
  if (strchr(name, '/') == NULL && !is_here && path != NULL) {
    char found[PATH_MAX];
    while (*path != '\0') {
      size_t length = strcspn(path, ":");
      snprintf(found, sizeof found, "%.*s/%s", (int)length, path, name);
      if (access(found, X_OK) == 0 && !is_folder(found)) return strdup(found);
      path += length + (path[length] == ':');
    }
  }
  return strdup(name);
}

/* Some are scripts. A tool that looks at a program looks at tmpirun then, which runs the ranks. */
static const char *const prefixes[] = {
    "chrt",   "dbus-run-session", "env",  "flock",   "gdb",      "ionice",  "nice",
    "nohup",  "numactl",          "perf", "prlimit", "setarch",  "setsid",  "stdbuf",
    "strace", "taskset",          "time", "timeout", "valgrind", "xvfb-run"};

static bool is_prefix(const char *path) {
  for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++)
    if (strcmp(tm_file_name(path), prefixes[i]) == 0) return true;
  return false;
}

/* @return the file that such a command would execute for this word, to be freed; NULL: none, such
 * as for an option or its value. */
static char *program_of(const char *word) {
  struct stat status;
  size_t name = strcspn(word, "=");
  if (word[0] == '-' || (word[name] == '=' && memchr(word, '/', name) == NULL)) return NULL;
  char *path = tm_find_program(word);
  if (path != NULL && strchr(path, '/') != NULL && stat(path, &status) == 0 &&
      S_ISREG(status.st_mode) && access(path, X_OK) == 0)
    return path;
  free(path);
  return NULL;
}

int tm_prefix_length(char *const *command, int count, char **path) {
  if (!is_prefix(command[0])) return 0;
  for (int i = 1; i < count; i++) {
    if (strcmp(tm_file_name(command[i - 1]), "perf") == 0) continue; /* `perf stat`, not stat(1) */
    *path = program_of(command[i]);
    if (*path != NULL && !is_prefix(*path)) return i;
    free(*path);
  }
  return 0;
}

/* ---- programs that are linked statically */

/* A file as it is, to read from. */
struct file {
  int fd;
  size_t size;
};

static void *read_part(const struct file *file, uint64_t at, uint64_t size) {
  if (at > file->size || size > file->size - at) return NULL;
  char *part = malloc(size + 1);
  if (part == NULL || os_file_read(file->fd, part, size, (off_t)at) != 0) {
    free(part);
    return NULL;
  }
  part[size] = '\0';
  return part;
}

/* With a symbol table whose names are in another section. */
static bool names(const struct file *file, const Elf64_Shdr *table, const Elf64_Shdr *texts,
                  const char *function) {
  Elf64_Sym *symbols = read_part(file, table->sh_offset, table->sh_size);
  char *text = read_part(file, texts->sh_offset, texts->sh_size);
  bool found = false;
  for (size_t i = 0; symbols != NULL && text != NULL && i < table->sh_size / sizeof *symbols; i++)
    found |= symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < texts->sh_size &&
             strcmp(text + symbols[i].st_name, function) == 0;
  free(symbols);
  free(text);
  return found;
}

static bool is_loaded(const struct file *file, const Elf64_Ehdr *header) {
  Elf64_Phdr *parts = read_part(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof *parts);
  bool loaded = parts == NULL;
  for (int i = 0; !loaded && i < header->e_phnum; i++) loaded = parts[i].p_type == PT_INTERP;
  free(parts);
  return loaded;
}

static bool defines(const struct file *file, const Elf64_Ehdr *header, const char *function) {
  Elf64_Shdr *sections =
      read_part(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof *sections);
  bool found = false;
  for (int i = 0; sections != NULL && i < header->e_shnum && !found; i++)
    found = sections[i].sh_type == SHT_SYMTAB && sections[i].sh_link < header->e_shnum &&
            names(file, &sections[i], &sections[sections[i].sh_link], function);
  free(sections);
  return found;
}

bool tm_prefix_is_static(const char *path, const char *function) {
  struct file file;
  if (os_file_open(path, &file.fd, &file.size) != 0) return false;
  Elf64_Ehdr *header = read_part(&file, 0, sizeof *header);
  bool found = header != NULL && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
               header->e_ident[EI_CLASS] == ELFCLASS64 && !is_loaded(&file, header) &&
               defines(&file, header, function);
  free(header);
  os_file_close(file.fd);
  return found;
}
