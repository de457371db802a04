/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mltp jobs: a jobserver of GNU make whose number of tokens follows mltpd.
 *
 * A program that finds --jobserver-auth in MAKEFLAGS may run one job, and one more for each byte
 * that it takes from a pipe; it gives the byte back when the job ends. So builds and tests that
 * know this protocol share the CPUs with the programs of mltpd: `circulating` bytes, one less than
 * the grant, are in the pipe or in the hand of a job.
 *
 * No event tells when a byte is taken, so this looks every LOOK_MS. The demand is the jobs that run
 * and, where no byte is left, one more: then a job may be waiting for it.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digits.h"
#include "coord/client.h"
#include "message.h"
#include "os/os.h"
#include "run.h"
#include "supervise.h"

enum {
  LOOK_MS = 20,
  MOST_JOBS = 4096, /* a pipe holds as many bytes at least */
  KEEP_LOOKS = 50   /* looks until a byte that nobody takes is no longer asked for */
};

static struct jobs {
  char **words;      /* the program */
  const char *where; /* the daemon; NULL: not given */
  bool named;        /* offer a FIFO by its name, not two descriptors */
  unsigned most;     /* jobs at a time, with the one that needs no byte */
  unsigned circulating;
  unsigned unused; /* looks in a row that found a byte left */
  bool warned;     /* that the program gave back more than it took */
  int take, give;  /* what the program inherits */
  int own;         /* the same pipe, which does not block this process */
  char folder[32], fifo[48];
} jobs = {.take = -1, .give = -1, .own = -1};

/* ---- the pipe */

static void remove_fifo(void) {
  if (*jobs.fifo != '\0') unlink(jobs.fifo);
  if (*jobs.folder != '\0') rmdir(jobs.folder);
}

