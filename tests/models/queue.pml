/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue lock (src/sync/lock_queue.c). Three threads acquire and release it twice
 * each; each waiter may stop to spin, and park, at any time. -DTIMED: thread 1 waits
 * with a deadline, which may come at any time once it has parked.
 * memory goes when the last has released it, as it may.
 *
 * Checked: mutual exclusion; no thread waits forever (all end); the new holder is notified
 * once, and nothing touches the lock's memory after the last holder has let go.
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

mtype = { SPINS, CHOSEN, HAS_IT, PARKS };
mtype wait_mode[THREADS + 1];
bool resumed[THREADS + 1], parked[THREADS + 1];

inline lock_guard() { atomic { !ilock -> ilock = true } }
inline unlock_guard() { ilock = false }

inline pop(t) {
  if
  :: queued == 0 -> t = 0
  :: else -> t = queue[0]; queue[0] = queue[1]; queue[1] = queue[2]; queue[2] = 0; queued--
  fi
}

inline remove(t) {
  if
  :: queue[0] == t -> queue[0] = queue[1]; queue[1] = queue[2]
  :: queue[0] != t && queue[1] == t -> queue[1] = queue[2]
  :: else
  fi;
  queue[2] = 0;
  queued--
}

inline acquire() {
  if
  :: atomic { HOLDER(word) == 0 -> word = word | me; goto acquired } /* mt_lock_take() */
  :: true
  fi;
  lock_guard();
  /* mt_lock_take_or_mark() */
  atomic {
    if
    :: HOLDER(word) == 0 -> word = word | me; unlock_guard(); goto acquired
    :: else
#ifndef MUTATE_1
       -> word = word | WAITERS
#endif
    fi
  }
  atomic { wait_mode[me] = SPINS; queue[queued] = me; queued++ }
  unlock_guard();
  if
  :: wait_mode[me] == HAS_IT -> goto acquired /* QL-1: spins */
  :: true
  fi;
  lock_guard();
  if
#ifdef MUTATE_2
  :: wait_mode[me] == HAS_IT ->
#else
  :: wait_mode[me] != SPINS ->
#endif
     unlock_guard();
#ifndef MUTATE_3
     wait_mode[me] == HAS_IT;
#endif
     goto acquired
  :: else
  fi;
#ifndef MUTATE_4
  wait_mode[me] = PARKS;
#endif
  parked[me] = true;
  unlock_guard(); /* when the registers are saved: park.pml */
  if
  :: atomic { resumed[me] -> resumed[me] = false; parked[me] = false }
#ifdef TIMED
  :: atomic { me == 1 && !ilock && !resumed[me] && /* its timer, if it is in the queue */
              (queue[0] == me || queue[1] == me || queue[2] == me) ->
              remove(me); parked[me] = false; goto next }
#endif
  fi;
acquired:
  assert(HOLDER(word) == me)
}

inline release() {
  if
  :: atomic { word == me -> word = FREE; goto next } /* LK-2 */
  :: else
  fi;
  lock_guard();
  pop(first);
  parks = first != 0 && wait_mode[first] == PARKS;
#ifndef MUTATE_5
  if
  :: first != 0 && !parks -> wait_mode[first] = CHOSEN
  :: else
  fi;
#endif
  /* mt_lock_pass_on(): LK-3 */
#ifdef MUTATE_6
  word = first;
#else
  word = first | (queued != 0 -> WAITERS : 0);
#endif
#ifdef MUTATE_7
  if
  :: first != 0 && !parks -> wait_mode[first] = HAS_IT
  :: else
  fi;
  assert(HOLDER(word) == first); /* the ilock is in memory that may be gone */
#endif
  unlock_guard();
  if
  :: parks -> assert(parked[first] && !resumed[first]); resumed[first] = true
#ifndef MUTATE_7
  :: !parks && first != 0 -> wait_mode[first] = HAS_IT /* QL-2 */
#endif
  :: else
  fi;
  first = 0;
  parks = false
}

proctype thread(byte me) {
  byte round, first;
  bool parks;
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
