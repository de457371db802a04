/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libmltp-teams hands to the libraries behind it, and what it tells mltpd (src/teams): the
 * libraries are those of adjusted_library.c, and the daemon is the test's own.
 *
 * With a word it is a program that the test starts. LOADED is a library that the test loads.
 */
#include "adjusted.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "coord/client.h"
#include "support/plain.h"
#include "teams/blas.h"
#include "teams/teams.h"

enum { CPUS = 6 };

static struct {
  const char *where;
  struct mt_client_program program;
  uint32_t active, demand, grant;
  int reports, rings, looks;
  bool rings_back;
} daemon_ = {.grant = 4};

int __wrap_os_cpus(void);
int __wrap_os_cpus(void) { return CPUS; }

int __wrap_mt_client_join(const char *where, const struct mt_client_program *program);
int __wrap_mt_client_join(const char *where, const struct mt_client_program *program) {
  daemon_.where = where;
  daemon_.program = *program;
  return 0;
}

void __wrap_mt_client_leave(void);
void __wrap_mt_client_leave(void) { fprintf(stderr, "left\n"); }

bool __wrap_mt_client_report(uint32_t active, uint32_t demand);
bool __wrap_mt_client_report(uint32_t active, uint32_t demand) {
  daemon_.active = active;
  daemon_.demand = demand;
  daemon_.reports++;
  return daemon_.rings_back;
}

void __wrap_mt_client_ring(void);
void __wrap_mt_client_ring(void) { daemon_.rings++; }

uint32_t __wrap_mt_client_follow(void);
uint32_t __wrap_mt_client_follow(void) { return daemon_.grant; }

void __wrap_mt_client_look(uint64_t now);
void __wrap_mt_client_look(uint64_t now) { daemon_.looks += now != 0; }

/* ---- the functions that programs call */

typedef void region(void *data);
typedef void chunked(region *f, void *data, unsigned threads, long start, long end, long step,
                     long chunk, unsigned flags);
typedef void plain(region *f, void *data, unsigned threads, long start, long end, long step,
                   unsigned flags);
typedef void shared_region(int *, int *, ...);
void GOMP_parallel(region *f, void *data, unsigned threads, unsigned flags);
unsigned GOMP_parallel_reductions(region *f, void *data, unsigned threads, unsigned flags);
void GOMP_parallel_sections(region *f, void *data, unsigned threads, unsigned count,
                            unsigned flags);
chunked GOMP_parallel_loop_dynamic, GOMP_parallel_loop_guided,
    GOMP_parallel_loop_nonmonotonic_dynamic, GOMP_parallel_loop_nonmonotonic_guided;
plain GOMP_parallel_loop_runtime, GOMP_parallel_loop_nonmonotonic_runtime,
    GOMP_parallel_loop_maybe_nonmonotonic_runtime;
void __kmpc_push_num_threads(void *location, int thread, int threads);
void __kmpc_fork_call(void *location, int count, shared_region *f, ...);
void __kmpc_fork_call_if(void *location, int count, shared_region *f, int condition, void *shared);
void _ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
    void *task, void *context, void *work, void *work_context);
void _ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(void *work,
                                                                              void *context);
void _ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE(
    void *context, size_t tokens, const void *filters);

static int regions, data_; /* regions that ran, and what they get */

/* A region: the machine is asked for while it runs. */
static void work(void *data) {
  CHECK(data == &data_ && mt_team_is_alone());
  EQUAL(daemon_.demand, CPUS);
  EQUAL(daemon_.active, CPUS);
  regions++;
}

static void shared_work(int *thread, int *team, ...) {
  CHECK(thread == NULL && team == NULL);
  work(&data_);
}

/* After a call: the library's function of that name got these numbers, and the region has run. */
static void check_call(const char *name, const long *arguments, int count) {
  CHECK(strcmp(noted.name, name) == 0 && !mt_team_is_alone());
  for (int i = 0; i < count; i++) EQUAL(noted.arguments[i], arguments[i]);
  EQUAL(noted.calls, 1);
  EQUAL(regions, 1);
  EQUAL(daemon_.demand, 1);
  EQUAL(daemon_.active, 1);
  EQUAL(daemon_.reports, 2);
  noted.calls = regions = daemon_.reports = 0;
}

#define GOT(name, ...)                                                                             \
  check_call(name, (const long[]){__VA_ARGS__}, sizeof(long[]){__VA_ARGS__} / sizeof(long))

