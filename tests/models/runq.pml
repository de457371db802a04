/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The run queue of VP 0 (src/core/sched/runq.h): its owner, two thieves, and a processor that
 * probes. Of three threads the owner runs one; it yields, to the next or to a given
 * one. A thief posts what it got back to the owner's inbox. All this forever.
 *
 * Checked: owner and thief are never both in the list; no thread is lost, taken
 * twice or taken while its registers are not saved; mltp_yield_to() takes only what
 * is in the list; a thief that was served has something; no probe is lost.
 */
#define CPUS 3
#define WORDS 6
#include "tso.pml"

/* words of mem[] */
#define INSIDE 0
#define HEAD 1 /* the list has room for two; 0: nothing */
#define SECOND 2
#define READY_HERE(t) (2 + (t)) /* 1: the thread's "where" says it is in this list */

/* claim: 0, a thief's request 1 or 2, or LOCKED; and PROBE */
#define LOCKED 4
#define PROBE 8
byte claim;
byte inbox[CPUS]; /* sets of threads */
#define BIT(t) (1 << (t))

/* what is so, whatever memory says */
bool owner_in, thief_in, probe_pending;
bool in_list[4], saved[4], given[CPUS];

inline push(cpu, t) {
  atomic {
    assert(!in_list[t]);
    in_list[t] = true;
    store(cpu, READY_HERE(t), 1);
    if
    :: LOAD(cpu, HEAD) == 0 -> store(cpu, HEAD, t)
    :: else -> assert(LOAD(cpu, SECOND) == 0); store(cpu, SECOND, t)
    fi
  }
}

inline pop(cpu, t) {
  atomic {
    t = LOAD(cpu, HEAD);
    if
    :: t != 0 ->
       assert(in_list[t]);
       in_list[t] = false;
       second = LOAD(cpu, SECOND);
       store(cpu, HEAD, second);
       store(cpu, SECOND, 0);
       second = 0
    :: else -> assert(!in_list[1] && !in_list[2] && !in_list[3])
    fi
  }
}

/* The inbox of VP 0 goes to the end of its list. */
inline empty_inbox(cpu, set) {
  atomic {
    drain(cpu); /* IB-2 */
    set = inbox[0];
    inbox[0] = 0;
    if :: set & BIT(1) -> push(cpu, 1) :: else fi;
    if :: set & BIT(2) -> push(cpu, 2) :: else fi;
#if THREADS > 2
    if :: set & BIT(3) -> push(cpu, 3) :: else fi;
#endif
    set = 0
  }
}

inline post(cpu, to, t) {
  atomic { drain(cpu); inbox[to] = inbox[to] | BIT(t) } /* IB-1 */
}

/* ---- the owner */

inline serve(thief) {
  pop(0, given_thread);
  if
  :: given_thread != 0 ->
     store(0, READY_HERE(given_thread), 0); /* mailed */
     atomic { given[thief] = true; post(0, thief, given_thread) }
  :: else
  fi;
  owner_in = false;
  atomic {
    drain(0);
    if
#ifdef MUTATE_9
    :: true -> claim = 0
#else
    :: (claim & ~PROBE) == thief -> claim = claim & PROBE
    :: else /* the thief has gone on to LOCKED */
#endif
    fi
  }
}

inline enter() {
  store(0, INSIDE, 1);
#if !(defined(MUTATE_2) && defined(FULL_FENCES))
  light_fence(0); /* RQ-1 */
#endif
  do
  :: atomic { claim == 0 -> owner_in = true; assert(!thief_in); break }
  :: atomic { (claim & PROBE) != 0 -> drain(0); claim = claim & ~PROBE; probe_pending = false }
  :: claim == LOCKED ->
#ifdef MUTATE_3
     break
#else
     store(0, INSIDE, 0); /* RQ-7 */
     (claim & LOCKED) == 0;
     store(0, INSIDE, 1);
#ifdef MUTATE_4
     break
#else
     light_fence(0) /* RQ-9; RQ-8 is the next look */
#endif
#endif
  :: atomic { claim == 1 -> owner_in = true; assert(!thief_in) }
     serve(1)
  :: atomic { claim == 2 -> owner_in = true; assert(!thief_in) }
     serve(2)
  od;
  atomic { owner_in = true; assert(!thief_in) }
}

