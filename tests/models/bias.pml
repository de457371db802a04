/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An internal lock whose takers may be alone (src/base/single_threaded.h). The owner of the bias
 * takes the lock by a load and a store, two others take it by a locked instruction after they have
 * revoked the bias.
 *
 * Checked: never two hold the lock, and everybody comes to an end.
 */
#define CPUS 3 /* the owner, two others */
#define WORDS 3
#include "tso.pml"

/* words of mem[] */
#define LOCK 0
#define INSIDE 1
#define LOST 2 /* the owner's share is not MINE */
#define ROUNDS 2

mtype = { NONE, OWNED, REVOKED };
mtype state = OWNED; /* changed by locked instructions, or before a fence */
byte holders;

inline hold(cpu) {
  holders++;
  assert(holders == 1);
  holders--;
  store(cpu, LOCK, 0) /* SP-3 */
}

inline take_locked(cpu, got) {
  atomic {
    drain(cpu);
    got = (mem[LOCK] == 0);
    if
    :: got -> mem[LOCK] = 1
    :: else
    fi
  }
}

inline settle() {
#ifndef MUTATE_5
  store(0, INSIDE, 0); /* BI-8 */
#endif
  (state == NONE) /* BI-6 */
}

active proctype owner() {
  byte round;
  bool got, alone, lost;
  do
  :: round < ROUNDS ->
     if
     :: !lost ->
        store(0, INSIDE, 1);
        light_fence(0); /* BI-4 */
#ifdef MUTATE_1
        alone = true
#else
        alone = (LOAD(0, LOST) == 0)
#endif
     :: else -> alone = false
     fi;
     if
     :: alone ->
        got = (LOAD(0, LOCK) == 0); /* SP-2 */
        if
        :: got -> store(0, LOCK, 1)
        :: else
        fi;
        store(0, INSIDE, 0) /* BI-1 */
     :: else ->
        if
        :: !lost -> settle(); lost = true
        :: else
        fi;
        take_locked(0, got) /* SP-1 */
     fi;
     if
     :: got -> hold(0); round++
     :: else
     fi;
     got = false
  :: else -> break
  od
}

inline revoke(cpu) {
  if
  :: atomic { state == OWNED -> drain(cpu); state = REVOKED }
     store(cpu, LOST, 1);
#ifndef MUTATE_2
     atomic { heavy_fence(cpu) }; /* BI-2 */
#endif
#ifndef MUTATE_3
     (mem[INSIDE] == 0); /* BI-3 */
#endif
     state = NONE /* BI-5 */
#ifdef MUTATE_4
  :: state != OWNED
#else
  :: state == NONE /* BI-6 */
#endif
  fi
}

proctype other(byte cpu) {
  bool got;
  revoke(cpu);
  do
  :: take_locked(cpu, got);
     if
     :: got -> hold(cpu); break
     :: else
     fi
  od
}

init {
  atomic { run other(1); run other(2) }
}
