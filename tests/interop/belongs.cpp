/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what belongs to a thread, what to its VP, and what to the process: the table of
 * mltp-threads(7). A thread sets each thing and yields. If the next thread of that VP does not see
 * it, it belongs to the thread; if a bound thread sees it as well, to the process. */
#include <fenv.h>
#include <locale.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mltp/mltp.hpp>

namespace {

thread_local int variable;
pthread_key_t key;
mltp_tss_t value;
char signal_stack[65536];
mltp_sem_t set = MLTP_SEM_INIT(0), seen = MLTP_SEM_INIT(0);

struct Thing {
  const char *name;
  void (*set)();
  bool (*is_set)();
  bool fp_control;
};

sigset_t just_usr1() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGUSR1);
  return signals;
}

bool is_blocked() {
  sigset_t signals;
  pthread_sigmask(SIG_BLOCK, nullptr, &signals);
  return sigismember(&signals, SIGUSR1) != 0;
}

void use_signal_stack() {
  stack_t stack = {};
  stack.ss_sp = signal_stack;
  stack.ss_size = sizeof signal_stack;
  sigaltstack(&stack, nullptr);
}

bool uses_signal_stack() {
  stack_t stack;
  sigaltstack(nullptr, &stack);
  return stack.ss_sp == signal_stack;
}

bool has_name() {
  char name[17] = "";
  prctl(PR_GET_NAME, name);
  return std::strcmp(name, "belongs-to-it") == 0;
}

__attribute__((noipa)) void set_errno() { errno = E2BIG; }
__attribute__((noipa)) bool has_errno() { return errno == E2BIG; }

pthread_t self;

const Thing things[] = {
    {"errno", set_errno, has_errno, false},
    {"value of mltp_tss_set(3)", [] { mltp_tss_set(value, &variable); },
     [] { return mltp_tss_get(value) != nullptr; }, false},
    {"rounding mode, with fp_control", [] { fesetround(FE_UPWARD); },
     [] { return fegetround() == FE_UPWARD; }, true},
    {"rounding mode", [] { fesetround(FE_UPWARD); }, [] { return fegetround() == FE_UPWARD; },
     false},
    {"thread_local variable", [] { variable = 1; }, [] { return variable == 1; }, false},
    {"value of pthread_setspecific(3)", [] { pthread_setspecific(key, &variable); },
     [] { return pthread_getspecific(key) != nullptr; }, false},
    {"pthread_self(3)", [] { self = pthread_self(); },
     [] { return pthread_equal(self, pthread_self()) != 0; }, false},
    {"name of the kernel thread", [] { prctl(PR_SET_NAME, "belongs-to-it"); }, has_name, false},
    {"signal mask",
     [] {
       const sigset_t signals = just_usr1();
       pthread_sigmask(SIG_BLOCK, &signals, nullptr);
     },
     is_blocked, false},
    {"signal stack", use_signal_stack, uses_signal_stack, false},
    {"locale of uselocale(3)", [] { uselocale(newlocale(LC_ALL_MASK, "C", nullptr)); },
     [] { return uselocale(nullptr) != LC_GLOBAL_LOCALE; }, false},
    {"signal handler", [] { signal(SIGUSR2, SIG_IGN); },
     [] {
       struct sigaction now;
       sigaction(SIGUSR2, nullptr, &now);
       return now.sa_handler == SIG_IGN;
     },
     false},
    {"environment variable", [] { setenv("BELONGS", "1", 1); },
     [] { return std::getenv("BELONGS") != nullptr; }, false},
    {"working directory", [] { (void)!chdir("/"); },
     [] {
       char path[4096];
       return getcwd(path, sizeof path) != nullptr && std::strcmp(path, "/") == 0;
     },
     false},
};

const char *owner_of(const Thing &thing) {
  bool by_neighbour = false, by_bound = false;
  mltp::attributes attributes;
  attributes.fp_control(thing.fp_control);
  mltp::thread setter(attributes, [&] {
    thing.set();
    mltp_sem_post(&set);
    mltp_sem_wait(&seen);
  });
  mltp::thread neighbour(attributes, [&] {
    mltp_sem_wait(&set);
    by_neighbour = thing.is_set();
    mltp_sem_post(&seen);
  });
  setter.join();
  neighbour.join();
  mltp::thread(mltp::attributes().bound(), [&] { by_bound = thing.is_set(); }).join();
  return !by_neighbour ? "thread" : by_bound ? "process" : "VP";
}

}  // namespace

int main() {
  if (chdir("/tmp") != 0) return 1;
  for (const Thing &thing : things) { /* each on a VP that nothing was done to */
    mltp_init_attr_t attr = MLTP_INIT_ATTR_INIT;
    attr.vps = 1;
    attr.bound_main = 1;
    if (mltp_init_with(&attr) != 0) return 1;
    pthread_key_create(&key, nullptr);
    mltp_tss_create(&value, nullptr);
    std::printf("%s\t%s\n", thing.name, owner_of(thing));
    mltp_tss_delete(value);
    pthread_key_delete(key);
    mltp_finalize();
  }
}
