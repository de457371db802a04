/* SPDX-License-Identifier: Apache-2.0 */
/* A crash says which rank crashed; then it is what it would have been without. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "tmpi/rank/rank.h"
#include "tmpi/run/output.h"
#include "tmpi/run/process.h"

static void on_crash(int signo, siginfo_t *info, void *context) {
  (void)context;
  char text[128];
  int rank = tm_rank_number();
  int length = snprintf(text, sizeof text, "tmpirun: rank %d crashed: SIG%s at address %p\n", rank,
                        sigabbrev_np(signo), info->si_addr);
  if (rank >= 0) os_write(2, text, (size_t)length);
  tm_output_end_all();
  os_signal_default(signo);
}

void tm_crash_start(void) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
  struct sigaction before;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    os_signal_install(signals[i], on_crash, &before);
}
