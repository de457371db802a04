/* SPDX-License-Identifier: Apache-2.0 */
/* tmpirun: runs an MPI program, each rank a thread of this process. */
#include <argp.h>
#include <errno.h>
#include <mltp/mltp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digits.h"
#include "core/internal/process.h"
#include "os/map.h"
#include "os/os.h"
#include "tmpi/env/job.h"
#include "tmpi/env/launch.h"
#include "tmpi/loader/policy.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/audited.h"
#include "tmpi/run/foreign_options.h"
#include "tmpi/run/hosts.h"
#include "tmpi/run/joined.h"
#include "tmpi/run/modules.h"
#include "tmpi/run/output.h"
#include "tmpi/run/override.h"
#include "tmpi/run/parts.h"
#include "tmpi/run/prefix.h"
#include "tmpi/run/process.h"
#include "tmpi/run/python.h"
#include "tmpi/run/streams.h"
#include "tmpi/run/wrapped.h"
#include "tmpi/run/wrapper.h"

enum {
  RANKS_MAX = 1000000,
  SPARE_RANKS = 1024,
  SPIN_US_MAX = 1000000,
  VPS = 256,
  ONE_TO_ONE,
  SEED,
  STACK,
  TIMEOUT,
  LABEL,
  OUTPUT,
  CHECK,
  REPORT,
  SPARE,
  COMMUNICATORS,
  FULL,
  WAIT,
  SHARE,
  PRIVATE,
  HOSTS,
  HOSTFILE,
  STATUS_USAGE = 2
};

struct settings {
  int ranks;
  int spare; /* ranks that may be spawned; -1: SPARE_RANKS, if the program may spawn any */
  bool label, check, strict, report, share;
  const char *report_file; /* NULL: stderr */
  const char *output;      /* files; NULL: none */
  long timeout;            /* seconds; 0: none */
  char *path;              /* of the program */
  char **command;          /* program and its arguments */
  int count;
  int option_count; /* words in front of the command */
  struct tm_parts parts;
  struct tm_joined joined;
};

static const struct argp_option options[] = {
    {"np", 'n', "N", 0, "number of ranks (1)", 0},
    {"vps", VPS, "N", 0, "virtual processors: kernel threads that run the ranks (one per CPU)", 0},
    {"one-to-one", ONE_TO_ONE, NULL, 0, "a kernel thread for each rank", 0},
    {"seed", SEED, "N", 0, "deterministic: the seed chooses the rank at each point", 0},
    {"wait", WAIT, "HOW", 0,
     "before a rank parks to wait for others: conscious (spin while the partner runs; the "
     "default), "
     "spin or spin:US (for as long as a park takes, or US microseconds), park (at once)",
     0},
    {"stack", STACK, "KIB", 0, "address space of a rank's stack (65536, or more by ulimit -s)", 0},
    {"timeout", TIMEOUT, "SECONDS", 0,
     "report what ranks do, and end, when the program has not ended by then", 0},
    {"full", FULL, NULL, 0,
     "in reports of deadlocks and of what ranks do, a line and a backtrace for each rank that "
     "differs from others",
     0},
    {"label", LABEL, NULL, 0, "begin each line of output with the rank that wrote it", 0},
    {"output", OUTPUT, "PREFIX", 0, "write what each rank prints to the file PREFIX.RANK", 0},
    {"check", CHECK, "strict", OPTION_ARG_OPTIONAL,
     "compare the arguments of collectives and the types of messages, find what is not freed or "
     "received; strict: a leak changes the exit status, too",
     0},
    {"report", REPORT, "FILE", OPTION_ARG_OPTIONAL,
     "count calls, messages, bytes and time of each rank; FILE.json: as JSON (stderr)", 0},
    {"spare", SPARE, "N", 0,
     "ranks that MPI_Comm_spawn may add (1024 if the program or its libraries call it, otherwise "
     "none)",
     0},
    {"communicators", COMMUNICATORS, "N", 0,
     "communicators that a rank may have at a time; more are an error (131072)", 0},
    {"share", SHARE, "LIBRARIES", 0,
     "let all ranks share these libraries: names or patterns, separated by commas", 0},
    {"private", PRIVATE, "LIBRARIES", 0,
     "give each rank its own copy of these libraries, as it has of most", 0},
    /* foreign_options.c carries these out, and they do not come to parse() */
    {"hosts", HOSTS, "A,B", 0, "run the job on these machines, by the launcher in PATH", 0},
    {"hostfile", HOSTFILE, "FILE", 0, "the same, with the machines in the lines of a file", 0},
    {0},
};

