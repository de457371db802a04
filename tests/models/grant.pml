/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A permit of the gate (src/gate/permits.c). The thread on CPU 0 waits for it. The granter grants it
 * under the lock, and calls the kernel after it has released the lock, at any later time. The
 * overtaker takes it back if the thread has not claimed it, up to two times, and grants it again.
 *
 * Checked: the thread does not sleep forever (all end), and a permit that is taken back was not
 * claimed.
 */
#define CPUS 3
#define WORDS 2
#include "tso.pml"

/* words of mem[] */
#define WAKE 0
#define SLEEPS 1

/* what WAKE says */
#define NONE 0
#define GRANTED 1
#define CLAIMED 2

bool ilock, asleep, runs;

inline lock() { atomic { !ilock -> ilock = true } }

inline unlock(cpu) {
  drain(cpu);
  ilock = false
}

active proctype waiter() {
  do
  :: !runs ->
#ifdef MUTATE_4
     if
     :: LOAD(0, WAKE) == GRANTED -> store(0, WAKE, CLAIMED); runs = true
     :: else
     fi;
#else
     atomic { /* GT-5 */
       drain(0);
       if
       :: mem[WAKE] == GRANTED -> mem[WAKE] = CLAIMED; runs = true
       :: else
       fi
     }
#endif
     if
     :: !runs ->
#ifndef MUTATE_2
        atomic { drain(0); mem[SLEEPS] = 1 } /* GT-22 */
#endif
        atomic { /* the kernel's look */
          drain(0);
          if
          :: mem[WAKE] == NONE -> asleep = true
          :: else
          fi
        }
        !asleep;
        store(0, SLEEPS, 0)
     :: else
     fi
  :: else -> break
  od
}

inline look(cpu) {
  if
  :: LOAD(cpu, SLEEPS) == 1 -> store(cpu, SLEEPS, 0); calls = true /* GT-23 */
  :: else
  fi
}

/* The lock is held; releases it. */
inline grant(cpu) {
#ifdef MUTATE_3
  look(cpu);
  atomic { drain(cpu); mem[WAKE] = GRANTED }
#else
  atomic { drain(cpu); mem[WAKE] = GRANTED } /* GT-3 */
  look(cpu);
#endif
  unlock(cpu);
  if
  :: calls -> asleep = false; calls = false
  :: else
  fi
}

active proctype granter() {
  bool calls;
  lock();
  grant(1)
}

active proctype overtaker() {
  bool calls, took;
  byte times;
  do
  :: times < 2 ->
     lock();
     atomic {
       drain(2);
       if
       :: mem[WAKE] == GRANTED -> mem[WAKE] = NONE; took = true; assert(!runs)
       :: else
       fi
     }
     if
     :: took ->
#ifndef MUTATE_1
        store(2, SLEEPS, 1);
#endif
        unlock(2);
        lock();
        grant(2);
        took = false
     :: else -> unlock(2)
     fi;
     times++
  :: else -> break
  od
}