static void teams_of_libgomp(void) {
  static const struct {
    unsigned grant, asked;
    int level, max;
    long size;
  } cases[] = {{4, 0, 0, 8, 4}, {9, 0, 0, 8, 8}, {8, 0, 0, 8, 8}, {4, 7, 0, 8, 7},
               {4, 0, 1, 8, 0}, {4, 7, 1, 8, 7}, {4, 0, 0, 3, 3}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    daemon_.grant = cases[i].grant;
    noted.level = cases[i].level;
    noted.max = cases[i].max;
    int looks = daemon_.looks;
    GOMP_parallel(work, &data_, cases[i].asked, 77);
    GOT("GOMP_parallel", cases[i].size, 77);
    EQUAL(daemon_.looks - looks, cases[i].asked == 0 && cases[i].level == 0);
  }
  daemon_.grant = 4;
  noted.max = 8;
  EQUAL(GOMP_parallel_reductions(work, &data_, 0, 5), 41);
  GOT("GOMP_parallel_reductions", 4, 5);
  GOMP_parallel_sections(work, &data_, 0, 12, 5);
  GOT("GOMP_parallel_sections", 4, 12, 5);
  const struct {
    const char *name;
    chunked *function;
  } chunks[] = {
      {"GOMP_parallel_loop_dynamic", GOMP_parallel_loop_dynamic},
      {"GOMP_parallel_loop_guided", GOMP_parallel_loop_guided},
      {"GOMP_parallel_loop_nonmonotonic_dynamic", GOMP_parallel_loop_nonmonotonic_dynamic},
      {"GOMP_parallel_loop_nonmonotonic_guided", GOMP_parallel_loop_nonmonotonic_guided}};
  for (int i = 0; i < 2 * 4; i++) {
    chunks[i % 4].function(work, &data_, 0, 11, 12, 13, 14, 15);
    GOT(chunks[i % 4].name, 4, 11, 12, 13, 14, 15);
  }
  const struct {
    const char *name;
    plain *function;
  } loops[] = {{"GOMP_parallel_loop_runtime", GOMP_parallel_loop_runtime},
               {"GOMP_parallel_loop_nonmonotonic_runtime", GOMP_parallel_loop_nonmonotonic_runtime},
               {"GOMP_parallel_loop_maybe_nonmonotonic_runtime",
                GOMP_parallel_loop_maybe_nonmonotonic_runtime}};
  for (int i = 0; i < 2 * 3; i++) {
    loops[i % 3].function(work, &data_, 3, 11, 12, 13, 15);
    GOT(loops[i % 3].name, 3, 11, 12, 13, 15);
  }
}

static void teams_inside_of_teams(void) {
  mt_team_begin();
  CHECK(mt_team_is_alone());
  mt_team_begin();
  CHECK(!mt_team_is_alone());
  EQUAL(daemon_.demand, CPUS);
  mt_team_end();
  EQUAL(daemon_.demand, CPUS);
  EQUAL(daemon_.rings, 0);
  daemon_.rings_back = true;
  mt_team_end();
  EQUAL(daemon_.demand, 1);
  EQUAL(daemon_.rings, 1);
  daemon_.rings_back = false;
  daemon_.reports = 0;
  EQUAL(mt_team_most(), CPUS);
}

static void teams_of_libomp(void) {
  static int cells[VARIABLES], location;
  long at = (long)(intptr_t)&location;
  __kmpc_fork_call(&location, 2, shared_work, &cells[0], &cells[1]);
  CHECK(noted.passed[0] == &cells[0] && noted.passed[1] == &cells[1]);
  EQUAL(noted.pushed, 4);
  EQUAL(noted.arguments[6], at);
  EQUAL(noted.arguments[7], 6);
  GOT("__kmpc_fork_call", at, 2);
  EQUAL(noted.pushes, 1);
  __kmpc_push_num_threads(&location, 9, 3); /* the program asks for three, for one region */
  EQUAL(noted.pushes, 2);
  EQUAL(noted.pushed, 3);
  EQUAL(noted.arguments[7], 9);
  __kmpc_fork_call(&location, 0, shared_work);
  EQUAL(noted.pushes, 2);
  GOT("__kmpc_fork_call", at, 0);
  __kmpc_fork_call(&location, 0, shared_work);
  EQUAL(noted.pushes, 3);
  GOT("__kmpc_fork_call", at, 0);
  noted.level = 1; /* inside of another */
  __kmpc_fork_call(&location, 0, shared_work);
  EQUAL(noted.pushes, 3);
  GOT("__kmpc_fork_call", at, 0);
  noted.level = 0;
  for (int condition = 0; condition < 2; condition++) {
    __kmpc_fork_call_if(&location, 1, shared_work, condition, &cells[5]);
    EQUAL(noted.pushes, 3 + condition);
    GOT("__kmpc_fork_call_if", at, 1, condition, (long)(intptr_t)&cells[5]);
  }
#define TEN(i)                                                                                     \
  &cells[(i)], &cells[(i) + 1], &cells[(i) + 2], &cells[(i) + 3], &cells[(i) + 4],                 \
      &cells[(i) + 5], &cells[(i) + 6], &cells[(i) + 7], &cells[(i) + 8], &cells[(i) + 9]
  __kmpc_fork_call(&location, VARIABLES, shared_work, TEN(0), TEN(10), TEN(20), TEN(30), TEN(40),
                   TEN(50), TEN(60), TEN(70), TEN(80), TEN(90), TEN(100), TEN(110), &cells[120],
                   &cells[121], &cells[122], &cells[123], &cells[124], &cells[125], &cells[126],
                   &cells[127]);
  for (int i = 0; i < VARIABLES; i++) CHECK(noted.passed[i] == &cells[i]);
  GOT("__kmpc_fork_call", at, VARIABLES);
}

