/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of Mellor-Crummey and Scott, with nodes on the waiters' stacks (src/alternatives/spin/mcs.c).
 * Three threads acquire and release it twice each.
 *
 * Checked: mutual exclusion; no thread waits forever (all end); no node is touched after its
 * owner has left it.
 */
#define THREADS 3
#define ROUNDS 2
#define LOCK 4 /* word: 0 free, LOCK itself, or the node of thread 1 to 3 */

byte word, held, inside;
byte next[THREADS + 1];
bool granted[THREADS + 1], alive[THREADS + 1];

inline acquire() {
  if
  :: atomic { word == 0 -> word = LOCK; goto acquired } /* MC-5 */
  :: true
  fi;
  next[me] = 0;
  granted[me] = false;
  alive[me] = true;
#ifdef MUTATE_1
  last = word;
  word = me;
#else
  atomic { last = word; word = me } /* MC-6 */
#endif
  if
  :: last == 0
  :: else ->
     if
     :: last == LOCK -> held = me /* MC-1 */
     :: else -> assert(alive[last]); next[last] = me
     fi;
     granted[me] /* MC-8 */
  fi;
  /* leave_node() */
  last = next[me];
#ifdef MUTATE_2
  if
  :: last != 0 -> held = last
  :: else
  fi;
#else
  held = last;
#endif
  if
  :: last != 0
  :: else ->
#ifdef MUTATE_3
     word = LOCK
#else
     if
     :: atomic { word == me -> word = LOCK } /* MC-4 */
     :: atomic { word != me -> skip }
#ifndef MUTATE_4
        next[me] != 0;
        held = next[me]
#endif
     fi
#endif
  fi;
  alive[me] = false;
acquired:
  skip
}

inline release() {
  if
#ifdef MUTATE_5
  :: held == 0 -> word = 0; goto released
#else
  :: held == 0 ->
     if
     :: atomic { word == LOCK -> word = 0; goto released } /* MC-7 */
     :: atomic { word != LOCK -> skip }
     fi
#endif
  :: else
  fi;
  held != 0; /* MC-2 */
  last = held;
  assert(alive[last]);
  granted[last] = true; /* MC-9 */
released:
  skip
}

proctype thread(byte me) {
  byte round, last;
  do
  :: round < ROUNDS ->
     round++;
     acquire();
     inside++;
     assert(inside == 1);
     inside--;
     release()
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
