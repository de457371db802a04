/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which VP sleeps in the poller (src/core/sched/poll.h). Two VPs run, sleep and wake; one of them may
 * also block in the kernel forever, as mltp_blocking_begin() or the monitor has it. A poster wakes a
 * sleeper once. An event comes at any time; a VP in the poller sees it, and a VP that is awake does
 * before it sleeps.
 *
 * Checked: the event is seen although VPs sleep (an invalid end state else); at most one VP sleeps in
 * the poller, and the number of awake VPs is right. Each part under sleep.ilock is atomic. A VP that
 * is on its futex or in the poller leaves it only if its word has changed or an event has come.
 */
mtype = { AWAKE, ASLEEP, BLOCKED };
mtype status[2];
byte awake = 2;
byte futex[2]; /* changes when a VP is to look again */
byte sleeper;  /* 1 + the VP in the poller */
bool kicked;   /* the eventfd */
bool event, seen_event;

/* Wakes a VP where it sleeps; its word has changed. */
inline rouse(vp) {
  if
  :: sleeper == vp + 1 -> kicked = true
  :: else
  fi
}

/* mt_poll_heir(): under the lock. */
inline find_heir() {
  heir = 2;
  if
  :: awake == 0 && sleeper == 0 && status[0] == ASLEEP -> heir = 0
  :: awake == 0 && sleeper == 0 && status[1] == ASLEEP && status[0] != ASLEEP -> heir = 1
  :: else
  fi;
#ifndef MUTATE_2
  if
  :: heir < 2 -> futex[heir]++
  :: else
  fi
#endif
}

inline poll_now() {
  if
  :: event -> seen_event = true
  :: else
  fi
}

proctype vp(byte self) {
  byte word, rounds, heir;
  bool polls;
  do
  :: rounds < 2 ->
     rounds++;
     poll_now();
     if
     :: self == 0 && rounds == 2 -> /* blocks, forever */
        atomic {
          awake--;
          status[0] = BLOCKED;
#ifdef MUTATE_1
          heir = 2
#else
          find_heir()
#endif
        };
        if
        :: heir < 2 -> rouse(heir)
        :: else
        fi;
        goto gone
     :: skip
     fi;
     atomic { awake--; status[self] = ASLEEP };
     do
     :: atomic {
          if
          :: status[self] != ASLEEP -> break
          :: else
          fi;
          word = futex[self];
#ifdef MUTATE_3
          polls = (sleeper == 0 && rounds == 1 && awake == 0);
#else
          polls = (sleeper == 0 && awake == 0); /* mt_poll_claim() */
#endif
          if
          :: polls -> assert(sleeper == 0); sleeper = self + 1
          :: else
          fi
        };
        if
        :: polls ->
endpoll:
           atomic { kicked || (event && !seen_event) };
           atomic {
             if
             :: event && !seen_event ->
                seen_event = true;
                sleeper = 0;
                kicked = false;
                if
                :: status[self] == ASLEEP -> status[self] = AWAKE; awake++
                :: else
                fi
             :: else ->
                kicked = false;
                sleeper = 0
             fi
           }
        :: else ->
endfutex:
           futex[self] != word
        fi
     od
  :: else -> break
  od;
  /* It works on, and looks now and then. */
  do
  :: event && !seen_event -> seen_event = true
  :: seen_event -> break
  od;
gone:
  skip
}

active proctype poster() {
  byte to;
  if
  :: to = 0
  :: to = 1
  fi;
  atomic {
    if
    :: status[to] == ASLEEP -> status[to] = AWAKE; awake++; futex[to]++
    :: else -> to = 2
    fi
  };
  if
  :: to < 2 -> rouse(to)
  :: else
  fi
}

active proctype outside() { event = true }

active proctype checker() {
  timeout -> assert(seen_event && awake == (status[0] == AWAKE) + (status[1] == AWAKE))
}

init {
  atomic {
    status[0] = AWAKE;
    status[1] = AWAKE;
    run vp(0);
    run vp(1)
  }
}
