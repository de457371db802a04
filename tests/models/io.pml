/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readiness of a descriptor (src/io/fd.h): two threads read bytes that a writer outside writes, a
 * poller takes reports from the kernel, and with CLOSES another thread closes the descriptor
 * meanwhile, after which its number means another file.
 *
 * The kernel reports an edge: a flag that a write sets and the poller takes. A report comes only
 * after the registration, which reports what is readable then.
 *
 * Checked: nobody waits while a byte is left (an invalid end state else); all threads leave when the
 * descriptor is closed; only a thread that came later reads from the file that has the number later.
 * Each step that the side's lock covers is atomic: stores are not delayed, because changes are
 * counted under the lock.
 */
#define READERS 2
#ifdef CLOSES
#define WRITES 1
#else
#define WRITES 2
#endif

bool registered, edge, closing, closed, number_is_new, writer_done;
byte data, changes, users, taken;
bool parked[READERS];

inline wake_all() {
  parked[0] = false;
  parked[1] = false
}

inline count_and_wake() {
#ifndef MUTATE_3
  changes++;
#endif
  wake_all()
}

/* The last user closes it, and the number is used again. */
inline leave(last) {
  atomic {
    users--;
    last = (closing && users == 0);
    if
    :: last -> closing = false; closed = true
    :: else
    fi
  };
  if
  :: last ->
     registered = false;
     atomic { number_is_new = true; edge = false }; /* close(2) */
     closed = false /* IO-10 */
  :: else
  fi
}

proctype reader(byte self) {
  byte seen;
  bool again, got, late, last;
  atomic {
#ifndef MUTATE_7
    !closed; /* IO-9 */
#endif
    if
    :: closing -> goto out
    :: else -> users++; late = number_is_new
    fi
  };
  do
  :: true ->
#ifndef MUTATE_1
     seen = changes; /* IO-3 */
#endif
     atomic { /* read(2) */
#ifdef CLOSES
       assert(late || !number_is_new);
       if
       :: late -> break /* of another file: not looked at further */
       :: else
       fi;
#endif
       got = data > 0;
       if
       :: got -> data--; taken++
       :: else
       fi
     };
#ifdef MUTATE_1
     seen = changes;
#endif
     if
     :: got -> break
     :: else
     fi;
     if
     :: !registered ->
        atomic {
          registered = true;
#ifndef MUTATE_4
          edge = (data > 0)
#endif
        }
     :: else
     fi;
#ifdef MUTATE_2
     again = (changes != seen || closing);
     atomic { parked[self] = !again };
#else
     atomic { /* under the side's lock, up to the park */
       again = (changes != seen || closing);
       parked[self] = !again
     };
#endif
     !parked[self];
     if
     :: closing -> break /* EBADF */
     :: else
     fi
  od;
  leave(last);
out:
  skip
}

active proctype writer() {
  byte i;
  do
  :: i < WRITES ->
     atomic {
       data++;
       if
       :: registered -> edge = true
       :: else
       fi
     };
     i++
  :: else -> break
  od;
  writer_done = true
}

active proctype poller() {
end:
  do
  :: atomic { edge -> edge = false }; /* epoll_wait(2) */
     atomic { count_and_wake() }      /* under the side's lock; IO-4 */
  od
}

#ifdef CLOSES
active proctype closer() {
  bool last;
  atomic { users++; closing = true };
#ifndef MUTATE_5
  atomic { count_and_wake() };
#endif
#ifdef MUTATE_6
  number_is_new = true;
#endif
  leave(last)
}
#endif

init {
  atomic {
    run reader(0);
    run reader(1)
  }
}
