/* SPDX-License-Identifier: Apache-2.0 */
/* What each rank has of its own in place of libc's (src/tmpi/private), linked into this program:
 * the same results as libc's, call by call. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <grp.h>
#include <locale.h>
#include <math.h>
#include <mntent.h>
#include <netdb.h>
#include <pwd.h>
#include <search.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#include <cmocka.h>

/* Libc's function of that name, behind ours. */
#define LIBC(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

/* ---- results that need more room than there is at first: libc's functions refuse less */

static size_t room_wanted;

#define WITH_ROOM(name, size, ...) ((size) < room_wanted ? ERANGE : LIBC(name)(__VA_ARGS__))

int getpwnam_r(const char *name, struct passwd *user, char *text, size_t size,
               struct passwd **found) {
  return WITH_ROOM(getpwnam_r, size, name, user, text, size, found);
}

int getpwuid_r(uid_t id, struct passwd *user, char *text, size_t size, struct passwd **found) {
  return WITH_ROOM(getpwuid_r, size, id, user, text, size, found);
}

int getgrnam_r(const char *name, struct group *group, char *text, size_t size,
               struct group **found) {
  return WITH_ROOM(getgrnam_r, size, name, group, text, size, found);
}

int getgrgid_r(gid_t id, struct group *group, char *text, size_t size, struct group **found) {
  return WITH_ROOM(getgrgid_r, size, id, group, text, size, found);
}

int gethostbyname_r(const char *name, struct hostent *host, char *text, size_t size,
                    struct hostent **found, int *error) {
  return WITH_ROOM(gethostbyname_r, size, name, host, text, size, found, error);
}

int gethostbyaddr_r(const void *address, socklen_t length, int family, struct hostent *host,
                    char *text, size_t size, struct hostent **found, int *error) {
  return WITH_ROOM(gethostbyaddr_r, size, address, length, family, host, text, size, found, error);
}

int getservbyname_r(const char *name, const char *protocol, struct servent *service, char *text,
                    size_t size, struct servent **found) {
  return WITH_ROOM(getservbyname_r, size, name, protocol, service, text, size, found);
}

int getservbyport_r(int port, const char *protocol, struct servent *service, char *text,
                    size_t size, struct servent **found) {
  return WITH_ROOM(getservbyport_r, size, port, protocol, service, text, size, found);
}

int ttyname_r(int fd, char *text, size_t size) {
  return WITH_ROOM(ttyname_r, size, fd, text, size);
}

/* ---- random numbers */

static void random_numbers_are_the_same(void **state) {
  (void)state;
  char ours[256], theirs[256];
  assert_int_equal(random(), LIBC(random)()); /* without a seed */
  for (unsigned seed = 0; seed < 100; seed++) {
    srandom(seed);
    LIBC(srandom)(seed);
    for (int i = 0; i < 50; i++) assert_int_equal(random(), LIBC(random)());
    srand(seed);
    LIBC(srand)(seed);
    for (int i = 0; i < 50; i++) assert_int_equal(rand(), LIBC(rand)());
  }
  for (size_t size = 8; size <= sizeof ours; size *= 2) {
    char *our_old = initstate(7, ours, size), *their_old = LIBC(initstate)(7, theirs, size);
    assert_int_equal(random(), LIBC(random)());
    assert_ptr_equal(setstate(our_old), ours);
    assert_ptr_equal(LIBC(setstate)(their_old), theirs);
    assert_int_equal(random(), LIBC(random)());
  }
  assert_null(initstate(7, ours, 4));
  assert_null(LIBC(initstate)(7, theirs, 4));
}

static void numbers_of_48_bits_are_the_same(void **state) {
  (void)state;
  unsigned short ours[3] = {1, 2, 3}, theirs[3] = {1, 2, 3}, seed[3] = {9, 8, 7};
  unsigned short parameters[7] = {1, 2, 3, 4, 5, 6, 7};
  assert_true(drand48() == LIBC(drand48)());
  for (long start = -3; start < 100; start++) {
    srand48(start);
    LIBC(srand48)(start);
    assert_true(drand48() == LIBC(drand48)() && erand48(ours) == LIBC(erand48)(theirs));
    assert_int_equal(lrand48(), LIBC(lrand48)());
    assert_int_equal(mrand48(), LIBC(mrand48)());
    assert_int_equal(nrand48(ours), LIBC(nrand48)(theirs));
    assert_int_equal(jrand48(ours), LIBC(jrand48)(theirs));
  }
  assert_memory_equal(seed48(seed), LIBC(seed48)(seed), sizeof seed);
  assert_int_equal(lrand48(), LIBC(lrand48)());
  lcong48(parameters);
  LIBC(lcong48)(parameters);
  assert_int_equal(lrand48(), LIBC(lrand48)());
}