/* @return 0, or an errno value. */
static int make_fifo(void) {
  strcpy(jobs.folder, "/tmp/mltp-jobs-XXXXXX");
  if (mkdtemp(jobs.folder) == NULL) {
    jobs.folder[0] = '\0';
    return errno;
  }
  snprintf(jobs.fifo, sizeof jobs.fifo, "%s/jobs", jobs.folder);
  if (mkfifo(jobs.fifo, 0600) != 0) return errno;
  jobs.own = open(jobs.fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  return jobs.own < 0 ? errno : 0;
}

/* The program's two ends block, as make expects. A second opening of the pipe has flags of its own.
 * @return 0, or an errno value. */
static int make_pipe(void) {
  int ends[2];
  char name[32];
  if (pipe(ends) != 0) return errno;
  jobs.take = ends[0];
  jobs.give = ends[1];
  snprintf(name, sizeof name, "/proc/self/fd/%d", jobs.take);
  jobs.own = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  return jobs.own < 0 ? errno : 0;
}

/* @return bytes that nobody has taken. */
static unsigned left(void) {
  int bytes = 0;
  return ioctl(jobs.own, FIONREAD, &bytes) == 0 && bytes > 0 ? (unsigned)bytes : 0;
}

/* Puts bytes in or takes them out. @return how many bytes circulate then. */
static unsigned circulate(unsigned wanted) {
  char byte = '+';
  while (jobs.circulating < wanted && write(jobs.own, &byte, 1) == 1) jobs.circulating++;
  while (jobs.circulating > wanted && read(jobs.own, &byte, 1) == 1) jobs.circulating--;
  return jobs.circulating;
}

/* A program that gives back what it did not take would run more jobs than it may. */
static void drop_foreign_bytes(void) {
  char byte;
  unsigned foreign = left() > jobs.circulating ? left() - jobs.circulating : 0;
  if (foreign == 0) return;
  if (!jobs.warned)
    message("%s gave back more job tokens than it took: they are dropped", jobs.words[0]);
  jobs.warned = true;
  while (foreign-- > 0 && read(jobs.own, &byte, 1) == 1) continue;
}

/* ---- the grant */

static void look(void) {
  mt_client_look(os_now());
  uint32_t grant = mt_client_follow();
  drop_foreign_bytes();
  circulate((grant < jobs.most ? grant : jobs.most) - 1);
  unsigned unused = left(), running = jobs.circulating - unused + 1;
  jobs.unused = unused == 0 ? 0 : jobs.unused + 1;
  unsigned demand = jobs.unused < KEEP_LOOKS ? running + 1 : running;
  if (mt_client_report(running, demand < jobs.most ? demand : jobs.most)) mt_client_ring();
}

/* ---- the program */

/* @return false: no memory. */
static bool offer(void) {
  const char *flags = getenv("MAKEFLAGS");
  char *auth = NULL, *all = NULL;
  int made = jobs.named ? asprintf(&auth, "fifo:%s", jobs.fifo)
                        : asprintf(&auth, "%d,%d", jobs.take, jobs.give);
  if (made >= 0)
    made =
        asprintf(&all, "%s -j%u --jobserver-auth=%s", flags != NULL ? flags : "", jobs.most, auth);
  bool offered = made >= 0 && setenv("MAKEFLAGS", all, 1) == 0;
  free(auth);
  free(all);
  return offered;
}

static int start_and_serve(void) {
  if (offer()) return supervise(jobs.words, NULL, look, LOOK_MS);
  message("cannot run %s: %s", jobs.words[0], strerror(ENOMEM));
  return EXIT_FAILED;
}

/* ---- the command */

static void parse_most(const char *text, struct argp_state *state) {
  uint64_t value;
  if (!mt_is_number(text, 1, MOST_JOBS, &value))
    argp_error(state, "--jobs %s: not a whole number within 1..%d", text, MOST_JOBS);
  jobs.most = (unsigned)value;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  switch (key) {
    case 'j': parse_most(arg, state); return 0;
    case 'f': jobs.named = true; return 0;
    case 's': jobs.where = arg; return 0;
    case ARGP_KEY_ARG:
      jobs.words = state->argv + state->next - 1;
      state->next = state->argc;
      return 0;
    case ARGP_KEY_END:
      if (jobs.words == NULL)
        argp_error(state, "nothing to run: no program given (try: %s -- make)", state->name);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

int jobs_main(int argc, char **argv) {
  static const struct argp_option options[] = {
      {"jobs", 'j', "N", 0, "Run N jobs at most (as many as CPUs)", 0},
      {"fifo", 'f', NULL, 0, "Offer a FIFO by its name, which ninja and make since 4.4 can use", 0},
      {"socket", 's', "PATH", 0, "The daemon's socket (MLTP_COORDINATOR, else auto)", 0},
      {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .args_doc = "[--] PROGRAM [ARGUMENT...]",
      .doc =
          "Runs make, or another program that takes part in make's jobserver, with as many jobs "
          "at a time as mltpd grants. Give make no -j of its own."};
  const char *flags = getenv("MAKEFLAGS");
  jobs.most = (unsigned)os_cpus();
  argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, NULL);
  if (flags != NULL && strstr(flags, "--jobserver-auth=") != NULL) {
    message("%s takes part in the jobserver that MAKEFLAGS names already", jobs.words[0]);
    execvp(jobs.words[0], jobs.words);
    message("cannot run %s: %s", jobs.words[0], strerror(errno));
    return EXIT_NOT_STARTED;
  }
  int error = jobs.named ? make_fifo() : make_pipe();
  if (error != 0) {
    message("cannot offer jobs: %s (%s)", strerror(error),
            jobs.named ? "/tmp has to be writable" : "try --fifo; /proc has to be mounted");
    remove_fifo();
    return EXIT_FAILED;
  }
  supervise_join(jobs.where, MT_PROTO_JOBS, jobs.most);
  look();
  int status = start_and_serve();
  mt_client_leave();
  remove_fifo();
  return status;
}
