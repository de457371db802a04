/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The array queue (src/alternatives/spin/array.c), with fewer places than contenders. Three threads acquire
 * and release it twice each, waiting in line or by trying.
 *
 * Checked: mutual exclusion; no thread waits forever (all end); numbers are served in order.
 */
#define THREADS 3
#define ROUNDS 2
#define PLACES 2

byte word, grant, inside;
byte taps[PLACES];

inline acquire() {
  if
  :: /* trylock */
     mine = grant; /* AQ-5 */
#ifdef MUTATE_1
     if
     :: word == mine -> word = mine + 1; goto acquired
#else
     if
     :: atomic { word == mine -> word++; goto acquired }
#endif
     :: else
     fi
  :: true
  fi;
  atomic { mine = word; word++ }
  do
  ::
#ifdef MUTATE_2
     if
     :: grant == mine -> goto acquired
     :: else
     fi;
     seen = taps[mine % PLACES];
#else
     seen = taps[mine % PLACES]; /* AQ-1 */
     if
     :: grant == mine -> goto acquired /* AQ-2 */
     :: else
     fi;
#endif
     taps[mine % PLACES] != seen;
#ifdef MUTATE_3
     goto acquired
#endif
  od;
acquired:
  skip
}

inline release() {
#ifdef MUTATE_4
  taps[(grant + 1) % PLACES]++;
  grant++
#else
  atomic { mine = grant + 1; grant = mine } /* AQ-3: only the holder writes it */
  taps[mine % PLACES]++ /* AQ-4 */
#endif
}

proctype thread(byte me) {
  byte round, mine, seen;
  do
  :: round < ROUNDS ->
     round++;
     acquire();
     inside++;
     assert(inside == 1 && grant == mine);
     inside--;
     release()
  :: else -> break
  od
}

init {
  atomic {
    run thread(1);
    run thread(2);
    run thread(3)
  }
}