/* ---- options: random ones */

struct given {
  int values[64], count;
  char arguments[64][16];
  char *words[16]; /* in the order they are left in */
  char said[500];
};

static int flag;
static const struct option longs[] = {
    {"size", required_argument, NULL, 's'},  {"loud", no_argument, &flag, 7},
    {"level", optional_argument, NULL, 'e'}, {"lever", optional_argument, NULL, 'e'},
    {"b", no_argument, NULL, 'B'},           {NULL, 0, NULL, 0}};

typedef int getopt_function(int, char *const[], const char *);
typedef int getopt_long_function(int, char *const[], const char *, const struct option *, int *);

static void add(struct given *given, int value) { given->values[given->count++] = value; }

/* Goes through all words; NULL: the plain function, else that of long options. */
static void parse(struct given *given, int argc, const char *shorts, getopt_function *plain,
                  getopt_long_function *with_longs) {
  size_t size;
  char *said = NULL;
  FILE *before = stderr;
  optind = 0;
  optopt = -1;
  stderr = open_memstream(&said, &size);
  for (int value = 0; value != -1 && given->count < 59;) {
    int index = -1;
    flag = 0;
    value = with_longs != NULL ? with_longs(argc, given->words, shorts, longs, &index)
                               : plain(argc, given->words, shorts);
    snprintf(given->arguments[given->count], sizeof given->arguments[0], "%s",
             optarg != NULL ? optarg : "(none)");
    add(given, value);
    add(given, optind);
    add(given, index);
    add(given, flag);
    add(given, value == '?' || value == ':' ? optopt : 0);
  }
  fclose(stderr);
  stderr = before;
  snprintf(given->said, sizeof given->said, "%s", said);
  free(said);
  for (char *s = given->said; (s = strstr(s, "; possibilities")) != NULL;) /* we do not list them */
    memmove(s, strchr(s, '\n'), strlen(strchr(s, '\n')) + 1);
}

static void options_are_found_alike(void **state) {
  (void)state;
  static char words[][8] = {"-a",      "-b",     "-ab",   "-n",      "-n5",     "5",   "--",
                            "-",       "word",   "--b",   "--size",  "--siz=3", "--s", "--loud",
                            "--loud=", "--lev",  "--l",   "--level", "-x",      "-:",  "-level",
                            "-loud",   "-size",  "-s=1",  "--nope",  "-c",      "-cx", "-;",
                            "",        "--leve", "-abn7", "other"};
  static const char *const shorts[] = {"abn:", "+abn:", "-abn:c::", ":abn:", "+:abc::", "l:s", ""};
  enum { WORDS = sizeof words / sizeof words[0], SHORTS = sizeof shorts / sizeof shorts[0] };
  unsigned seed = 1;
  for (int i = 0; i < 200000; i++) {
    static struct given ours, theirs;
    memset(&ours, 0, sizeof ours);
    memset(&theirs, 0, sizeof theirs);
    int argc = 1 + rand_r(&seed) % 6, kind = rand_r(&seed) % 3;
    const char *letters = shorts[rand_r(&seed) % SHORTS];
    opterr = rand_r(&seed) % 2;
    if (rand_r(&seed) % 4 == 0)
      setenv("POSIXLY_CORRECT", "1", 1);
    else
      unsetenv("POSIXLY_CORRECT");
    static char program[] = "program";
    ours.words[0] = theirs.words[0] = program;
    for (int k = 1; k < argc; k++) ours.words[k] = theirs.words[k] = words[rand_r(&seed) % WORDS];
    getopt_long_function *our_longs = kind == 0 ? NULL : kind == 1 ? getopt_long : getopt_long_only;
    getopt_long_function *their_longs = kind == 0   ? NULL
                                        : kind == 1 ? LIBC(getopt_long)
                                                    : LIBC(getopt_long_only);
    parse(&ours, argc, letters, getopt, our_longs);
    parse(&theirs, argc, letters, LIBC(getopt), their_longs);
    if (strcmp(ours.said, theirs.said) == 0 &&
        memcmp(&ours, &theirs, offsetof(struct given, said)) == 0)
      continue;
    for (int k = 0; k < argc; k++) print_error("%s, ", theirs.words[k]);
    print_error("by kind %d of '%s', found other options than by libc\n", kind, letters);
    print_error("ours: %slibc's: %s", ours.said, theirs.said);
    assert_int_equal(ours.count, theirs.count);
    for (int k = 0; k < ours.count; k++) {
      assert_int_equal(ours.values[k], theirs.values[k]);
      assert_string_equal(ours.arguments[k], theirs.arguments[k]);
    }
    fail();
  }
}

