/* SPDX-License-Identifier: Apache-2.0 */
/* Yields, sleeps, deadlines that pass, VPs that come and go, calls that block, dumps. */
#include <fcntl.h>
#include <unistd.h>

#include "ops.h"

static void act_yield(unsigned *random) {
  switch (pick(random, 4)) {
    case 0: mltp_yield_to_first(); break;
    case 1: CHECK_EQUAL(mltp_yield_to(mltp_self()), EAGAIN); break;
    default: mltp_yield();
  }
}

const struct operation op_yield = {"yield", 3, 1, NULL, act_yield, NULL};

static void act_sleep(unsigned *random) {
  uint64_t deadline = soon(random, 100000);
  if (one_in(random, 2)) {
    mltp_sleep_until(deadline);
    CHECK(mltp_now() >= deadline);
  } else {
    mltp_sleep(pick(random, 100000));
  }
}

const struct operation op_sleep = {"sleep", 1, 1, NULL, act_sleep, NULL};

/* Nobody posts: only the deadline ends the wait, and not before its time. */
static void act_timeout(unsigned *random) {
  mltp_sem_t never = MLTP_SEM_INIT(0);
  uint64_t deadline = soon(random, 100000);
  CHECK_EQUAL(mltp_sem_wait_timed(&never, deadline), ETIMEDOUT);
  CHECK(mltp_now() >= deadline);
  CHECK_EQUAL(mltp_sem_destroy(&never), 0); /* a timer may look at it still */
}

const struct operation op_timeout = {"timeout", 1, 1, NULL, act_timeout, NULL};

static void act_resize(unsigned *random) {
  if (one_in(random, 8)) CHECK_EQUAL(mltp_set_vps(1 + (int)pick(random, 8)), 0);
}

const struct operation op_resize = {"resize", 1, 1, NULL, act_resize, NULL};

static void act_block(unsigned *random) {
  mltp_blocking_begin();
  usleep(pick(random, 50));
  mltp_blocking_end();
}

const struct operation op_block = {"block", 1, 1, NULL, act_block, NULL};

static int nowhere = -1;

static void begin_dump(void) { nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); }

static void act_dump(unsigned *random) {
  if (one_in(random, 64)) mltp_dump(nowhere);
}

static void end_dump(void) { CHECK_EQUAL(close(nowhere), 0); }

const struct operation op_dump = {"dump", 1, 1, begin_dump, act_dump, end_dump};
