/* SPDX-License-Identifier: Apache-2.0 */
/* mltpd: shares the CPUs of a machine between programs. daemon.h has the parts. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <mltp/base.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/digits.h"
#include "coord/place.h"
#include "daemon.h"
#include "os/os.h"

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, EVENTS = 64, CLIENTS_MAX = 20000 };

/* Events of the daemon's own descriptors; clients' are made by client_event_of(). */
#define LISTENER UINT64_MAX
#define TIMER (UINT64_MAX - 1)
#define SIGNALS (UINT64_MAX - 2)

void note(const char *format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int length = snprintf(line, sizeof line, "mltpd: ");
  vsnprintf(line + length, sizeof line - (size_t)length - 1, format, arguments);
  va_end(arguments);
  strcat(line, "\n");
  /* Lost on a full disk or a closed pipe; the daemon serves on. */
  if (write(STDERR_FILENO, line, strlen(line)) < 0) return;
}

uint64_t clock_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- command line */

struct settings {
  const char *socket;
  uint32_t cpus, per_user;
  bool machine;
};

enum { OPT_CPUS = 256, OPT_MACHINE, OPT_PER_USER, OPT_SOCKET };

static const struct argp_option argp_options[] = {
    {"socket", OPT_SOCKET, "PATH", 0, "Listen there instead of $XDG_RUNTIME_DIR/mltpd.sock", 0},
    {"machine", OPT_MACHINE, NULL, 0, "Serve the programs of all users, at " MT_SOCKET_OF_MACHINE,
     0},
    {"cpus", OPT_CPUS, "N", 0, "CPUs to divide (the number that mltpd may use)", 0},
    {"per-user", OPT_PER_USER, "N", 0, "Connections that a user may have (1024; a lone user: all)",
     0},
    {0},
};

static uint32_t parse_number(struct argp_state *state, const char *option, const char *text,
                             uint32_t most) {
  uint64_t number;
  if (!mt_is_number(text, 1, most, &number))
    argp_error(state, "--%s %s: not a whole number within 1..%" PRIu32, option, text, most);
  return (uint32_t)number;
}

static error_t parse(int key, char *arg, struct argp_state *state) {
  struct settings *s = state->input;
  switch (key) {
    case OPT_SOCKET: s->socket = arg; return 0;
    case OPT_MACHINE: s->machine = true; return 0;
    case OPT_CPUS: s->cpus = parse_number(state, "cpus", arg, MT_POLICY_CPUS_MAX); return 0;
    case OPT_PER_USER: s->per_user = parse_number(state, "per-user", arg, CLIENTS_MAX); return 0;
    case ARGP_KEY_ARG:
      argp_error(state, "cannot do with '%s': one argument too many", arg);
      return 0;
    default: return ARGP_ERR_UNKNOWN;
  }
}

static void print_version(FILE *stream, struct argp_state *state) {
  fprintf(stream, "%s (MLTP) %d.%d.%d\n", state->name, MLTP_VERSION_MAJOR, MLTP_VERSION_MINOR,
          MLTP_VERSION_PATCH);
}

static const char *default_socket(const struct settings *s) {
  static char path[MT_SOCKET_PATH];
  if (s->machine) return MT_SOCKET_OF_MACHINE;
  int error = mt_socket_of_user(path);
  if (error == 0) return path;
  if (getenv("LISTEN_FDS") == NULL)
    note("no place for the socket: XDG_RUNTIME_DIR is %s (set it, or give --socket)",
         error == ENOENT ? "not set to a directory" : "too long");
  return NULL;
}

/* ---- starting */

static uint32_t count_cpus(void) {
  int cpus = os_cpus();
  return (uint32_t)(cpus < MT_POLICY_CPUS_MAX ? cpus : MT_POLICY_CPUS_MAX);
}

/* Two descriptors for each program. */
static uint32_t raise_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 256;
  rlim_t want = 2 * CLIENTS_MAX + SPARE_DESCRIPTORS;
  limit.rlim_cur = limit.rlim_max < want ? limit.rlim_max : want;
  setrlimit(RLIMIT_NOFILE, &limit);
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur <= SPARE_DESCRIPTORS + 2) return 1;
  rlim_t most = (limit.rlim_cur - SPARE_DESCRIPTORS) / 2;
  return most < CLIENTS_MAX ? (uint32_t)most : CLIENTS_MAX;
}

