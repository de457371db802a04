/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a collective (src/tmpi/coll/phase.h): four members in two local groups of two, ROUNDS times.
 * In each phase a member publishes its number, and reads the others' after it. With -DSPINS a waiter
 * first spins on the count of openings, and then parks.
 *
 * Guards are locks, so that memory is as each holder left it: no store buffers. What is published
 * before a phase is seen after it, since an arrival takes a lock and the opener has taken it later.
 *
 * Checked: no thread waits forever (all end); what is read was published for this phase; a
 * thread is resumed once, with its registers saved.
 */
#define MEMBERS 4
#ifndef ROUNDS
#define ROUNDS 3
#endif
#define TOP 2 /* the barriers: of group 0, of group 1, of the last arrivals */

bool ilock[3];
byte missing[3] = 2;
byte waiter[3] = MEMBERS; /* the waiter at a barrier; MEMBERS: none */
bool saved[MEMBERS], resumed[MEMBERS];
byte slot[8]; /* two sets of MEMBERS */
byte opened[3]; /* so often: with -DSPINS */

inline lock(g) { atomic { !ilock[g] -> ilock[g] = true } }

#ifdef MUTATE_4
#define SLOT(round, member) slot[member]
#else
#define SLOT(round, member) slot[((round) % 2) * MEMBERS + member]
#endif

/* The ilock is held. */
inline park(g) {
  waiter[g] = _pid;
#ifdef MUTATE_2
  ilock[g] = false;
  saved[_pid] = true;
#else
  saved[_pid] = true;
  ilock[g] = false;
#endif
  atomic { resumed[_pid] -> resumed[_pid] = false; saved[_pid] = false }
}

/* tm_arrive() */
inline come(g) {
  lock(g);
  missing[g]--;
  if
  :: missing[g] == 0 ->
#ifndef MUTATE_1
     missing[g] = 2;
#endif
     last = true;
     ilock[g] = false
  :: else ->
     last = false;
#ifdef SPINS
     d_step { before = opened[g]; ilock[g] = false };
     if
     :: opened[g] != before
     :: true -> /* its time is over */
        lock(g);
        if
#ifndef MUTATE_5
        :: opened[g] != before -> ilock[g] = false
#endif
        :: else -> park(g)
        fi
     fi;
     before = 0
#else
     park(g)
#endif
  fi
}

#ifdef SPINS
/* tm_team_barrier_release() */
inline open(g) {
#ifndef MUTATE_6
  lock(g);
#endif
  opened[g]++;
  woken = waiter[g];
  waiter[g] = MEMBERS;
  if
  :: woken != MEMBERS -> atomic { assert(saved[woken] && !resumed[woken]); resumed[woken] = true }
  :: else
  fi;
#ifndef MUTATE_6
  ilock[g] = false
#endif
}
#else
/* mti_resume_all() */
inline open(g) {
  woken = waiter[g];
  waiter[g] = MEMBERS;
#ifdef MUTATE_1
  if
  :: woken != MEMBERS -> atomic { assert(saved[woken] && !resumed[woken]); resumed[woken] = true }
  :: else
  fi;
  missing[g] = 2
#else
  atomic { assert(woken != MEMBERS && saved[woken] && !resumed[woken]); resumed[woken] = true }
#endif
}
#endif

active [MEMBERS] proctype member() {
  byte round = 1, other, woken, before;
  bool last;
  do
  :: round <= ROUNDS ->
     SLOT(round, _pid) = round;
     come(_pid / 2);
     if
     :: last ->
        come(TOP);
        if
        :: last -> open(TOP)
        :: else
        fi;
#ifdef MUTATE_3
        if
        :: last -> open(_pid / 2)
        :: else
        fi
#else
        open(_pid / 2)
#endif
     :: else
     fi;
     d_step { /* at any moment: early for what is not there yet, late for what no longer is */
       other = 0;
       do
       :: other < MEMBERS -> assert(SLOT(round, other) == round); other++
       :: else -> break
       od;
       other = 0;
       woken = 0;
       round++
     }
  :: else -> break
  od
}
