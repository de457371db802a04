/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting with a deadline (src/core/wait/park.c, timer.c) on a semaphore: thread 1 runs on
 * a VP, whose timers another VP fires; thread 2 is bound and watches its own deadline.
 * Each waits twice; a poster posts twice, and destroys the semaphore as soon as the last
 * waiter is out of its queue. Deadlines come whenever they like.
 *
 * With CANCELS a third thread cancels thread 1 once, whenever it likes, and thread 1 has
 * deadlines that never come: the canceller knows its timer, which is in no heap.
 *
 * Checked: each wait ends exactly once, resumed only in the queue no more and with its
 * registers saved; what was posted was either received or is still there; nobody waits
 * beside a post; nobody touches the queue once it is destroyed, nor another by mistake,
 * nor a timer whose wait is over; a cancelled thread does not continue waiting.
 */
#define CPUS 2 /* of thread 1, of the VP that fires or cancels */
#define WORDS 4
#include "tso.pml"

/* words of mem[] */
#define WAITQ 0 /* of thread 1: 0, QUEUE, or what a join left there */
#define FIRED 1
#define TIMER 2  /* of thread 1, which cancelling looks for */
#define CANCEL 3 /* thread 1 is cancelled */
#define QUEUE 1
#define JUNK 2

bool ilock, timer_ilock, outside_timeouts, armed;
bool waits; /* thread 1's timer exists */
byte value, posted, received;
bool queued[3], saved[3], resumed[3], timed_out[3], destroyed;
byte entries, finished; /* waits begun, threads that are through */

inline lock(g) { atomic { !g -> g = true } }

inline touch() { assert(!destroyed) }

inline resume(t) {
  assert(saved[t] && !resumed[t] && !queued[t]);
  resumed[t] = true
}

active proctype unbound() {
  byte round;
  do
  :: round < 2 ->
     round++;
     store(0, WAITQ, JUNK); /* a join before */
#ifndef MUTATE_1
     store(0, WAITQ, 0);
#endif
#ifdef CANCELS
     waits = true;
     store(0, FIRED, 0);
     store(0, TIMER, 1); /* CN-4 */
#ifndef MUTATE_13
     light_fence(0); /* CN-2 */
#endif
#ifndef MUTATE_10
     if
     :: LOAD(0, CANCEL) -> store(0, FIRED, 1)
     :: else
     fi;
#endif
     drain(0); /* some locked instruction follows: the ilock */
#else
     waits = true;
     atomic { !timer_ilock -> drain(0); armed = true; mem[FIRED] = 0 }
#endif
     lock(ilock);
     if
     :: value > 0 -> value--; received++; entries++; ilock = false; goto disarm
     :: else
     fi;
     atomic { queued[1] = true; entries++ }
     store(0, WAITQ, QUEUE);
#ifndef MUTATE_2
     drain(0); /* PK-1 */
#endif
#ifndef MUTATE_3
     if
     :: LOAD(0, FIRED) -> /* PK-5 */
        queued[1] = false;
        store(0, WAITQ, 0);
        drain(0);
        ilock = false;
        goto disarm
     :: else
     fi;
#endif
#ifdef MUTATE_4
     ilock = false;
     saved[1] = true;
#else
     saved[1] = true;
     ilock = false; /* by the next thread */
#endif
     resumed[1];
     atomic { resumed[1] = false; saved[1] = false }
     if
     :: timed_out[1] -> timed_out[1] = false
     :: else -> received++
     fi;
disarm:
#ifdef CANCELS
     store(0, TIMER, 0);
#ifndef MUTATE_14
     light_fence(0); /* CN-3 */
#endif
#ifndef MUTATE_11
     if
     :: LOAD(0, CANCEL) ->
        atomic { !outside_timeouts -> drain(0); outside_timeouts = true }
        outside_timeouts = false
     :: else
     fi;
#endif
     waits = false
#elif !defined(MUTATE_5)
     lock(timer_ilock);
     armed = false;
     timer_ilock = false
#else
     armed = false
#endif
  :: else -> break
  od;
  finished++
}

