/* SPDX-License-Identifier: Apache-2.0 */
/* A crash says which rank crashed, and where; then it is what it would have been without. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/program.h"
#include "base/atomic.h"
#include "core/internal/process.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/modules.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"

enum { FRAMES_MAX = 64, FRAMES_PRINTED = 16, CHILD_STACK = 1 << 20 };

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

bool tm_crash_signal(int signo) {
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (signals[i] == signo) return true;
  return false;
}

/* Where the program called the library that crashed, by frame pointers: our libraries have them,
 * and what they call of libc has no frames. NULL: not found. */
static const struct tm_image *find_call(const void *context, size_t *offset) {
  struct {
    const char *caller, *return_address;
  } frame;
  const char *at = mt_arch_interrupted_frame(context);
  for (int i = 0; i < FRAMES_MAX && mti_peek(&frame, at, sizeof frame); i++) {
    const struct tm_image *image =
        tm_program_image_at(tm_the_program, frame.return_address - 1, offset);
    if (image != NULL) return image;
    if (frame.caller <= at) return NULL;
    at = frame.caller;
  }
  return NULL;
}

struct print {
  const void *context;
  unsigned seconds; /* the time there is for it */
};

/* In a child, with a stack of its own. */
static int print_frames(void *arg) {
  const struct print *print = arg;
  sigset_t all;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) os_signal_default(signals[i]);
  os_signal_default(SIGALRM);
  sigfillset(&all);
  sigprocmask(SIG_UNBLOCK, &all, NULL);
  alarm(print->seconds);
  bool printed = tm_print_interrupted(print->context, FRAMES_PRINTED);
  fflush(stderr);
  _exit(printed ? 0 : 1);
}

/* Prints the frames with their files and lines. That takes memory and libdw, and a thread may hold
 * a lock of theirs now: a child tries, for a bounded time, and if that was another thread, a second
 * one.
 * @return false: neither could. */
static bool print_lines(const void *context) {
  char *stack = mmap(NULL, CHILD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (stack == MAP_FAILED) return false;
  int status = SIGALRM;
  for (unsigned seconds = 2; seconds <= 8 && status == SIGALRM; seconds *= 4) {
    struct print print = {context, seconds};
    int pid = clone(print_frames, stack + CHILD_STACK, SIGCHLD, &print);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  }
  munmap(stack, CHILD_STACK);
  return status == 0;
}

/* Ranks run the file's pages, so what is written to it changes their code. */
static void print_changes(void) {
  char text[512];
  for (int i = 0; i < tm_the_program->image_count; i++) {
    const struct tm_image *image = tm_the_program->images[i];
    if (!tm_image_has_changed(image)) continue;
    int length = snprintf(text, sizeof text,
                          "tmpirun: '%s' was written to while its ranks ran, which changes their "
                          "code (replace it by mv, not by cp)\n",
                          image->path);
    os_write(2, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
  }
}

static void print_location(int rank, const void *context) {
  static const char hint[] =
      "tmpirun: where that is a call of MPI, a buffer may be too small, or ranks "
      "are in different collectives (--check looks)\n";
  char text[512];
  size_t offset;
  const struct tm_image *image =
      tm_program_image_at(tm_the_program, mt_arch_instruction(context), &offset);
  bool called = image == NULL;
  if (called) image = find_call(context, &offset);
  if (!print_lines(context) && image != NULL) {
    const char *name = tm_image_has_changed(image) ? "" : tm_image_name_at(image, offset);
    int length =
        snprintf(text, sizeof text,
                 "tmpirun: rank %d was %s%s%s%sat 0x%zx of '%s' (its line: addr2line -f "
                 "-e '%s' 0x%zx)\n",
                 rank, called ? "in a library that was called " : "", name[0] != '\0' ? "in " : "",
                 name, name[0] != '\0' ? " " : "", offset, image->path, image->path, offset);
    os_write(2, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
  }
  if (called && image != NULL && !tm_checks_look()) os_write(2, hint, sizeof hint - 1);
}

/* @return whether an instruction of this thread has faulted; otherwise the signal was sent. */
static bool is_fault(const siginfo_t *info) { return info->si_code > 0; }

static void print_sender(int signo, const siginfo_t *info, const void *context) {
  char text[128];
  int rank = tm_rank_number(), length;
  if (!tm_signal_is_own(signo, info) || rank < 0)
    length = snprintf(text, sizeof text, "tmpirun: SIG%s has come from %s (process %d)\n",
                      sigabbrev_np(signo),
                      info->si_pid == getpid() ? "the program itself" : "outside", info->si_pid);
  else if (signo == SIGABRT)
    length = snprintf(text, sizeof text, "tmpirun: rank %d called abort()\n", rank);
  else
    length =
        snprintf(text, sizeof text, "tmpirun: rank %d raised SIG%s\n", rank, sigabbrev_np(signo));
  os_write(2, text, (size_t)length);
  if (tm_signal_is_own(signo, info) && rank >= 0) print_lines(context);
}

static void print_crash(int signo, const siginfo_t *info, const void *context) {
  char text[128];
  int rank = tm_rank_number();
  if (rank < 0) return;
  int length = snprintf(text, sizeof text, "tmpirun: rank %d crashed: SIG%s at address %p\n", rank,
                        sigabbrev_np(signo), info->si_addr);
  os_write(2, text, (size_t)length);
  print_changes();
  print_location(rank, context);
}

/* A fault happens again when the handler returns, and then ends the process. What was sent does
 * not: it is sent again. */
static void on_crash(int signo, siginfo_t *info, void *context) {
  struct tm_process *process = tm_process_self();
  int error = errno;
  bool taken = is_fault(info) ? process != NULL && tm_fault_to_rank(process, signo, info, context)
                              : tm_signal_to_ranks(signo, info, context);
  errno = error;
  if (taken) return;
  os_report_alone(); /* another rank may crash at once, on another VP */
  if (is_fault(info))
    print_crash(signo, info, context);
  else
    print_sender(signo, info, context);
  tm_output_end_all();
  tm_job_tell(TM_SIGNAL_STATUS + signo, "rank %d: SIG%s", tm_rank_number(), sigabbrev_np(signo));
  os_signal_default(signo);
  if (!is_fault(info)) raise(signo);
}

/* Interpreters make an exception of an overflow of the rank's stack, in a handler that has another
 * stack. Without one a process would end. */
static bool overflow_is_taken(int signo) {
  const struct tm_process *process = tm_process_self();
  return process != NULL && tm_fault_has_stack(process, signo);
}

static bool report_overflow(const char *name, size_t kib, const void *context) {
  char text[160];
  int rank = tm_rank_number();
  if (rank < 0) return false;
  os_report_alone();
  int length = snprintf(text, sizeof text,
                        "tmpirun: %s: stack overflow: all %zu KiB of its stack are used (larger "
                        "--stack, or ulimit -s)\n",
                        name, kib);
  os_write(2, text, (size_t)length);
  print_location(rank, context);
  tm_output_end_all();
  tm_job_tell(TM_SIGNAL_STATUS + SIGSEGV, "%s: stack overflow", name);
  return true;
}

void tm_crash_start(void) {
  struct sigaction before;
  tm_signals_start();
  mti_set_overflow_hooks(overflow_is_taken, report_overflow);
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    os_signal_install(signals[i], on_crash, &before);
}
