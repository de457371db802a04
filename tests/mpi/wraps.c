/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which commands are wrappers, step by step: programs that start others, shells, scripts and their
 * interpreters, commands with a program behind them, and what each of them becomes. Files are real
 * and empty; what an ELF file would have is in a table. Each case is a process of its own.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured.h"
#include "os/map.h"
#include "tmpi/env/launch.h"
#include "tmpi/env/other_mpi.h"
#include "tmpi/loader/image.h"
#include "tmpi/run/audited.h"
#include "tmpi/run/prefix.h"
#include "tmpi/run/python.h"
#include "tmpi/run/wrapped.h"
#include "tmpi/run/wrapper.h"

enum { TEXT = 1 << 13, WORDS = 16, GOES_ON = 30, REFUSED = 31, REPLACED = 32, WAITED_FOR = 33 };

/* ---- what is around. In the process of a case nothing but its end says that it failed. */

#define MUST(condition) ((condition) ? (void)0 : _exit(98))

static char folder[] = "/tmp/wraps-XXXXXX";

/* What a program asks of others: one function, or none. */
static const struct program {
  const char *name, *asks, *and_asks, *needs;
  bool is_library;
} programs[] = {{"app", "execve", NULL, "libmpi_abi.so.1", false},
                {"later", "execve", "dlopen", NULL, false},
                {"later_too", "execve", "dlmopen", NULL, false},
                {"plain", NULL, NULL, "libc.so.6", false},
                {"-later", "execve", "dlopen", NULL, false},
                {"A=later", "execve", "dlopen", NULL, false},
                {"near", "execve", NULL, "libmpi_ab.so.1", false},
                {"part", "execve", NULL, NULL, true}, /* a library */
                {"tool", "execvp", NULL, NULL, false},
                {"env", "execvp", NULL, NULL, false},
                {"nice", "execvp", NULL, NULL, false},
                {"perf", "execvp", NULL, NULL, false},
                {"R", "execvp", NULL, NULL, false},
                {"Rscript", "execvp", NULL, NULL, false},
                {"bash", "execve", "dlopen", NULL, false}};
enum { PROGRAMS = sizeof programs / sizeof programs[0] };

static struct program other; /* one that a test makes */
static bool dynamic_ends;    /* before what is needed */
static const struct program *read_last;
static char *refusal;
static int images; /* and files, read and not kept */

struct tm_image *tm_image_read(const char *path) {
  static Elf64_Dyn dynamic[] = {{DT_SONAME, {5}}, {DT_NEEDED, {1}}, {DT_NULL, {0}}};
  static struct tm_image image;
  const char *name = tm_file_name(path);
  MUST(refusal != NULL && path[0] == '/');
  read_last = other.name != NULL && strcmp(name, other.name) == 0 ? &other : NULL;
  for (int i = 0; i < PROGRAMS && read_last == NULL; i++)
    if (strcmp(name, programs[i].name) == 0) read_last = &programs[i];
  if (read_last == NULL) return NULL;
  if (dynamic_ends) dynamic[0].d_tag = DT_NULL;
  image = (struct tm_image){.is_executable = !read_last->is_library,
                            .dynamic = dynamic,
                            .dynamic_count = read_last->needs != NULL ? 3 : 1};
  images++;
  return &image;
}

void tm_image_keep(struct tm_image *image) {
  MUST(image != NULL && refusal == NULL);
  images--;
}

bool tm_image_asks(const struct tm_image *image, const char *name) {
  const char *asks = read_last->asks, *also = read_last->and_asks;
  MUST(image != NULL);
  return (asks != NULL && strcmp(asks, name) == 0) || (also != NULL && strcmp(also, name) == 0);
}

const char *tm_image_string(const struct tm_image *image, size_t offset) {
  MUST(image != NULL);
  return offset == 1 ? read_last->needs : "libmpi_abi.so.1"; /* its own name */
}

void tm_refuse_into(char *text) { refusal = text; }

bool tm_python_is_fixed(const char *path) { return strstr(path, "python3.11") != NULL; }