static long number(struct argp_state *state, const char *name, const char *text, long least,
                   long most) {
  uint64_t value;
  if (!mt_is_number(text, (uint64_t)least, (uint64_t)most, &value))
    argp_error(state, "%s: '%s' is no number from %ld to %ld", name, text, least, most);
  return (long)value;
}

/* libmltp reads its options from the environment. */
static void set_option(const char *variable, long value) {
  char text[32];
  snprintf(text, sizeof text, "%ld", value);
  setenv(variable, text, 1);
}

/* A rank may have what a process may, and 64 MiB in any case, if there is address space for as
 * many: a terabyte for all, or a quarter of a limit (mt_stacks_init() takes half, rounded down).
 * Where a terabyte is too little, stacks are small enough that their guards take no mappings
 * (MT_STACK_LARGE): the ranks need these themselves. */
static void choose_stack(int ranks) {
  enum { LEAST = 1 << 20, SMALL = 8 << 20, USUAL = 64 << 20, MOST = 1 << 30 };
  size_t limit = os_stack_limit(), space = os_address_space_limit() / 4, terabyte = (size_t)1 << 40;
  size_t size = limit == SIZE_MAX || limit > MOST ? MOST : limit > USUAL ? limit : USUAL;
  if (getenv("MLTP_STACK_SIZE") != NULL) return; /* --stack, or the user's own */
  if (space > terabyte) space = terabyte;
  if (size > USUAL && size > space / 4 / (size_t)ranks) size = USUAL;
  if (space == terabyte && size > space / (size_t)ranks) size = SMALL;
  while (size > LEAST && size > space / (size_t)ranks) size /= 2;
  set_option("MLTP_STACK_SIZE", (long)size);
}

