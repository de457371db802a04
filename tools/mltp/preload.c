/* SPDX-License-Identifier: Apache-2.0 */
#include "preload.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "message.h"

enum {
  EXIT_FAILED = 1,
  LINE = 256, /* the kernel's, for "#!" */
  SCRIPTS = 5 /* likewise: interpreters that are scripts themselves */
};

const char preload_teams[] = "mltp/libmltp-teams.so", preload_gate[] = "mltp/libmltp-gate.so";

/* Whether the loader passes over LD_PRELOAD: the program would have rights that the user has not.
 */
static bool has_rights(int fd) {
  struct stat status;
  struct statvfs folders;
  if (fstat(fd, &status) != 0 || fstatvfs(fd, &folders) != 0) return false;
  if ((folders.f_flag & ST_NOSUID) != 0) return false;
  bool user = (status.st_mode & S_ISUID) != 0 && status.st_uid != getuid();
  bool group =
      (status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != getgid();
  bool capable = getuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0;
  return user || group || capable;
}

/* What starts a program file, by its header. musl's loader takes our libraries for its own, and
 * does not find what they need of glibc. */
static enum preload_start start_of_elf(int fd) {
  Elf64_Ehdr head;
  Elf64_Phdr part;
  char loader[PATH_MAX] = "";
  bool elf = pread(fd, &head, sizeof head, 0) == sizeof head &&
             memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64;
  if (elf && has_rights(fd)) return PRELOAD_RIGHTS;
  enum preload_start start = elf ? PRELOAD_STATIC : PRELOAD_LOADS;
  for (int i = 0; elf && i < head.e_phnum; i++) {
    off_t at = (off_t)(head.e_phoff + i * sizeof part);
    if (pread(fd, &part, sizeof part, at) != sizeof part || part.p_type != PT_INTERP) continue;
    size_t size = part.p_filesz < sizeof loader ? part.p_filesz : sizeof loader - 1;
    bool other =
        pread(fd, loader, size, (off_t)part.p_offset) > 0 && strstr(loader, "/ld-musl-") != NULL;
    start = other ? PRELOAD_MUSL : PRELOAD_LOADS;
  }
  return start;
}

/* @return whether the file is a script; then path becomes its interpreter. */
static bool read_interpreter(int fd, char path[PATH_MAX]) {
  char line[LINE] = "";
  if (pread(fd, line, sizeof line - 1, 0) < 2 || line[0] != '#' || line[1] != '!') return false;
  const char *begin = line + 2 + strspn(line + 2, " \t");
  size_t length = strcspn(begin, " \t\r\n");
  if (length == 0) return false;
  snprintf(path, PATH_MAX, "%.*s", (int)length, begin);
  return true;
}

/* path: becomes the file that the kernel starts, which for a script is its interpreter. */
static enum preload_start start_of(char path[PATH_MAX]) {
  enum preload_start start = PRELOAD_LOADS;
  bool script = true;
  for (int i = 0; script && i < SCRIPTS; i++) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return PRELOAD_LOADS;
    script = read_interpreter(fd, path);
    if (!script) start = start_of_elf(fd);
    close(fd);
  }
  return start;
}

/* Where the shell would find it. */
static bool find_program(const char *name, char path[PATH_MAX]) {
  if (strchr(name, '/') != NULL) {
    snprintf(path, PATH_MAX, "%s", name);
    return true;
  }
  const char *list = getenv("PATH");
  char *copy = strdup(list != NULL ? list : "/usr/bin:/bin"), *rest = copy;
  bool found = false;
  struct stat status;
  for (char *part = strsep(&rest, ":"); part != NULL && !found; part = strsep(&rest, ":")) {
    snprintf(path, PATH_MAX, "%s/%s", part, name);
    found = stat(path, &status) == 0 && !S_ISDIR(status.st_mode) && access(path, X_OK) == 0;
  }
  free(copy);
  return found;
}

/* The folder of this command, with the last slash. @return false: /proc does not say it. */
static bool find_folder(char folder[PATH_MAX]) {
  ssize_t length = readlink("/proc/self/exe", folder, PATH_MAX - 1);
  if (length < 0) return false;
  folder[length] = '\0';
  *(strrchr(folder, '/') + 1) = '\0';
  return true;
}

/* Beside the command: ../lib of a build or an installation. @return false: it is not there. */
static bool find_library(const char *folder, const char *library, char path[PATH_MAX]) {
  static const char *const places[] = {"../lib", MLTP_LIBDIR};
  for (int i = 0; i < 2; i++) {
    char name[2 * PATH_MAX];
    snprintf(name, sizeof name, "%s%s/%s", places[i][0] == '/' ? "" : folder, places[i], library);
    if (realpath(name, path) != NULL) return true;
  }
  return false;
}

/* AddressSanitizer ends a program whose first library is another. It works behind ours, and has an
 * option for that. What the user has set comes later, and wins. */
static void allow_behind(void) {
  const char *others = getenv("ASAN_OPTIONS");
  char *list = NULL;
  if (asprintf(&list, "verify_asan_link_order=0%s%s", others != NULL ? ":" : "",
               others != NULL ? others : "") < 0)
    return; /* AddressSanitizer says what to do */
  setenv("ASAN_OPTIONS", list, 1);
  free(list);
}

/* Programs that the program starts find LD_PRELOAD, too, and a shell may start one of musl's. Its
 * loader would end it (start_of()). It passes over a file that it does not find, and knows no
 * $ORIGIN, which is the folder of the running program for glibc's, by /proc. From there the way
 * leads up, at most to the root, and down to the library. */
#define UP "/../../../.." /* four folders */
#define TO_ROOT "$ORIGIN" UP UP UP UP UP UP UP UP UP UP UP UP UP UP UP UP

static int put_first(const char *library) {
  const char *others = getenv("LD_PRELOAD");
  char *list = NULL;
  if (asprintf(&list, "%s%s%s%s", TO_ROOT, library, others != NULL ? ":" : "",
               others != NULL ? others : "") < 0)
    return EXIT_FAILED;
  setenv("LD_PRELOAD", list, 1);
  allow_behind();
  /* The steps of --accesses follow calls, and the loader's late binding is none. */
  if (getenv("MLTP_ACCESSES") != NULL) setenv("LD_BIND_NOW", "1", 1);
  free(list);
  return 0;
}

int preload(const char *program, const char *library) {
  char folder[PATH_MAX], path[PATH_MAX];
  bool known = find_folder(folder);
  if (known && find_library(folder, library, path)) return put_first(path);
  if (known)
    message("cannot run %s: %s is not installed beside this command", program, library);
  else
    message("cannot run %s: /proc is missing, which says where libraries are (mount it)", program);
  return EXIT_FAILED;
}

enum preload_start preload_start(const char *program, char path[PATH_MAX]) {
  return find_program(program, path) ? start_of(path) : PRELOAD_LOADS;
}