static void limits_of_onetbb(void) {
  static const struct {
    unsigned grant;
    const char *controls;
  } steps[] = {{CPUS, ""},       {2, "+2"},  {2, ""},   {3, "+3-2"}, {CPUS - 1, "+5-3"},
               {CPUS + 1, "-5"}, {CPUS, ""}, {1, "+1"}, {CPUS, "-1"}};
  for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
    daemon_.grant = steps[i].grant;
    noted.controls[0] = '\0';
    _ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE(
        (void *)(uintptr_t)work, &data_);
    CHECK(strcmp(noted.controls, steps[i].controls) == 0);
    GOT("_ZN3tbb6detail2r14waitERNS0_2d112wait_contextERNS2_18task_group_contextE", 0);
  }
  void *f = (void *)(uintptr_t)work, *one = &regions, *two = &noted;
  for (int i = 0; i < 2; i++) {
    _ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_contextES6_(
        f, &data_, one, two);
    GOT("_ZN3tbb6detail2r116execute_and_waitERNS0_2d14taskERNS2_18task_group_contextERNS2_12wait_"
        "contextES6_",
        (long)(intptr_t)one, (long)(intptr_t)two);
    _ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE(f, 19,
                                                                                            &data_);
    GOT("_ZN3tbb6detail2r117parallel_pipelineERNS0_2d118task_group_contextEmRKNS2_11filter_nodeE",
        19);
  }
}

/* A call of a BLAS. @return how often it was given a number of threads. */
static int call_blas(struct mt_blas *blas, const void *caller, unsigned grant) {
  daemon_.grant = grant;
  noted.blas_sets = noted.blas_gets = 0;
  mt_blas_begin(blas, caller);
  EQUAL(daemon_.demand, CPUS);
  mt_team_end();
  EQUAL(blas->lock, 0);
  return noted.blas_sets;
}

