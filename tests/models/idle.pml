/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which VPs sleep and which wake (src/core/sched/idle.h), with run queues as counters: three
 * VPs. VP 0 runs a maker, which makes up to two threads ready; the others sleep. A
 * poster outside posts two threads at once to one VP. A thread that runs ends soon or
 * computes forever. Lone threads wake VPs too, and there is no watchdog to repair a lost wake-up.
 *
 * Checked: when nothing moves any more, no thread is ready while fewer VPs than may
 * be awake are. So no wake-up is lost, and no thread waits for the watchdog.
 *
 * TARGET: how many VPs may be awake. BLOCKING: the maker may block in the kernel. KEEPS: the maker
 * delivers events (poll.h) and keeps the threads until its time is over, which may be at any moment;
 * then a watchdog looks once.
 */
#define CPUS 4
#define POSTER 3 /* stores nothing but by locked instructions */
#define VPS 3
#define WORDS 3
#define ENTRIES 1
#include "tso.pml"

#define LENGTH(vp) (vp) /* words of mem[]: threads in the list of the VP */
byte inbox[VPS];

mtype = { AWAKE, ASLEEP, BLOCKED };
mtype status[VPS];
bool is_searching[VPS];
byte searching, sleeping, awake;
bit wake[VPS]; /* the futex word; a sleeper is woken once */
bool in_futex[VPS];

#define NOBODY VPS
#define BUSY(me, vp) (LOAD(me, LENGTH(vp)) != 0 || inbox[vp] != 0)
#ifdef KEEPS
bool delivered, time_over;
#ifdef MUTATE_11
#define KEPT(vp) (vp == 0 && delivered)
#else
#define KEPT(vp) (vp == 0 && delivered && !time_over)
#endif
#else
#define KEPT(vp) false
#endif
#define FOR_OTHERS(me, vp) (BUSY(me, vp) && !KEPT(vp))
#define OTHER1(me) ((me + 1) % VPS)
#define OTHER2(me) ((me + 2) % VPS)

/* What happens under idle_ilock is one step. */
inline wake_up(who) {
  sleeping--; /* ID-3 */
  status[who] = AWAKE;
  awake++
}

inline pick_sleeper(who) {
  if
  :: status[0] == ASLEEP -> who = 0
  :: status[1] == ASLEEP -> who = 1
  :: status[2] == ASLEEP -> who = 2
  :: else -> who = NOBODY
  fi
}

inline wake_sleeper(who) {
  wake_up(who);
#ifndef MUTATE_1
  wake[who] = 1 - wake[who];
#endif
  in_futex[who] = false
}

inline wake_one(me) {
  if
  :: awake < TARGET -> /* seen without the ilock */
     atomic {
       drain(me);
       if
       :: awake < TARGET && searching == 0 -> pick_sleeper(woken)
       :: else
       fi;
       if
       :: woken != NOBODY -> wake_sleeper(woken); is_searching[woken] = true; searching++ /* ID-4 */
       :: else
       fi;
       woken = NOBODY
     }
  :: else
  fi
}

inline wake_unless_searched(me) {
  if
  :: sleeping != 0 ->
     if
     :: searching == 0 -> wake_one(me)
     :: else
     fi
  :: else
  fi
}

inline notice(me) {
#if !(defined(MUTATE_2) && defined(FULL_FENCES))
  light_fence(me); /* ID-1 */
#endif
  wake_unless_searched(me)
}

inline post(me, to, n) {
  atomic { drain(me); inbox[to] = inbox[to] + n } /* IB-1 */
  do
  :: atomic { status[to] == AWAKE -> break } /* ID-5 */
  :: atomic { status[to] != AWAKE -> instead = NOBODY }
#ifdef MUTATE_3
     goto posted;
#endif
     atomic {
       drain(me);
       if
       :: status[to] == ASLEEP && awake < TARGET -> woken = to
#ifdef MUTATE_10
       :: status[to] == AWAKE -> goto posted
#else
       :: status[to] == AWAKE -> break /* it woke up meanwhile, and may be busy */
#endif
       :: else ->
          if
          :: status[OTHER1(to)] == AWAKE -> instead = OTHER1(to)
          :: status[OTHER2(to)] == AWAKE -> instead = OTHER2(to)
          :: else -> pick_sleeper(woken); instead = woken
          fi
       fi;
       if
       :: woken != NOBODY -> wake_sleeper(woken); woken = NOBODY
       :: else
       fi;
       if
       :: instead == NOBODY -> goto posted
       :: else
       fi
     }
     atomic {
       drain(me);
       moved = inbox[to]; /* IB-2 */
       inbox[to] = 0;
       to = instead;
       if
       :: moved == 0 -> break
       :: else
       fi
     }
     atomic { drain(me); inbox[to] = inbox[to] + moved; moved = 0 }
  od;
  wake_unless_searched(me);
posted:
  atomic { instead = NOBODY; moved = 0; to = NOBODY }
}

