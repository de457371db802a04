// SPDX-License-Identifier: Apache-2.0
// SystemC's coroutine package on our switch: sc_core::sc_cor_pkg_qt, the class of that name in
// libsystemc, which its kernel makes one of and otherwise knows by its base class only.
// A dynamic linker that preloads this library finds our constructor first. A static linker that
// sees it before libsystemc.a never looks at that of QuickThreads.
//
// Of SystemC's headers only those are included that need nothing of libsystemc when they are
// loaded: LD_PRELOAD is inherited by programs that have never heard of SystemC.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <sysc/kernel/sc_cor.h>
#include <sysc/kernel/sc_object.h>

extern "C" {
#include "systemc/coroutine.h"
#include "systemc/message.h"
}

namespace sc_core {

extern const unsigned int sc_version_major __attribute__((weak));
extern const unsigned int sc_version_minor __attribute__((weak));
extern const unsigned int sc_version_patch __attribute__((weak));

}  // namespace sc_core

namespace {

struct coroutine final : sc_core::sc_cor {
  mt_coroutine co;

  coroutine() { mt_co_adopt(&co); }
  coroutine(std::size_t stack_size, sc_core::sc_cor_fn *run, void *arg) {
    mt_co_init(&co, stack_size, run, arg);
  }
  ~coroutine() override { mt_co_destroy(&co); }

  // Each stack has its guard from its first moment to its last.
  void stack_protect(bool) override {}
};

// The context of sc_main(), never destroyed: static objects may simulate until the very end.
coroutine *main_coroutine() {
  static coroutine *const one = new coroutine;
  return one;
}

// What this was compiled for: class layouts and the kernel's expectations differ between versions.
void check_version() {
  static bool checked;
  if (checked) return;
  char version[40] = "unknown";
  if (&sc_core::sc_version_major && &sc_core::sc_version_minor && &sc_core::sc_version_patch)
    std::snprintf(version, sizeof version, "%u.%u.%u", sc_core::sc_version_major,
                  sc_core::sc_version_minor, sc_core::sc_version_patch);
  if (std::strcmp(version, MLTP_SYSTEMC_VERSION) != 0) {
    mt_co_message(
        "this program runs with SystemC %s, and the coroutine package was built for "
        "SystemC " MLTP_SYSTEMC_VERSION " (run it without, or build MLTP against that version)",
        version);
    std::exit(EXIT_FAILURE);
  }
  checked = true;
}

}  // namespace

extern "C" const char *mt_co_name(const mt_coroutine *co) {
  // SystemC passes the process, a sc_thread_process; sc_object is its first base.
  return co->run == nullptr ? "sc_main" : static_cast<const sc_core::sc_object *>(co->arg)->name();
}

namespace sc_core {

// The same class as libsystemc's: the linkers use the definition that they find first.
class __attribute__((visibility("default"))) sc_cor_pkg_qt : public sc_cor_pkg {
 public:
  explicit sc_cor_pkg_qt(sc_simcontext *simc);
  sc_cor *create(std::size_t stack_size, sc_cor_fn *run, void *process) override;
  void yield(sc_cor *next) override;
  void abort(sc_cor *next) override;
  sc_cor *get_main() override;
};

sc_cor_pkg_qt::sc_cor_pkg_qt(sc_simcontext *simc) : sc_cor_pkg(simc) {
  check_version();
  main_coroutine();
  mt_co_catch_overflow();
}

sc_cor *sc_cor_pkg_qt::create(std::size_t stack_size, sc_cor_fn *run, void *process) {
  return new coroutine(stack_size, run, process);
}

void sc_cor_pkg_qt::yield(sc_cor *next) { mt_co_yield(&static_cast<coroutine *>(next)->co); }

void sc_cor_pkg_qt::abort(sc_cor *next) { mt_co_abort(&static_cast<coroutine *>(next)->co); }

sc_cor *sc_cor_pkg_qt::get_main() { return main_coroutine(); }

}  // namespace sc_core