/* Thread 1's timer fires. Under the lock of the processor that may fire it. */
inline fire() {
  assert(waits);
  store(1, FIRED, 1);
#ifndef MUTATE_6
  drain(1); /* PK-2 */
#endif
  q = LOAD(1, WAITQ); /* PK-6 */
  if
  :: q != 0 ->
     assert(q == QUEUE);
     touch();
     lock(ilock);
     touch();
#ifdef MUTATE_7
     in_queue = true;
#else
     in_queue = LOAD(1, WAITQ) == QUEUE;
#endif
     if
     :: in_queue -> queued[1] = false; store(1, WAITQ, 0); drain(1); timed_out[1] = true
     :: else
     fi;
     ilock = false;
     if
     :: in_queue -> resume(1)
     :: else
     fi;
     in_queue = false
  :: else
  fi;
  q = 0;
  assert(waits)
}

#ifdef CANCELS
active proctype canceller() {
  byte q;
  bool in_queue;
  atomic { drain(1); mem[CANCEL] = 1 } /* a locked instruction */
#ifndef MUTATE_12
  heavy_fence(1); /* CN-1 */
#endif
  atomic { !outside_timeouts -> drain(1); outside_timeouts = true }
  if
  :: LOAD(1, TIMER) -> fire() /* CN-5 */
  :: else
  fi;
  atomic { drain(1); outside_timeouts = false }
}
#else
/* Another VP, at the deadline. */
active proctype firer() {
  byte q;
  bool in_queue;
end:
  do
  :: atomic { !timer_ilock && armed -> timer_ilock = true }
     armed = false;
     fire();
     atomic { drain(1); timer_ilock = false }
  od
}
#endif

active proctype bound() {
  byte round;
  bool in_queue;
  do
  :: round < 2 ->
     round++;
     lock(ilock);
     if
     :: value > 0 -> value--; received++; entries++; ilock = false; goto done
     :: else
     fi;
     atomic { queued[2] = true; entries++ }
     saved[2] = true; /* its token remembers */
     ilock = false;
     if
     :: resumed[2] /* PK-3 */
     :: true ->
        lock(outside_timeouts);
        in_queue = queued[2]; /* waitq, before the ilock */
        if
        :: in_queue ->
           touch();
           lock(ilock);
           touch();
#ifndef MUTATE_8
           in_queue = queued[2];
#endif
           queued[2] = false;
           timed_out[2] = in_queue;
           ilock = false;
           if
           :: in_queue -> resume(2)
           :: else
           fi
        :: else
        fi;
        in_queue = false;
        outside_timeouts = false;
        resumed[2]
     fi;
     atomic { resumed[2] = false; saved[2] = false }
     if
     :: timed_out[2] -> timed_out[2] = false
     :: else -> received++
     fi;
done:
     skip
  :: else -> break
  od;
  finished++
}

/* Takes t out of the queue. Under the ilock. */
inline pop(t) {
  queued[t] = false;
  if
  :: t == 1 -> mem[WAITQ] = 0
  :: else
  fi
}

active proctype poster() {
  byte first;
  bool both;
  do
  :: posted < 2 ->
     lock(ilock);
     atomic {
       posted++;
       if
       :: queued[1] -> first = 1; pop(1)
       :: queued[2] -> first = 2; pop(2)
       :: else -> value++
       fi
     }
     ilock = false;
     if
     :: first != 0 -> resume(first)
     :: else
     fi;
     first = 0
  :: else -> break
  od;
  entries == 4 && !queued[1] && !queued[2]; /* destroys what nobody waits for any more */
  lock(ilock);
  ilock = false;
#ifndef MUTATE_9
  lock(timer_ilock); /* mt_timers_flush() */
  timer_ilock = false;
  lock(outside_timeouts);
  outside_timeouts = false;
#endif
  destroyed = true;
  finished == 2;
  assert(posted == received + value)
}
