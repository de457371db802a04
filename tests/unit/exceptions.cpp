/* SPDX-License-Identifier: Apache-2.0 */
/* C++ exceptions belong to the thread: those in flight and those being handled. */
#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/support.h"

namespace {

constexpr int kThrowers = 6;

struct Stage {
  mltp_barrier_t all_caught;
  int rounds;
};

void pause(Stage *stage) {
  mltp_barrier_wait(&stage->all_caught); /* all are at the same place of their handlers */
  mltp_yield();
}

std::string text_of(const std::exception_ptr &current) {
  try {
    std::rethrow_exception(current);
  } catch (const std::exception &error) {
    return error.what();
  }
}

std::string text_of_string(const std::exception_ptr &current) {
  try {
    std::rethrow_exception(current);
  } catch (const std::string &text) {
    return text;
  }
}

/* All threads are in their handlers at once: with one set of exception globals per
 * kernel thread, each would rethrow another's exception. */
void *catch_switch_rethrow(void *p0) {
  Stage *stage = static_cast<Stage *>(p0);
  const std::string mine = "thread " + std::to_string(mltp_id(mltp_self()));
  for (int i = 0; i < stage->rounds; i++) {
    int handlers = 0;
    try {
      try {
        throw std::runtime_error(mine);
      } catch (const std::runtime_error &) {
        handlers++;
        pause(stage);
        CHECK(text_of(std::current_exception()) == mine);
        throw;
      }
    } catch (const std::exception &error) {
      handlers++;
      CHECK(mine == error.what());
      pause(stage);
      CHECK(mine == error.what());
    }
    CHECK_EQUAL(handlers, 2);
    CHECK(std::current_exception() == nullptr);
  }
  return nullptr;
}

/* Yields while the stack unwinds. */
struct YieldingGuard {
  Stage *stage;
  int expected;
  ~YieldingGuard() {
    CHECK_EQUAL(std::uncaught_exceptions(), expected);
    pause(stage);
    CHECK_EQUAL(std::uncaught_exceptions(), expected);
    try { /* one more, thrown and caught before the first is caught */
      throw expected;
    } catch (int inner) {
      pause(stage);
      CHECK_EQUAL(inner, expected);
      CHECK_EQUAL(std::uncaught_exceptions(), expected);
    }
  }
};

void *switch_while_unwinding(void *p0) {
  Stage *stage = static_cast<Stage *>(p0);
  const int mine = static_cast<int>(mltp_id(mltp_self()));
  for (int i = 0; i < stage->rounds; i++) {
    const bool throws = (mine + i) % 2 != 0;
    int caught = 0;
    try {
      YieldingGuard guard{stage, throws ? 1 : 0};
      if (throws) throw mine;
    } catch (int number) {
      caught = number;
    }
    CHECK_EQUAL(caught, throws ? mine : 0);
    CHECK_EQUAL(std::uncaught_exceptions(), 0);
  }
  return nullptr;
}

/* Three handlers inside each other, and destructors that switch, between the outer throw and
 * the last end of a handler. */
void *handle_within_handlers(void *p0) {
  Stage *stage = static_cast<Stage *>(p0);
  const int mine = static_cast<int>(mltp_id(mltp_self()));
  for (int i = 0; i < stage->rounds; i++) {
    try {
      throw mine;
    } catch (int outer) {
      pause(stage);
      try {
        YieldingGuard guard{stage, 1};
        throw std::to_string(mine);
      } catch (const std::string &inner) {
        pause(stage);
        try {
          throw static_cast<long>(mine);
        } catch (long innermost) {
          pause(stage);
          CHECK_EQUAL(innermost, mine);
        }
        pause(stage);
        CHECK(inner == std::to_string(mine));
        CHECK(text_of_string(std::current_exception()) == inner);
      }
      pause(stage);
      CHECK_EQUAL(outer, mine);
      CHECK(std::current_exception() != nullptr);
    }
    CHECK(std::current_exception() == nullptr);
    CHECK_EQUAL(std::uncaught_exceptions(), 0);
  }
  return nullptr;
}

/* Takes what another thread is handling, and throws it here. */
struct Parcel {
  mltp_sem_t filled = MLTP_SEM_INIT(0);
  mltp_sem_t emptied = MLTP_SEM_INIT(0);
  std::exception_ptr exception;
  int rounds = 0;
};

void *rethrow_what_arrives(void *p0) {
  Parcel *parcel = static_cast<Parcel *>(p0);
  for (int i = 0; i < parcel->rounds; i++) {
    mltp_sem_wait(&parcel->filled);
    try {
      std::rethrow_exception(std::exchange(parcel->exception, nullptr));
    } catch (const std::runtime_error &error) {
      mltp_yield();
      CHECK(std::to_string(i) == error.what());
      mltp_sem_post(&parcel->emptied);
      mltp_yield(); /* the sender leaves its handler meanwhile */
      CHECK(std::to_string(i) == error.what());
    }
  }
  return nullptr;
}

void exceptions_travel_between_threads() {
  for (int kind = 0; kind < MIXED; kind++) {
    check_case("%s", kind_names[kind]);
    Parcel parcel;
    parcel.rounds = scaled(200);
    struct worker receiver;
    std::vector<std::exception_ptr> kept; /* until the join: ThreadSanitizer does not see how
                                             the C++ library counts references */
    worker_start(&receiver, static_cast<enum kind>(kind), rethrow_what_arrives, &parcel);
    for (int i = 0; i < parcel.rounds; i++) {
      try {
        throw std::runtime_error(std::to_string(i));
      } catch (const std::runtime_error &error) {
        parcel.exception = std::current_exception();
        kept.push_back(parcel.exception);
        mltp_sem_post(&parcel.filled);
        mltp_sem_wait(&parcel.emptied);
        CHECK(std::to_string(i) == error.what());
      }
    }
    worker_join(&receiver);
  }
}

void leave() noexcept { mltp_exit(reinterpret_cast<void *>(1)); }

struct Witness {
  bool *ran;
  ~Witness() { *ran = true; }
};

void *exit_within_frames(void *ran) {
  Witness witness{static_cast<bool *>(ran)};
  try {
    leave();
  } catch (...) { /* pthread_exit() would come by here */
    *witness.ran = true;
  }
  return nullptr;
}

void mltp_exit_runs_no_destructors() {
  for (int kind = UNBOUND; kind <= BOUND; kind++) {
    check_case("%s", kind_names[kind]);
    bool ran = false;
    struct worker worker;
    worker_start(&worker, static_cast<enum kind>(kind), exit_within_frames, &ran);
    CHECK(worker_join(&worker) == reinterpret_cast<void *>(1));
    CHECK(!ran);
  }
}

void run_all_kinds(mltp_userf_t *func) {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    Stage stage = {MLTP_BARRIER_INIT(kThrowers), scaled(20)};
    workers_run(kThrowers, static_cast<enum kind>(kind), func, &stage);
  }
}