int os_file_open(const char *path, int *fd, size_t *size) {
  struct stat status;
  *fd = open(path, O_RDONLY | O_CLOEXEC);
  if (*fd < 0) return errno;
  images++;
  MUST(fstat(*fd, &status) == 0);
  *size = (size_t)status.st_size;
  if (S_ISREG(status.st_mode)) return 0;
  os_file_close(*fd);
  return EISDIR;
}

void os_file_close(int fd) {
  MUST(close(fd) == 0);
  images--;
}

int os_file_read(int fd, void *to, size_t size, off_t offset) {
  return pread(fd, to, size, offset) == (ssize_t)size ? 0 : EIO;
}

static bool has_audit, has_proc, execs, has_memory;

void tm_audited_start(void) { has_audit = true; }

static void print_words(char *const *words) {
  for (int i = 0; words[i] != NULL; i++) fprintf(stderr, " %s", words[i]);
  fprintf(stderr, "\n");
}

static void print_launch(void) {
  const char *launch = getenv(TM_LAUNCH), *ranks = getenv(TM_RANKS);
  if (launch != NULL) fprintf(stderr, "launch %s ranks %s audit %d\n", launch, ranks, has_audit);
}

__attribute__((noreturn)) void tm_wrapped_run(const char *path, char *const *command, int ranks) {
  MUST(images == 0);
  fprintf(stderr, "wait %d %s:", ranks, path);
  print_words(command);
  print_launch();
  fflush(stderr);
  _exit(WAITED_FOR);
}

int __wrap_execv(const char *path, char *const *words);
int __wrap_execv(const char *path, char *const *words) {
  MUST(images == 0);
  fprintf(stderr, "exec %s:", path);
  print_words(words);
  print_launch();
  fflush(stderr);
  if (execs) _exit(REPLACED);
  errno = ENOEXEC;
  return -1;
}

ssize_t __wrap_readlink(const char *path, char *text, size_t size);
ssize_t __wrap_readlink(const char *path, char *text, size_t size) {
  static const char own[] = "/bin/tmpirun";
  MUST(strcmp(path, "/proc/self/exe") == 0 && size == PATH_MAX - 1);
  memset(text, 'x', sizeof own); /* it ends nothing itself */
  if (!has_proc) return -1;
  memcpy(text, own, sizeof own - 1);
  return (ssize_t)sizeof own - 1;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size) {
  return has_memory ? __real_calloc(count, size) : NULL;
}

/* ---- cases */

static int ranks;
static bool launched;
static char *command[WORDS]; /* that tmpirun was called with */

static int run_case(void) {
  static char *given[] = {(char *)"-n", (char *)"N"};
  const struct tm_wrapper_options options = {given, 2, ranks};
  char **words = command;
  int count = 0;
  while (command[count] != NULL) count++;
  if (launched) setenv(TM_LAUNCHED, "1", 1);
  if (!tm_wrapper_run(&words, &count, &options)) return REFUSED;
  MUST(images == 0 && words[count] == NULL && getenv(TM_LAUNCHED) == NULL);
  fprintf(stderr, "continues:");
  print_words(words);
  print_launch();
  return GOES_ON;
}

/* In expected texts '@' is the folder. */
static void expand(char *to, const char *text) {
  for (; *text != '\0'; text++) {
    if (*text == '@')
      to = stpcpy(to, folder);
    else
      *to++ = *text;
  }
  *to = '\0';
}

static void check(const char *line, int ends, const char *expected) {
  static char words[TEXT], said[TEXT], wanted[TEXT];
  int status, count = 0;
  expand(words, line);
  for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
    command[count++] = word;
  command[count] = NULL;
  expand(wanted, expected);
  struct captured captured = captured_begin();
  pid_t child = fork();
  if (child == 0) {
    int result = run_case();
    fflush(stderr);
    _exit(result);
  }
  pid_t ended = waitpid(child, &status, 0);
  captured_end(&captured, said, sizeof said);
  assert_true(ended == child && WIFEXITED(status));
  if (WEXITSTATUS(status) != ends) fail_msg("'%s' status %d: %s", line, WEXITSTATUS(status), said);
  assert_string_equal(said, wanted);
}

