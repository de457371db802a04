/* SPDX-License-Identifier: Apache-2.0 */
/* A crash says which rank crashed, and where; then it is what it would have been without. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "arch/program.h"
#include "os/os.h"
#include "tmpi/loader/program.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

bool tm_crash_signal(int signo) {
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (signals[i] == signo) return true;
  return false;
}

static void say_where(int rank, const void *instruction) {
  char text[512];
  size_t offset;
  const struct tm_image *image = tm_program_image_at(tm_the_program, instruction, &offset);
  if (image == NULL) return;
  const char *name = tm_image_name_at(image, offset);
  int length =
      snprintf(text, sizeof text,
               "tmpirun: rank %d was %s%s%sat 0x%zx of '%s' (its line: addr2line -f -e '%s' "
               "0x%zx)\n",
               rank, name[0] != '\0' ? "in " : "", name, name[0] != '\0' ? " " : "", offset,
               image->path, image->path, offset);
  os_write(2, text, length < (int)sizeof text ? (size_t)length : sizeof text - 1);
}

static void on_crash(int signo, siginfo_t *info, void *context) {
  char text[128];
  int rank = tm_rank_number(), length;
  struct tm_process *process = tm_process_self();
  if (process != NULL && tm_signal_to_rank(process, signo, info, context)) return;
  if (signo == SIGABRT)
    length = snprintf(text, sizeof text, "tmpirun: rank %d called abort()\n", rank);
  else
    length = snprintf(text, sizeof text, "tmpirun: rank %d crashed: SIG%s at address %p\n", rank,
                      sigabbrev_np(signo), info->si_addr);
  if (rank >= 0) os_write(2, text, (size_t)length);
  if (rank >= 0 && signo != SIGABRT) say_where(rank, mt_arch_instruction(context));
  tm_output_end_all();
  os_signal_default(signo);
}

void tm_crash_start(void) {
  struct sigaction before;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    os_signal_install(signals[i], on_crash, &before);
}
