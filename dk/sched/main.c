/* SPDX-License-Identifier: Apache-2.0 */
#include "sched.h"

#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/digits.h"

enum { LOOK_MS = 200 }; /* how often it looks whether the kernel has ejected the scheduler */

const char *argp_program_version = "dk-sched " DK_VERSION;
static const char about[] = "Holds the BPF scheduler of dkctl(8), which starts this program.";

static const struct argp_option option_table[] = {
    {"roles", 'r', "CPU=ROLE,...", 0, "any, user, kernel or off; a CPU that is not named is any",
     0},
    {"epochs", 'e', "CPUS", 0, "CPUs whose roles hold in every second epoch", 0},
    {"epoch-ms", 'm', "N", 0, "the length of an epoch (40)", 0},
    {"class", 'c', "kthread|mm", 0, "what makes a task one of the kernel's", 0},
    {"socket", 's', "PATH", 0, "take orders here", 0},
    {"exit-file", 'x', "PATH", 0, "write here why the scheduler left", 0},
    {"on-exit", 'o', "COMMAND", 0, "run this after the kernel has ejected the scheduler", 0},
    {"fault", 'f', "stall", 0,
     "let tasks wait where nobody takes them, to test the kernel's watchdog", 0},
    {"check", 'k', NULL, 0, "load the scheduler without starting it", 0},
    {"verbose", 'v', NULL, 0, "print what the kernel's verifier says", 0},
    {0},
};

static struct {
  const char *roles, *epochs, *socket, *exit_file, *on_exit;
  long epoch_ms;
  bool class_is_mm, stall, check;
} options = {.roles = "", .epoch_ms = 40};

static error_t parse(int key, char *text, struct argp_state *state) {
  uint64_t epoch_ms;
  switch (key) {
    case 'r': options.roles = text; break;
    case 'e': options.epochs = text; break;
    case 's': options.socket = text; break;
    case 'x': options.exit_file = text; break;
    case 'o': options.on_exit = text; break;
    case 'k': options.check = true; break;
    case 'v': show_warnings(); break;
    case 'c':
      options.class_is_mm = !strcmp(text, "mm");
      if (!options.class_is_mm && strcmp(text, "kthread")) {
        argp_error(state, "class '%s' is not kthread or mm", text);
      }
      break;
    case 'f':
      options.stall = true;
      if (strcmp(text, "stall")) {
        argp_error(state, "fault '%s' is not stall", text);
      }
      break;
    case 'm':
      if (!mt_is_number(text, 1, 10000, &epoch_ms)) {
        argp_error(state, "an epoch of '%s' ms is no number from 1 to 10000", text);
      }
      options.epoch_ms = (long)epoch_ms;
      break;
    case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", text); break;
    case ARGP_KEY_END:
      if (!options.check && !options.socket) {
        argp_error(state, "--socket or --check is missing");
      }
      break;
    default: return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static volatile sig_atomic_t stopped;

static void stop(int number) {
  (void)number;
  stopped = 1;
}

static long now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Obeys until it is to stop or the kernel ejects the scheduler; changes epochs in between. */
static void serve(int door, struct scheduler *scheduler) {
  long next = now_ms() + options.epoch_ms;
  while (!stopped && !scheduler_ejected(scheduler)) {
    bool alternates =
        memchr(scheduler->shared->epochs, 1, sizeof(scheduler->shared->epochs)) != NULL;
    long left = next - now_ms();
    if (alternates && left <= 0) {
      scheduler_epoch(scheduler, !scheduler->shared->smt_epoch);
      next += options.epoch_ms *
              (1 + -left / options.epoch_ms); /* a late one does not shorten its successor */
      continue;
    }
    struct pollfd look = {.fd = door, .events = POLLIN};
    int ready = poll(&look, 1, alternates && left < LOOK_MS ? (int)left : LOOK_MS);
    if (ready > 0 && orders_take(door, scheduler)) {
      return;
    }
  }
}

static void write_exit_file(const char *reason, const char *message) {
  FILE *file = options.exit_file ? fopen(options.exit_file, "we") : NULL;
  if (file) {
    fprintf(file, "%s%s%s\n", reason, *message ? ": " : "", message);
    fclose(file);
  }
}

static int fail(const char *what, int error) {
  const char *why = *last_warning() ? last_warning() : strerror(error);
  fprintf(stderr, "dk-sched: %s: %s (use dkctl --backend fallback)\n", what, why);
  return 1;
}

/* Ends the scheduler, says why it left, and has settings put back if nobody else does it. */
static void finish(struct scheduler *scheduler) {
  char reason[DK_TEXT], message[DK_TEXT];
  bool ejected = scheduler_ejected(scheduler);
  snprintf(reason, sizeof(reason), "%s",
           ejected ? scheduler->shared->exit_reason : "ended by request");
  snprintf(message, sizeof(message), "%s", ejected ? scheduler->shared->exit_message : "");
  scheduler_stop(scheduler);
  write_exit_file(reason, message);
  unlink(options.socket);
  if (ejected && options.on_exit && system(options.on_exit)) {
    fprintf(stderr, "dk-sched: settings: not put back (run dkctl restore)\n");
  }
}

int main(int argc, char **argv) {
  struct scheduler scheduler;
  argp_err_exit_status = 2;
  argp_parse(&(struct argp){.options = option_table, .parser = parse, .doc = about}, argc, argv, 0,
             NULL, NULL);
  int error =
      scheduler_load(&scheduler, options.roles, options.epochs, options.class_is_mm, options.stall);
  if (error) {
    return fail("BPF scheduler", error);
  }
  if (options.check) {
    scheduler_stop(&scheduler);
    return 0;
  }
  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGINT, &action, NULL);
  error = scheduler_start(&scheduler);
  if (error) {
    return fail("start", error);
  }
  int door =
      orders_open(options.socket); /* last: dkctl takes the socket as a sign that all is well */
  if (door < 0) {
    return fail(options.socket, -door);
  }
  serve(door, &scheduler);
  finish(&scheduler);
  return 0;
}