static void write_file(const char *name, const void *content, size_t size, mode_t mode) {
  char path[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  unlink(path);
  int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  assert_true(fd >= 0 && write(fd, content, size) == (ssize_t)size && fchmod(fd, mode) == 0);
  close(fd);
}

static void write_script(const char *text) {
  char content[2 * TM_SCRIPT_LINE];
  expand(content, text);
  write_file("script", content, strlen(content), 0700);
}

static int prepare(void **state) {
  char path[64];
  (void)state;
  snprintf(path, sizeof path, "/none:%s:/bin", folder);
  setenv("PATH", path, 1);
  ranks = 6;
  launched = has_audit = dynamic_ends = false;
  has_proc = execs = has_memory = true;
  memset(&other, 0, sizeof other);
  return 0;
}

static int make_folder(void **state) {
  (void)state;
  assert_non_null(mkdtemp(folder));
  for (int i = 0; i < PROGRAMS; i++) write_file(programs[i].name, "", 0, 0700);
  write_file("-later", "", 0, 0700);
  write_file("A=later", "", 0, 0700);
  write_file("python3.11", "", 0, 0700);
  return chdir("/");
}

static int remove_folder(void **state) {
  char line[64];
  (void)state;
  snprintf(line, sizeof line, "rm -r %s", folder);
  return system(line);
}

#define LAUNCH "launch /bin/tmpirun\x1f-n\x1fN ranks 6 audit 1\n"

static void programs_that_run_as_ranks(void **state) {
  static const char *const names[] = {"app", "later", "later_too", "plain", "part", "python3.11"};
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    char line[64], expected[64];
    snprintf(line, sizeof line, "@/%s x y", names[i]);
    snprintf(expected, sizeof expected, "continues: @/%s x y\n", names[i]);
    check(line, GOES_ON, expected);
  }
  check("@/none x", GOES_ON, "continues: @/none x\n"); /* refused later */
  launched = true;                                     /* a wrapper has started it */
  check("@/tool x", GOES_ON, "continues: @/tool x\n");
}

static void programs_that_start_others(void **state) {
  static const char *const starts[] = {"execve",   "execv",       "execvp",      "execvpe",
                                       "execl",    "execlp",      "execle",      "fexecve",
                                       "execveat", "posix_spawn", "posix_spawnp"};
  (void)state;
  check("@/tool x y", WAITED_FOR, "wait 6 @/tool: @/tool x y\n" LAUNCH);
  check("@/near", WAITED_FOR, "wait 6 @/near: @/near\n" LAUNCH);
  dynamic_ends = true;
  check("@/app", WAITED_FOR, "wait 6 @/app: @/app\n" LAUNCH);
  dynamic_ends = false;
  write_file("made", "", 0, 0700);
  for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
    other = (struct program){"made", starts[i], NULL, NULL, false};
    check("@/made", WAITED_FOR, "wait 6 @/made: @/made\n" LAUNCH);
  }
  other.asks = "exec";
  check("@/made", GOES_ON, "continues: @/made\n");
  ranks = 1; /* nobody waits for others */
  check("@/tool x", REPLACED,
        "exec @/tool: @/tool x\nlaunch /bin/tmpirun\x1f-n\x1fN ranks 1 audit 1\n");
  execs = false;
  check("@/tool x", REFUSED,
        "exec @/tool: @/tool x\nlaunch /bin/tmpirun\x1f-n\x1fN ranks 1 audit 1\n"
        "tmpirun: cannot run '@/tool': Exec format error (check the file)\n");
  has_proc = false;
  check("@/tool x", REFUSED,
        "tmpirun: '@/tool' starts other programs, which cannot be given ranks: no memory, or no "
        "/proc (name the MPI program itself)\n");
}

static void shells_and_tools_load_no_mpi(void **state) {
  static const char *const starters[] = {"sh",   "bash",    "dash", "zsh",    "ksh",    "ksh93",
                                         "mksh", "busybox", "gdb",  "lldb",   "ltrace", "rr",
                                         "make", "gmake",   "ssh",  "screen", "tmux",   "xterm"};
  (void)state;
  for (size_t i = 0; i < sizeof starters / sizeof starters[0]; i++) {
    char line[64], expected[256];
    other = (struct program){starters[i], "execve", "dlopen", NULL, false};
    write_file(starters[i], "", 0, 0700);
    snprintf(line, sizeof line, "@/%s x", starters[i]);
    snprintf(expected, sizeof expected, "wait 6 @/%s: @/%s x\n" LAUNCH, starters[i], starters[i]);
    check(line, WAITED_FOR, expected);
  }
}

