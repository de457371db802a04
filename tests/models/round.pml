/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The turns of a simulation in parallel (src/sim/round.c): three hosts take a turn each, in three rounds.
 * Each notes an effect; some want to be in order (mltp_sim_ordered()) first.
 *
 * Guards are locks, so that memory is as each holder left it: no store buffers.
 *
 * Checked: no thread waits forever (all end); an ordered step finds all steps before its own over; the thread that
 * applies the effects is alone and finds each step's; a host is resumed once, with its registers saved.
 */
#define HOSTS 3
#define ROUNDS 3

bool ilock;
bool parking[HOSTS];
byte earliest;
bool over[HOSTS], waits[HOSTS], busy[HOSTS];
bool saved[HOSTS], resumed[HOSTS];
byte noted[HOSTS]; /* the round whose effect it has noted */
byte round = 1;

inline lock(g) { atomic { !g -> g = true } }

inline resume(who) { atomic { assert(saved[who] && !resumed[who]); resumed[who] = true } }

inline go_on() { atomic { resumed[_pid] -> resumed[_pid] = false; saved[_pid] = false } }

/* mti_park_unlock() */
inline park(g) {
  saved[_pid] = true;
  g = false;
  go_on()
}

/* mltp_sim_ordered() */
inline ordered() {
#ifdef MUTATE_5
  if
  :: earliest == _pid
  :: else ->
     lock(ilock);
     waits[_pid] = true;
     park(ilock)
  fi;
#else
  lock(ilock);
  if
  :: earliest == _pid -> ilock = false
  :: else ->
     waits[_pid] = true;
#ifdef MUTATE_3
     ilock = false;
     saved[_pid] = true;
     go_on()
#else
     park(ilock)
#endif
  fi;
#endif
  i = 0;
  do
  :: i < _pid -> assert(!busy[i] && noted[i] == round); i++
  :: else -> break
  od
}

/* sm_step_over(): last says whether the round is */
inline step_over() {
#ifndef MUTATE_1
  lock(parking[_pid]);
#endif
  lock(ilock);
  over[_pid] = true;
  do
  :: earliest < HOSTS && over[earliest] -> earliest++
  :: else -> break
  od;
  last = earliest == HOSTS;
  woken = HOSTS;
  if
  :: !last && waits[earliest] -> woken = earliest; waits[earliest] = false
  :: else
  fi;
  ilock = false;
#ifndef MUTATE_4
  if
  :: woken < HOSTS -> resume(woken)
  :: else
  fi;
#endif
  if
  :: !last ->
#ifdef MUTATE_1
     lock(parking[_pid]);
#endif
     park(parking[_pid])
  :: else ->
#ifndef MUTATE_1
     parking[_pid] = false
#endif
  fi
}

/* do_effects(), by the last one */
inline effects() {
  i = 0;
  do
  :: i < HOSTS -> assert(!busy[i] && noted[i] == round); i++
  :: else -> break
  od
}

/* sm_round_start(), where the next round's turns are the same hosts' */
inline start() {
  i = 0;
  do
  :: i < HOSTS -> over[i] = false; i++
  :: else -> break
  od;
  earliest = 0;
  round++;
  i = 0;
  do
  :: i < HOSTS ->
     if
     :: i != _pid ->
#ifndef MUTATE_2
        lock(parking[i]);
        parking[i] = false;
#endif
        resume(i)
     :: else
     fi;
     i++
  :: else -> break
  od
}

active [HOSTS] proctype host() {
  byte mine = 1, i, woken;
  bool last;
  do
  :: mine <= ROUNDS ->
     assert(round == mine);
     busy[_pid] = true;
     if
     :: ordered()
     :: skip
     fi;
     noted[_pid] = mine;
     busy[_pid] = false;
     step_over();
     if
     :: last -> effects(); start()
     :: else
     fi;
     mine++
  :: else -> break
  od
}