/* From any list, when the runq protocol lets a thief in. */
inline steal(me, victim) {
  atomic {
    drain(me);
    drain(victim);
    moved = mem[LENGTH(victim)] + inbox[victim];
    inbox[victim] = 0;
    if
    :: status[victim] == AWAKE -> mem[LENGTH(victim)] = moved / 2; moved = moved - moved / 2
    :: else -> mem[LENGTH(victim)] = 0
    fi;
    moved = moved + mem[LENGTH(me)];
    store(me, LENGTH(me), moved);
    moved = 0
  }
}

inline empty_inbox(me) {
  atomic {
    drain(me);
    moved = inbox[me] + mem[LENGTH(me)];
    inbox[me] = 0;
    store(me, LENGTH(me), moved);
    moved = 0
  }
}

inline add_to_list(me, n) {
  atomic {
    used[me] < ENTRIES ->
    moved = LOAD(me, LENGTH(me)) + n;
    store(me, LENGTH(me), moved);
    moved = 0
  }
}

inline search_end_found(me) {
  if
  :: is_searching[me] ->
     atomic { drain(me); is_searching[me] = false; searching-- } /* ID-4 */
     if
     :: searching == 0 && sleeping != 0 && awake < TARGET ->
#ifndef MUTATE_4
        heavy_fence(me); /* ID-8 */
#endif
        if
#ifndef MUTATE_5
        :: LOAD(me, LENGTH(me)) > 1 || FOR_OTHERS(me, OTHER1(me)) || FOR_OTHERS(me, OTHER2(me)) ->
           wake_one(me)
#endif
        :: else
        fi
     :: else
     fi
  :: else
  fi
}

inline go_to_sleep(me) {
  atomic {
    drain(me);
    awake--;
    status[me] = ASLEEP; /* ID-11 */
    sleeping++;          /* ID-12 */
    searching = searching - is_searching[me]; /* ID-4 */
    is_searching[me] = false;
#ifdef MUTATE_13
    last = true
#else
    last = sleeping == VPS
#endif
  }
}