void exceptions_are_rethrown_where_they_were_caught() { run_all_kinds(catch_switch_rethrow); }

void handlers_nest() { run_all_kinds(handle_within_handlers); }

void unwinding_goes_on_after_a_switch() { run_all_kinds(switch_while_unwinding); }

struct Attempts {
  mltp_once_t once = MLTP_ONCE_INIT;
  std::atomic<int> calls{0}, thrown{0};
  int result = 0;
};

/* Fails for the first three callers. */
void fail_three_times(void *p0) {
  Attempts *attempts = static_cast<Attempts *>(p0);
  const int call = attempts->calls++;
  mltp_yield(); /* so that others come, and wait */
  if (call < 3) throw call;
  attempts->result = call;
}

void *call_until_thrown_at(void *p0) {
  Attempts *attempts = static_cast<Attempts *>(p0);
  try {
    CHECK_EQUAL(mltp_once(&attempts->once, fail_three_times, attempts), 0);
    CHECK_EQUAL(attempts->result, 3);
  } catch (int) {
    attempts->thrown++;
  }
  return nullptr;
}

/* An exception reaches the caller of mltp_once(), and the next one tries. */
void once_that_throws_is_not_done() {
  for (int kind = 0; kind < KINDS; kind++) {
    check_case("%s", kind_names[kind]);
    Attempts attempts;
    workers_run(kThrowers, static_cast<enum kind>(kind), call_until_thrown_at, &attempts);
    CHECK_EQUAL(attempts.calls, 4);
    CHECK_EQUAL(attempts.thrown, 3);
    CHECK_EQUAL(attempts.result, 3);
  }
}

}  // namespace

int main() {
  const struct CMUnitTest tests[] = {
      TEST(exceptions_are_rethrown_where_they_were_caught),
      TEST(handlers_nest),
      TEST(exceptions_travel_between_threads),
      TEST(mltp_exit_runs_no_destructors),
      TEST(unwinding_goes_on_after_a_switch),
      TEST(once_that_throws_is_not_done),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
