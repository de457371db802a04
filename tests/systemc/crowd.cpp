// SPDX-License-Identifier: Apache-2.0
// N processes alive at once: each waits twice. Then none, then N again. Prints what the kernel says
// of the process's memory: KiB, and mappings.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>
#include <systemc>

static void report(const char *when) {
  std::ifstream status("/proc/self/status"), maps("/proc/self/maps");
  std::string line, rss;
  while (std::getline(status, line))
    if (line.compare(0, 6, "VmRSS:") == 0) rss = line.substr(7);
  long mappings = 0;
  while (std::getline(maps, line)) mappings++;
  std::cout << when << ": rss " << std::atol(rss.c_str()) << " mappings " << mappings << std::endl;
}

struct top : sc_core::sc_module {
  const int count;
  int alive = 0;
  sc_core::sc_event go;

  SC_HAS_PROCESS(top);
  top(sc_core::sc_module_name name, int n) : sc_module(name), count(n) { SC_THREAD(run); }

  void one() {
    alive++;
    wait(go);
    wait(1, sc_core::SC_NS);
    alive--;
  }

  void run() {
    for (int round = 0; round < 2; round++) {
      report("before");
      for (int i = 0; i < count; i++) sc_core::sc_spawn(sc_bind(&top::one, this));
      wait(1, sc_core::SC_NS);
      std::cout << alive << " alive" << std::endl;
      report("crowd");
      go.notify();
      wait(2, sc_core::SC_NS);
      std::cout << alive << " alive" << std::endl;
    }
    report("after");
  }
};

int sc_main(int, char **argv) {
  top t("top", std::atoi(argv[1]));
  sc_core::sc_start();
  return 0;
}
