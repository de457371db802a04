/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The barrier of parts (src/sync/barrier.c). Three threads pass a barrier for three ROUNDS
 * times; each arrives at whichever of two parts, as if it had been moved meanwhile.
 *
 * Checked: nobody passes before all have come; no thread waits forever (all end); a thread is
 * resumed when it waits and its registers are saved; a unit that has to move is there.
 */
#define THREADS 3
#define PARTS 2
#define ROUNDS 3

bool ilock, part_ilock[PARTS];
byte owed[PARTS], quota[PARTS], given, open;
byte queue[PARTS];                       /* a set of threads */
bool saved[THREADS], resumed[THREADS];
byte come[THREADS];                      /* how often */

inline lock_whole() { atomic { !ilock -> ilock = true } }
inline unlock_whole() { ilock = false }
inline lock_part(p) { atomic { !part_ilock[p] -> part_ilock[p] = true } }
inline unlock_part(p) { part_ilock[p] = false }

inline pay(p) {
  atomic {
    owed[p]--;
    if
    :: owed[p] == 0 -> open--
    :: else
    fi
  }
}

/* move_unit(): the ilocks of the whole and of the part are held */
inline move_unit() {
  quota[part]++;
  if
  :: given < THREADS -> given++
  :: else ->
     assert(owed[1 - part] > 0);
#ifndef MUTATE_2
     lock_part(1 - part);
     quota[1 - part]--;
#ifdef MUTATE_6
     owed[1 - part]--;
#else
     pay(1 - part);
#endif
     unlock_part(1 - part)
#endif
  fi
}

/* wait_in(): the ilock of the part is held; park.pml has the parking itself */
inline wait() {
#ifdef MUTATE_1
  unlock_part(part);
#endif
  queue[part] = queue[part] | (1 << me);
  saved[me] = true;
#ifndef MUTATE_1
  unlock_part(part);
#endif
  atomic { resumed[me] -> resumed[me] = false; saved[me] = false }
}

inline open_up() {
  all = 0;
  i = 0;
  do
  :: i < PARTS ->
     if
     :: quota[i] > 0 ->
#ifndef MUTATE_4
        lock_part(i);
#endif
        all = all | queue[i];
        queue[i] = 0;
        owed[i] = quota[i];
#ifndef MUTATE_4
        unlock_part(i);
#endif
        open++
     :: else
     fi;
     i++
  :: else -> break
  od
}

inline resume_all() {
  i = 0;
  do
  :: i < THREADS ->
     if
     :: (all >> i) & 1 -> assert(saved[i] && !resumed[i]); resumed[i] = true
     :: else
     fi;
     i++
  :: else -> break
  od
}

#ifdef MUTATE_7
#define ALL_UNITS true
#else
#define ALL_UNITS (quota[part] == THREADS)
#endif
#ifdef MUTATE_3
#define ENOUGH 0
#else
#define ENOUGH 1
#endif
#ifdef MUTATE_5
#define COMPLETE (open == 0)
#else
#define COMPLETE (open == 0 && given == THREADS)
#endif

inline arrive() {
  if
  :: part = 0
  :: part = 1
  fi;
  lock_part(part);
  if
  :: owed[part] > ENOUGH -> owed[part]--; wait()
  :: owed[part] == 1 && ALL_UNITS -> /* open_alone() */
     all = queue[part];
     queue[part] = 0;
     owed[part] = quota[part];
     unlock_part(part);
     resume_all()
  :: else ->
     unlock_part(part);
     lock_whole();
     lock_part(part);
     if
     :: owed[part] == 0 -> move_unit()
     :: else -> pay(part)
     fi;
     if
     :: COMPLETE ->
        unlock_part(part);
        open_up();
        unlock_whole();
        resume_all()
     :: else -> unlock_whole(); wait()
     fi
  fi
}

proctype thread(byte me) {
  byte round, part, i, all;
  do
  :: round < ROUNDS ->
     round++;
     come[me]++;
     arrive();
     atomic {
       i = 0;
       do
       :: i < THREADS -> assert(come[i] >= round && come[i] <= round + 1); i++
       :: else -> break
       od;
       i = 0; all = 0; part = 0
     }
  :: else -> break
  od
}

init {
  atomic {
    run thread(0);
    run thread(1);
    run thread(2)
  }
}