static bool watch(struct daemon *d, int fd, uint64_t what) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = what};
  return fd >= 0 && epoll_ctl(d->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool start(struct daemon *d) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigprocmask(SIG_BLOCK, &signals, NULL);
  signal(SIGPIPE, SIG_IGN);
  d->clients_max = raise_limit();
  d->clients = calloc(d->clients_max, sizeof(struct client *));
  d->programs = calloc(d->clients_max, sizeof *d->programs);
  d->epoll = epoll_create1(EPOLL_CLOEXEC);
  d->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  d->signals = signalfd(-1, &signals, SFD_CLOEXEC);
  d->round_at = d->renew_at = UINT64_MAX;
  if (d->clients != NULL && d->programs != NULL && watch(d, d->listener, LISTENER) &&
      watch(d, d->timer, TIMER) && watch(d, d->signals, SIGNALS))
    return true;
  note("cannot start: %s (free some memory or descriptors)", strerror(errno));
  return false;
}

/* Two daemons know nothing of each other's programs. */
static void look_for_another(const struct settings *settings) {
  if (settings->machine || settings->cpus != 0 || !listens_at(MT_SOCKET_OF_MACHINE)) return;
  note(
      "the machine's daemon (%s) divides the same CPUs, and its programs will not share with mine "
      "(end one of us, or give each its CPUs by --cpus)",
      MT_SOCKET_OF_MACHINE);
}

/* sd_notify(3), without libsystemd. */
static void report_ready(void) {
  const char *path = getenv("NOTIFY_SOCKET");
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (path == NULL || strlen(path) >= sizeof address.sun_path) return;
  strcpy(address.sun_path, path);
  socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
  if (path[0] == '@') address.sun_path[0] = '\0';
  int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  sendto(fd, "READY=1", 7, MSG_NOSIGNAL, (const struct sockaddr *)&address, size);
  close(fd);
}

/* ---- the loop */

/* @return false: time to end. */
static bool handle(struct daemon *d, const struct epoll_event *event) {
  uint64_t what = event->data.u64, count;
  if (what == SIGNALS) return false;
  if (what == LISTENER) {
    clients_accept(d);
  } else if (what == TIMER) {
    if (read(d->timer, &count, sizeof count) > 0) round_timer(d, clock_now());
  } else {
    client_event(d, what, event->events);
  }
  return true;
}

static void serve(struct daemon *d) {
  struct epoll_event events[EVENTS];
  for (;;) {
    int count = epoll_wait(d->epoll, events, EVENTS, -1);
    for (int i = 0; i < count; i++)
      if (!handle(d, &events[i])) return;
    round_plan(d, clock_now());
  }
}

int main(int argc, char **argv) {
  static const struct argp argp = {
      .options = argp_options,
      .parser = parse,
      .doc =
          "Shares the CPUs of this machine between programs that use MLTP. Programs find it by "
          "MLTP_COORDINATOR (mltp-options(7)); `mltp ps` shows them.\v"
          "It ends by SIGTERM or SIGINT; programs continue without it.",
  };
  struct settings settings = {0};
  os_descriptors_fill();
  argp_program_version_hook = print_version;
  argp_err_exit_status = EXIT_USAGE;
  argp_parse(&argp, argc, argv, 0, NULL, &settings);
  static struct daemon d;
  d.any_user = settings.machine;
  d.cpus = settings.cpus != 0 ? settings.cpus : count_cpus();
  d.per_user = settings.per_user != 0 ? settings.per_user : settings.machine ? 1024 : CLIENTS_MAX;
  const char *path = settings.socket != NULL ? settings.socket : default_socket(&settings);
  bool activated = false;
  d.listener = listen_at(path, settings.machine, &activated);
  if (d.listener < 0 || !start(&d)) return EXIT_FAILED;
  look_for_another(&settings);
  report_ready();
  serve(&d);
  if (!activated) unlink(path); /* the lock file stays: another daemon may wait to open it */
  return 0;
}
