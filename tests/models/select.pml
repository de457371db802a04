/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Select over two channels of capacity 0 (src/sync/channel.c, select.c): two receivers
 * wait for both, the first with a deadline that comes whenever it likes; two senders
 * wait for both. Each does one select, or never comes, and begins with either channel.
 * All are the same code: serve a waiting partner, else wait.
 *
 * Checked: an element is received once and only if its sender returned success; of a select
 * one case happens, or the deadline; an arrival finds the waiters, and no thread sleeps
 * beside a partner; nobody touches the stack of a select that is over; a thread is
 * resumed once, with its registers saved; no two lock channels in a circle.
 *
 * Everything is under ilocks, so memory is taken to be in order (tso.pml is not needed);
 * the timer's look at a place without a ilock is park.pml's.
 */
#define THREADS 4
#define CHANNELS 2
#define SENDS(t) ((t) >= 2)
#define NOBODY 9

bool ilock[CHANNELS], place[THREADS]; /* held */
bool queued[8];                       /* by thread * CHANNELS + channel: a case that waits */
bool in_place[THREADS];               /* waits to be taken out, once */
bool saved[THREADS], resumed[THREADS], alive[THREADS]; /* alive: its stack frame is there */
byte got[THREADS];                    /* elements sent or received by each thread */
bool came[THREADS], over[THREADS];
bool armed, timed_out;                /* of the first */

#define CASE(t, c) ((t) * CHANNELS + (c))

inline lock(g) { atomic { !g -> g = true } }

inline resume(t) {
  assert(saved[t] && !resumed[t] && !in_place[t]);
  resumed[t] = true
}

/* Finds a partner that waits at channel c and takes it out of its place. Guard held.
 * The order of a queue is that of the threads' numbers here. */
inline serve(c) {
  first = (SENDS(me) -> 0 : 2);
  partner = NOBODY;
  other = first;
  do
  :: other < first + 2 && partner == NOBODY ->
     if
     :: queued[CASE(other, c)] ->
        assert(alive[other]); /* or its case lies on a stack that is used for other things */
        lock(place[other]);
        atomic {
          if
#ifdef MUTATE_1
          :: true -> partner = other; in_place[other] = false
#else
          :: in_place[other] -> partner = other; in_place[other] = false
          :: else
#endif
          fi;
          queued[CASE(other, c)] = false;
          place[other] = false
        }
#ifdef MUTATE_2
        if
        :: partner == NOBODY -> break /* does not ask the next */
        :: else
        fi
#endif
     :: else
     fi;
     other++
  :: else -> break
  od
}

inline lock_both() {
#ifdef MUTATE_3
  lock(ilock[mine]);
  lock(ilock[1 - mine])
#else
  lock(ilock[0]);
  lock(ilock[1])
#endif
}

inline unlock_both() { atomic { ilock[0] = false; ilock[1] = false } }

inline try_both() {
  serve(mine);
  if
  :: partner == NOBODY -> serve(1 - mine)
  :: else
  fi
}

active [THREADS] proctype selector() {
  byte me = _pid, partner, other, first, c;
  byte mine; /* the channel it begins with */
  if
  :: mine = 0
  :: mine = 1
  :: goto away
  fi;
  came[me] = true;
  alive[me] = true;
  lock_both();
  try_both();
#ifdef MUTATE_4
  if
  :: partner == NOBODY -> unlock_both(); lock_both() /* enters the queues without a look */
  :: else
  fi;
#endif
  if
  :: partner != NOBODY ->
     unlock_both();
     got[me]++;
     got[partner]++;
     resume(partner);
     goto through
  :: else
  fi;
  atomic { queued[CASE(me, 0)] = true; queued[CASE(me, 1)] = true }
  lock(place[me]);
  in_place[me] = true;
  if
  :: me == 0 -> armed = true
  :: else
  fi;
  unlock_both();
#ifdef MUTATE_5
  place[me] = false;
  saved[me] = true;
#else
  saved[me] = true;
  place[me] = false; /* by the next thread */
#endif
end_parked:
  resumed[me];
  atomic { resumed[me] = false; saved[me] = false }
  c = 0;
  do
  :: c < CHANNELS ->
#ifndef MUTATE_6
     lock(ilock[c]);
     atomic { queued[CASE(me, c)] = false; ilock[c] = false };
#endif
     c++
  :: else -> break
  od;
through:
  atomic { armed = (me == 0 -> false : armed); alive[me] = false; over[me] = true }
away:
  skip
}

/* The first receiver's deadline; disarmed when its select is over. */
active proctype timer() {
  bool taken;
end:
  armed;
  lock(place[0]);
  atomic { taken = in_place[0]; in_place[0] = false; place[0] = false };
  if
  :: taken -> timed_out = true; resume(0)
  :: else
  fi
}

/* When nothing moves any more. */
active proctype judge() {
  timeout;
  byte t;
  /* a thread that still waits has no waiting partner */
  assert(!((in_place[0] || in_place[1]) && (in_place[2] || in_place[3])));
  t = 0;
  do
  :: t < THREADS ->
     assert(!came[t] || over[t] || (in_place[t] && got[t] == 0)); /* through, or parked */
     assert(!over[t] || got[t] == (t == 0 && timed_out -> 0 : 1)); /* once, or the deadline */
     t++
  :: else -> break
  od;
  assert(got[0] + got[1] == got[2] + got[3])
}
