/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reactive lock (src/sync/lock_reactive.c). Three threads acquire and release it
 * twice each; each may spin or not before it parks. -DTIMED: thread 1 waits with a
 * deadline, which may come at any time.
 *
 * Checked: mutual exclusion; no thread waits forever (all end); without deadlines a
 * thread parks at most twice for one acquisition, so no thread is overtaken forever.
 */
#define THREADS 3
#define ROUNDS 2
#define FREE 0
#define WAITERS 4 /* the word: the holder's number 1 to 3, and this bit */
#define HOLDER(w) ((w) & 3)

byte word;
bool ilock;
byte inside;
byte queue[THREADS], queued; /* the first is queue[0] */

mtype = { NO, WANTED, GIVEN };
mtype handed[THREADS + 1];
bool in_queue[THREADS + 1], resumed[THREADS + 1];

inline lock_guard() { atomic { !ilock -> ilock = true } }
inline unlock_guard() { ilock = false }

inline pop(t) {
  if
  :: queued == 0 -> t = 0
  :: else -> t = queue[0]; queue[0] = queue[1]; queue[1] = queue[2]; queue[2] = 0; queued--
  fi;
  in_queue[t] = false
}

inline append(t) {
  queue[queued] = t;
  queued++;
  in_queue[t] = true
}

inline prepend(t) {
  queue[2] = queue[1];
  queue[1] = queue[0];
  queue[0] = t;
  queued++;
  in_queue[t] = true
}

inline remove(t) {
  if
  :: queue[0] == t -> queue[0] = queue[1]; queue[1] = queue[2]
  :: queue[0] != t && queue[1] == t -> queue[1] = queue[2]
  :: else
  fi;
  queue[2] = 0;
  queued--;
  in_queue[t] = false
}

/* LK-1, or LK-4 when the bit is set; only_free: the path without waiters */
inline try_free(only_free) {
  atomic {
    if
    :: HOLDER(word) == 0 && (!only_free || word == FREE) -> word = word | me; goto acquired
    :: else
    fi
  }
}

inline acquire() {
  parked = 0;
  try_free(true);
again:
  if
  :: try_free(false) /* spins */
  :: true
  fi;
  lock_guard();
  /* take_or_mark() */
  atomic {
    if
    :: HOLDER(word) == 0 -> word = word | me; unlock_guard(); goto acquired
    :: else
#ifndef MUTATE_1
       -> word = word | WAITERS
#endif
    fi
  }
#ifdef MUTATE_2
  unlock_guard();
#endif
  atomic {
    if
#ifdef MUTATE_3
    :: true -> handed[me] = NO; append(me)
#else
    :: parked == 0 -> handed[me] = NO; append(me)
    :: else -> handed[me] = WANTED; prepend(me)
#endif
    fi;
    parked++
  }
#ifndef TIMED
  assert(parked <= 2);
#endif
#ifndef MUTATE_2
  unlock_guard(); /* when the registers are saved: park.pml */
#endif
  if
  :: atomic { resumed[me] -> resumed[me] = false }
#ifdef TIMED
  :: atomic { me == 1 && !ilock && in_queue[me] -> remove(me); goto next } /* its timer */
#endif
  fi;
  if
  :: handed[me] == GIVEN -> assert(HOLDER(word) == me)
  :: else -> goto again
  fi;
acquired:
  skip
}

inline release() {
  if
  :: atomic { word == me -> word = FREE; goto next } /* LK-2 */
  :: else
  fi;
  lock_guard();
  atomic {
    pop(first);
    new = FREE;
#ifndef MUTATE_4
    if
    :: first != 0 && handed[first] == WANTED -> handed[first] = GIVEN; new = first
    :: else
    fi;
#endif
#ifndef MUTATE_5
    if
    :: queued != 0 -> new = new | WAITERS
    :: else
    fi
#endif
  }
  atomic { word = new; new = 0 } /* LK-3 */
  unlock_guard();
#ifdef MUTATE_6
  if
  :: first != 0 && handed[first] == GIVEN -> resumed[first] = true
  :: else
  fi;
#else
  if
  :: first != 0 -> resumed[first] = true
  :: else
  fi;
#endif
  first = 0
}

proctype thread(byte me) {
  byte round, parked, first, new;
  do
  :: round < ROUNDS ->
     round++;
     acquire();
     inside++;
     assert(inside == 1);
     inside--;
     release();
next:
     skip
  :: else -> break
  od
}

init {
  atomic {
    run thread(1);
    run thread(2);
    run thread(3)
  }
}
