/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of the kernel that end when a handler has run. In a process the handler interrupts the
 * call. A rank's handler may run on any kernel thread, so the one that makes the rank's call is
 * interrupted by a signal of ours. poll() and its variants then fail with EINTR by the kernel's own
 * rule.
 *
 * read() and its variants fail if the handler was set without SA_RESTART. Ranks share the kernel's
 * action of a signal, which always has that flag: the kernel prepares to make the call again. It
 * looks at the registers when our handler returns, and these say then that the call has failed.
 *
 * A call that the rank begins just after the handler may fail, too, as if the signal had come
 * later. The signal is SIGURG: nothing is lost if it comes while one is pending, and no program
 * dies of it. On processors where a system call leaves no trace in registers (FRED) read() is made
 * again.
 */
#include <errno.h>
#include <linux/futex.h>
#include <mltp/mltp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/program.h"
#include "base/atomic.h"
#include "core/internal/placement.h"
#include "core/internal/thread.h"
#include "os/os.h"
#include "tmpi/run/process.h"
#include "tmpi/run/signals.h"

/* No codes of the kernel's: a handler of the rank with the number in si_value has run. Its calls
 * are made again, or are not. */
enum { CODE_AGAIN = -78, CODE_FAIL = -79 };

/* signal(7) has this list. All ranks share the buffers of stdout and stderr, whose content would be
 * lost: what writes them continues. */
static bool may_fail(const long call[3]) {
  static const long calls[] = {
      SYS_read,     SYS_readv,   SYS_write,   SYS_writev,   SYS_ioctl,           SYS_open,
      SYS_openat,   SYS_wait4,   SYS_waitid,  SYS_accept,   SYS_accept4,         SYS_connect,
      SYS_recvfrom, SYS_recvmsg, SYS_sendto,  SYS_recvmmsg, SYS_sendmmsg,        SYS_sendmsg,
      SYS_flock,    SYS_fcntl,   SYS_preadv2, SYS_pwritev2, SYS_mq_timedreceive, SYS_mq_timedsend};
  long command = call[2] & FUTEX_CMD_MASK;
  bool writes = call[0] == SYS_write || call[0] == SYS_writev;
  if (call[0] == SYS_futex) return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET;
  if (writes && (call[1] == STDOUT_FILENO || call[1] == STDERR_FILENO)) return false;
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    if (calls[i] == call[0]) return true;
  return false;
}

void tm_call_fails(void *context) {
  long call[3];
  if (mt_arch_repeats_call(context, call) && may_fail(call)) mt_arch_fail_call(context, EINTR);
}

/* With --one-to-one nothing else runs on its kernel thread. Otherwise a switch may be under way,
 * where the stack may be another's, or the thread may count as ready. */
bool tm_has_interrupted(const struct tm_process *process, const void *context) {
  const char *low, *at = mt_arch_interrupted_stack(context);
  size_t size;
  struct mti_whereabouts where;
  if (process != tm_process_self() || tm_on_pthread()) return false;
  if (mt_load_relaxed(&process->task) != 0) return true; /* relaxed: the thread's own */
  return mti_stack_of(process->thread, &low, &size) && at >= low && at < low + size &&
         mti_whereabouts(&where, process->thread) && where.task == gettid();
}

/* @return the kernel thread that the rank's own thread runs on; 0: none. */
static int task_of(const struct tm_process *process) {
  struct mti_whereabouts where;
  int task = mt_load_relaxed(&process->task); /* relaxed: it may have no call yet */
  if (task != 0) return task;
  mti_whereabouts(&where, process->thread);
  return where.task;
}

void tm_wait_prepare(void) {
  static uint32_t prepared;                    /* [atomic] */
  if (mt_load_relaxed(&prepared) != 0) return; /* relaxed: twice would do no harm */
  tm_signals_catch(SIGURG, false);
  mt_store_relaxed(&prepared, 1); /* relaxed: likewise */
}

void tm_wait_end(const struct tm_process *process, uint64_t flags, void *context) {
  bool fails = (flags & SA_RESTART) == 0;
  if (context != NULL && tm_has_interrupted(process, context)) {
    if (fails) tm_call_fails(context);
    return;
  }
  if (process == tm_process_self() && !tm_on_pthread()) return; /* it waits in no call */
  int task = task_of(process);
  if (task == 0) return;
  siginfo_t info = {.si_signo = SIGURG, .si_code = fails ? CODE_FAIL : CODE_AGAIN};
  info.si_pid = getpid();
  info.si_value.sival_int = process->number;
  os_signal_send(task, SIGURG, &info);
}

bool tm_wait_is_ended(const siginfo_t *info, void *context) {
  bool fails = info->si_code == CODE_FAIL;
  if (info->si_pid != getpid() || (!fails && info->si_code != CODE_AGAIN)) return false;
  if (fails && tm_has_interrupted(tm_process_of(info->si_value.sival_int), context))
    tm_call_fails(context);
  return true;
}