proctype vp(byte me) {
  byte woken = NOBODY, instead = NOBODY, to = NOBODY, moved;
  byte made, given;
  bit seen;
  bool last;
  if
  :: me != 0 -> goto wait
  :: else
  fi;
  /* the maker */
  do
#ifdef KEEPS
  :: made == 0 ->
     do
     :: made < MAKES -> made++; add_to_list(me, 1)
     :: else -> break
     od;
     delivered = true
#else
  :: made < MAKES -> made++; add_to_list(me, 1);
     notice(me)
#endif
  :: goto next
  :: goto end_compute
#ifdef BLOCKING
  :: atomic { drain(me); awake--; status[me] = BLOCKED } /* ID-15 */
     heavy_fence(me); /* ID-16 */
     if
     :: BUSY(me, 0) || BUSY(me, 1) || BUSY(me, 2) -> wake_one(me)
     :: else
     fi;
     if
     :: goto end_blocked
     :: atomic { awake < TARGET -> drain(me); awake++; status[me] = AWAKE }
        goto end_compute
     fi
#endif
  od;

idle:
  if
  :: awake > TARGET -> /* hand off */
     if
     :: status[OTHER1(me)] == AWAKE -> to = OTHER1(me)
     :: status[OTHER2(me)] == AWAKE -> to = OTHER2(me)
     :: else -> goto idle
     fi;
     atomic {
       drain(me);
       given = mem[LENGTH(me)] + inbox[me];
       mem[LENGTH(me)] = 0;
       inbox[me] = 0
     }
     if
     :: given != 0 -> post(me, to, given)
     :: else
     fi;
     atomic { given = 0; to = NOBODY }
     if
     :: BUSY(me, me) -> goto idle
     :: else -> goto sleep
     fi
  :: else
  fi;
  if
  :: BUSY(me, me) -> goto found
  :: else
  fi;
  if
  :: atomic { !is_searching[me] -> drain(me); is_searching[me] = true; searching++ } /* ID-4 */
  :: else
  fi;
  if
  :: BUSY(me, me) -> goto found
  :: FOR_OTHERS(me, OTHER1(me)) -> steal(me, OTHER1(me))
  :: FOR_OTHERS(me, OTHER2(me)) -> steal(me, OTHER2(me))
  :: goto sleep
  fi;
  if
  :: LOAD(me, LENGTH(me)) == 0 -> goto sleep
  :: else
  fi;

found:
  search_end_found(me);

next: /* a thread's end comes here, too */
  if
  :: inbox[me] != 0 ->
     empty_inbox(me);
#ifndef MUTATE_6
     if /* for a while the threads were neither in the inbox nor in the list */
     :: LOAD(me, LENGTH(me)) > 1 -> notice(me)
     :: else
     fi
#endif
  :: else
  fi;
  atomic {
    used[me] < ENTRIES ->
    if
    :: LOAD(me, LENGTH(me)) == 0 -> goto idle
    :: else -> moved = LOAD(me, LENGTH(me)) - 1; store(me, LENGTH(me), moved); moved = 0
    fi
  }
#ifdef ENDS
  if
  :: goto next
  :: goto end_compute
  fi;
#else
  goto end_compute;
#endif

sleep:
  go_to_sleep(me);
#ifndef MUTATE_7
  if
  :: last -> drain(me) /* ID-22 */
  :: else -> heavy_fence(me) /* ID-2 */
  fi;
#endif
  last = false;
  if
#ifndef MUTATE_8
  :: BUSY(me, me) -> goto up
#endif
  :: else ->
     if
     :: awake + 1 > TARGET -> goto wait
     :: else
     fi
  fi;
  if
#ifndef MUTATE_9
  :: FOR_OTHERS(me, OTHER1(me)) || FOR_OTHERS(me, OTHER2(me)) -> goto up
#endif
  :: else -> goto wait
  fi;
up:
  atomic {
    drain(me);
    if
    :: status[me] == ASLEEP -> wake_up(me)
    :: else
    fi;
    goto idle
  }

wait:
  atomic {
    drain(me);
    if
    :: status[me] == ASLEEP -> seen = wake[me]
    :: else -> seen = 0; goto idle
    fi
  }
  atomic {
    if
    :: wake[me] == seen -> in_futex[me] = true
    :: else
    fi
  }
end_asleep:
  !in_futex[me];
  goto wait;

end_compute:
  false;
end_blocked:
  false
}

#if POSTS
proctype poster() {
  byte woken = NOBODY, instead = NOBODY, to, moved;
  to = POST_TO;
  post(POSTER, to, POSTS)
}
#endif

#ifdef KEEPS
/* mt_watchdog_check(), by then the maker's stores are visible. */
proctype watchdog() {
  byte woken = NOBODY;
end_kept:
  atomic { delivered && used[0] == 0 -> time_over = true }
#ifndef MUTATE_12
  if
  :: FOR_OTHERS(POSTER, 0) || BUSY(POSTER, 1) || BUSY(POSTER, 2) -> wake_one(POSTER)
  :: else
  fi
#endif
}
#endif

active proctype at_rest() {
  timeout ->
  assert(awake == TARGET || mem[0] + mem[1] + mem[2] + inbox[0] + inbox[1] + inbox[2] == 0)
}

init {
  atomic {
    status[0] = AWAKE;
    status[1] = ASLEEP;
    status[2] = ASLEEP;
    awake = 1;
    sleeping = 2;
#if POSTS
    run poster();
#endif
#ifdef KEEPS
    run watchdog();
#endif
    run vp(0);
    run vp(1);
    run vp(2)
  }
}