static void programs_are_found_on_path(void **state) {
  (void)state;
  check("tool x", WAITED_FOR, "wait 6 @/tool: tool x\n" LAUNCH);
  check("none x", GOES_ON, "continues: none x\n");
  setenv("PATH", "", 1);
  check("tool x", GOES_ON, "continues: tool x\n");
  setenv("PATH", folder, 1); /* the last one */
  check("tool x", WAITED_FOR, "wait 6 @/tool: tool x\n" LAUNCH);
  unsetenv("PATH");
  check("tool x", GOES_ON, "continues: tool x\n");
  assert_int_equal(chdir(folder), 0);
  check("tool x", WAITED_FOR, "wait 6 tool: tool x\n" LAUNCH); /* it is here */
  assert_int_equal(mkdir("none", 0700), 0);                    /* no folder is */
  setenv("PATH", folder, 1);
  check("none x", GOES_ON, "continues: none x\n");
  assert_int_equal(rmdir("none"), 0);
  assert_int_equal(chdir("/"), 0);
}

static void scripts_run_by_their_interpreters(void **state) {
  static const struct {
    const char *text, *becomes; /* NULL: it is no script */
  } all[] = {{"#!@/plain\nx", "@/plain @/script x"},
             {"#!@/plain", "@/plain @/script x"},
             {"#! \t @/plain \t\r\n", "@/plain @/script x"},
             {"#!@/plain -a\n", "@/plain -a @/script x"},
             {"#!@/plain  -a b \n", "@/plain -a b @/script x"},
             {"#!@/env plain\n", "@/plain @/script x"},
             {"#!@/environ plain\n", "@/environ plain @/script x"},
             {"#!env plain\n", "env plain @/script x"},
             {"#!x\n", "x @/script x"},
             {"#!\n@/plain", NULL},
             {"#!  \t\n", NULL},
             {"#@/plain\n", NULL},
             {"!#@/plain\n", NULL},
             {" #!@/plain\n", NULL},
             {"#", NULL},
             {"", NULL}};
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char expected[256];
    write_script(all[i].text);
    snprintf(expected, sizeof expected, "continues: %s\n",
             all[i].becomes != NULL ? all[i].becomes : "@/script x");
    check("@/script x", GOES_ON, expected);
  }
  char line[2 * TM_SCRIPT_LINE] = "#!@/plain ",
                expected[2 * TM_SCRIPT_LINE] = "continues: @/plain ";
  for (size_t i = strlen(line) - 1 + strlen(folder); i < TM_SCRIPT_LINE + 9; i++) strcat(line, "a");
  write_script(line); /* the kernel cuts it, too */
  for (size_t i = strlen("#!/plain ") + strlen(folder); i < TM_SCRIPT_LINE - 1; i++)
    strcat(expected, "a");
  check("@/script x", GOES_ON, strcat(expected, " @/script x\n"));
  has_memory = false;
  write_script("#!@/plain\n");
  check("@/script x", REFUSED, "tmpirun: cannot run '@/script': no memory (free some)\n");
}

static void scripts_of_wrappers_are_wrappers(void **state) {
  (void)state;
  write_script("#!@/bash -e\n");
  check("@/script x", WAITED_FOR, "wait 6 @/script: @/script x\n" LAUNCH);
  static const char *const lines[] = {"#!@/env -S plain x\n", "#!@/env A=1 plain\n",
                                      "#!@/env plain x\n", "#!@/env\n", "#!@/env bash\n"};
  for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
    write_script(lines[i]);
    check("@/script x", WAITED_FOR, "wait 6 @/script: @/script x\n" LAUNCH);
  }
}

