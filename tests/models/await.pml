/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a word (src/core/wait/await.h). Thread 0 waits until the word is 1, then until it is
 * 2; thread 1 stores 3, which nobody waits for, then 1, and once that was seen 2. With
 * -DTIMED the first wait has a deadline, which comes whenever it likes. Spinning is left out:
 * it is a longer look.
 *
 * Checked: no thread waits forever (all end); a waiter that continues has seen its predicate hold, or
 * its deadline has come; it is resumed once, and with its registers saved.
 */
#define CPUS 2
#define WORDS 2
#include "tso.pml"

/* words of mem[] */
#define WORD 0
#define WAITERS 1

bool ilock, queued, saved, resumed, timed_out;
byte wanted, seen; /* seen: waits that are over */

inline lock(g) { atomic { !g -> g = true } }

active proctype waiter() {
  do
  :: seen < 2 ->
     wanted = seen + 1;
     if
     :: LOAD(0, WORD) == wanted -> goto through
     :: true
     fi;
     lock(ilock);
#ifdef MUTATE_1
     store(0, WAITERS, 1);
#else
     atomic { drain(0); mem[WAITERS] = 1 } /* AW-2 */
#endif
#ifndef MUTATE_2
     if
     :: LOAD(0, WORD) == wanted -> /* AW-3 */
        store(0, WAITERS, 0);
        drain(0); /* at the latest when the ilock is released */
        ilock = false;
        goto through
     :: else
     fi;
#endif
#ifdef MUTATE_3
     ilock = false;
     lock(ilock);
#endif
#ifdef MUTATE_4
     ilock = false; /* before the registers are saved */
     queued = true;
     saved = true;
#else
     queued = true;
     saved = true;
     ilock = false; /* by the next thread */
#endif
     if
     :: resumed
#ifdef TIMED
     :: atomic { wanted == 1 && !ilock && queued -> queued = false; timed_out = true; resumed = true }
#endif
     fi;
     assert(!queued);
     atomic { resumed = false; saved = false }
     if
     :: timed_out ->
        timed_out = false;
        lock(ilock);
        store(0, WAITERS, 0);
        drain(0);
        ilock = false
     :: else -> assert(LOAD(0, WORD) == wanted)
     fi;
through:
     seen++
  :: else -> break
  od
}

inline wake() {
#ifdef MUTATE_5
  drain(1);
  lock(ilock);
  if
  :: queued -> queued = false; takes = true; store(1, WAITERS, 0); drain(1)
  :: else
  fi;
  ilock = false;
#else
  if
  :: LOAD(1, WAITERS) == 0 -> goto reported /* AW-4 */
  :: else
  fi;
  lock(ilock);
  if
  :: queued && LOAD(1, WORD) == wanted -> queued = false; takes = true; store(1, WAITERS, 0); drain(1)
  :: else
  fi;
  ilock = false;
#endif
reported:
  if
  :: takes -> assert(saved && !resumed); takes = false; resumed = true
  :: else
  fi
}

active proctype waker() {
  bool takes;
  byte next;
  do
  :: next < 3 ->
     if
     :: next == 2 -> seen >= 1
     :: else
     fi;
     store(1, WORD, (next == 0 -> 3 : next));
#ifndef MUTATE_6
     drain(1); /* AW-1 */
#endif
     wake();
     next++
  :: else -> break
  od
}
