/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where sends and receives meet (src/tmpi/mailbox/mailbox.h). Thread 0 receives all messages, of
 * whomever: each time it either blocks, or posts the receive, and then waits for the request. Thread
 * 1 sends it two, blocking, each either eager, in the fast box if nothing else is there, else in a
 * cell if one is free, or left with the sender; thread
 * 2 sends one that stays with it, and waits for the request. With -DEAGER all is eager, and thread 1
 * sends three: the fast box and the cell are used again.
 *
 * A receive may copy itself, as one of many bytes does: thread 2 then hands it the message.
 *
 * Guards are locks, so that memory is as each holder left it: no store buffers. Bins are left out:
 * everything fits everything.
 *
 * Checked: no thread waits forever (all end); a rank that continues has its data, or they were taken; the
 * messages of thread 1 come in order; a thread is resumed once, with its registers saved.
 */
#ifdef EAGER
#define SENDS 3 /* of thread 1 */
#else
#define SENDS 2
#endif
#define RECEIVES (SENDS + 1)
#define NONE 9

bool ilock, guard2;         /* of the receiver's box; of thread 2's */
bool saved[3], resumed[3];  /* threads */

/* requests of receives, 0 to 2; data: 0 none yet, 10 * sender + number */
bool posted[RECEIVES], blocks[RECEIVES], complete[RECEIVES], waited[RECEIVES];
bool copies[RECEIVES], handed[RECEIVES];
byte data[RECEIVES];
chan queue = [RECEIVES] of { byte }; /* posted receives, the oldest first */

/* messages: data, whether in the cell, the thread it stays with (NONE: none) */
chan arrived = [RECEIVES] of { byte, bool, byte };
byte fast;                  /* what is in the fast box; 0: nothing */
byte cell;                  /* what is in it */
bool cell_free = true;
bool taken[3];              /* the data of a thread's message have been copied */
bool done2, waited2;        /* the request of thread 2 */

inline lock(g) { atomic { !g -> g = true } }

inline park(me, g) {
#ifdef MUTATE_2
  g = false; /* before the registers are saved */
  saved[me] = true;
#else
  saved[me] = true;
  g = false; /* by the next thread */
#endif
  atomic { resumed[me] -> resumed[me] = false; saved[me] = false }
}

inline resume(t) { atomic { assert(saved[t] && !resumed[t]); resumed[t] = true } }

/* tm_request_complete() of a receive */
inline complete_receive(r) {
#ifndef MUTATE_4
  lock(ilock);
#endif
  complete[r] = true;
  wakes = waited[r];
#ifndef MUTATE_4
  ilock = false;
#endif
  if
  :: wakes -> resume(0)
  :: else
  fi
}

/* deliver(): the receive r has been taken out of the queue. */
inline deliver(what) {
#ifdef MUTATE_5
  if
  :: blocks[r] -> resume(0); data[r] = what
  :: else -> data[r] = what; complete_receive(r)
  fi
#else
  data[r] = what;
  if
  :: blocks[r] -> resume(0)
  :: else -> complete_receive(r)
  fi
#endif
}

/* hand_over(): the same, but its thread copies. */
inline hand_over() {
  handed[r] = true;
  if
  :: blocks[r] -> resume(0)
  :: else -> complete_receive(r)
  fi
}

/* tm_request_complete() of thread 2's send, by the receiver */
inline complete_send() {
  taken[2] = true;
  lock(guard2);
  done2 = true;
  wakes = waited2;
  guard2 = false;
  if
  :: wakes -> resume(2)
  :: else
  fi
}

