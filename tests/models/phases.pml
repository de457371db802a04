/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a team meet (src/tmpi/coll/phase.h): four, in two crews of two, ROUNDS times. For each
 * meeting each publishes its number, and reads the others' after it. With -DSPINS who has to wait
 * looks for a while whether the gate has been opened, and parks then.
 *
 * Guards are locks, so that memory is as each holder left it: no store buffers. What is published
 * before a meeting is seen after it, since who comes takes a guard and who opens has taken it later.
 *
 * Checked: nobody waits for ever (all end); what is read was published for this meeting; a
 * thread is resumed once, with its registers saved.
 */
#define MEMBERS 4
#ifndef ROUNDS
#define ROUNDS 3
#endif
#define TOP 2 /* the gates: of crew 0, of crew 1, of the last of both */

bool guard[3];
byte missing[3] = 2;
byte waiter[3] = MEMBERS; /* who waits at a gate; MEMBERS: nobody */
bool saved[MEMBERS], resumed[MEMBERS];
byte slot[8]; /* two sets of MEMBERS */
byte opened[3]; /* so often: with -DSPINS */

inline lock(g) { atomic { !guard[g] -> guard[g] = true } }

#ifdef MUTATE_4
#define SLOT(round, member) slot[member]
#else
#define SLOT(round, member) slot[((round) % 2) * MEMBERS + member]
#endif

/* The guard is held. */
inline park(g) {
  waiter[g] = _pid;
#ifdef MUTATE_2
  guard[g] = false;
  saved[_pid] = true;
#else
  saved[_pid] = true;
  guard[g] = false;
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
     guard[g] = false
  :: else ->
     last = false;
#ifdef SPINS
     d_step { before = opened[g]; guard[g] = false };
     if
     :: opened[g] != before
     :: true -> /* its time is over */
        lock(g);
        if
#ifndef MUTATE_5
        :: opened[g] != before -> guard[g] = false
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
  guard[g] = false
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
