/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lock of Craig, and Landin and Hagersten, without a first cell (src/alternatives/spin/clh.c). Three
 * threads acquire and release it twice each.
 *
 * Checked: mutual exclusion; no thread waits forever (all end); a cell is touched only while
 * it has an owner, and freed once.
 */
#define THREADS 3
#define ROUNDS 2
#define CELLS 6
#define LOCK 7 /* word: 0 free, LOCK itself, or a cell 1 to 6 */

byte word, held, inside;
bool grant;
bool released[CELLS + 1], taken[CELLS + 1];
byte spare[THREADS + 1];

inline keep(cell) {
  atomic {
    if
    :: spare[me] != 0 -> assert(taken[spare[me]]); taken[spare[me]] = false
    :: else
    fi;
    spare[me] = cell
  }
}

inline take_cell() {
  atomic {
    mine = spare[me];
    spare[me] = 0;
    if
    :: mine == 0 ->
       mine = 1;
       do
       :: taken[mine] -> mine++
       :: else -> break
       od;
       assert(mine <= CELLS);
       taken[mine] = true
    :: else
    fi
  }
}

inline acquire() {
  if
  :: atomic { word == 0 -> word = LOCK; goto acquired } /* CL-1 */
  :: true
  fi;
  take_cell();
#ifndef MUTATE_1
  released[mine] = false;
#endif
#ifdef MUTATE_2
  last = word;
  word = mine;
#else
  atomic { last = word; word = mine } /* CL-3 */
#endif
  if
  :: last == LOCK ->
     grant; /* CL-2 */
#ifndef MUTATE_3
     grant = false
#endif
  :: last == 0
  :: else ->
     assert(taken[last]);
     released[last];
     keep(last)
  fi;
  held = mine;
acquired:
  skip
}

inline release() {
  mine = held;
#ifndef MUTATE_4
  held = 0;
#endif
  last = (mine != 0 -> mine : LOCK);
  if
#ifdef MUTATE_5
  :: word = 0;
#else
  :: atomic { word == last -> word = 0 } /* CL-4 */
#endif
     if
     :: mine != 0 -> keep(mine)
     :: else
     fi
#ifndef MUTATE_5
  :: atomic { word != last -> skip }
     if
     :: mine == 0 -> grant = true /* CL-5 */
     :: else ->
        assert(taken[mine]);
#ifdef MUTATE_6
        released[mine] = true;
        keep(mine)
#else
        released[mine] = true
#endif
     fi
#endif
  fi
}

proctype thread(byte me) {
  byte round, last, mine;
  do
  :: round < ROUNDS ->
     round++;
     acquire();
     inside++;
     assert(inside == 1);
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
