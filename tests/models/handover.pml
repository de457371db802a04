/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A VP that blocks in the kernel without an announcement is caught (src/core/sched/monitor.c).
 * VP 0 runs a thread that blocks in the kernel, returns and passes scheduling points; it may also
 * announce a block. The monitor takes it to be blocked when it has seen the same tick twice, rightly
 * or not. A poster posts a thread to VP 0. VP 1 is the spare one: it sleeps until it is woken.
 *
 * Checked: the number of awake VPs is that of the VPs whose status is AWAKE; a VP that has passed a
 * scheduling point after it was caught counts as awake, and brings no company any more; the posted
 * thread runs although VP 0 may block forever. Stores are not delayed: the ones that matter are made under sleep.ilock or are locked
 * instructions.
 */
mtype = { AWAKE, ASLEEP, BLOCKED, CAUGHT };
mtype status[2];
short awake, company;
bool computes; /* VP 0 is caught, and counted in company */
byte tick, blocked;
bool probe, in_kernel, for_ever, over;
byte inbox;  /* threads posted to VP 0 */
byte ran;    /* threads run */

/* Under sleep.ilock. */
inline count_awake(vp) { status[vp] = AWAKE; awake++ }

inline release() {
  if
  :: status[0] == CAUGHT ->
     blocked--;
#ifndef MUTATE_5
     company = company - computes;
#endif
     computes = false;
     count_awake(0)
  :: else
  fi
}

inline block_counted(to) { awake--; status[0] = to; blocked++ }

inline wake_spare() {
  if
  :: status[1] == ASLEEP -> count_awake(1)
  :: else
  fi
}

/* The owner enters its run queue. */
inline enter() {
  if
  :: probe ->
     probe = false; /* RQ-12 */
     seen_probe = true
  :: else
  fi;
  if
  :: seen_probe -> atomic { release() }
  :: else
  fi;
  seen_probe = false
}

proctype vp0() {
  bool seen_probe;
  byte points;
  do
  :: points < 3 ->
     enter();
     tick++;
     points++;
     atomic {
       if
       :: inbox > 0 -> inbox--; ran++
       :: else
       fi
     };
     if
     :: skip
     :: in_kernel = true; /* read(2) */
        if
        :: in_kernel = false
        :: for_ever = true; goto gone
        fi
     :: atomic { /* mltp_blocking_begin() */
#ifndef MUTATE_1
          release();
#endif
          block_counted(BLOCKED)
        };
        if
        :: inbox > 0 -> atomic { wake_spare() } /* ID-16 */
        :: else
        fi;
        atomic { blocked--; count_awake(0) } /* mltp_blocking_end() */
     fi
  :: else -> break
  od;
  (over);  /* the monitor looks no more */
  enter(); /* one more scheduling point */
  assert(status[0] == AWAKE);
  assert(company == 0);
gone:
  skip
}

proctype monitor() {
  byte seen, looks;
  bool caught;
  do
  :: looks < 2 || for_ever ->
     seen = tick;
     if
     :: in_kernel
     :: skip /* what it read is out of date */
     fi;
#ifdef MUTATE_2
     probe = true;
#endif
     atomic {
       caught = (status[0] == AWAKE && tick == seen);
       if
       :: caught -> /* it sleeps, or runs on beyond its slice */
          block_counted(CAUGHT);
          if
          :: computes = !in_kernel; company = company + computes
          :: computes = false
          fi
       :: else
       fi
     };
     if
     :: caught ->
#ifndef MUTATE_2
        probe = true; /* RQ-10 */
#endif
#ifndef MUTATE_3
        if
        :: inbox > 0 -> atomic { wake_spare() } /* ID-20 */
        :: else
        fi
#endif
     :: else
     fi;
     looks++;
     if
     :: for_ever && status[0] == CAUGHT -> break
     :: else
     fi
  :: else -> break
  od;
  over = true
}

/* mt_post() */
proctype poster() {
  inbox++; /* IB-1 */
#ifndef MUTATE_4
  if
  :: status[0] != AWAKE -> atomic { wake_spare() } /* ID-5 */
  :: else
  fi
#endif
}

/* Steals from a VP that is not awake, or is stuck. */
proctype vp1() {
end:
  do
  :: atomic { status[1] == AWAKE && inbox > 0 && status[0] != AWAKE -> inbox--; ran++ }
  :: atomic { status[1] == AWAKE && inbox == 0 -> status[1] = ASLEEP; awake-- }
  od
}

proctype checker() {
  atomic {
    assert(awake == (status[0] == AWAKE) + (status[1] == AWAKE))
  }
  /* When nothing moves any more: a thread that is left waits for a VP that is awake. */
  atomic {
    timeout -> assert(inbox == 0 || status[0] == AWAKE)
  }
}

init {
  atomic {
    status[0] = AWAKE;
    status[1] = ASLEEP;
    awake = 1;
    run vp0();
    run vp1();
    run monitor();
    run poster();
    run checker()
  }
}