active proctype receiver() {
  byte r, what, sender, last, got;
  bool in_cell, wakes;
  do
  :: r < RECEIVES ->
     if
     :: blocks[r] = true
     :: blocks[r] = false
     fi;
#ifndef EAGER
     if
     :: copies[r] = true
     :: copies[r] = false
     fi;
#endif
     lock(ilock);
     if
#ifdef MUTATE_10
     :: fast != 0 && empty(arrived) -> /* what came later first */
#else
     :: fast != 0 ->
#endif
        what = fast;
        fast = 0;
        ilock = false;
        data[r] = what
#ifdef MUTATE_10
     :: nempty(arrived) ->
#else
     :: fast == 0 && nempty(arrived) ->
#endif
#ifdef MUTATE_7
        if /* the newest */
        :: len(arrived) == 1 -> arrived?what, in_cell, sender
        :: len(arrived) == 2 -> arrived?what, in_cell, sender; arrived!what, in_cell, sender;
           arrived?what, in_cell, sender
        :: len(arrived) == 3 -> arrived?what, in_cell, sender; arrived!what, in_cell, sender;
           arrived?what, in_cell, sender; arrived!what, in_cell, sender;
           arrived?what, in_cell, sender
        fi;
#else
        arrived?what, in_cell, sender;
#endif
        if
        :: in_cell ->
           cell_free = true;
#ifdef MUTATE_8
           ilock = false;
           what = cell
#else
           what = cell;
           ilock = false
#endif
        :: else -> ilock = false
        fi;
        data[r] = what;
        if
        :: sender == 1 -> taken[1] = true; resume(1)
        :: sender == 2 ->
           complete_send()
        :: else
        fi
     :: fast == 0 && empty(arrived) && blocks[r] ->
#ifdef MUTATE_1
        queue!r;
        ilock = false;
        lock(ilock);
        park(0, ilock)
#else
        queue!r;
        park(0, ilock)
#endif
     :: fast == 0 && empty(arrived) && !blocks[r] ->
        queue!r;
        ilock = false;
        /* tm_requests_wait() */
        lock(ilock);
#ifndef MUTATE_6
        if
        :: complete[r] -> ilock = false
        :: else -> waited[r] = true; park(0, ilock)
        fi
#else
        waited[r] = true;
        park(0, ilock)
#endif
     fi;
#ifndef MUTATE_11
     if
     :: handed[r] -> data[r] = 21; complete_send()
     :: else
     fi;
#endif
     got = data[r];
     assert(got != 0);
     if
     :: got / 10 == 1 -> assert(got % 10 == last + 1); last = got % 10
     :: else
     fi;
     r++
  :: else -> break
  od
}

/* send_or_leave() until the message is left or the receive taken; then the ilock is held, or not. */
inline find_or_make(what, eager) {
  r = NONE;
  in_cell = false;
  in_fast = false;
  lock(ilock);
  if
  :: nempty(queue) -> queue?r
#ifdef MUTATE_9
  :: empty(queue) && eager && fast == 0 -> /* older ones are there */
#else
  :: empty(queue) && eager && fast == 0 && empty(arrived) ->
#endif
     in_fast = true; fast = what
  :: else ->
     if
     :: eager && cell_free -> in_cell = true; cell_free = false; cell = what
     :: else ->
        ilock = false; /* to allocate */
        lock(ilock);
#ifndef MUTATE_3
        if
        :: nempty(queue) -> queue?r
        :: else
        fi
#endif
     fi
  fi
}

active proctype sender() {
  byte number = 1, r;
  bool eager, in_cell, in_fast, wakes;
  do
  :: number <= SENDS ->
     if
     :: eager = true
#ifndef EAGER
     :: eager = false
#endif
     fi;
     find_or_make(10 + number, eager);
     if
     :: r != NONE -> ilock = false; deliver(10 + number)
     :: in_fast -> ilock = false
     :: r == NONE && eager && !in_fast -> arrived!10 + number, in_cell, NONE; ilock = false
     :: r == NONE && !eager ->
        arrived!10 + number, false, 1;
        park(1, ilock);
        assert(taken[1]);
        taken[1] = false
     fi;
     number++
  :: else -> break
  od
}

active proctype other() {
  byte r;
  bool in_cell, in_fast, wakes;
#ifdef EAGER
  find_or_make(21, true);
#else
  find_or_make(21, false);
#endif
  if
#ifdef EAGER
  :: r != NONE -> ilock = false; deliver(21)
  :: in_fast -> ilock = false
  :: else -> arrived!21, in_cell, NONE; ilock = false
#else
  :: r != NONE && !copies[r] -> ilock = false; deliver(21); done2 = true; taken[2] = true
  :: r != NONE && copies[r] ->
     ilock = false;
#ifdef MUTATE_12
     done2 = true;
#endif
     hand_over()
  :: else -> arrived!21, false, 2; ilock = false
#endif
  fi;
#ifndef EAGER
  lock(guard2);
  if
  :: done2 -> guard2 = false
  :: else -> waited2 = true; park(2, guard2)
  fi;
  assert(taken[2])
#endif
}
