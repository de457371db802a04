/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernel or libc keeps for a kernel thread or the process, and a rank has for itself:
 * working directory, umask, locale, time zone. The odd ranks change it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 20 };

static int rank, size, odd;
static char start[PATH_MAX], own[PATH_MAX], shared[] = "/tmp/carried-XXXXXX";

static void step(void) { MPI_Barrier(MPI_COMM_WORLD); }

/* ---- working directory */

static void check_folder(const char *expected) {
  char now[PATH_MAX];
  CHECK(getcwd(now, sizeof now) != NULL && strcmp(now, expected) == 0);
}

static void *look_from_pthread(void *unused) {
  (void)unused;
  check_folder(own);
  return NULL;
}

static int status_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

/* All that takes a path follows: libc, the kernel, commands, MPI. */
static void use_paths(void) {
  pthread_t thread;
  char text[16] = "";
  int fd = open("mark", O_CREAT | O_RDWR | O_TRUNC, 0666);
  CHECK(fd >= 0 && write(fd, own, 1) == 1 && close(fd) == 0);
  step();
  FILE *file = fopen("mark", "r+");
  CHECK(file != NULL && fprintf(file, "%d", rank) > 0 && fclose(file) == 0);
  step();
  CHECK(status_of(system("test \"$(cat mark)\" = \"$OWN\"")) == 0);
  FILE *from = popen("cat mark", "r");
  CHECK(from != NULL && fgets(text, sizeof text, from) != NULL && pclose(from) == 0);
  CHECK(atoi(text) == rank);
  pid_t child = fork();
  if (child == 0) _exit(access("mark", R_OK) == 0 ? 7 : 8);
  int status;
  CHECK(waitpid(child, &status, 0) == child && status_of(status) == 7);
  CHECK(pthread_create(&thread, NULL, look_from_pthread, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  MPI_File mpi_file;
  CHECK(MPI_File_open(MPI_COMM_SELF, "mark", MPI_MODE_RDONLY, MPI_INFO_NULL, &mpi_file) == 0);
  CHECK(MPI_File_close(&mpi_file) == 0 && unlink("mark") == 0);
}

static void check_folders(void) {
  char name[16];
  CHECK(getcwd(start, sizeof start) != NULL);
  if (rank == 0) CHECK(mkdtemp(shared) != NULL);
  MPI_Bcast(shared, sizeof shared, MPI_CHAR, 0, MPI_COMM_WORLD);
  snprintf(own, sizeof own, "%s/%d", shared, rank);
  snprintf(name, sizeof name, "%d", rank);
  CHECK(setenv("OWN", name, 1) == 0 && mkdir(own, 0777) == 0);
  step();
  if (odd) CHECK(chdir(shared) == 0 && chdir(name) == 0); /* the second is relative */
  for (int i = 0; i < ROUNDS; i++) {
    check_folder(odd ? own : start);
    step();
  }
  int fd = open(own, O_RDONLY | O_DIRECTORY);
  CHECK(fd >= 0 && fchdir(fd) == 0 && close(fd) == 0);
  step();
  use_paths();
  CHECK(chdir("/no/such/folder") == -1 && errno == ENOENT);
  fd = open("/proc/version", O_RDONLY);
  CHECK(fd >= 0 && fchdir(fd) == -1 && errno == ENOTDIR && close(fd) == 0);
  step();
  check_folder(own);
  CHECK(chdir(start) == 0 && rmdir(own) == 0);
  step();
  check_folder(start);
  if (rank == 0) CHECK(rmdir(shared) == 0);
}

/* A rank keeps the folder it is in and the one before open, and no more. */
static void check_descriptors(void) {
  CHECK(chdir("/") == 0 && chdir(start) == 0);
  step();
  int before = check_count_descriptors();
  step();
  for (int i = 0; i < ROUNDS; i++) CHECK(chdir(i % 2 == 0 ? "/" : start) == 0);
  step();
  for (int i = 0; i < size; i++) {
    if (i == rank) CHECK(check_count_descriptors() <= before);
    step();
  }
}

/* ---- umask */

/* The first change of any rank keeps tmpirun's mask for all. */
static void check_first_mask(void) {
  FILE *status = fopen("/proc/self/status", "r");
  char line[256];
  unsigned outside = 0;
  CHECK(status != NULL);
  while (fgets(line, sizeof line, status) != NULL) sscanf(line, "Umask: %o", &outside);
  CHECK(fclose(status) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK(umask((mode_t)outside) == outside);
}

static void check_mask(void) {
  mode_t before = umask(odd ? 077 : 022);
  CHECK(umask(before) == (odd ? 077U : 022U));
  step();
  umask(odd ? 027 : 002);
  for (int i = 0; i < ROUNDS; i++) {
    char path[] = "/tmp/carried-file-XXXXXX";
    struct stat status;
    int fd = mkstemp(path);
    CHECK(fd >= 0 && unlink(path) == 0 && close(fd) == 0);
    fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0666);
    CHECK(fd >= 0 && fstat(fd, &status) == 0);
    CHECK((status.st_mode & 0777) == (odd ? 0640U : 0664U));
    CHECK(unlink(path) == 0 && close(fd) == 0);
    step();
  }
  CHECK(umask(before) == (odd ? 027U : 002U));
}

/* ---- locale */

static int is_utf8(void) {
  return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 && MB_CUR_MAX > 1 && mblen("\xc3\xa9", 2) == 2;
}

static void *look_at_locale(void *expected) {
  CHECK(is_utf8() == *(int *)expected);
  return NULL;
}

static void check_locale(void) {
  pthread_t thread;
  CHECK(strcmp(setlocale(LC_ALL, NULL), "C") == 0 && !is_utf8());
  step();
  if (odd) CHECK(strcmp(setlocale(LC_ALL, "C.UTF-8"), "C.UTF-8") == 0);
  for (int i = 0; i < ROUNDS; i++) {
    step();
    CHECK(is_utf8() == odd && strcmp(setlocale(LC_CTYPE, NULL), odd ? "C.UTF-8" : "C") == 0);
  }
  CHECK(pthread_create(&thread, NULL, look_at_locale, &odd) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK(setlocale(LC_ALL, "no_SUCH") == NULL && is_utf8() == odd);
  const char *mixed = setlocale(LC_CTYPE, "C.UTF-8") != NULL ? setlocale(LC_ALL, NULL) : NULL;
  CHECK(mixed != NULL && is_utf8());
  static const char with_type[] =
      "LC_CTYPE=C.UTF-8;LC_NUMERIC=C;LC_TIME=C;LC_COLLATE=C;LC_MONETARY=C;LC_MESSAGES=C;LC_PAPER=C;"
      "LC_NAME=C;LC_ADDRESS=C;LC_TELEPHONE=C;LC_MEASUREMENT=C;LC_IDENTIFICATION=C";
  CHECK(strcmp(mixed, odd ? "C.UTF-8" : with_type) == 0);
  CHECK(strcmp(setlocale(LC_CTYPE, NULL), "C.UTF-8") == 0);
  CHECK(strcmp(setlocale(LC_NUMERIC, NULL), odd ? "C.UTF-8" : "C") == 0);
  CHECK(strcmp(setlocale(LC_ALL, "C"), "C") == 0 && !is_utf8());
  step();
  CHECK(setlocale(LC_ALL, mixed) == mixed && is_utf8());
  CHECK(localeconv()->decimal_point[0] == '.' && setlocale(LC_ALL, "POSIX") != NULL && !is_utf8());
  CHECK(setenv("LC_ALL", odd ? "C" : "C.UTF-8", 1) == 0 && setlocale(LC_ALL, "") != NULL);
  step();
  CHECK(is_utf8() == !odd);
  locale_t other = newlocale(LC_ALL_MASK, odd ? "C.UTF-8" : "C", (locale_t)0);
  CHECK(uselocale(other) == LC_GLOBAL_LOCALE && uselocale((locale_t)0) == other);
  step();
  CHECK(is_utf8() == odd);
  locale_t copy = duplocale(LC_GLOBAL_LOCALE);
  CHECK(strcmp(nl_langinfo_l(CODESET, copy), odd ? "ANSI_X3.4-1968" : "UTF-8") == 0);
  CHECK(uselocale(LC_GLOBAL_LOCALE) == other && is_utf8() == !odd);
  freelocale(copy);
  freelocale(other);
}

/* What "" stands for: the first of these variables that has a value. */
static void check_variables_of_locales(void) {
  static const struct {
    const char *all, *type, *lang;
    int type_is_utf8, others_are_utf8;
  } cases[] = {{NULL, NULL, NULL, 0, 0},         {NULL, NULL, "C.UTF-8", 1, 1},
               {"", "", "C.UTF-8", 1, 1},        {NULL, "C.UTF-8", NULL, 1, 0},
               {"", "C", "C.UTF-8", 0, 1},       {"C.UTF-8", "C", "C", 1, 1},
               {"C", "C.UTF-8", "C.UTF-8", 0, 0}};
  static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
  static const char *const others[] = {
      "LC_NUMERIC", "LC_TIME",    "LC_COLLATE",   "LC_MONETARY",    "LC_MESSAGES",      "LC_PAPER",
      "LC_NAME",    "LC_ADDRESS", "LC_TELEPHONE", "LC_MEASUREMENT", "LC_IDENTIFICATION"};
  enum { CASES = sizeof cases / sizeof cases[0] };
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) CHECK(unsetenv(others[i]) == 0);
  for (int i = 0; i < CASES; i++) {
    int number = (i + rank) % CASES;
    const char *const values[] = {cases[number].all, cases[number].type, cases[number].lang};
    for (int k = 0; k < 3; k++)
      CHECK((values[k] != NULL ? setenv(names[k], values[k], 1) : unsetenv(names[k])) == 0);
    step();
    CHECK(setlocale(LC_ALL, "C") != NULL && setlocale(LC_CTYPE, "") != NULL);
    CHECK(is_utf8() == cases[number].type_is_utf8);
    CHECK(strcmp(setlocale(LC_TIME, NULL), "C") == 0);
    CHECK(setlocale(LC_ALL, "") != NULL && is_utf8() == cases[number].type_is_utf8);
    CHECK(strcmp(setlocale(LC_TIME, NULL), cases[number].others_are_utf8 ? "C.UTF-8" : "C") == 0);
    step();
  }
  for (int k = 0; k < 3; k++) CHECK(unsetenv(names[k]) == 0);
  CHECK(setlocale(LC_ALL, "C") != NULL && setlocale(99, "C") == NULL &&
        setlocale(-1, NULL) == NULL);
}

/* A locale that was used before is not made again. A sanitizer's allocator does not count for
 * mallinfo2(). */
static void check_memory_of_locales(void) {
  enum { TIMES = 300 };
  CHECK(setlocale(LC_CTYPE, "C.UTF-8") != NULL && setlocale(LC_ALL, "C") != NULL);
  step();
  size_t before = rank == 0 ? mallinfo2().uordblks : 0;
  step();
  for (int i = 0; i < TIMES && rank == 0; i++) {
    CHECK(setlocale(LC_CTYPE, "C.UTF-8") != NULL && setlocale(LC_ALL, "C") != NULL);
    CHECK(setlocale(LC_ALL, "no_SUCH") == NULL && setlocale(LC_CTYPE, "no_SUCH") == NULL);
  }
  CHECK(rank != 0 || mallinfo2().uordblks < before + 64 * TIMES);
  step();
}

/* ---- time zone */

static void check_zone(void) {
  time_t moment = 86400;
  struct tm parts;
  char text[64], text_of_time[32];
  int west = rank % 12;
  CHECK(unsetenv("TZ") == 0);
  long of_machine = localtime(&moment)->tm_gmtoff;
  snprintf(text, sizeof text, "Z%c%c%d", 'A' + rank, 'A' + rank, west);
  CHECK(setenv("TZ", text, 1) == 0);
  for (int i = 0; i < ROUNDS; i++) {
    step();
    const struct tm *local = localtime(&moment);
    CHECK(local->tm_hour == (24 - west) % 24 && local->tm_gmtoff == -3600L * west);
    CHECK(strncmp(local->tm_zone, text, 3) == 0);
    step();
    tzset();
    step();
    CHECK(timezone == 3600L * west && strncmp(tzname[0], text, 3) == 0 && daylight == 0);
    parts = *local;
    CHECK(mktime(&parts) == moment && localtime_r(&moment, &parts) == &parts);
    CHECK(parts.tm_hour == (24 - west) % 24);
    char zone[8], *date = ctime(&moment);
    CHECK(strftime(zone, sizeof zone, "%Z", &parts) == 3 && strncmp(zone, text, 3) == 0);
    CHECK(atoi(strchr(date, ':') - 2) == (24 - west) % 24);
    CHECK(ctime_r(&moment, text_of_time) == text_of_time && strcmp(text_of_time, date) == 0);
  }
  step();
  CHECK(unsetenv("TZ") == 0);
  step();
  if (rank == 0) CHECK(setenv("TZ", "ABC7", 1) == 0); /* nobody else has it */
  for (int i = 0; i < ROUNDS; i++) {
    step();
    CHECK(localtime(&moment)->tm_gmtoff == (rank == 0 ? -7L * 3600 : of_machine));
    CHECK((getenv("TZ") != NULL) == (rank == 0));
  }
}

int main(int argc, char **argv) {
  rank = check_start(&argc, &argv, &size);
  odd = rank % 2;
  check_first_mask();
  check_locale();
  check_variables_of_locales();
  check_memory_of_locales();
  check_mask();
  check_folders();
  check_descriptors();
  check_zone();
  MPI_Finalize();
  return 0;
}