/* ---- what is looked up */

/* NULL is the same as NULL only. */
static void assert_same_user(const struct passwd *ours, const struct passwd *theirs) {
  assert_int_equal(ours != NULL, theirs != NULL);
  if (theirs == NULL) return;
  assert_string_equal(ours->pw_name, theirs->pw_name);
  assert_string_equal(ours->pw_dir, theirs->pw_dir);
  assert_int_equal(ours->pw_uid, theirs->pw_uid);
}

static void assert_same_group(const struct group *ours, const struct group *theirs) {
  assert_int_equal(ours != NULL, theirs != NULL);
  if (theirs == NULL) return;
  assert_string_equal(ours->gr_name, theirs->gr_name);
  assert_int_equal(ours->gr_gid, theirs->gr_gid);
}

static void users_and_groups_are_the_same(void **state) {
  (void)state;
  static const char *const names[] = {"root", "daemon", "bin", "nobody", "no such user", ""};
  static const unsigned numbers[] = {0, 1, 2, 65534, 0xfffffff0};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    assert_same_user(getpwnam(names[i]), LIBC(getpwnam)(names[i]));
    assert_same_group(getgrnam(names[i]), LIBC(getgrnam)(names[i]));
  }
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    assert_same_user(getpwuid(numbers[i]), LIBC(getpwuid)(numbers[i]));
    assert_same_group(getgrgid(numbers[i]), LIBC(getgrgid)(numbers[i]));
  }
}

static void assert_same_host(const struct hostent *ours, const struct hostent *theirs) {
  assert_int_equal(ours != NULL, theirs != NULL);
  if (theirs == NULL) return;
  assert_string_equal(ours->h_name, theirs->h_name);
  assert_int_equal(ours->h_length, theirs->h_length);
  assert_memory_equal(ours->h_addr_list[0], theirs->h_addr_list[0], (size_t)theirs->h_length);
}

/* Names that need no server. */
static void hosts_are_the_same(void **state) {
  (void)state;
  struct in_addr here = {htonl(INADDR_LOOPBACK)};
  static const char *const names[] = {"localhost", "127.0.0.1", "1.2.3.4"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    assert_same_host(gethostbyname(names[i]), LIBC(gethostbyname)(names[i]));
  assert_same_host(gethostbyaddr(&here, sizeof here, AF_INET),
                   LIBC(gethostbyaddr)(&here, sizeof here, AF_INET));
  assert_null(LIBC(gethostbyaddr)(&here, 1, AF_INET));
  int expected = h_errno;
  h_errno = 0;
  assert_null(gethostbyaddr(&here, 1, AF_INET));
  assert_int_equal(h_errno, expected);
  assert_null(LIBC(gethostbyname)("1.2.3.4.5.")); /* numbers that are no address */
  expected = h_errno;
  h_errno = 0;
  assert_null(gethostbyname("1.2.3.4.5."));
  assert_int_equal(h_errno, expected);
  assert_string_equal(inet_ntoa(here), "127.0.0.1");
}

static void services_are_the_same(void **state) {
  (void)state;
  static const char *const names[] = {"ssh", "domain", "no such service"};
  static const char *const protocols[] = {"tcp", "udp", NULL};
  static const uint16_t ports[] = {22, 53, 0};
  for (int i = 0; i < 3; i++)
    for (int p = 0; p < 3; p++) {
      const struct servent *ours = getservbyname(names[i], protocols[p]);
      const struct servent *theirs = LIBC(getservbyname)(names[i], protocols[p]);
      assert_int_equal(ours != NULL, theirs != NULL);
      if (theirs != NULL) assert_int_equal(ours->s_port, theirs->s_port);
      ours = getservbyport(htons(ports[i]), protocols[p]);
      theirs = LIBC(getservbyport)(htons(ports[i]), protocols[p]);
      assert_int_equal(ours != NULL, theirs != NULL);
      if (theirs != NULL) assert_string_equal(ours->s_name, theirs->s_name);
    }
}

static void terminals_have_their_names(void **state) {
  (void)state;
  int null = open("/dev/null", O_RDONLY);
  assert_null(ttyname(null));
  assert_int_equal(errno, ENOTTY);
  close(null);
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) skip();
  int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  if (terminal < 0) skip();
  assert_string_equal(ttyname(terminal), ptsname(master));
  close(terminal);
  close(master);
}

