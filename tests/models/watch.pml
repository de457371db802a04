/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which VP watches timers (src/core/sched/wake.h, src/core/timer/timer.h): three VPs, with one timer
 * each. VP 0 runs a thread, the others sleep. A thread that runs sets a timer and parks, makes another
 * thread ready, ends, computes forever, or blocks in the kernel forever. On VP 1 it does not block,
 * and makes threads ready on VP 0 only; on VP 2 it ends. The clock moves at any time.
 *
 * ACTS: how many actions of threads there are. BOTH: a thread of VP 1 sleeps at the start.
 *
 * Checked: when nothing moves any more and a VP sleeps, each timer has fired and no thread is ready.
 * If no VP is awake, a sleeper watches, so it finds a deadlock. The watchdog's looks at intervals are
 * left out: they would repair a timer that is forgotten, milliseconds later.
 *
 * What happens under sleep.ilock is one step, and so is the watchdog's look at all timers: it says
 * "never" first (ID-9), so a timer set meanwhile rouses it again. All other words are seq_cst.
 */
#define VPS 3
#define NOBODY VPS
#define LAST 2 /* when the clock stops */
#define NEVER 3

mtype = { AWAKE, ASLEEP, BLOCKED };
mtype status[VPS];
byte awake, blocked;
byte list[VPS], inbox[VPS]; /* ready threads */
byte earliest[VPS];         /* when the VP's timer is due */
bool unwatched[VPS];
byte watchdog, plan;
bool stirred[VPS]; /* the futex word has changed since the VP read it under the lock */
byte now, acts;
bool left; /* a lone thread was posted without a look for a sleeper (wake_threshold) */

#define IS_WATCHED (watchdog != NOBODY && status[watchdog % VPS] == ASLEEP)
#define BUSY(vp) (list[vp] + inbox[vp] != 0)
#define OTHER1(me) ((me + 1) % VPS)
#define OTHER2(me) ((me + 2) % VPS)
#define OTHERS_BUSY(me) (BUSY(OTHER1(me)) || BUSY(OTHER2(me)))
#define ANY_DUE (earliest[0] <= now || earliest[1] <= now || earliest[2] <= now)

inline find_earliest(key) {
  d_step {
    key = earliest[0];
    if
    :: earliest[1] < key -> key = earliest[1]
    :: else
    fi;
    if
    :: earliest[2] < key -> key = earliest[2]
    :: else
    fi
  }
}

/* ---- under sleep.ilock, and other parts of atomic blocks */

inline pick_sleeper(vp) {
  if
  :: status[0] == ASLEEP -> vp = 0
  :: status[1] == ASLEEP -> vp = 1
  :: status[2] == ASLEEP -> vp = 2
  :: status[0] != ASLEEP && status[1] != ASLEEP && status[2] != ASLEEP -> vp = NOBODY
  fi
}

inline count_awake(vp) {
  status[vp] = AWAKE;
  awake++;
  if
  :: watchdog == vp -> watchdog = NOBODY
  :: else
  fi
}

inline next_watchdog() {
  if
  :: IS_WATCHED -> roused = NOBODY
  :: else -> pick_sleeper(roused)
  fi;
  if
  :: roused != NOBODY -> watchdog = roused; stirred[roused] = true
  :: else
  fi;
  roused = NOBODY
}

inline wake_sleeper(vp) {
  count_awake(vp);
  stirred[vp] = true;
  next_watchdog()
}

/* The watchdog comes last. */
inline wake_one() {
  if
  :: status[0] == ASLEEP && watchdog != 0 -> woken = 0
  :: status[1] == ASLEEP && watchdog != 1 -> woken = 1
  :: status[2] == ASLEEP && watchdog != 2 -> woken = 2
  :: else -> pick_sleeper(woken)
  fi;
  if
  :: woken != NOBODY -> wake_sleeper(woken)
  :: else
  fi;
  woken = NOBODY
}

/* ---- timers */

inline rearm(key) {
  if
  :: key < plan ->
     atomic {
       if
#ifdef MUTATE_1
       :: watchdog != NOBODY -> stirred[watchdog] = true
#else
       :: IS_WATCHED -> stirred[watchdog] = true
#endif
       :: else -> next_watchdog()
       fi
     }
  :: else
  fi
}

inline watch() {
  d_step { unwatched[me] = false; find_earliest(key) }
  rearm(key);
  key = 0
}

inline set_timer(at_once) {
  if
  :: key = LAST
  :: now + 1 < LAST -> key = now + 1
  fi;
  earliest[me] = key; /* TM-2 */
  if
  :: atomic { at_once && !BUSY(me) -> unwatched[me] = true; check_due = true }
  :: atomic { !at_once || BUSY(me) -> rearm(key) }
  fi;
  key = 0
}

/* A thread whose timer has fired runs here, or where it ran last if that VP is awake. */
inline fire(vp) {
  if
  :: earliest[vp] <= now ->
     earliest[vp] = NEVER;
     if
     :: status[vp] == AWAKE && vp != me -> inbox[vp]++; wake_one() /* it may be busy */
     :: else -> list[me]++
     fi
  :: else
  fi
}

/* ---- VPs */

inline steal(vp) {
  if
  :: list[vp] != 0 -> list[vp]--; list[me]++
  :: list[vp] == 0 && inbox[vp] != 0 -> inbox[vp]--; list[me]++
  :: else
  fi
}