static void r_does_not_run_once_for_several(void **state) {
  static const char wanted[] =
      "tmpirun: cannot run '@/%s' as 6 ranks: it starts R as another program, which would run once "
      "(name that: R_HOME=$(R RHOME) tmpirun -n 6 $(R RHOME)/bin/exec/R --no-restore --no-echo -f "
      "FILE; a script that starts MPI programs: tmpirun -n 6 env %s)\n";
  char expected[512];
  (void)state;
  snprintf(expected, sizeof expected, wanted, "R", "R");
  check("@/R -f x", REFUSED, expected);
  snprintf(expected, sizeof expected, wanted, "Rscript", "Rscript");
  check("@/Rscript x", REFUSED, expected);
  ranks = 1;
  check("@/R x", REPLACED, "exec @/R: @/R x\nlaunch /bin/tmpirun\x1f-n\x1fN ranks 1 audit 1\n");
}

#define BEHIND "/bin/tmpirun -n N -- "

static void tmpirun_moves_behind_a_command(void **state) {
  char assigned[64];
  static const struct {
    const char *line, *becomes; /* NULL: it waits */
  } all[] = {{"@/env app x", "@/env " BEHIND "app x"},
             {"@/env A=1 @/app x", "@/env A=1 " BEHIND "@/app x"},
             {"@/env later", "@/env " BEHIND "later"},
             {"@/env python3.11 x", "@/env " BEHIND "python3.11 x"},
             {"@/env tool app", "@/env " BEHIND "tool app"}, /* it may start one */
             {"@/env -i nice -n 1 app", "@/env -i nice -n 1 " BEHIND "app"},
             {"@/perf tool app", "@/perf tool " BEHIND "app"}, /* its own command */
             {"@/env A=b/c later", "@/env A=b/c " BEHIND "later"},
             {"@/env plain app", NULL},
             {"@/env part", NULL},
             {"@/env R app", NULL},
             {"@/env none", NULL},
             {"@/env", NULL},
             {"@/env A=1 -i", NULL},
             {"@/env -later", NULL},  /* an option */
             {"@/env A=later", NULL}, /* a variable */
             {"@/tool app", NULL}};
  (void)state;
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char expected[512], file[64];
    snprintf(file, sizeof file, "%.*s", (int)strcspn(all[i].line, " "), all[i].line);
    if (all[i].becomes != NULL)
      snprintf(expected, sizeof expected, "exec %s: %s\n", file, all[i].becomes);
    else
      snprintf(expected, sizeof expected, "wait 6 %s: %s\n" LAUNCH, file, all[i].line);
    check(all[i].line, all[i].becomes != NULL ? REPLACED : WAITED_FOR, expected);
  }
  write_script("#!@/later\n");
  check("@/env script", REPLACED, "exec @/env: @/env " BEHIND "script\n");
  write_script("#!@/plain\n");
  check("@/env script", WAITED_FOR, "wait 6 @/env: @/env script\n" LAUNCH);
  snprintf(assigned, sizeof assigned, "%s/a=b", folder);
  mkdir(assigned, 0700); /* an assignment has no '/' before its '=' */
  write_file("a=b/app", "", 0, 0700);
  check("@/env @/a=b/app", REPLACED, "exec @/env: @/env " BEHIND "@/a=b/app\n");
  write_file("app", "", 0, 0600); /* it cannot be executed */
  check("@/env @/app", WAITED_FOR, "wait 6 @/env: @/env @/app\n" LAUNCH);
  write_file("app", "", 0, 0700);
  execs = false;
  check("@/env app", REFUSED,
        "exec @/env: @/env " BEHIND
        "app\ntmpirun: cannot run '@/env': Exec format error (check the "
        "file)\n");
  has_proc = false;
  check("@/env app", REFUSED,
        "tmpirun: cannot run '@/env': no memory, or no /proc (check the file)\n");
}

/* ---- programs that are linked statically */

struct elf {
  Elf64_Ehdr header;
  Elf64_Phdr part;
  Elf64_Shdr sections[2];
  Elf64_Sym symbols[2];
  char names[16];
};