/* Each buffer grows as often as it has to. Two functions that share one follow each other. */
static void large_results_get_room(void **state) {
  (void)state;
  const struct in_addr here = {htonl(INADDR_LOOPBACK)};
  room_wanted = 5000;
  const struct passwd *user = getpwuid(getuid()), *their_user = LIBC(getpwuid)(getuid());
  const struct group *group = getgrgid(getgid()), *their_group = LIBC(getgrgid)(getgid());
  const struct hostent *host = gethostbyname("127.0.0.1");
  const struct servent *service = getservbyname("ssh", "tcp");
  assert_int_equal(user != NULL, their_user != NULL);
  assert_int_equal(group != NULL, their_group != NULL);
  assert_non_null(host);
  assert_int_equal(service != NULL, LIBC(getservbyname)("ssh", "tcp") != NULL);
  room_wanted = 50000;
  if (their_user != NULL) assert_int_equal(getpwnam(their_user->pw_name)->pw_uid, getuid());
  if (their_group != NULL) assert_int_equal(getgrnam(their_group->gr_name)->gr_gid, getgid());
  host = gethostbyaddr(&here, sizeof here, AF_INET);
  assert_int_equal(host != NULL, LIBC(gethostbyaddr)(&here, sizeof here, AF_INET) != NULL);
  service = getservbyport(htons(22), "tcp");
  assert_int_equal(service != NULL, LIBC(getservbyport)(htons(22), "tcp") != NULL);
  int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0) {
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (terminal >= 0) assert_string_equal(ttyname(terminal), ptsname(master));
    close(terminal);
  }
  close(master);
  room_wanted = 0;
}

static void the_gamma_function_leaves_the_sign(void **state) {
  (void)state;
  for (double x = -4.75; x < 5; x += 0.5) {
    int sign;
    double value = lgamma_r(x, &sign);
    signgam = 0;
    assert_true(lgamma(x) == value && signgam == sign);
    float narrow = lgammaf_r((float)x, &sign);
    signgam = 0;
    assert_true(lgammaf((float)x) == narrow && signgam == sign);
    long double wide = lgammal_r(x, &sign);
    signgam = 0;
    assert_true(lgammal(x) == wide && signgam == sign);
  }
}

/* ---- others */

static void words_are_cut_alike(void **state) {
  (void)state;
  char ours[] = ",,one,two;;three;", theirs[] = ",,one,two;;three;";
  const char *our_part = strtok(ours, ",;"), *their_part = LIBC(strtok)(theirs, ",;");
  for (; their_part != NULL; our_part = strtok(NULL, ",;"), their_part = LIBC(strtok)(NULL, ",;"))
    assert_string_equal(our_part, their_part);
  assert_null(our_part);
}

