/* SPDX-License-Identifier: Apache-2.0 */
/* The table of knobs. */
#include "base/options.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digits.h"
#include "base/log.h"
#include "mltp/alternatives.h"

struct mt_options mt_options;

struct word {
  const char *text;
  int64_t value;
};

struct option {
  const char *variable;
  void *value;           /* int64_t *, or const char ** of a text */
  const char *standard;  /* the default, as one would write it */
  int64_t least, most;   /* of a number */
  struct word words[13]; /* allowed besides numbers */
  const char *meaning;
};

#define NO_NUMBER 1, 0 /* an empty range */

/* A text instead of numbers and words: any but the empty one; its user checks it. */
enum { IS_TEXT = INT32_MIN };
#define TEXT(form)                                                                                 \
  NO_NUMBER, {                                                                                     \
    {                                                                                              \
      form, IS_TEXT                                                                                \
    }                                                                                              \
  }

/* clang-format off: a table reads better as one */
static const struct option table[] = {
    {"MLTP_VPS",
     &mt_options.vps,
     "cpus",
     1,
     1024,
     {{"cpus", 0}},
     "virtual processors at start; cpus: as many as the process may use"},
    {"MLTP_BACKEND",
     &mt_options.backend,
     "native",
     NO_NUMBER,
     {{"native", MT_BACKEND_NATIVE},
      {"ucontext", MT_BACKEND_UCONTEXT},
      {"kernel", MT_BACKEND_KERNEL}},
     "native: threads on VPs; ucontext: switched by libc; kernel: a kernel thread each"},
    {"MLTP_MAIN",
     &mt_options.main,
     "unbound",
     NO_NUMBER,
     {{"unbound", MT_MAIN_UNBOUND}, {"bound", MT_MAIN_BOUND}},
     "unbound: the main thread runs on VPs; bound: it stays on the kernel thread that started the "
     "runtime"},
    {"MLTP_SCHED",
     &mt_options.sched,
     "default",
     NO_NUMBER,
     {{"default", MT_SCHED_DEFAULT},
      {"single", MT_SCHED_SINGLE},
      {"multi", MT_SCHED_MULTI},
      {"freelist", MT_SCHED_FREELIST},
      {"idleq", MT_SCHED_IDLEQ},
      {"local", MT_SCHED_LOCAL}},
     "manager of ready threads, stacks and descriptors: our scheduler, or one of Anderson et "
     "al.'s"},
    {"MLTP_PROBE",
     &mt_options.probe,
     "eager",
     NO_NUMBER,
     {{"eager", MT_PROBE_EAGER}, {"late", MT_PROBE_LATE}},
     "when a VP reads its grant: before a switch, or between two switches of stacks (TMPI-2's "
     "Figure 3)"},
    {"MLTP_OVERSUBSCRIBE",
     &mt_options.oversubscribe,
     "0",
     0,
     1,
     {{"eager", MT_OVERSUBSCRIBE_EAGER}},
     "1: more VPs may be active than the process may use CPUs; eager: as if each had one"},
    {"MLTP_STACK_SIZE",
     &mt_options.stack_size,
     "262144",
     16384,
     1 << 30,
     {{NULL, 0}},
     "bytes of address space of a thread's stack, rounded up to a power of two"},
    {"MLTP_STACK_SPACE",
     &mt_options.stack_space,
     "auto",
     67108864,
     (int64_t)1 << 40,
     {{"auto", 0}},
     "bytes of address space of all stacks, rounded down to a power of two; auto: 1 TiB, or "
     "what is below half of ulimit -v"},
    {"MLTP_GUARD",
     &mt_options.guard,
     "auto",
     NO_NUMBER,
     {{"auto", MT_GUARD_AUTO},
      {"madvise", MT_GUARD_MADVISE},
      {"mprotect", MT_GUARD_MPROTECT},
      {"canary", MT_GUARD_CANARY}},
     "what catches a stack overflow; auto: the best the kernel has"},
    {"MLTP_PACK_MS",
     &mt_options.pack_ms,
     "off",
     0,
     86400000,
     {{"off", MT_PACK_OFF}},
     "milliseconds a thread waits before its stack gives its memory back, and keeps what is not "
     "zero in it elsewhere (mltp-threads(7)); off: stacks keep their memory"},
    {"MLTP_SPIN_US",
     &mt_options.spin_us,
     "measured",
     0,
     1000000,
     {{"measured", MT_MEASURED}},
     "microseconds an idle VP looks for work before it sleeps; measured: as long as a wake-up "
     "takes here"},
    {"MLTP_CACHE_SHARE",
     &mt_options.cache_share,
     "auto",
     1,
     1024,
     {{"auto", 0}},
     "CPUs, by their numbers, that share a cache: VPs look for work there first; auto: as the "
     "kernel says"},
    {"MLTP_SPIN",
     &mt_options.spin,
     "backoff",
     NO_NUMBER,
     {{"exchange", MT_SPIN_EXCHANGE},
      {"read", MT_SPIN_READ},
      {"backoff", MT_SPIN_BACKOFF},
      {"persistent", MT_SPIN_PERSISTENT},
      {"array", MT_SPIN_ARRAY},
      {"mcs", MT_SPIN_MCS},
      {"clh", MT_SPIN_CLH}},
     "how VPs wait for the locks of a strategy's queues (MLTP_SCHED)"},
    {"MLTP_LOCK",
     &mt_options.lock,
     "reactive",
     NO_NUMBER,
     {{"reactive", MLTP_LOCK_REACTIVE},
      {"spin", MLTP_LOCK_SPIN},
      {"yield-end", MLTP_LOCK_ALT_YIELD_END},
      {"yield-front", MLTP_LOCK_ALT_YIELD_FRONT},
      {"semaphore", MLTP_LOCK_SEMAPHORE},
      {"queue", MLTP_LOCK_QUEUE},
      {"exchange", MLTP_LOCK_ALT_EXCHANGE},
      {"read", MLTP_LOCK_ALT_READ},
      {"backoff", MLTP_LOCK_ALT_BACKOFF},
      {"persistent", MLTP_LOCK_ALT_PERSISTENT},
      {"array", MLTP_LOCK_ALT_ARRAY},
      {"mcs", MLTP_LOCK_ALT_MCS},
      {"clh", MLTP_LOCK_ALT_CLH}},
     "class of a standard lock"},
    {"MLTP_LOCK_SPIN_NS",
     &mt_options.lock_spin_ns,
     "measured",
     0,
     1000000000,
     {{"measured", MT_MEASURED}},
     "nanoseconds a lock that parks spins at most while its holder runs; measured: by the transfer "
     "of a cache line"},
    {"MLTP_AWAIT_SPIN_NS",
     &mt_options.await_spin_ns,
     "measured",
     0,
     1000000000,
     {{"measured", MT_MEASURED}},
     "nanoseconds mltp_await() spins at most while its waker runs; measured: as long as a park "
     "takes here"},
    {"MLTP_TUNING", &mt_options.tuning, "none", TEXT("the name of a file or none"),
     "file of lines KEY=VALUE that replace measured constants, with the keys of mltp options "
     "--measured"},
    {"MLTP_MEMBARRIER",
     &mt_options.membarrier,
     "auto",
     NO_NUMBER,
     {{"auto", 1}, {"off", 0}},
     "auto: membarrier(2) makes the common path cheaper; off: fences everywhere"},
    {"MLTP_MONITOR",
     &mt_options.monitor,
     "auto",
     NO_NUMBER,
     {{"auto", 1}, {"off", 0}},
     "auto: a VP that blocks in the kernel without an announcement, or overruns MLTP_SLICE_MS, "
     "hands its ready threads over, and so does a permit of mltp run --threads; off: they wait "
     "for it"},
    {"MLTP_DEADLOCK",
     &mt_options.deadlock,
     "abort",
     NO_NUMBER,
     {{"abort", MT_DEADLOCK_ABORT}, {"report", MT_DEADLOCK_REPORT}, {"off", MT_DEADLOCK_OFF}},
     "when no thread can ever run: abort: report and exit with status 86"},
    {"MLTP_MISUSE",
     &mt_options.misuse,
     "abort",
     NO_NUMBER,
     {{"abort", MT_MISUSE_ABORT}, {"error", MT_MISUSE_ERROR}},
     "a wrong call: abort: message and abort; error: the call returns its error"},
    {"MLTP_DUMP_SIGNAL",
     &mt_options.dump_signal,
     "0",
     0,
     64,
     {{NULL, 0}},
     "number of a signal that writes all threads to stderr; 0: none"},
    {"MLTP_STATS",
     &mt_options.stats,
     "0",
     0,
     1,
     {{NULL, 0}},
     "1: mltp_finalize() writes the runtime's counters to stderr"},
    {"MLTP_SEED",
     &mt_options.seed,
     "0",
     0,
     INT64_MAX,
     {{NULL, 0}},
     "deterministic mode: this seed chooses the thread at each scheduling point; 0: off"},
    {"MLTP_SCHEDULE", &mt_options.schedule, "random",
     TEXT("random or fifo or pct:DEPTH:STEPS or STEP:CHOICE,..."),
     "deterministic mode: how the seed chooses, or the choices themselves"},
    {"MLTP_SCHEDULE_LOG", &mt_options.schedule_log, "none", TEXT("the name of a file or none"),
     "deterministic mode: where each choice is written, at the end of what is there"},
    {"MLTP_COORDINATOR", &mt_options.coordinator, "auto",
     TEXT("off or auto or the path of a socket"),
     "the daemon mltpd, which shares the CPUs between programs; auto: make's jobserver if "
     "MAKEFLAGS "
     "offers one, else the user's or the machine's daemon if it runs"},
    {"MLTP_SLICE_MS",
     &mt_options.slice_ms,
     "0",
     0,
     1000000,
     {{NULL, 0}},
     "a VP that runs one thread for so long while others are ready gets another VP beside it, and "
     "the "
     "kernel shares the CPUs between them; 0: never"},
    {"MLTP_STEPS_MAX",
     &mt_options.steps_max,
     "0",
     0,
     INT64_MAX,
     {{NULL, 0}},
     "deterministic mode: a run with more scheduling points is a livelock; 0: no limit"},
};
/* clang-format on */

