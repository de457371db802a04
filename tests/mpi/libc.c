/* SPDX-License-Identifier: Apache-2.0 */
/* What libc keeps for a process each rank has for itself. Every check is made by all ranks at once,
 * in steps that a barrier keeps together, so that a shared state would be seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <link.h>
#include <malloc.h>
#include <search.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static int rank;

static void step(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* ---- options */

static int given_option(int argc, char **argv, const char *shorts, const struct option *longs) {
  step();
  return longs != NULL ? getopt_long(argc, argv, shorts, longs, NULL) : getopt(argc, argv, shorts);
}

static void check_short_options(void) {
  char number[16];
  snprintf(number, sizeof number, "%d", rank);
  char *argv[] = {"program", "word", "-ab", "-n", number, "-nx", "last", "--", "-a", NULL};
  enum { WORDS = 9 };
  optind = 1;
  CHECK(given_option(WORDS, argv, "abn:", NULL) == 'a');
  CHECK(given_option(WORDS, argv, "abn:", NULL) == 'b' && optarg == NULL);
  CHECK(given_option(WORDS, argv, "abn:", NULL) == 'n' && strcmp(optarg, number) == 0);
  CHECK(given_option(WORDS, argv, "abn:", NULL) == 'n' && strcmp(optarg, "x") == 0);
  CHECK(given_option(WORDS, argv, "abn:", NULL) == -1 && optind == 6);
  CHECK(strcmp(argv[6], "word") == 0 && strcmp(argv[7], "last") == 0); /* moved to the end */
  CHECK(strcmp(argv[8], "-a") == 0);
}

static void check_long_options(void) {
  static int flag;
  static const struct option longs[] = {{"size", required_argument, NULL, 's'},
                                        {"loud", no_argument, &flag, 7},
                                        {"level", optional_argument, NULL, 'l'},
                                        {NULL, 0, NULL, 0}};
  char *argv[] = {"program", "--size=12", "--lo", "--level", "--size", "13", "--no", NULL};
  enum { WORDS = 7 };
  optind = 0; /* start anew */
  opterr = 0;
  CHECK(given_option(WORDS, argv, "s:", longs) == 's' && strcmp(optarg, "12") == 0);
  CHECK(given_option(WORDS, argv, "s:", longs) == 0 && flag == 7);
  CHECK(given_option(WORDS, argv, "s:", longs) == 'l' && optarg == NULL);
  CHECK(given_option(WORDS, argv, "s:", longs) == 's' && strcmp(optarg, "13") == 0);
  CHECK(given_option(WORDS, argv, "s:", longs) == '?');
  CHECK(given_option(WORDS, argv, "s:", longs) == -1 && optind == WORDS);
}

static void check_strict_options(void) {
  char *argv[] = {"program", "-a", "-x", "word", "-a", NULL}, *missing[] = {"program", "-n", NULL};
  optind = 0;
  CHECK(given_option(5, argv, "+:a", NULL) == 'a');
  CHECK(given_option(5, argv, "+:a", NULL) == '?' && optopt == 'x');
  CHECK(given_option(5, argv, "+:a", NULL) == -1 && optind == 3);
  optind = 0;
  CHECK(given_option(2, missing, ":n:", NULL) == ':' && optopt == 'n');
}

/* ---- random numbers: a rank's own sequence, whichever rank draws in between */

static void check_random(void) {
  enum { DRAWS = 6 };
  long by_random[DRAWS], by_48[DRAWS];
  double real[DRAWS];
  for (int i = 0; i < DRAWS; i++) {
    srandom(5 + (unsigned)rank);
    srand48(5 + rank);
    for (int k = 0; k < i; k++) random(), drand48();
    by_random[i] = random();
    real[i] = drand48();
    by_48[i] = lrand48();
  }
  srand(5 + (unsigned)rank);
  for (int i = 0; i < DRAWS; i++) {
    step();
    CHECK(rand() == by_random[i]);
  }
  for (int i = 0; i < DRAWS; i++) {
    srand48(5 + rank);
    for (int k = 0; k < i; k++) drand48();
    step();
    CHECK(drand48() == real[i] && lrand48() == by_48[i]);
  }
}

/* ---- others */

static void check_strtok(void) {
  char text[32], expected[8];
  snprintf(text, sizeof text, "a%d,b%d,c%d", rank, rank, rank);
  const char *part = strtok(text, ",");
  for (int i = 0; i < 3; i++) {
    snprintf(expected, sizeof expected, "%c%d", 'a' + i, rank);
    CHECK(part != NULL && strcmp(part, expected) == 0);
    step();
    part = strtok(NULL, ",");
  }
  CHECK(part == NULL);
}

static void check_times(void) {
  time_t day = 86400 * (time_t)rank;
  const struct tm *broken_down = gmtime(&day);
  char own[32];
  step();
  CHECK(broken_down->tm_yday == rank);
  strcpy(own, asctime(broken_down));
  const char *text = asctime(broken_down);
  step();
  CHECK(strcmp(text, own) == 0);
}

static void check_hash_table(void) {
  int value = rank;
  CHECK(hcreate(16) != 0);
  step();
  CHECK(hsearch((ENTRY){"key", &value}, ENTER)->data == &value);
  step();
  CHECK(*(int *)hsearch((ENTRY){"key", NULL}, FIND)->data == rank);
  hdestroy();
}

