/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of two members that spin (src/tmpi/coll/pair.c), ROUNDS times. In each phase a member
 * puts its number into its side, comes, and reads what its partner has put there. A waiter spins
 * or, at any time, parks.
 *
 * The words change by locked instructions, which drain the store buffer, and what a member brings
 * was stored before. So there are no store buffers here.
 *
 * Checked: no member waits forever (both end); what is read was brought to this phase; a member is
 * resumed once, with its registers saved.
 */
#ifndef ROUNDS
#define ROUNDS 4
#endif
#define NOBODY 2

bool ilock;
byte word[4];    /* the phase that a member has come to: two sets, by member */
bool parked[4];  /* the lowest bit of that word */
byte brought[4]; /* beside it */
byte waiter = NOBODY; /* in the queue */
bool saved[2], resumed[2];

#ifdef MUTATE_4
#define SIDE(round, member) (member)
#else
#define SIDE(round, member) (((round) % 2) * 2 + (member))
#endif

inline lock() { atomic { !ilock -> ilock = true } }

/* The ilock is held. */
inline park() {
  waiter = _pid;
#ifdef MUTATE_5
  ilock = false;
  saved[_pid] = true;
#else
  saved[_pid] = true;
  ilock = false;
#endif
  atomic { resumed[_pid] -> resumed[_pid] = false; saved[_pid] = false }
}

/* wait_for(), when its time is over */
inline give_up(theirs) {
  lock();
#ifdef MUTATE_1
  asked = word[theirs] == round;
  if
  :: asked -> skip
  :: else -> parked[theirs] = true /* whatever the word is by now */
  fi;
#else
  atomic {
    asked = word[theirs] == round;
    if
    :: asked -> skip
    :: else -> parked[theirs] = true
    fi
  };
#endif
  if
  :: asked -> ilock = false
  :: else -> park()
  fi;
  asked = false
}

active [2] proctype member() {
  byte round = 1;
  bool asked;
  do
  :: round <= ROUNDS ->
     brought[SIDE(round, _pid)] = round;
#ifdef MUTATE_2
     asked = parked[SIDE(round, _pid)];
     atomic { word[SIDE(round, _pid)] = round; parked[SIDE(round, _pid)] = false };
#else
     atomic {
       asked = parked[SIDE(round, _pid)];
       word[SIDE(round, _pid)] = round;
       parked[SIDE(round, _pid)] = false
     };
#endif
     if
     :: asked -> /* tm_release_vp_group() */
#ifndef MUTATE_3
        lock();
#endif
        d_step {
          assert(waiter == 1 - _pid && saved[waiter] && !resumed[waiter]);
          resumed[waiter] = true;
          waiter = NOBODY
        };
#ifndef MUTATE_3
        ilock = false;
#endif
        asked = false
     :: else
     fi;
     do
     :: word[SIDE(round, 1 - _pid)] == round -> break
     :: word[SIDE(round, 1 - _pid)] != round -> give_up(SIDE(round, 1 - _pid))
     od;
     atomic { assert(brought[SIDE(round, 1 - _pid)] == round); round++ }
  :: else -> break
  od
}
