/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An internal lock whose takers may be alone (src/base/single_threaded.h). The owner of the bias
 * takes the lock by a load and a store, two others take it by a locked instruction after they have
 * revoked the bias.
 *
 * Checked: never two hold the lock, and everybody comes to an end.
 */
#define CPUS 3 /* the owner, two others */
#define WORDS 2
#include "tso.pml"

/* words of mem[] */
#define LOCK 0
#define INSIDE 1
#define ROUNDS 2

mtype = { NONE, OWNED, REVOKED };
mtype state = OWNED; /* changed by others, by locked instructions or before a fence of theirs */
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

active proctype owner() {
  byte round;
  bool got, alone;
  do
  :: round < ROUNDS ->
     store(0, INSIDE, 1);
     light_fence(0); /* BI-4 */
#ifdef MUTATE_1
     alone = true;
#else
     alone = (state == OWNED);
#endif
     if
     :: alone ->
        got = (LOAD(0, LOCK) == 0); /* SP-2 */
        if
        :: got -> store(0, LOCK, 1)
        :: else
        fi;
        store(0, INSIDE, 0) /* BI-1 */
     :: else ->
        store(0, INSIDE, 0);
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