static void sizes_of_a_blas(const char *path) {
  struct mt_blas blas = {.get_name = "some_get_num_threads", .set_name = "some_set_num_threads"};
  const void *caller = (const void *)(uintptr_t)work;
  noted.blas = 8;
  EQUAL(call_blas(&blas, caller, 8), 0);
  EQUAL(noted.blas_gets, 1);
  EQUAL(call_blas(&blas, caller, 3), 1);
  EQUAL(noted.blas, 3);
  EQUAL(call_blas(&blas, caller, 3), 0);
  EQUAL(noted.blas_gets, 0);
  mt_team_begin(); /* another call is under way */
  EQUAL(call_blas(&blas, caller, 5), 0);
  mt_team_end();
  EQUAL(call_blas(&blas, caller, 5), 1);
  EQUAL(noted.blas, 5);
  EQUAL(call_blas(&blas, caller, 9), 1);
  EQUAL(noted.blas, 8);

  struct mt_blas half = {.get_name = "none", .set_name = "some_set_num_threads"};
  struct mt_blas wide = {.get_name = "some_get_num_threads", .set_name = "none"};
  noted.wide = -1; /* nobody gave it a number */
  EQUAL(call_blas(&wide, caller, 3), 0);
  EQUAL(noted.blas_gets, 1);
  EQUAL(call_blas(&wide, caller, 1), 0);
  noted.wide = 0; /* it does not know yet */
  EQUAL(call_blas(&half, caller, 3), 0);
  noted.wide = 6;
  EQUAL(call_blas(&half, caller, 2), 1);
  EQUAL(noted.wide, 2);
  EQUAL(noted.blas, 8);

  void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (module == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(module != NULL);
  caller_in_module *find;
  *(void **)&find = dlsym(module, "module_caller");
  const void *inside = find();
  struct mt_blas mkl = {.get_name = "none", .set_name = "none"};
  noted.mkl = 4;
  EQUAL(call_blas(&mkl, inside, 2), 1);
  EQUAL(noted.mkl, 2);
  EQUAL(noted.wide, 2);
  CHECK(mt_team_find_any("only_in_module", inside) != NULL &&
        mt_team_find("only_in_module", inside) != NULL);
  CHECK(mt_team_find_any("only_in_module", caller) == NULL &&
        mt_team_find_any("only_in_module", &data_) == NULL);
  dlclose(module);
  CHECK(dlopen(path, RTLD_NOW | RTLD_NOLOAD) == NULL); /* nothing keeps it */
}

/* ---- programs of their own: the start and the end */

static int in_child(const char *mode, const char *where, const char *process, const char *quiet,
                    char *said, size_t size) {
  int ends[2], status;
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    char own[32];
    snprintf(own, sizeof own, "%ld", (long)getpid());
    unsetenv("MLTP_COORDINATOR");
    unsetenv("MLTP_RUN_PROCESS");
    unsetenv("MLTP_RUN_QUIET");
    if (where != NULL) setenv("MLTP_COORDINATOR", where, 1);
    if (process != NULL) setenv("MLTP_RUN_PROCESS", *process != '\0' ? process : own, 1);
    if (quiet != NULL) setenv("MLTP_RUN_QUIET", quiet, 1);
    dup2(ends[1], 2);
    execl("/proc/self/exe", "adjusted", mode, (char *)NULL);
    _exit(1);
  }
  close(ends[1]);
  ssize_t n, all = 0;
  while ((n = read(ends[0], said + all, size - 1 - (size_t)all)) > 0) all += n;
  said[all] = '\0';
  close(ends[0]);
  waitpid(child, &status, 0);
  return status;
}

static int child(const char *mode) {
  if (strcmp(mode, "team") == 0) {
    mt_team_begin();
    mt_team_end();
  } else if (strcmp(mode, "many") == 0) {
    __kmpc_fork_call(NULL, VARIABLES + 1, shared_work);
  } else if (strcmp(mode, "missing") == 0) {
    mt_team_find("no_such_function", &data_);
  } else {
    fprintf(stderr, "at %s as %u with %u\n", daemon_.where, daemon_.program.role,
            daemon_.program.most);
  }
  return 0;
}

static void programs_of_their_own(void) {
  static const struct {
    const char *mode, *where, *process, *quiet, *said;
    bool aborts;
  } cases[] = {
      {"start", NULL, NULL, NULL, "at auto as 2 with 6\nleft\n", false},
      {"start", "", "1", NULL, "at auto as 2 with 6\nleft\n", false},
      {"start", "/x", NULL, NULL, "at /x as 2 with 6\nleft\n", false},
      {"start", "off", "", NULL,
       "at off as 2 with 6\nmltp: adjusted used no team of OpenMP, oneTBB or a BLAS: nothing was "
       "adjusted\nleft\n",
       false},
      {"start", "off", "", "1", "at off as 2 with 6\nleft\n", false},
      {"team", "off", "", NULL, "left\n", false},
      {"many", "off", NULL, NULL,
       "mltp: a parallel region shares 129 variables; mltp run passes on 128 (run the program "
       "without it)\n",
       true},
      {"missing", "off", NULL, NULL,
       "mltp: no_such_function is called, and no library has it (run the program without mltp "
       "run)\n",
       true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char said[1000];
    int status = in_child(cases[i].mode, cases[i].where, cases[i].process, cases[i].quiet, said,
                          sizeof said);
    if (strcmp(said, cases[i].said) != 0) fprintf(stderr, "case %zu: %s", i, said);
    CHECK(strcmp(said, cases[i].said) == 0);
    CHECK(cases[i].aborts ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT : status == 0);
  }
}

int main(int argc, char **argv) {
  if (argc > 1) return child(argv[1]);
  teams_of_libgomp();
  teams_inside_of_teams();
  teams_of_libomp();
  limits_of_onetbb();
  sizes_of_a_blas(LOADED);
  programs_of_their_own();
}