inline leave() {
  owner_in = false;
  store(0, INSIDE, 0) /* RQ-3 */
}

/* From self, which is in the list, to next, which is not. */
inline switch_to(next) {
#ifdef MUTATE_5
  leave();
#endif
  saved[self] = true;
  atomic { self = next; saved[self] = false }
  store(0, READY_HERE(self), 0); /* running */
#ifndef MUTATE_5
  leave()
#endif
}

/* Takes t out of the list wherever it is. */
inline remove(t) {
  atomic {
    assert(in_list[t]);
    in_list[t] = false;
    if
    :: LOAD(0, HEAD) == t ->
       second = LOAD(0, SECOND);
       store(0, HEAD, second);
       store(0, SECOND, 0);
       second = 0
    :: else -> assert(LOAD(0, SECOND) == t); store(0, SECOND, 0)
    fi
  }
}

active proctype owner() {
  byte self = 1, next, second, set, given_thread;
end:
  do
  :: enter(); /* yield */
     empty_inbox(0, set);
     pop(0, next);
     if
     :: next != 0 -> push(0, self); switch_to(next)
     :: else -> leave()
     fi;
     next = 0
  :: select(next : 1 .. THREADS); /* yield to a given thread */
     enter();
     if
     :: next != self && LOAD(0, READY_HERE(next)) -> remove(next); push(0, self); switch_to(next)
     :: else -> leave()
     fi;
     next = 0
  od
}

/* ---- the thieves */

/* A probe that came meanwhile stays. */
inline unlock() {
  atomic {
    drain(me); /* RQ-6 */
#ifdef MUTATE_8
    claim = 0
#else
    claim = claim & PROBE
#endif
  }
}

/* Under LOCKED, and nobody inside. */
inline steal_one() {
  atomic { assert(!owner_in && !thief_in); thief_in = true }
  empty_inbox(me, set);
  pop(me, got);
  assert(got == 0 || saved[got]);
#ifndef MUTATE_10
  if
  :: got != 0 -> store(me, READY_HERE(got), 0) /* before unlock() lets the owner look */
  :: else
  fi;
#endif
  thief_in = false
}

proctype thief(byte me) {
  byte got, second, set;
end:
  do
  :: atomic { (claim & ~PROBE) == 0 -> drain(me); claim = claim | me } /* RQ-6 */
#ifdef MUTATE_7
     atomic { if :: claim == 0 -> goto use :: else -> drain(me); claim = LOCKED fi }
#else
     atomic { /* RQ-6 */
       drain(me);
       if
       :: (claim & ~PROBE) == me -> claim = LOCKED | (claim & PROBE)
       :: (claim & ~PROBE) == me -> claim = claim & PROBE; goto use /* wants it no more */
       :: else -> goto use /* served */
       fi
     }
#endif
#ifndef MUTATE_1
     heavy_fence(me); /* RQ-4 */
#endif
     if
#ifdef MUTATE_6
     :: true -> steal_one()
#else
     :: LOAD(me, INSIDE) == 0 -> steal_one() /* RQ-5 */
#endif
     :: true /* the owner does not leave in time */
     fi;
     unlock();
use:
     if
     :: got != 0 -> store(me, READY_HERE(got), 0); post(me, 0, got); got = 0
     :: else
     fi;
     atomic {
       assert(!given[me] || inbox[me] != 0);
       given[me] = false;
       set = inbox[me];
       inbox[me] = 0
     }
     atomic { drain(me); inbox[0] = inbox[0] | set; set = 0 }
  od
}

proctype prober() {
end:
  do
  :: atomic { claim = claim | PROBE; probe_pending = true } /* RQ-10 */
     assert(!probe_pending || (claim & PROBE) != 0)
  od
}

init {
  atomic {
    mem[HEAD] = 2;
    mem[READY_HERE(2)] = 1;
    in_list[2] = true;
    saved[2] = true;
#if THREADS > 2
    mem[SECOND] = 3;
    mem[READY_HERE(3)] = 1;
    in_list[3] = true;
    saved[3] = true;
#endif
    run thief(1);
#if THIEVES > 1
    run thief(2);
#endif
#ifdef PROBES
    run prober()
#endif
  }
}