enum { OPTIONS = sizeof table / sizeof table[0], WORDS = 13 };

static bool parse(const struct option *option, const char *text) {
  if (option->words[0].value == IS_TEXT) {
    *(const char **)option->value = text;
    return true;
  }
  for (int i = 0; i < WORDS && option->words[i].text != NULL; i++) {
    if (strcmp(text, option->words[i].text) == 0) {
      *(int64_t *)option->value = option->words[i].value;
      return true;
    }
  }
  uint64_t number;
  const char *end = mt_digits(text, INT64_MAX, &number);
  if (end == NULL || *end != '\0') return false;
  if ((int64_t)number < option->least || (int64_t)number > option->most) return false;
  *(int64_t *)option->value = (int64_t)number;
  return true;
}

/* "a number from 1 to 1024, or cpus" */
static void describe(const struct option *option, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  if (option->least <= option->most)
    used = (size_t)snprintf(text, size, "a number from %lld to %lld", (long long)option->least,
                            (long long)option->most);
  for (int i = 0; i < WORDS && option->words[i].text != NULL && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? "" : " or ",
                             option->words[i].text);
}

int mt_options_read(void) {
  int error = 0;
  for (int i = 0; i < OPTIONS; i++) {
    const struct option *option = &table[i];
    const char *text = getenv(option->variable);
    if (text == NULL || *text == '\0') text = option->standard;
    if (!parse(option, text)) {
      char allowed[160];
      describe(option, allowed, sizeof allowed);
      mt_message("%s: bad value '%s' (set it to %s, or unset it)", option->variable, text, allowed);
      error = EINVAL;
    }
  }
  return error;
}

const char *mt_options_name(int i) { return i < OPTIONS ? table[i].variable : NULL; }

void mt_options_print(int fd) {
  for (int i = 0; i < OPTIONS; i++) {
    const char *text = getenv(table[i].variable);
    char allowed[160];
    describe(&table[i], allowed, sizeof allowed);
    mt_print(fd, "%-20s %-10s default %-10s %s\n%52s[%s]\n", table[i].variable,
             text != NULL && *text != '\0' ? text : "(unset)", table[i].standard, table[i].meaning,
             "", allowed);
  }
}