/* An allocator of the program's own relies on memory that follows what it has. */
static void check_break(void) {
  enum { SIZE = 100000 };
  unsigned char *first = sbrk(SIZE);
  CHECK(first != (void *)-1);
  memset(first, rank + 1, SIZE);
  step();
  unsigned char *second = sbrk(SIZE);
  CHECK(second == first + SIZE);
  memset(second, rank + 1, SIZE);
  step();
  if (rank == 0) CHECK(brk(first) == 0);
  step();
  CHECK(sbrk(0) == first + (rank == 0 ? 0 : 2 * SIZE));
  for (int i = 0; i < 2 * SIZE && rank != 0; i++) CHECK(first[i] == rank + 1);
  if (rank == 0) CHECK(sbrk(SIZE) == first && first[0] == 0 && first[SIZE - 1] == 0);
  errno = 0;
  CHECK(sbrk(INTPTR_MAX) == (void *)-1 && errno == ENOMEM && sbrk(-3L * SIZE) == (void *)-1);
  CHECK(brk(first - 1) == -1 && sbrk(-SIZE) != (void *)-1);
}

/* ---- signals */

static volatile sig_atomic_t got;

static void on_signal(int signo) { got = signo; }

static void check_signals(void) {
  if (rank % 2 == 0) CHECK(signal(SIGUSR2, on_signal) == SIG_DFL);
  step();
  if (rank == 0) raise(SIGUSR2);
  step();
  CHECK(got == (rank == 0 ? SIGUSR2 : 0)); /* what a rank raises is its own */
  if (rank == 0) CHECK(signal(SIGUSR2, SIG_IGN) == on_signal);
  step();
  if (rank == 2) kill(getpid(), SIGUSR2); /* from outside: all that have a handler */
  while (rank % 2 == 0 && got == 0) sleep(0);
  step();
  CHECK(got == (rank % 2 == 0 ? SIGUSR2 : 0));
}

/* A program would take the place of all ranks. */
static void check_refused_programs(void) {
  char name[] = "true", *words[] = {name, NULL};
  int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
  CHECK(fd >= 0);
  errno = 0;
  CHECK(execve("/bin/true", words, environ) == -1 && errno == ENOTSUP);
  CHECK(execvp(name, words) == -1 && execvpe(name, words, environ) == -1);
  CHECK(execle("/bin/true", name, (char *)NULL, environ) == -1);
  CHECK(execl("/bin/true", name, (char *)NULL) == -1 && execlp(name, name, (char *)NULL) == -1);
  CHECK(fexecve(fd, words, environ) == -1);
  errno = 0;
  CHECK(execveat(AT_FDCWD, "/bin/true", words, environ, 0) == -1 && errno == ENOTSUP);
  close(fd);
}

static void check_objects(void) {
  char origin[4096], path[4096] = "";
  struct link_map *map;
  const Elf64_Sym *symbol = NULL;
  Lmid_t names;
  Dl_info info;
  void *self = dlopen(NULL, RTLD_NOW), *libc = dlopen("libc.so.6", RTLD_NOW);
  CHECK(self != NULL && libc != NULL && readlink("/proc/self/exe", path, sizeof path - 1) > 0);
  CHECK(dlinfo(self, RTLD_DI_LINKMAP, &map) == 0 && map == self);
  CHECK(dlinfo(self, RTLD_DI_LMID, &names) == 0 && names == LM_ID_BASE);
  CHECK(dlinfo(self, RTLD_DI_ORIGIN, origin) == 0);
  CHECK(strncmp(path, origin, strlen(origin)) == 0 && path[strlen(origin)] == '/');
  CHECK(dlinfo(self, RTLD_DI_TLS_MODID, &names) == -1 && dlerror() != NULL && dlerror() == NULL);
  CHECK(dlsym(self, "no_such_function") == NULL && strstr(dlerror(), "no_such_function") != NULL);
  void *copy = dlvsym(RTLD_DEFAULT, "qsort", "GLIBC_2.2.5");
  CHECK((copy != NULL) == (dlvsym(libc, "qsort", "GLIBC_2.2.5") != NULL));
  CHECK(dlvsym(libc, "qsort", "NONE_1") == NULL && dlerror() != NULL);
  void *own = (void *)(uintptr_t)check_objects;
  CHECK(dladdr1(own, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map == self);
  CHECK(strcmp(info.dli_fname, path) == 0);
  symbol = own;
  CHECK(dladdr1(&rank, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != own);
  CHECK(dladdr1(dlsym(libc, "qsort"), &info, (void **)&symbol, RTLD_DL_SYMENT) != 0);
  CHECK(strstr(info.dli_fname, "libc.so.6") != NULL && symbol != NULL);
  CHECK(dlclose(libc) == 0 && dlclose(self) == 0);
}

/* A program may look functions up as often as it likes. A sanitizer's allocator does not count for
 * mallinfo2(). */
static void check_lookups_keep_no_memory(void) {
  enum { TIMES = 10000 };
  void *self = dlopen(NULL, RTLD_NOW);
  if (dlsym(RTLD_DEFAULT, "__asan_init") != NULL) return;
  MPI_Barrier(MPI_COMM_WORLD);
  size_t before = mallinfo2().uordblks;
  for (int i = 0; i < TIMES; i++)
    CHECK(dlsym(self, "no_such_function") == NULL && dlsym(RTLD_DEFAULT, "none") == NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(mallinfo2().uordblks < before + 16 * TIMES);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  int size;
  rank = check_start(&argc, &argv, &size);
  check_short_options();
  check_long_options();
  check_strict_options();
  check_random();
  check_strtok();
  check_times();
  check_hash_table();
  check_break();
  check_signals();
  check_objects();
  check_lookups_keep_no_memory();
  if (rank == 1) check_refused_programs();
  MPI_Finalize();
  return 0;
}
