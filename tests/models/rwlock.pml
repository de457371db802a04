/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers-writer lock (src/sync/rwlock_queue.c). Two writers and two readers acquire
 * and release it; each may spin or not before it parks. -DTIMED: writer 1 waits with a
 * deadline, which may come at any time.
 *
 * Checked: one writer or readers; no thread waits forever (all end); a queued thread is not
 * forgotten; phase fairness: no reader comes in past a queued writer, and no more than
 * one writer, the one that holds the lock included, goes before a queued reader.
 */
#define THREADS 4
#define ROUNDS 2
#define WRITES(t) ((t) <= 2)

/* the word */
byte writer, readers;
bool waiters;

bool ilock;
byte queue[THREADS], queued, writers_queued; /* the first is queue[0]: readers, then writers */
byte giving_up;                             /* taken out by a deadline, has not seen to the rest */
bool in_queue[THREADS + 1], resumed[THREADS + 1];
byte passed[THREADS + 1]; /* writers that came in while this reader was queued */

byte writers_inside, readers_inside;

#define FREE_FOR(t) (writer == 0 && (!WRITES(t) || readers == 0))

inline lock_guard() { atomic { !ilock -> ilock = true } }
inline unlock_guard() { ilock = false }

inline remove_at(i) {
  in_queue[queue[i]] = false;
  if
  :: WRITES(queue[i]) -> writers_queued--
  :: else
  fi;
  j = i;
  do
  :: j + 1 < queued -> queue[j] = queue[j + 1]; j++
  :: else -> break
  od;
  queued--;
  queue[queued] = 0;
  j = 0
}

inline enter_queue() {
  if
  :: WRITES(me) -> queue[queued] = me; writers_queued++
  :: else ->
     j = queued;
     do
     :: j > 0 -> queue[j] = queue[j - 1]; j--
     :: else -> break
     od;
     queue[0] = me;
     passed[me] = (writer != 0 -> 1 : 0)
  fi;
  queued++;
  in_queue[me] = true
}

/* A writer has the lock now: those it went before are counted. */
inline count_passed() {
  j = 0;
  do
  :: j < queued ->
     if
     :: !WRITES(queue[j]) -> passed[queue[j]]++; assert(passed[queue[j]] <= 1)
     :: else
     fi;
     j++
  :: else -> break
  od;
  j = 0
}

inline come_in() {
  if
  :: WRITES(me) -> writer = me; count_passed()
  :: else -> assert(writers_queued == 0); readers++
  fi
}

/* RW-1 */
inline try() {
  atomic {
    if
#ifdef MUTATE_3
    :: FREE_FOR(me) -> come_in(); goto acquired
#else
    :: !waiters && FREE_FOR(me) -> come_in(); goto acquired
#endif
    :: else
    fi
  }
}

/* Readers in front of the queue are let in; they are woken after the ilock's release. */
inline pop_readers() {
  do
  :: queued > 0 && !WRITES(queue[0]) -> wake[queue[0]] = true; readers++; remove_at(0)
  :: else -> break
  od
}

inline wake_all() {
  atomic {
    do
    :: j <= THREADS ->
       if
       :: wake[j] -> resumed[j] = true; wake[j] = false
       :: else
       fi;
       j++
    :: else -> break
    od;
    j = 0
  }
}

inline acquire() {
  try();
  if
  :: try() /* spins */
  :: true
  fi;
  lock_guard();
  /* take_or_mark(), RW-2 */
  atomic {
    if
    :: queued == 0 && FREE_FOR(me) -> waiters = false; come_in(); unlock_guard(); goto acquired
    :: else
#ifndef MUTATE_1
       -> waiters = true
#endif
    fi
  }
#ifdef MUTATE_2
  unlock_guard();
  atomic { enter_queue() };
#else
  atomic { enter_queue() };
  unlock_guard(); /* when the registers are saved: park.pml */
#endif
  if
  :: atomic { resumed[me] -> resumed[me] = false }
#ifdef TIMED
  :: atomic {
       me == 1 && !ilock && in_queue[me] -> /* its timer */
       j = 0;
       do
       :: queue[j] != me -> j++
       :: else -> break
       od;
       n = j;
       remove_at(n);
       n = 0;
       giving_up++
     }
     goto gives_up
#endif
  fi;
acquired:
  skip
}

inline hand_over() {
  lock_guard();
  atomic {
    if
    :: queued == 0 -> waiters = false; unlock_guard(); goto again
#ifndef MUTATE_5
    :: queued > 0 && writer != me && readers > 1 -> unlock_guard(); goto again
#endif
    :: else
    fi;
    /* RW-5, RW-4 */
#ifdef MUTATE_4
    if
    :: writers_queued > 0 ->
#else
    if
    :: writers_queued > 0 && (writer != me || WRITES(queue[0])) ->
#endif
       n = 0;
       do
       :: !WRITES(queue[n]) -> n++
       :: else -> break
       od;
       readers = 0;
       writer = queue[n];
       wake[queue[n]] = true;
       remove_at(n);
       n = 0;
       count_passed()
    :: else -> readers = 0; writer = 0; pop_readers()
    fi;
#ifdef MUTATE_6
    waiters = false
#else
    waiters = (queued != 0)
#endif
  }
  unlock_guard();
  wake_all();
  goto next
}

inline release() {
  skip;
again:
  atomic {
    if
#ifdef MUTATE_7
    :: writer == me && waiters -> skip
#else
    :: (writer == me || readers == 1) && waiters -> skip
#endif
    :: else -> /* RW-3 */
       if
       :: writer == me -> writer = 0
       :: else -> readers--
       fi;
       goto next
    fi
  }
  hand_over()
}

inline give_up() {
  lock_guard();
  atomic {
#ifndef MUTATE_8
    if
    :: readers > 0 && writers_queued == 0 -> pop_readers() /* RW-6 */
    :: else
    fi;
#endif
    if
    :: queued == 0 -> waiters = false
    :: else
    fi;
    giving_up--
  }
  unlock_guard();
  wake_all()
}

proctype thread(byte me) {
  byte round, j, n;
  bool wake[THREADS + 1];
  do
  :: round < ROUNDS ->
     round++;
     acquire();
     if
     :: WRITES(me) ->
        atomic { writers_inside++; assert(writers_inside == 1 && readers_inside == 0) };
        writers_inside--
     :: else ->
        atomic { readers_inside++; assert(writers_inside == 0) };
        readers_inside--
     fi;
     release();
#ifdef TIMED
gives_up:
     give_up();
#endif
next:
     skip
  :: else -> break
  od
}

/* The invariant, looked at once, at any time. */
proctype look() {
  atomic {
    if
    :: ilock -> skip
    :: else ->
       assert(queued == 0 || (waiters && (writer != 0 || readers != 0)));
       assert(queued == 0 || writers_queued != 0 || writer != 0 || giving_up != 0)
    fi
  }
}

init {
  atomic {
    run thread(1);
    run thread(2);
    run thread(3);
    run thread(4);
    run look()
  }
}
