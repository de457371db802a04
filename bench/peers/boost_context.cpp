// SPDX-License-Identifier: Apache-2.0
// Boost.Context (libboost-context-dev): its raw switch, and nothing else.
#include <boost/context/fiber.hpp>
#include <boost/version.hpp>

#include "peer.h"

namespace {

using boost::context::fiber;

void start(int) {}
void stop() {}

bool row_switch(peer_run *run) {
  uint64_t count = 0;
  run->ops += run->ops % 2;
  const uint64_t trips = run->ops / 2;
  fiber other{[&](fiber &&back) {
    for (;;) {
      ++count;
      back = std::move(back).resume();
    }
    return std::move(back);
  }};
  peer_clock_start(run);
  for (uint64_t i = 0; i < trips; i++) other = std::move(other).resume();
  peer_clock_stop(run);
  return count == trips;
}

const peer_row rows[] = {
    {"switch", row_switch, 1000, 0, 0},
    {nullptr, nullptr, 0, 0, 0},
};

}  // namespace

int main(int argc, char **argv) {
  const peer self = {"boost-context", BOOST_LIB_VERSION, 1, start, stop, rows};
  return peer_main(&self, argc, argv);
}
