/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Main waits until it is alone (src/core/life/runtime.c, mt_live() in src/core/life/end.c). VP 0
 * ran main; VP 1 runs a thread that may create another on VP 1 and ends; a bound thread
 * may create one, too, which it posts to VP 1, and ends. A VP with nothing left to run
 * goes to sleep and looks once; VP 1 wakes up for a post.
 *
 * -DKERNEL: the kernel backend, where main is a bound thread and looks only itself.
 *
 * Checked: main continues exactly once, and only when alone; it is never forgotten.
 */
#define CPUS 3 /* VP 0, with main; VP 1; the bound thread */
#define WORDS 3
#include "tso.pml"

/* words of mem[] */
#define CREATED 0 /* by VP 1 */
#define ENDED 1   /* on VP 1 */
#define FINALIZER 2
#ifdef KERNEL
#define BEFORE 1 /* threads main made: the bound one */
#else
#define BEFORE 2 /* and the one on VP 1 */
#endif
byte created_elsewhere = BEFORE, ended_elsewhere;
byte inbox;                                  /* of VP 1 */
byte alive = BEFORE;                         /* what is so */
bool ilock; /* of main; its release drains: stores leave the buffer in order */
bool saved, resumed, gone;

inline lock_main(cpu) { atomic { !ilock -> drain(cpu); ilock = true } }

/* The loads of mt_live(), in its order; main is not counted. */
inline count(cpu, live) {
#ifdef MUTATE_4
  created = created_elsewhere;
  created = created + LOAD(cpu, CREATED);
#endif
  ended = ended_elsewhere;              /* LV-3 */
  ended = ended + LOAD(cpu, ENDED);     /* LV-2 */
#ifndef MUTATE_4
  created = created_elsewhere;
  created = created + LOAD(cpu, CREATED);
#endif
  atomic { live = created - ended; created = 0; ended = 0 }
}

inline finalizer_check(cpu) {
  if
  :: LOAD(cpu, FINALIZER) != 0 -> /* FN-2 */
     count(cpu, live);
     if
     :: live == 0 ->
        lock_main(cpu);
        waits = LOAD(cpu, FINALIZER);
#ifndef MUTATE_6
        store(cpu, FINALIZER, 0);
#endif
        drain(cpu);
        ilock = false;
        if
        :: waits -> assert(saved && !resumed && !gone); resumed = true
        :: else
        fi;
        waits = false
     :: else
     fi;
     live = 0
  :: else
  fi
}

active proctype main() {
  byte live, created, ended;
  bool waits;
  do
  :: count(0, live);
     if
     :: live == 0 -> break
     :: else
     fi;
     lock_main(0);
     store(0, FINALIZER, 1);
#ifndef MUTATE_1
     drain(0); /* FN-1 */
#endif
#ifndef MUTATE_2
     count(0, live);
#endif
     if
     :: live != 0 ->
        /* parks: the idle context releases the ilock, and goes to sleep */
#ifdef MUTATE_5
        ilock = false;
        saved = true;
#else
        saved = true;
        ilock = false;
#endif
        live = 0;
#ifndef KERNEL
        heavy_fence(0); /* ID-2 */
        finalizer_check(0);
#endif
        resumed;
        resumed = false;
        saved = false
     :: else -> store(0, FINALIZER, 0); drain(0); ilock = false
     fi
  od;
  assert(alive == 0);
  gone = true
}

#ifndef KERNEL
active proctype vp1() {
  byte live, created, ended, ready = 1;
  bool waits, again = true;
  do
  :: ready > 0 -> /* runs a thread to its end */
     if
     :: again -> /* which creates another */
        alive++;
        created = LOAD(1, CREATED) + 1;
        store(1, CREATED, created);
        created = 0;
        ready++
     :: true
     fi;
     atomic { again = false; ready--; alive-- }
     ended = LOAD(1, ENDED) + 1;
     store(1, ENDED, ended); /* LV-1 */
     ended = 0
  :: ready == 0 && inbox > 0 -> atomic { drain(1); ready = inbox; inbox = 0 }
  :: ready == 0 && inbox == 0 ->
#ifndef MUTATE_3
     heavy_fence(1); /* ID-2 */
#endif
     finalizer_check(1);
end:
     inbox > 0 /* asleep */
  od
}

#endif

active proctype bound() {
  byte live, created, ended;
  bool waits;
#ifndef KERNEL
  if
  :: atomic { alive++; created_elsewhere++ }
     inbox++
  :: true
  fi;
#endif
  alive--;
  atomic { drain(2); ended_elsewhere++ } /* LV-4 */
#ifndef MUTATE_7
  finalizer_check(2)
#endif
}