static void set_wait(struct argp_state *state, const char *how) {
  if (strcmp(how, "conscious") == 0)
    tm_job_wait(TM_WAIT_CONSCIOUS, 0);
  else if (strcmp(how, "spin") == 0)
    tm_job_wait(TM_WAIT_SPIN, 0);
  else if (strncmp(how, "spin:", 5) == 0)
    tm_job_wait(TM_WAIT_SPIN, 1000 * (uint64_t)number(state, "--wait", how + 5, 1, SPIN_US_MAX));
  else if (strcmp(how, "park") == 0)
    tm_job_wait(TM_WAIT_PARK, 0);
  else
    argp_error(state, "--wait: '%s' is none of conscious, spin, spin:US, park", how);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
  struct settings *settings = state->input;
  switch (key) {
    case 'n': settings->ranks = (int)number(state, "-n", argument, 1, RANKS_MAX); return 0;
    case VPS: set_option("MLTP_VPS", number(state, "--vps", argument, 1, 1024)); return 0;
    case ONE_TO_ONE: setenv("MLTP_BACKEND", "kernel", 1); return 0;
    case SEED: set_option("MLTP_SEED", number(state, "--seed", argument, 1, LONG_MAX)); return 0;
    case STACK:
      set_option("MLTP_STACK_SIZE", number(state, "--stack", argument, 1, 1 << 20) * 1024);
      return 0;
    case TIMEOUT: settings->timeout = number(state, "--timeout", argument, 1, 1 << 30); return 0;
    case FULL: tm_job.full_reports = true; return 0;
    case LABEL: settings->label = true; return 0;
    case OUTPUT: settings->output = argument; return 0;
    case CHECK:
      if (argument != NULL && strcmp(argument, "strict") != 0)
        argp_error(state, "--check=%s: bad value (strict, or none)", argument);
      settings->check = true;
      settings->strict |= argument != NULL;
      return 0;
    case REPORT:
      settings->report = true;
      settings->report_file = argument;
      return 0;
    case SPARE: settings->spare = (int)number(state, "--spare", argument, 0, RANKS_MAX); return 0;
    case COMMUNICATORS:
      tm_job.comms_max = (uint32_t)number(state, "--communicators", argument, 2, INT32_MAX);
      return 0;
    case WAIT: set_wait(state, argument); return 0;
    case SHARE:
    case PRIVATE:
      settings->share |= key == SHARE;
      if (!tm_policy_option(argument, key == SHARE))
        argp_error(state, "no memory for --share and --private");
      return 0;
    case ARGP_KEY_ARG:
      settings->command = state->argv + state->next - 1;
      settings->count = state->argc - state->next + 1;
      settings->option_count = (state->quoted > 0 ? state->quoted : state->next) - 2; /* no "--" */
      state->next = state->argc; /* the rest is the program's */
      return 0;
    case ARGP_KEY_NO_ARGS: argp_error(state, "no program named"); return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static void print_version(FILE *stream, struct argp_state *state) {
  (void)state;
  fprintf(stream, "tmpirun %s\n", mltp_version());
}

static const void * override(const char *name) {
  const void *function = tm_joined_override(name);
  if (function == NULL) function = tm_checks_override(name);
  return function != NULL ? function : tm_override(name);
}

static bool takes_next_word(const char *word) {
  if (strcmp(word, "-n") == 0) return true;
  for (const struct argp_option *option = options; option->name != NULL; option++)
    if (strncmp(word, "--", 2) == 0 && strcmp(word + 2, option->name) == 0)
      return option->arg != NULL && (option->flags & OPTION_ARG_OPTIONAL) == 0;
  return false;
}

/* @return false after a message: the parts have different programs. */
static bool same_program(const struct tm_parts *parts) {
  bool same = true;
  for (int i = 1; same && i < parts->count; i++) {
    char *first = tm_find_program(parts->list[0].argv[0]);
    char *other = tm_find_program(parts->list[i].argv[0]);
    same = first != NULL && other != NULL && strcmp(first, other) == 0;
    free(first);
    free(other);
    if (!same)
      fprintf(stderr,
              "tmpirun: '%s' and '%s' are different programs, and all ranks run one (build one "
              "program that chooses by an argument)\n",
              parts->list[0].argv[0], parts->list[i].argv[0]);
  }
  return same;
}

/* @return false after a message. */
static bool read_parts(struct settings *settings, int first, int argc, char **argv) {
  struct tm_parts *parts = &settings->parts;
  if (!tm_parts_add(parts, settings->ranks, settings->count, settings->command) ||
      !tm_parts_add_rest(parts, first, argc, argv, RANKS_MAX, takes_next_word) ||
      !same_program(parts))
    return false;
  settings->ranks = tm_parts_ranks(parts);
  return true;
}

/* All ranks share a library of the system. A few threads of its own would serve all ranks one after
 * the other (HPL with 16 ranks took 13 times as long). OpenBLAS reads these when it is loaded; a
 * value that the user has set stays. */
static void keep_libraries_single(int ranks) {
  if (ranks > 1) setenv("OPENBLAS_NUM_THREADS", "1", 0);
}

/* A rank that polls for what another rank does would keep that one from running. */
static void limit_slices(int ranks) {
  if (ranks > 1) setenv("MLTP_SLICE_MS", "500", 0);
}

/* @return an option given that only jobs of one node have; NULL: none. */
static const char *one_node_option(const struct settings *settings) {
  if (settings->share) return "--share"; /* these libraries are not bound to what refuses calls */
  return getenv("MLTP_SEED") != NULL || getenv("MLTP_SCHEDULE") != NULL ? "--seed" : NULL;
}

/* Node 0 gets what others have counted. */
static void add_counts(int nodes) {
  for (int i = 1; i < nodes; i++) {
    size_t bytes = 0;
    void *counts = tm_joined_take_counts(i, &bytes);
    if (counts != NULL)
      tm_checks_add(counts, bytes);
    else
      fprintf(stderr, "tmpirun: the report lacks node %d: its counts have not come (see above)\n",
              i);
    free(counts);
  }
}

/* The ranks of this node have ended. @return the status of the process. */
static int end_job(const struct settings *settings, int status) {
  int own, nodes = tm_joined_nodes(&own);
  size_t bytes = 0;
  void *counts = settings->report && own > 0 ? tm_checks_gather(&bytes) : NULL;
  if (counts != NULL) tm_joined_send_counts(counts, bytes);
  free(counts);
  status = tm_joined_end(status);
  if (settings->report && own == 0) add_counts(nodes);
  status = tm_checks_finish(status, own == 0);
  tm_joined_leave(settings->check);
  return status;
}

/* Programs spawn as many ranks as are missing to MPI_UNIVERSE_SIZE. The room that a program has
 * without being asked for is no advice: mpi4py's MPIPoolExecutor() would start 1,024 Pythons. */
static int universe(const struct settings *settings) {
  int cpus = settings->joined.cpus > 0 ? settings->joined.cpus : mti_cpus(), most = tm_job.most;
  if (settings->spare >= 0) return most;
  int advised = cpus > settings->ranks ? cpus : settings->ranks + 1;
  return advised < most ? advised : most;
}

/* What fails has said why. @return the exit status. */
static int run(const struct settings *settings) {
  if (!tm_output_start(settings->ranks, settings->label, settings->output)) return 1;
  if ((settings->check || settings->report) && !tm_checks_load()) return 1;
  tm_job_on_end(tm_flush_all);
  tm_units_start();
  tm_crash_start();
  keep_libraries_single(settings->ranks);
  os_raise_file_limit(); /* of one process, for the files of all ranks */
  struct tm_ranks ranks = {settings->ranks, settings->spare, settings->spare >= 0};
  if (settings->spare < 0) ranks.spare = SPARE_RANKS;
  if (tm_program_read(settings->path, &ranks, override) == NULL) return 1;
  int most = tm_the_program->ranks;
  if (most > settings->ranks && !tm_output_reserve(most)) return 1;
  limit_slices(most);
  if (!tm_streams_start(tm_the_program)) return 1;
  tm_openmp_heed();
  tm_obstacks_heed();
  tm_vps_later();
  mti_expect_stacks((size_t)settings->joined.local);
  if (tm_program_runs_code_on_stack(tm_the_program)) mti_make_stacks_executable();
  if (mltp_init(0) != 0) return 1;
  if (tm_job_start(settings->ranks, most, settings->joined.first, settings->joined.local) != 0) {
    fprintf(stderr, "tmpirun: no memory for %d ranks (fewer ranks)\n", settings->ranks);
    return 1;
  }
  tm_job.universe = universe(settings);
  tm_job.mark = settings->joined.mark;
  tm_locations_start();
  int error = tm_watch_start(settings->timeout);
  if (error != 0) {
    char why[128];
    os_thread_refusal(error, why, sizeof why);
    fprintf(stderr, "tmpirun: no kernel thread for reports: %s (raise the limit)\n", why);
    return 1;
  }
  if (!tm_checks_start(settings->check, settings->strict, settings->report, settings->report_file))
    return 1;
  if (most > settings->ranks && !tm_spawn_start(settings->command[0])) {
    fprintf(stderr, "tmpirun: no memory for ranks that ranks spawn (--spare=0)\n");
    return 1;
  }
  if (!tm_joined_begin()) return 1;
  int status = end_job(settings, tm_launch(&settings->parts));
  if (status == 0 && tm_ends_are_clean()) mti_wait_for_all();
  if (!tm_output_is_complete() && status == 0) status = 1;
  if (!tm_ends_abandoned()) return status;
  tm_flush_all(); /* exit() is not for a process whose other threads use libc */
  _exit(status);
}

/* own: tmpirun's words and the first program; parts: the programs that follow. */
static int launch_on_hosts(const struct settings *settings, char **own, int count, char **parts,
                           int more) {
  char **words = calloc((size_t)count + (size_t)more, sizeof *words);
  if (words == NULL) return 1;
  memcpy(words, own, (size_t)count * sizeof *words);
  memcpy(words + count, parts, (size_t)more * sizeof *words);
  int status = tm_hosts_launch(settings->ranks, words, (size_t)count + (size_t)more);
  free(words);
  return status;
}

int main(int argc, char **argv) {
  /* Ranks read the command line until the process ends, after main() has returned. In a child of a
   * rank, LeakSanitizer does not look at main()'s frame. */
  static struct settings settings = {.ranks = 1, .spare = -1};
  const struct argp argp = {
      .options = options,
      .parser = parse,
      .args_doc = "PROGRAM [ARGUMENT...] [: [-n N] PROGRAM [ARGUMENT...]]...",
      .doc =
          "Runs an MPI program built by tmpicc, tmpicxx or tmpifort, each rank a thread of one "
          "process.\vExit status: that of the first rank that failed; 1: a rank ended without "
          "MPI_Finalize(), or the program cannot be run; 2: wrong usage; 86: deadlock; 124: "
          "--timeout. "
          "SIGUSR1 makes it tell what each rank does. Options of other launchers: "
          "mltp-mpiexec(7).",
  };
  os_descriptors_fill();
  error_t usage = argp_err_exit_status;
  argp_program_version_hook = print_version;
  argp_err_exit_status = STATUS_USAGE;
  char **words = argv;
  int first = tm_parts_cut(argc, argv),
      count = tm_foreign_options(first, &words, false, takes_next_word);
  if (count < 0) return STATUS_USAGE;
  argp_parse(&argp, count, words, ARGP_IN_ORDER, NULL, &settings);
  argp_program_version_hook = NULL; /* ranks have these variables, too */
  argp_err_exit_status = usage;
  tm_wrapped_started();
  const struct tm_wrapper_options called = {words + 1, settings.option_count, settings.ranks};
  if (!tm_hosts_are_far() && first == argc && /* a wrapper runs on the hosts */
      !tm_wrapper_run(&settings.command, &settings.count, &called))
    return 1;
  if (!read_parts(&settings, first, argc, argv)) return STATUS_USAGE;
  if (tm_hosts_are_far())
    return launch_on_hosts(&settings, words, count, argv + first, argc - first);
  char *named = tm_find_program(settings.command[0]);
  settings.path = named != NULL ? realpath(named, NULL) : NULL;
  char *stand_in = settings.path != NULL ? tm_python_stand_in(settings.path) : NULL;
  free(named);
  if (stand_in != NULL) {
    free(settings.path);
    settings.path = stand_in;
  }
  if (settings.path == NULL) {
    fprintf(stderr, "tmpirun: cannot run '%s': %s (check the name)\n", settings.command[0],
            strerror(errno));
    return 1;
  }
  const struct tm_asked asked = {settings.ranks, settings.path, one_node_option(&settings),
                                 settings.check, settings.report};
  if (!tm_joined_start(&asked, &settings.joined)) return 1;
  choose_stack(settings.joined.local);
  if (settings.ranks > 1) { /* for programs that ranks start */
    setenv(TM_JOB, "1", 1);
    tm_audited_start();
  }
  return run(&settings);
}