static void numbers_are_the_same_text(void **state) {
  (void)state;
  static const double values[] = {0, 1, -1.5, 123456.789, 1e-10, 1e300, -2.5e-300};
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
    for (int digits = 0; digits < 20; digits++) {
      int point[2], sign[2];
      const char *ours = ecvt(values[i], digits, &point[0], &sign[0]);
      const char *theirs = LIBC(ecvt)(values[i], digits, &point[1], &sign[1]);
      assert_string_equal(ours, theirs);
      assert_int_equal(point[0], point[1]);
      assert_int_equal(sign[0] != 0, sign[1] != 0);
      const char *other = fcvt(values[i], digits, &point[0], &sign[0]);
      assert_string_equal(other, LIBC(fcvt)(values[i], digits, &point[1], &sign[1]));
      assert_string_equal(ours, theirs); /* each has a text of its own */
      assert_int_equal(point[0], point[1]);
    }
}

static void mounted_file_systems_are_the_same(void **state) {
  (void)state;
  FILE *our_file = setmntent("/proc/self/mounts", "r");
  FILE *their_file = setmntent("/proc/self/mounts", "r");
  if (our_file == NULL || their_file == NULL) skip();
  const struct mntent *ours, *theirs;
  while ((theirs = LIBC(getmntent)(their_file)) != NULL) {
    ours = getmntent(our_file);
    assert_non_null(ours);
    assert_string_equal(ours->mnt_dir, theirs->mnt_dir);
    assert_string_equal(ours->mnt_opts, theirs->mnt_opts);
  }
  assert_null(getmntent(our_file));
  endmntent(our_file);
  endmntent(their_file);
}

static void times_are_the_same(void **state) {
  (void)state;
  static const char *const zones[] = {"UTC", "CET-1CEST,M3.5.0,M10.5.0/3", "XXX+11:30"};
  for (size_t i = 0; i < sizeof zones / sizeof zones[0]; i++) {
    setenv("TZ", zones[i], 1);
    for (time_t t = -1000000000; t < 4000000000; t += 98765432) {
      struct tm ours = *gmtime(&t), theirs = *LIBC(gmtime)(&t);
      assert_string_equal(asctime(&ours), LIBC(asctime)(&theirs));
      assert_string_equal(ctime(&t), LIBC(ctime)(&t));
      ours = *localtime(&t);
      theirs = *LIBC(localtime)(&t);
      assert_string_equal(asctime(&ours), LIBC(asctime)(&theirs));
      assert_int_equal(ours.tm_isdst, theirs.tm_isdst);
    }
  }
}

static void the_hash_table_keeps_what_it_is_given(void **state) {
  (void)state;
  int value;
  char key[] = "key", other[] = "other";
  assert_int_not_equal(hcreate(10), 0);
  assert_ptr_equal(hsearch((ENTRY){key, &value}, ENTER)->data, &value);
  assert_ptr_equal(hsearch((ENTRY){key, NULL}, FIND)->data, &value);
  assert_null(hsearch((ENTRY){other, NULL}, FIND));
  hdestroy();
}