static struct elf static_program(void) {
  struct elf elf = {.part = {.p_type = PT_LOAD}, .names = "\0MPI_Init"};
  memcpy(elf.header.e_ident, ELFMAG, SELFMAG);
  elf.header.e_ident[EI_CLASS] = ELFCLASS64;
  elf.header.e_phoff = offsetof(struct elf, part);
  elf.header.e_phnum = 1;
  elf.header.e_shoff = offsetof(struct elf, sections);
  elf.header.e_shnum = 2;
  elf.sections[0] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                 .sh_link = 1,
                                 .sh_offset = offsetof(struct elf, symbols),
                                 .sh_size = sizeof elf.symbols};
  elf.sections[1] = (Elf64_Shdr){
      .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct elf, names), .sh_size = sizeof elf.names};
  elf.symbols[1] = (Elf64_Sym){.st_name = 1, .st_shndx = 1};
  return elf;
}

static bool is_static(const struct elf *elf, size_t size) {
  char path[64];
  write_file("static", elf, size, 0700);
  snprintf(path, sizeof path, "%s/static", folder);
  bool found = tm_prefix_is_static(path, "MPI_Init");
  assert_int_equal(images, 0);
  return found;
}

#define CHANGED(change, expected)                                                                  \
  do {                                                                                             \
    elf = static_program();                                                                        \
    change;                                                                                        \
    assert_int_equal(is_static(&elf, sizeof elf), expected);                                       \
  } while (0)

static void a_program_with_another_mpi_in_it(void **state) {
  struct elf elf = static_program();
  (void)state;
  CHANGED((void)0, true);
  CHANGED(elf.header.e_ident[EI_CLASS] = ELFCLASS32, false);
  CHANGED(elf.header.e_ident[3] = 'f', false);
  CHANGED(elf.part.p_type = PT_INTERP, false);
  CHANGED(elf.header.e_phnum = 0, true);
  CHANGED(elf.header.e_phoff = sizeof elf, false); /* nobody knows */
  CHANGED(elf.header.e_phoff = sizeof elf - sizeof elf.part + 1, false);
  CHANGED(elf.header.e_shoff = sizeof elf - sizeof elf.sections + 1, false);
  CHANGED(elf.header.e_shnum = 1, false); /* its names are in none */
  CHANGED(elf.header.e_shnum = 0, false);
  CHANGED(elf.sections[0].sh_type = SHT_DYNSYM, false);
  CHANGED(elf.sections[0].sh_link = 2, false);
  CHANGED(elf.symbols[1].st_shndx = SHN_UNDEF, false);
  CHANGED(elf.symbols[1].st_name = 2, false);
  CHANGED(elf.symbols[1].st_name = 2 + sizeof elf.names, false);
  CHANGED(elf.symbols[1].st_name = sizeof elf.names, false);
  CHANGED(elf.sections[0].sh_size = sizeof(Elf64_Sym), false);
  CHANGED((elf.symbols[0] = elf.symbols[1], elf.symbols[1].st_name = 2), true);
  CHANGED(elf.sections[1].sh_offset = sizeof elf, false);
  elf = static_program(); /* the names are the end of the file */
  assert_false(is_static(&elf, sizeof elf - 1));
  assert_false(is_static(&elf, sizeof elf.header - 1));
  elf = static_program();
  other = (struct program){"static", "execve", NULL, NULL, false};
  is_static(&elf, sizeof elf);
  check(
      "@/env static", REFUSED,
      "tmpirun: cannot run '@/static': it is linked statically with an MPI, in which it would be "
      "a job of one rank, not of 6 (link it by tmpicc, or start it by the launcher of its MPI)\n");
  ranks = 1;
  check("@/env static", REPLACED, "exec @/env: @/env " BEHIND "static\n");
}

int main(void) {
#define PART(part) cmocka_unit_test_setup(part, prepare)
  const struct CMUnitTest tests[] = {
      PART(programs_that_run_as_ranks),        PART(programs_that_start_others),
      PART(shells_and_tools_load_no_mpi),      PART(programs_are_found_on_path),
      PART(scripts_run_by_their_interpreters), PART(scripts_of_wrappers_are_wrappers),
      PART(r_does_not_run_once_for_several),   PART(tmpirun_moves_behind_a_command),
      PART(a_program_with_another_mpi_in_it),
  };
  return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
