/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The members of a team meet (src/tmpi/coll/team.h): four, in two crews of two, three times. For each
 * meeting each publishes its number, and reads the others' after it.
 *
 * Guards are locks, so that memory is as each holder left it: no store buffers. What is published
 * before a meeting is seen after it, since who comes takes a guard and who opens has taken it later.
 *
 * Checked: nobody waits for ever (all end); what is read was published for this meeting; a
 * thread is resumed once, with its registers saved.
 */
#define MEMBERS 4
#define ROUNDS 3
#define TOP 2 /* the gates: of crew 0, of crew 1, of the last of both */

bool guard[3];
byte missing[3] = 2;
byte waiter[3] = MEMBERS; /* who waits at a gate; MEMBERS: nobody */
bool saved[MEMBERS], resumed[MEMBERS];
byte slot[8]; /* two sets of MEMBERS */

inline lock(g) { atomic { !guard[g] -> guard[g] = true } }

#ifdef MUTATE_4
#define SLOT(round, member) slot[member]
#else
#define SLOT(round, member) slot[((round) % 2) * MEMBERS + member]
#endif

/* tm_come() */
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
     waiter[g] = _pid;
#ifdef MUTATE_2
     guard[g] = false;
     saved[_pid] = true;
#else
     saved[_pid] = true;
     guard[g] = false;
#endif
     atomic { resumed[_pid] -> resumed[_pid] = false; saved[_pid] = false }
  fi
}

/* mt_seam_resume_all() */
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

active [MEMBERS] proctype member() {
  byte round = 1, other, woken;
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
     other = 0;
     do
     :: other < MEMBERS -> assert(SLOT(round, other) == round); other++
     :: else -> break
     od;
     round++
  :: else -> break
  od
}
