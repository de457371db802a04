/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring beside a mailbox (src/tmpi/match/intake.h). Thread 0 receives all messages: each time it
 * looks for one first, or posts the receive at once, then looks whether anything has come, for as
 * long as it likes, and parks when it likes. Two threads send; each message is short, and goes into
 * the ring if that is open and has room, or else enters the mailbox under its lock. With WIDE each
 * second message takes two slots, or three.
 *
 * Locks are held by one thread at a time, so memory is as each holder left it. A slot's message and
 * its sequence (IK-1, IK-2), and its being read and the head (IK-3, IK-4), are separate steps: the
 * two sides hold different locks. Each is in the order of the program, as release and acquire keep it.
 *
 * Checked: no thread waits forever; each message comes once, and those of one sender in order; a
 * thread is resumed once, with its registers saved.
 */
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef SENDS
#define SENDS 2 /* of each sender */
#endif
#define RECEIVES (2 * SENDS)
#ifdef WIDE
#define SIZE(what, number) ((what) % 10 % 2 == 0 -> 2 + (number) % 2 : 1)
#else
#define SIZE(what, number) 1
#endif

bool box, door;         /* the lock of the mailbox, of the ring */
bool saved, resumed;    /* the receiver */
byte shut, tail, known_head, head;
byte message[SLOTS], sequence[SLOTS];
chan arrived = [RECEIVES] of { byte };
bool posted, blocks, complete, waited;
byte data;

inline lock(l) { atomic { !l -> l = true } }

inline park(l) {
  saved = true;
  l = false; /* by the next thread */
  atomic { resumed -> resumed = false; saved = false }
}

inline resume() { atomic { assert(saved && !resumed); resumed = true } }

/* A posted receive gets its message; the lock of the mailbox is held. */
inline finish(what) {
  data = what;
  if
  :: blocks -> resume()
  :: else -> complete = true; if :: waited -> resume() :: else fi
  fi
}

/* tm_intake_drain(); the lock of the mailbox is held. */
inline drain() {
  do
  :: sequence[head % SLOTS] == head + 1 ->
#ifdef MUTATE_5
     atomic { seen = head % SLOTS; head++ };
     got = message[seen];
#else
     got = message[head % SLOTS];
#ifdef WIDE
     assert(message[(head + 1) % SLOTS] == got || SIZE(got, head) == 1);
#endif
     head = head + SIZE(got, head);
#endif
     if
     :: posted -> posted = false; finish(got)
     :: else -> arrived!got
     fi
  :: else -> break
  od
}

inline close() { lock(door); shut++; door = false }
inline open() { lock(door); shut--; door = false }

active proctype receiver() {
  byte received, got, what, seen, last[3];
  do
  :: received < RECEIVES ->
     complete = false;
     waited = false;
     if /* tm_recv(): it spins until there is mail, or gives up */
     :: (nempty(arrived) || sequence[head % SLOTS] == head + 1) -> blocks = false
     :: blocks = true
     :: blocks = false /* MPI_Irecv() */
     fi;
#ifndef MUTATE_2
     if
     :: blocks -> close()
     :: else
     fi;
#endif
     lock(box);
     drain();
     if
     :: nempty(arrived) -> arrived?what; box = false
     :: empty(arrived) && blocks ->
        posted = true;
#ifdef MUTATE_2
        close(); /* when it has looked */
#endif
        park(box);
        what = data
     :: empty(arrived) && !blocks ->
        posted = true;
        box = false;
        do /* tm_requests_wait() */
        :: complete -> break
        :: sequence[head % SLOTS] == head + 1 -> lock(box); drain(); box = false
        :: !complete -> /* it gives up */
           close();
           lock(box);
#ifndef MUTATE_6
           drain();
#endif
           if
           :: complete -> box = false
           :: else -> waited = true; park(box)
           fi;
           open();
           break
        od;
        assert(complete);
        what = data
     fi;
#ifdef MUTATE_2
     if
     :: shut > 0 -> open()
     :: else
     fi;
#else
     if
     :: blocks -> open()
     :: else
     fi;
#endif
     assert(what % 10 == last[what / 10] + 1);
     last[what / 10] = what % 10;
     received++
  :: else -> break
  od
}

inline put(what) {
  done = false;
  lock(door);
  if
#ifdef MUTATE_3
  :: true ->
#else
  :: shut == 0 ->
#endif
     if
     :: tail + SIZE(what, tail) - known_head <= SLOTS
     :: else -> known_head = head
     fi;
     if
#ifdef MUTATE_4
     :: true ->
#elif defined(MUTATE_8)
     :: tail - known_head < SLOTS ->
#else
     :: tail + SIZE(what, tail) - known_head <= SLOTS ->
#endif
#ifdef MUTATE_7
        sequence[tail % SLOTS] = tail + 1;
        message[tail % SLOTS] = what;
#else
        message[tail % SLOTS] = what;
#ifdef WIDE
        if
        :: SIZE(what, tail) > 1 -> message[(tail + 1) % SLOTS] = what
        :: else
        fi;
#endif
        sequence[tail % SLOTS] = tail + 1;
#endif
        tail = tail + SIZE(what, tail);
        done = true
#ifndef MUTATE_4
     :: else
#endif
     fi
#ifndef MUTATE_3
  :: else
#endif
  fi;
  door = false
}

active [2] proctype sender() {
  byte number = 1, got, seen;
  bool done;
  do
  :: number <= SENDS ->
     done = false;
     if
     :: put(10 * _pid + number)
     :: true /* it is too long for the ring */
     fi;
     if
     :: done
     :: else ->
        lock(box);
#ifndef MUTATE_1
        drain();
#endif
        if
        :: posted ->
           posted = false;
           finish(10 * _pid + number) /* copies and completions without the lock: mailbox.pml */
        :: else -> arrived!10 * _pid + number
        fi;
        box = false
     fi;
     number++
  :: else -> break
  od
}