proctype vp(byte me) {
  byte key, roused = NOBODY, woken = NOBODY;
  bool check_due, watches;
  if
  :: me != 0 -> goto asleep
  :: else
  fi;

runs:
  if
  :: atomic { acts > 0 && me != 2 && earliest[me] == NEVER && now < LAST -> acts-- }
     if
     :: set_timer(true)
     :: me == 0 -> set_timer(false);
        if
        :: atomic { list[me]++; wake_one() }
        :: skip
        fi
     fi;
     goto next
  :: atomic { acts > 0 && me == 0 -> acts--; list[me]++; wake_one() } goto runs
  :: atomic { acts > 0 && me == 1 && status[0] == AWAKE -> acts--; inbox[0]++; left = true } goto runs
  :: goto next /* it ends */
  :: me != 2 -> goto end_compute
  :: atomic {
       me == 0 ->
       awake--;
       status[me] = BLOCKED;
       blocked++;
#ifndef MUTATE_2
       next_watchdog();
#endif
       goto end_blocked
     }
  fi;

next: /* mt_tick() */
  atomic {
    list[me] = list[me] + inbox[me];
    inbox[me] = 0;
    if
    :: list[me] > 1 -> wake_one()
    :: else
    fi;
#ifndef MUTATE_3
    if
    :: check_due && unwatched[me] && BUSY(me) -> watch()
    :: else
    fi;
#endif
    check_due = false;
    if
    :: list[me] != 0 -> list[me]--; goto runs
    :: else
    fi
  }

idle:
  atomic {
    fire(0);
    fire(1);
    fire(2);
    if
    :: BUSY(me)
    :: !BUSY(me) && BUSY(OTHER1(me)) -> steal(OTHER1(me))
    :: !BUSY(me) && BUSY(OTHER2(me)) -> steal(OTHER2(me))
    :: !BUSY(me) -> goto sleep
    fi
  }
  /* run_one() */
#ifndef MUTATE_4
  if
  :: unwatched[me] -> watch()
  :: else
  fi;
#endif
  atomic {
    list[me] = list[me] + inbox[me];
    inbox[me] = 0;
    if
    :: list[me] > 1 || OTHERS_BUSY(me) -> wake_one()
    :: else
    fi;
    if
    :: list[me] != 0 -> list[me]--; goto runs
    :: else -> goto idle
    fi
  }

sleep:
  atomic {
    if
    :: !IS_WATCHED -> watchdog = me
#ifndef MUTATE_5
    :: IS_WATCHED && unwatched[me] && plan > earliest[me] -> watchdog = me
#endif
    :: else
    fi;
    unwatched[me] = false;
    if
    :: BUSY(me) || OTHERS_BUSY(me) -> /* mt_vp_sleep_cancel() */
       if
       :: watchdog == me -> watchdog = NOBODY
       :: else
       fi;
       next_watchdog();
       goto idle
    :: else -> awake--; status[me] = ASLEEP
    fi
  }

asleep:
  atomic {
    stirred[me] = false;
    if
    :: status[me] != ASLEEP -> goto idle
    :: else
    fi;
    watches = (watchdog == me);
    if
    :: watches -> find_earliest(plan) /* ID-9, ID-10 */
    :: else
    fi
  }
end_asleep:
  if
  :: atomic { stirred[me] -> watches = false } goto asleep
  :: atomic {
       watches && plan <= now -> /* mt_watchdog_check() */
       watches = false;
       if
       :: !ANY_DUE -> goto asleep
       :: ANY_DUE
       fi
     }
  fi;
  atomic {
    if
    :: status[me] == ASLEEP && watchdog == me -> count_awake(me); watches = true
    :: status[me] == ASLEEP && watchdog != me -> count_awake(me)
    :: status[me] != ASLEEP
    fi;
    if
    :: watches && awake == 1 && blocked == 0 && (status[OTHER1(me)] == ASLEEP || status[OTHER2(me)] == ASLEEP) ->
       watchdog = me; /* watch_alone() */
#ifndef MUTATE_6
       unwatched[me] = true;
#endif
#ifndef MUTATE_7
       plan = NEVER; /* ID-21 */
#endif
       skip
    :: else -> next_watchdog()
    fi;
    watches = false;
    stirred[me] = false;
    goto idle
  }

end_compute:
  false;
end_blocked:
  false
}

active proctype clock() {
end:
  do
  :: now < LAST -> now++
  od
}

active proctype at_rest() {
  timeout;
  if
  :: status[0] == ASLEEP || status[1] == ASLEEP || status[2] == ASLEEP ->
     assert(earliest[0] == NEVER && earliest[1] == NEVER && earliest[2] == NEVER);
     assert(left || (!BUSY(0) && !BUSY(1) && !BUSY(2)));
     assert(awake != 0 || IS_WATCHED)
  :: else
  fi
}

init {
  atomic {
    status[0] = AWAKE;
    status[1] = ASLEEP;
    status[2] = ASLEEP;
    awake = 1;
    acts = ACTS;
    earliest[0] = NEVER;
    earliest[2] = NEVER;
#ifdef BOTH /* another thread sleeps already */
    earliest[1] = LAST;
#else
    earliest[1] = NEVER;
#endif
    plan = earliest[1];
    watchdog = 1;
    run vp(0);
    run vp(1);
    run vp(2)
  }
}
