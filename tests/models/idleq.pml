/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handing a thread to an idle VP (src/alternatives/strategy/idleq.c). One VP enters the idle queue,
 * looks, leaves whenever it likes, and sleeps; two creators take it out of the queue to
 * give it a thread, or put it back: what they create needs no VP (mt_idleq_forget()).
 *
 * Sleeping and waking are as in idle.pml, which explores their memory order; what is handed
 * over is ordered by the flag (IQ-1, IQ-2) and the queue's lock, so each step is atomic here.
 *
 * Checked: a VP is given one thread at a time, and none while it sleeps; each thread runs once;
 * the VP does not wait for a thread that nobody will give it.
 */
#define CREATORS 2
#define THREADS 2 /* of each */
#define TOTAL (CREATORS * THREADS)

bool ilock;  /* the lock of the idle queue */
bool queued; /* the VP is in it */
bool asleep;
byte handed;  /* the VP's flag: threads given to it */
byte central; /* threads in the ready queue */
byte ran, forgotten;

inline lock() { atomic { !ilock -> ilock = true } }

active proctype vp() {
  bool waits;
  do
  :: ran + forgotten == TOTAL -> break
  :: else ->
     if /* mt_idleq_enter(): unless there is a backlog */
     :: central == 0 -> waits = true; lock(); queued = true; ilock = false
     :: else
     fi;
     /* it looks around, for as long as it likes */
#ifndef MUTATE_5
     do /* mt_idleq_leave() */
     :: waits ->
        (handed > 0 || queued); /* else the taker will do one of the two */
        if
        :: handed > 0 -> waits = false
        :: else ->
           lock();
           if
           :: queued -> queued = false; waits = false
           :: else
#ifdef MUTATE_1
              -> waits = false
#endif
           fi;
           ilock = false
        fi
     :: else -> break
     od;
#endif
     if
     :: handed > 0 -> atomic { handed--; ran++ }
     :: handed == 0 ->
        atomic {
          if
          :: central > 0 -> central--; ran++
          :: else -> asleep = true
          fi
        };
        if
        :: asleep ->
           assert(handed == 0);
           if
           :: central > 0 || ran + forgotten == TOTAL -> asleep = false /* its last look */
           :: !asleep || (ran + forgotten == TOTAL)                     /* or it is woken */
           fi
        :: else
        fi
     fi
  od
}

active [CREATORS] proctype creator() {
  byte made;
  bool took;
  do
  :: made == THREADS -> break
  :: else ->
     made++;
     took = false;
#ifdef MUTATE_3
     if
     :: queued -> took = true; queued = false
     :: else
     fi;
#else
     lock(); /* dequeue() */
     if
     :: queued -> took = true; queued = false
     :: else
     fi;
     ilock = false;
#endif
     if
     :: atomic { true -> forgotten++ }; /* mt_idleq_forget() */
#ifndef MUTATE_2
        if
        :: took -> lock(); queued = true; ilock = false
        :: else
        fi
#endif
     :: took -> /* hand_over() */
        assert(handed == 0 && !asleep);
        handed++;
#ifdef MUTATE_4
        atomic { central++; asleep = false }
#endif
     :: !took -> atomic { central++; asleep = false }
     fi
  od
}
