// SPDX-License-Identifier: Apache-2.0
// Boost.Fiber (libboost-fiber-dev): one scheduler a kernel thread; with more than one of
// them they share their work by stealing.
#include <boost/fiber/all.hpp>
#include <boost/version.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "peer.h"

namespace {

using namespace boost::fibers;

std::size_t stack_size = fixedsize_stack::traits_type::default_size();
std::vector<std::thread> workers;
bool stopping;
mutex stop_lock;
condition_variable stop_cond;

void steal(int vps) { use_scheduling_algorithm<algo::work_stealing>(static_cast<uint32_t>(vps)); }

void start(int vps) {
  if (vps == 1) return;
  for (int i = 1; i < vps; i++) {
    workers.emplace_back([vps] {
      steal(vps);
      std::unique_lock<mutex> lock{stop_lock};
      stop_cond.wait(lock, [] { return stopping; });
    });
  }
  steal(vps);
}

void stop() {
  {
    std::unique_lock<mutex> lock{stop_lock};
    stopping = true;
  }
  stop_cond.notify_all();
  for (auto &worker : workers) worker.join();
}

}  // namespace

struct p_thread_t {
  alignas(fiber) unsigned char place[sizeof(fiber)];
};

using p_lock_t = mutex;

struct p_monitor_t {
  mutex lock;
  condition_variable_any cond;
};

struct p_barrier_t {
  barrier *made;
};

static inline fiber make_fiber(void *(*body)(void *), void *arg) {
  return fiber{std::allocator_arg, fixedsize_stack{stack_size}, [=] { body(arg); }};
}

static inline void p_spawn(p_thread_t *thread, void *(*body)(void *), void *arg) {
  new (thread->place) fiber{make_fiber(body, arg)};
}

static inline void p_spawn_detached(void *(*body)(void *), void *arg) {
  make_fiber(body, arg).detach();
}

static inline void p_join(p_thread_t *thread) {
  fiber *made = std::launder(reinterpret_cast<fiber *>(thread->place));
  made->join();
  made->~fiber();
}

static inline void p_yield() { boost::this_fiber::yield(); }

static inline void p_lock_init(p_lock_t *) {}

static inline void p_lock(p_lock_t *lock) { lock->lock(); }

static inline void p_unlock(p_lock_t *lock) { lock->unlock(); }

static inline void p_monitor_init(p_monitor_t *) {}

static inline void p_enter(p_monitor_t *monitor) { monitor->lock.lock(); }

static inline void p_leave(p_monitor_t *monitor) { monitor->lock.unlock(); }

static inline void p_wait(p_monitor_t *monitor) { monitor->cond.wait(monitor->lock); }

static inline void p_signal(p_monitor_t *monitor) { monitor->cond.notify_one(); }

static inline void p_barrier_init(p_barrier_t *barrier_, unsigned count) {
  barrier_->made = new barrier{count};
}

static inline void p_barrier_wait(p_barrier_t *barrier_) { barrier_->made->wait(); }

#include "sem_by_monitor.h"

static inline void p_sleep_ms(uint64_t ms) {
  boost::this_fiber::sleep_for(std::chrono::milliseconds(ms));
}

#include "rows.h"
#include "sleep.h"

// The smallest stacks its users take, as in the table of numbers to beat.
static bool row_memory_4k(peer_run *run) {
  stack_size = 4096;
  return row_memory(run);
}

// No row "across": a fiber woken by one that does not yield afterwards is not stolen, and waits.
static const peer_row rows[] = {
    {"yield", row_yield, 1000, 0, 2},
    {"create", row_create, 256, 0, 0},
    {"fork-join", row_fork_join, 100, 0, 0},
    {"mutex", row_mutex, 1000, 0, 1},
    {"sem", row_sem, 1000, 0, 0},
    {"cond", row_cond, 1000, 0, 0},
    {"barrier", row_barrier, 64, 0, 64},
    {"memory", row_memory_4k, 0, 100000, 0},
    {"sleep", row_sleep, 10, 0, 0},
    {nullptr, nullptr, 0, 0, 0},
};

int main(int argc, char **argv) {
  const peer self = {"boost-fiber", BOOST_LIB_VERSION, 1024, start, stop, rows};
  return peer_main(&self, argc, argv);
}
