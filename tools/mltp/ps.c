/* SPDX-License-Identifier: Apache-2.0 */
/* mltp ps, mltp top: the programs that share this machine by mltpd. */
#include <argp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/digits.h"
#include "message.h"
#include "programs.h"

struct request {
  const char *where;
  bool is_top;
  long delay_ms;
  uint64_t rounds; /* 0: until it is stopped */
};

/* ---- printing */

static double seconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static const char *user_name(uint32_t uid, char *number, size_t size) {
  const struct passwd *user = getpwuid(uid);
  snprintf(number, size, "%u", (unsigned)uid);
  return user != NULL ? user->pw_name : number;
}

static const struct mt_proto_entry *find(const struct programs *p, const struct mt_proto_entry *e) {
  for (size_t i = 0; p != NULL && i < p->count; i++)
    if (p->entries[i].pid == e->pid && p->entries[i].since == e->since) return &p->entries[i];
  return NULL;
}

/* Since the last look, or since the program joined. */
static double switches_a_second(const struct mt_proto_entry *e, const struct programs *before,
                                double elapsed) {
  const struct mt_proto_entry *old = find(before, e);
  double age = seconds_now() - (double)e->since / 1e9;
  if (old != NULL && elapsed > 0) return (double)(e->switches - old->switches) / elapsed;
  return age > 0 ? (double)e->switches / age : 0;
}

static void print_programs(const struct programs *p, const struct programs *before,
                           double elapsed) {
  static const char *const roles[MT_PROTO_ROLES] = {"threads", "jobs", "teams", "group"};
  printf("%8s %-10s %-8s %6s %6s %7s %6s %11s  %s\n", "PID", "USER", "KIND", "DEMAND", "ACTIVE",
         "GRANTED", "SHARE", "SWITCHES/S", "PROGRAM");
  for (size_t i = 0; i < p->count; i++) {
    const struct mt_proto_entry *e = &p->entries[i];
    char number[16];
    printf("%8d %-10.10s %-8s %6u %6u %7u %6.2f %11.0f  %s\n", (int)e->pid,
           user_name(e->uid, number, sizeof number),
           e->role < MT_PROTO_ROLES ? roles[e->role] : "?", e->demand, e->active, e->granted,
           e->share / 1000.0, switches_a_second(e, before, elapsed), e->name);
  }
}

/* ---- command line */

static long milliseconds(const char *text, struct argp_state *state) {
  char *end;
  double seconds = strtod(text, &end);
  if (*text < '0' || *text > '9' || *end != '\0' || !(seconds >= 0.05 && seconds <= 3600))
    argp_error(state, "--delay %s: not a number of seconds within 0.05..3600", text);
  return (long)(seconds * 1000);
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct request *r = state->input;
  switch (key) {
    case 's': r->where = arg; return 0;
    case 'd': r->delay_ms = milliseconds(arg, state); return 0;
    case 'n':
      if (!mt_is_number(arg, 1, INT64_MAX, &r->rounds))
        argp_error(state, "--count %s: not a whole number from 1 on", arg);
      return 0;
    case ARGP_KEY_ARG:
      argp_error(state, "cannot do with '%s': one argument too many", arg);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static const char *default_place(void) {
  const char *where = getenv("MLTP_COORDINATOR");
  return where != NULL && *where != '\0' ? where : "auto";
}

#define SOCKET_OPTION                                                                              \
  {"socket",                                                                                       \
   's',                                                                                            \
   "PATH",                                                                                         \
   0,                                                                                              \
   "The daemon's socket (MLTP_COORDINATOR, else the user's, else the "                             \
   "machine's)",                                                                                   \
   0}

int ps_main(int argc, char **argv) {
  static const struct argp_option options[] = {SOCKET_OPTION, {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .doc = "Shows the programs that share the CPUs by mltpd, and what each was granted."};
  struct request request = {.where = default_place()};
  struct programs programs;
  argp_parse(&argp, argc, argv, 0, NULL, &request);
  int status = programs_read(request.where, &programs);
  if (status != 0) return status;
  print_programs(&programs, NULL, 0);
  programs_free(&programs);
  return 0;
}

/* ---- top */

static volatile sig_atomic_t stopped;

static void stop(int signal) {
  (void)signal;
  stopped = 1;
}

/* Keys come without Enter. @return whether stdin is a terminal. */
static bool raw_keys(struct termios *before) {
  if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, before) != 0) return false;
  struct termios raw = *before;
  raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
  return tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

/* @return false: the user pressed q. */
static bool wait_for_key(long ms, bool keys) {
  struct pollfd in = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
  char key;
  if (poll(&in, 1, (int)ms) <= 0) return true;
  return read(STDIN_FILENO, &key, 1) != 1 || key != 'q';
}

static void print_screen(const struct programs *p, const struct programs *before, double elapsed) {
  uint32_t granted = 0, demand = 0;
  for (size_t i = 0; i < p->count; i++) {
    demand += p->entries[i].demand;
    granted += p->entries[i].demand > 0 ? p->entries[i].granted : 0;
  }
  if (isatty(STDOUT_FILENO)) printf("\033[H\033[2J");
  printf("%zu programs, %u CPUs; VPs: %u asked for, %u granted to programs that ask\n", p->count,
         p->cpus, demand, granted);
  print_programs(p, before, elapsed);
  fflush(stdout);
}

static int show_rounds(const struct request *r, bool keys) {
  struct programs programs, before = {0};
  double last = 0;
  int status = 0;
  for (uint64_t round = 1; !stopped && status == 0; round++) {
    status = programs_read(r->where, &programs);
    double now = seconds_now();
    if (status != 0) break;
    print_screen(&programs, round > 1 ? &before : NULL, now - last);
    programs_free(&before);
    before = programs;
    last = now;
    if (round == r->rounds || !wait_for_key(r->delay_ms, keys)) break;
  }
  programs_free(&before);
  return status;
}

int top_main(int argc, char **argv) {
  static const struct argp_option options[] = {
      SOCKET_OPTION,
      {"delay", 'd', "SECONDS", 0, "Time between two looks (1)", 0},
      {"count", 'n', "N", 0, "Looks, then it ends (any number)", 0},
      {0}};
  static const struct argp argp = {
      .options = options,
      .parser = parse,
      .doc = "Shows the programs that share the CPUs by mltpd, again and again. q ends it."};
  struct request request = {.where = default_place(), .is_top = true, .delay_ms = 1000};
  struct termios terminal;
  argp_parse(&argp, argc, argv, 0, NULL, &request);
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  bool keys = raw_keys(&terminal);
  int status = show_rounds(&request, keys);
  if (keys) tcsetattr(STDIN_FILENO, TCSANOW, &terminal);
  return status;
}