/* Libc's would move that of this process. */
static void the_break_moves(void **state) {
  (void)state;
  void *const failed = (void *)-1; /* NOLINT(performance-no-int-to-ptr) as sbrk() does */
  char *first = sbrk(0);
  assert_ptr_not_equal(first, failed);
  assert_ptr_equal(sbrk(10000), first);
  memset(first, 1, 10000);
  assert_ptr_equal(sbrk(-9000), first + 10000);
  assert_int_equal(first[999], 1);
  assert_ptr_equal(sbrk(9000), first + 1000);
  assert_int_equal(first[9999], 0); /* pages that were given back are new */
  assert_int_equal(brk(first + 5), 0);
  assert_ptr_equal(sbrk(0), first + 5);
  assert_int_equal(brk(first - 1), -1);
  assert_int_equal(errno, ENOMEM);
  errno = 0;
  assert_ptr_equal(sbrk(-6), failed);
  assert_int_equal(errno, ENOMEM);
  assert_ptr_equal(sbrk(INTPTR_MAX), failed);
  assert_ptr_equal(sbrk(0), first + 5);
  assert_int_equal(brk(first), 0);
  char *end = first; /* the last address that it can have */
  for (size_t step = (size_t)1 << 40; step > 0; step /= 2) {
    if (brk(end + step) == 0) end += step;
  }
  assert_ptr_equal(sbrk(0), end);
  assert_int_equal((uintptr_t)end % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
  assert_int_equal(brk(end + 1), -1);
  assert_int_equal(brk(first), 0);
}

/* ---- the break where address space is limited: in a child, before it moves here */

enum { MEGABYTE = 1 << 20 };

/* Runs a function in a child that may get as many bytes of address space more as it has. @return
 * its result. */
static int with_space(size_t bytes, int (*run)(void)) {
  int status;
  pid_t child = fork();
  if (child == 0) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%lu", &pages) != 1) _exit(99);
    fclose(file);
    rlim_t most = pages * (rlim_t)sysconf(_SC_PAGESIZE) + bytes;
    _exit(setrlimit(RLIMIT_AS, &(struct rlimit){most, most}) == 0 ? run() : 99);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static int has_no_break(void) {
  errno = 0;
  if ((intptr_t)sbrk(0) != -1 || errno != ENOMEM) return 1;
  errno = 0;
  return brk((void *)&errno) == -1 && errno == ENOMEM ? 0 : 2;
}

/* 32 megabytes are the largest power of two that fits. */
static int has_a_small_heap(void) {
  char *first = sbrk(0);
  if ((intptr_t)first == -1) return 1;
  if (brk(first + 32 * MEGABYTE) != 0) return 2;
  first[32 * MEGABYTE - 1] = 1;
  if (brk(first + 32 * MEGABYTE + 1) != -1 || errno != ENOMEM) return 3;
  if ((intptr_t)sbrk(1) != -1) return 4;
  return sbrk(0) == first + 32 * MEGABYTE ? 0 : 5;
}

static int has_the_smallest_heap(void) { return (intptr_t)sbrk(MEGABYTE) != -1 ? 0 : 1; }

static void the_break_moves_within_a_limit_of_address_space(void **state) {
  (void)state;
  assert_int_equal(with_space(MEGABYTE / 2, has_no_break), 0);
  assert_int_equal(with_space(MEGABYTE + MEGABYTE / 2, has_the_smallest_heap), 0);
  assert_int_equal(with_space((size_t)48 * MEGABYTE, has_a_small_heap), 0);
}

/* Whole characters, their parts, and what is none; from a fresh state each time, or not. */
static void characters_are_as_long(void **state) {
  (void)state;
  static const char *const texts[] = {"a",    "\xc3\xa4", "\xe2\x82\xac", "\xc3", "\xe2\x82",
                                      "\xff", ""};
  if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) skip();
  for (int fresh = 0; fresh < 2; fresh++)
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
      for (size_t size = 0; size <= strlen(texts[i]) + 1; size++) {
        wchar_t ours = 0, theirs = 0;
        if (fresh) assert_int_equal(mblen(NULL, 0), LIBC(mblen)(NULL, 0));
        assert_int_equal(mblen(texts[i], size), LIBC(mblen)(texts[i], size));
        if (fresh) assert_int_equal(mbtowc(NULL, NULL, 0), LIBC(mbtowc)(NULL, NULL, 0));
        assert_int_equal(mbtowc(&ours, texts[i], size), LIBC(mbtowc)(&theirs, texts[i], size));
        assert_int_equal(ours, theirs);
      }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(large_results_get_room), /* first: a buffer that has grown stays large */
      cmocka_unit_test(random_numbers_are_the_same),
      cmocka_unit_test(numbers_of_48_bits_are_the_same),
      cmocka_unit_test(options_are_found_alike),
      cmocka_unit_test(users_and_groups_are_the_same),
      cmocka_unit_test(hosts_are_the_same),
      cmocka_unit_test(services_are_the_same),
      cmocka_unit_test(terminals_have_their_names),
      cmocka_unit_test(the_gamma_function_leaves_the_sign),
      cmocka_unit_test(words_are_cut_alike),
      cmocka_unit_test(numbers_are_the_same_text),
      cmocka_unit_test(mounted_file_systems_are_the_same),
      cmocka_unit_test(times_are_the_same),
      cmocka_unit_test(the_hash_table_keeps_what_it_is_given),
      cmocka_unit_test(the_break_moves_within_a_limit_of_address_space),
      cmocka_unit_test(the_break_moves),
      cmocka_unit_test(characters_are_as_long),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
