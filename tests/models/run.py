#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Explores the models of the library's protocols with Spin, and proves that they can fail.

Without options each variant of each model is searched to the end and must be clean. With
--mutations each mutant, a model with one ordering or step taken out, must be found wrong.
docs/protocols.md explains the models."""
import argparse
import concurrent.futures
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parents[1] / "src"
MEMORY_MB = 3000
SECONDS = 120  # of CPU time; a search takes a quarter of that at most
DEPTH = 5_000_000
SHALLOW = 200_000  # enough for most; pan takes 50 bytes of memory for each step of its depth before it starts
SKIPPED = 77


class Mutation(NamedTuple):
    number: int
    labels: str  # in the source, or the function
    change: str
    variant: tuple = ()


FULL = ("FULL_FENCES",)
TIMED = ("TIMED",)
RUNQ = ("THREADS=2", "THIEVES=2")
MAKER = ("TARGET=3", "MAKES=2", "POSTS=0")
ENDS = ("ENDS",)
HOME = ("TARGET=3", "MAKES=0", "POSTS=2", "POST_TO=0")
POSTER = ("TARGET=3", "MAKES=0", "POSTS=2", "POST_TO=1")
BLOCKED = ("TARGET=2", "MAKES=0", "POSTS=1", "POST_TO=0", "BLOCKING")
KEEPS = ("TARGET=3", "MAKES=2", "POSTS=0", "KEEPS")
LONE = ("ACTS=2",)
WATCH = LONE + ("BOTH",)
CANCELS = ("CANCELS",)
CLOSES = ("CLOSES",)
WIDE = ("SLOTS=4", "WIDE")
SPINS = ("SPINS", "ROUNDS=2")

VARIANTS = {
    "runq": [RUNQ + ("PROBES",), RUNQ + ("PROBES",) + FULL,
             ("THREADS=3", "THIEVES=1", "PROBES"), ("THREADS=3", "THIEVES=1", "PROBES") + FULL],
    "idle": [MAKER, MAKER + FULL, MAKER + ENDS, POSTER, HOME, BLOCKED, BLOCKED + FULL, KEEPS],
    "idleq": [()],
    "watch": [LONE, WATCH],
    "park": [(), CANCELS, CANCELS + FULL],
    "select": [()],
    "lock": [(), TIMED],
    "queue": [(), TIMED],
    "rwlock": [(), TIMED],
    "barrier": [()],
    "array": [()],
    "mcs": [()],
    "clh": [()],
    "await": [(), TIMED],
    "finalize": [(), FULL, ("KERNEL",)],
    "mailbox": [(), ("EAGER",)],
    "intake": [(), ("SLOTS=2",), WIDE],
    "phases": [(), SPINS],
    "pair": [()],
    "round": [()],
    "handover": [()],
    "alarm": [(), FULL],
    "bias": [(), FULL],
    "io": [(), CLOSES],
    "poll": [()],
    "grant": [()],
}

MANY_STATES = {"runq", "idle", "watch", "park", "select", "rwlock", "clh", "mailbox", "intake"}  # millions, each

MUTATIONS = {
    "runq": [
        Mutation(1, "RQ-4", "the thief locks without the heavy fence", RUNQ),
        Mutation(2, "RQ-1", "the owner enters without the light fence", RUNQ + FULL),
        Mutation(3, "RQ-2 RQ-7", "the owner that sees LOCKED does not step out", RUNQ),
        Mutation(4, "RQ-8 RQ-9", "the owner steps in again without another look", RUNQ),
        Mutation(5, "mt_after_switch", "the owner leaves before the switch", RUNQ),
        Mutation(6, "RQ-5", "the thief does not wait for the owner to leave", RUNQ),
        Mutation(7, "change_claim", "the thief locks whatever claim says", RUNQ),
        Mutation(8, "RQ-6", "the thief unlocks by a plain zero: a probe is lost",
                 RUNQ + ("PROBES",)),
        Mutation(9, "mt_runq_claimed", "the owner ends a request by a plain zero", RUNQ),
        Mutation(10, "mt_runq_steal", "a stolen thread still says it is ready on its old VP",
                 RUNQ),
    ],
    "idle": [
        Mutation(1, "wake_sleeper", "the waker does not change the futex word", MAKER),
        Mutation(2, "ID-1", "a ready thread is noticed without the light fence", MAKER + FULL),
        Mutation(3, "ID-5", "a post to a VP not awake wakes nobody", POSTER),
        Mutation(4, "ID-8", "the end of a search without the heavy fence", MAKER),
        Mutation(5, "search_end_found", "a searcher that finds work does not search for more", MAKER),
        Mutation(6, "mt_runq_drain", "a VP that empties its inbox keeps all of it", HOME),
        Mutation(7, "ID-2", "the sleeper's last look without the heavy fence", MAKER + ENDS),
        Mutation(8, "must_stay_awake", "the sleeper does not look at its own inbox", HOME),
        Mutation(9, "must_stay_awake", "the sleeper does not look at the others' queues", MAKER),
        Mutation(10, "deliver", "a VP found awake after all is taken to be free", BLOCKED),
        Mutation(11, "mt_poll_keeps", "a delivery is left to its VP when its time is over", KEEPS),
        Mutation(12, "mt_watchdog_check", "nobody looks when the time of a delivery is over", KEEPS),
        Mutation(13, "ID-22", "a sleeper takes itself for the last while others are awake", MAKER + ENDS),
    ],
    "idleq": [
        Mutation(1, "mt_idleq_leave", "a VP that was taken out does not wait for its thread"),
        Mutation(2, "mt_idleq_forget", "a creator that needs no VP does not put it back"),
        Mutation(3, "dequeue", "a VP is taken out without the lock"),
        Mutation(4, "hand_over", "a thread is handed over and put into the ready queue"),
        Mutation(5, "search_ends", "a VP sleeps while it is in the queue"),
    ],
    "watch": [
        Mutation(1, "mt_watchdog_roused", "a watchdog that is awake is roused", WATCH),
        Mutation(2, "mt_block", "a VP that blocks does not pass on the watch", WATCH),
        Mutation(3, "mt_check", "a thread posted while another parks runs with timers unwatched", WATCH),
        Mutation(4, "run_one", "a VP that keeps the watch runs a thread and looks at no timer", WATCH),
        Mutation(5, "keep_watch", "a VP with the first timer leaves the watch to a sleeper", LONE),
        Mutation(6, "watch_alone", "a watchdog that wakes up alone forgets the others' timers", WATCH),
        Mutation(7, "ID-21", "a watchdog that wakes up alone leaves its plan", WATCH),
    ],
    "park": [
        Mutation(1, "mltp_join", "a join leaves its word where timers look for a queue"),
        Mutation(2, "PK-1", "the queue is noted by a plain store"),
        Mutation(3, "PK-5", "the waiter does not look whether its timer has fired"),
        Mutation(4, "mt_after_switch", "the guard is released before the registers are saved"),
        Mutation(5, "mt_timer_disarm", "a timer is disarmed without the guard"),
        Mutation(6, "PK-2", "the timer notes by a plain store that it fired"),
        Mutation(7, "mt_park_timeout", "the timer does not look again under the guard"),
        Mutation(8, "mt_park_timeout", "the same of a bound thread"),
        Mutation(9, "mt_timers_flush", "a queue is destroyed while a timer may look at it"),
        Mutation(10, "publish_timer", "a waiter does not look whether it is cancelled", CANCELS),
        Mutation(11, "withdraw_timer", "the waiter does not wait for the canceller", CANCELS),
        Mutation(12, "CN-1", "the canceller reads the timer without the heavy fence", CANCELS),
        Mutation(13, "CN-2", "the waiter looks without the light fence", CANCELS + FULL),
        Mutation(14, "CN-3", "the waiter reads the mark without the light fence", CANCELS + FULL),
    ],
    "select": [
        Mutation(1, "claim", "a partner resumes a thread that was taken out of its queue"),
        Mutation(2, "take_waiter", "a partner that finds a stale case does not ask the next"),
        Mutation(3, "in_lock_order", "channels are locked in the order of the cases"),
        Mutation(4, "mt_select", "the channels are unlocked between the look and the queues"),
        Mutation(5, "mt_after_switch", "the place is released before the registers are saved"),
        Mutation(6, "mt_case_leave", "the cases stay in the queues of the other channels"),
    ],
    "lock": [
        Mutation(1, "take_or_mark", "the waiter does not set the bit"),
        Mutation(2, "lock_slow", "the guard is released before the waiter is in the queue"),
        Mutation(3, "HANDED_WANTED", "a waiter that found the lock taken goes to the end like a new one"),
        Mutation(4, "HANDED_GIVEN", "the lock is never handed over"),
        Mutation(5, "LK-3", "the release forgets the bit of those still waiting"),
        Mutation(6, "mt_resume", "only a waiter that was handed the lock is woken"),
    ],
    "queue": [
        Mutation(1, "mt_lock_take_or_mark", "the waiter does not set the bit"),
        Mutation(2, "CHOSEN", "a waiter that is chosen, and not notified yet, parks"),
        Mutation(3, "QL-1", "a waiter that is chosen continues before it is notified"),
        Mutation(4, "PARKS", "a waiter parks and does not say so"),
        Mutation(5, "CHOSEN", "a waiter is chosen and not notified under the lock"),
        Mutation(6, "mt_lock_pass_on", "the release forgets the bit of those still waiting"),
        Mutation(7, "QL-2", "the next holder is notified before the internal lock is released"),
    ],
    "rwlock": [
        Mutation(1, "take_or_mark", "the waiter does not set the bit"),
        Mutation(2, "mt_rw_wait", "the guard is released before the waiter is in the queue"),
        Mutation(3, "RW-1", "readers pass queued waiters"),
        Mutation(4, "hand_over", "a writer hands over to a writer while readers wait"),
        Mutation(5, "RW-5", "the last reader does not look again under the guard", TIMED),
        Mutation(6, "RW-4", "the releaser forgets the bit of the remaining waiters"),
        Mutation(7, "RW-3", "the last reader does not wake the waiters"),
        Mutation(8, "give_up", "a writer that gives up leaves readers waiting for readers", TIMED),
    ],
    "barrier": [
        Mutation(1, "wait_in", "a part's guard is released before the waiter is in the queue"),
        Mutation(2, "move_unit", "a unit that moves is still owed where it was"),
        Mutation(3, "mltp_barrier_wait", "a part is completed under its own guard alone"),
        Mutation(4, "open_up", "the queues are taken without the parts' guards"),
        Mutation(5, "arrive_slow", "units not given to a part yet are not waited for"),
        Mutation(6, "move_unit", "a part whose last unit moves away is not counted as complete"),
        Mutation(7, "open_alone", "a part that has not all units opens the barrier"),
    ],
    "array": [
        Mutation(1, "AQ-5", "a try reads the number and takes it, in two steps"),
        Mutation(2, "AQ-1", "a waiter looks at the count after the number"),
        Mutation(3, "AQ-2", "a waiter that is tapped continues although another number is served"),
        Mutation(4, "AQ-4", "the release taps before it grants the number"),
    ],
    "mcs": [
        Mutation(1, "MC-6", "a waiter enters the list in two steps"),
        Mutation(2, "leave_node", "the lock keeps what the last holder had in held_"),
        Mutation(3, "MC-4", "the lock takes the node's place although a waiter has come"),
        Mutation(4, "leave_node", "the releaser does not wait for a new arrival"),
        Mutation(5, "MC-7", "the release does not look whether anybody has come"),
    ],
    "clh": [
        Mutation(1, "CL-3", "a cell is used again as it was left"),
        Mutation(2, "CL-3", "a waiter enters the list in two steps"),
        Mutation(3, "CL-2", "the lock's own word stays released"),
        Mutation(4, "held_", "the lock keeps the last holder's cell"),
        Mutation(5, "CL-4", "the release does not look whether anybody has come"),
        Mutation(6, "CL-5", "the releaser keeps the cell that the next one reads"),
    ],
    "await": [
        Mutation(1, "AW-2", "the waiter counts itself by a plain store"),
        Mutation(2, "AW-3", "the waiter does not look again under the guard"),
        Mutation(3, "mt_wait", "the guard is released between the look and the queue"),
        Mutation(4, "mt_wait", "the guard is released before the waiter is in the queue"),
        Mutation(5, "mt_await_holds", "the waker does not test the predicate"),
        Mutation(6, "AW-1", "the word is stored by a plain store"),
    ],
    "finalize": [
        Mutation(1, "FN-1", "main says by a plain store that it waits", ("KERNEL",)),
        Mutation(2, "mt_wait_until_alone", "main does not look again", ("KERNEL",)),
        Mutation(3, "ID-2", "a VP looks whether main is alone without the heavy fence"),
        Mutation(4, "LV-3", "creations are counted before ends"),
        Mutation(5, "mt_park", "main's guard is released before its registers are saved"),
        Mutation(6, "mt_finalizer_check", "the thread that resumes main does not record it"),
        Mutation(7, "LV-4", "a bound thread ends without a look"),
    ],
    "mailbox": [
        Mutation(1, "receive_or_post", "the guard is released between the queue and the park"),
        Mutation(2, "mt_after_switch", "the guard is released before the registers are saved"),
        Mutation(3, "send_or_leave", "a sender that allocated does not search for a receive again"),
        Mutation(4, "tm_request_complete", "a request is completed without the guard"),
        Mutation(5, "deliver", "a receiver is resumed before the data are there"),
        Mutation(6, "tm_requests_wait", "the waiter does not test again under the lock"),
        Mutation(7, "tm_queue_find_message", "the newest message is taken, not the oldest"),
        Mutation(8, "tm_cell_keep", "a cell is read after the guard is released", ("EAGER",)),
        Mutation(9, "tm_inline_slot_takes", "the fast box is filled while older messages are there", ("EAGER",)),
        Mutation(10, "receive_or_post", "the fast box is looked at last"),
        Mutation(11, "tm_recv", "the receiver does not look whether it was handed a message"),
        Mutation(12, "hand_over", "the send is complete when its message is handed over"),
    ],
    "intake": [
        Mutation(1, "tm_intake_drain", "a sender that takes the lock leaves what is in the ring"),
        Mutation(2, "tm_intake_shut", "the receiver looks before it shuts the intake"),
        Mutation(3, "tm_intake_put", "a sender does not look whether the intake is shut"),
        Mutation(4, "IK-3", "a sender does not look whether there is room"),
        Mutation(5, "IK-4", "the head moves before the slot is read"),
        Mutation(6, "tm_requests_wait", "the waiter does not look again after it has shut the intake"),
        Mutation(7, "IK-1", "the sequence is stored before the message"),
        Mutation(8, "has_room", "a sender looks for room for one slot", WIDE),
    ],
    "phases": [
        Mutation(1, "tm_arrive", "a gate counts anew only when it has been opened"),
        Mutation(2, "mt_after_switch", "the guard is released before the registers are saved"),
        Mutation(3, "tm_next_phase", "only the last of all opens its crew"),
        Mutation(4, "tm_publish", "there is one set of slots"),
        Mutation(5, "tm_team_barrier_spin", "a waiter parks without a test under the lock", SPINS),
        Mutation(6, "tm_team_barrier_release", "the opener does not hold the lock", SPINS),
    ],
    "pair": [
        Mutation(1, "PR-3", "the waiter sets the bit of a word that may have changed"),
        Mutation(2, "PR-1", "a member looks for the bit, and then stores its word"),
        Mutation(3, "tm_pair_meet", "the waiter is resumed without the lock"),
        Mutation(4, "tm_pair_meet", "there is one set of sides"),
        Mutation(5, "mt_after_switch", "the lock is released before the registers are saved"),
    ],
    "round": [
        Mutation(1, "sm_step_over", "a turn is over before its host's guard is held"),
        Mutation(2, "sm_host_resume", "a host is resumed that may not be parked yet"),
        Mutation(3, "mltp_sim_ordered", "the guard is released before the registers are saved"),
        Mutation(4, "sm_step_over", "a step that waits for its order is not resumed"),
        Mutation(5, "mltp_sim_ordered", "whether its place has come is looked at before the guard is held"),
    ],
    "handover": [
        Mutation(1, "mt_block", "a VP that was caught announces a block and is counted twice"),
        Mutation(2, "RQ-10", "the probe is set before the status"),
        Mutation(3, "ID-20", "the monitor does not look for a ready thread after the catch"),
        Mutation(4, "ID-5", "a post to a VP not awake wakes nobody"),
        Mutation(5, "release", "a VP that computed gives way, and its company stays"),
    ],
    "alarm": [
        Mutation(1, "HO-2", "a VP that becomes awake looks without the light fence", FULL),
        Mutation(2, "HO-1", "the monitor looks without the heavy fence"),
        Mutation(3, "set_alarm", "the monitor clears the alarm after it has said that it rests"),
    ],
    "bias": [
        Mutation(1, "BI-4", "the owner does not look again whether the bias is its own"),
        Mutation(2, "BI-2", "the bias is revoked without the heavy fence"),
        Mutation(3, "BI-3", "the revoker does not wait for the owner to leave"),
        Mutation(4, "BI-6", "another does not wait for the revoker"),
        Mutation(5, "BI-8", "the owner that has lost the bias does not step out"),
    ],
    "io": [
        Mutation(1, "IO-3", "the count is read after the system call"),
        Mutation(2, "mt_io_wait", "the count is compared without the side's lock"),
        Mutation(3, "IO-4", "a change wakes the waiters and is not counted"),
        Mutation(4, "mt_io_register", "what is ready at the registration is not reported"),
        Mutation(5, "mltp_io_close", "the closer does not wake the waiters", CLOSES),
        Mutation(6, "mt_io_leave", "the descriptor is closed while others use it", CLOSES),
        Mutation(7, "IO-9", "a thread enters while the last user is inside close(2)", CLOSES),
    ],
    "poll": [
        Mutation(1, "mt_block", "a VP that blocks as the last rouses no sleeper"),
        Mutation(2, "mt_poll_heir", "the roused sleeper's word does not change"),
        Mutation(3, "mt_poll_claim", "the last VP to fall asleep sleeps on its futex"),
    ],
    "grant": [
        Mutation(1, "overtake", "a thread whose permit was taken back is not woken again"),
        Mutation(2, "GT-22", "a waiter sleeps without saying so"),
        Mutation(3, "GT-23", "the look whether a thread sleeps comes before its permit"),
        Mutation(4, "GT-5", "a waiter claims its permit by a plain store"),
    ],
}


class Failed(Exception):
    """A search that proves nothing."""


def run(command, folder, seconds=SECONDS):
    """Runs a command within a limit of CPU time. A limit of wall time would fail beside other programs."""
    limited = ["sh", "-c", 'ulimit -S -t "$0" && exec "$@"', str(seconds), *command]
    done = subprocess.run(limited, cwd=folder, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode == -signal.SIGXCPU:
        raise Failed(f"{command[0]} took over {seconds} s")
    return done


def build(command, folder):
    done = run(command, folder)
    if done.returncode != 0:
        raise Failed(f"{command[0]} failed: {done.stdout}")


def compiler(long_search):
    """The compiler of a search. To compile one takes a second: tcc does it at once, and what it makes takes twice the time."""
    if long_search:
        return ["gcc", "-O1"]
    return ["tcc", "-w"] if shutil.which("tcc") else ["gcc", "-O0"]


def search(model, defines, long_search):
    """Searches one variant. Returns (states, what was found or None). States are kept as they are: the largest search needs
    700 MB, and to compress them would take a third of the time."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [f"-D{define}" for define in defines]
        build(["spin", *flags, "-a", str(HERE / f"{model}.pml")], folder)
        build([*compiler(long_search), "-DSAFETY", f"-DMEMLIM={MEMORY_MB}", "-o", "pan", "pan.c"], folder)
        for depth in [DEPTH] if long_search else [SHALLOW, DEPTH]:
            report = run(["./pan", f"-m{depth}", "-w22"], folder).stdout
            if "too small" not in report or "errors: 0" not in report:
                break
    errors = re.search(r"errors: (\d+)", report)
    states = re.search(r"(\d+) states, stored", report)
    if errors is None or states is None:
        raise Failed(f"pan gave no result: {report}")
    found = re.search(r"pan:\d+: (.*) \(at depth", report)
    if int(errors[1]) > 0 and found is None:
        raise Failed(f"pan found an error without a name: {report}")
    if int(errors[1]) == 0 and ("too small" in report or "Search not completed" in report):
        raise Failed("the search is not complete")
    return int(states[1]), found[1] if found else None


def name_of(model, defines):
    return " ".join([model, *defines])


def explore(model, defines):
    states, found = search(model, defines, model in MANY_STATES)
    return f"{states:>9} states, complete", f"pan found: {found}" if found else None


def check_mutation(model, mutation):
    # The search ends at the first error: most mutants would be compiled far longer than they run.
    _, found = search(model, mutation.variant + (f"MUTATE_{mutation.number}",), long_search=False)
    return f"found by: {found}", None if found else "pan found nothing: the model is too weak"


def check_table(models):
    """The table, the models and the source name the same things."""
    source = "\n".join(path.read_text() for path in SOURCES.rglob("*.[ch]"))
    errors = []
    for model in models:
        text = (HERE / f"{model}.pml").read_text()
        marked = {int(n) for n in re.findall(r"MUTATE_(\d+)", text)}
        if marked != {mutation.number for mutation in MUTATIONS[model]}:
            errors.append(f"{model}.pml and the table of mutations differ")
        errors += [f"{model}: the source has no {label}" for mutation in MUTATIONS[model]
                   for label in mutation.labels.split()
                   if not re.search(rf"\b{label}\b", source)]
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="which (default: all)")
    parser.add_argument("--mutations", action="store_true", help="check that each mutant fails")
    parser.add_argument("--table", type=pathlib.Path, help="write the results there, too")
    parser.add_argument("--jobs", type=int, default=1, help="searches at a time (default 1)")
    parser.add_argument("--version", action="version", version="mltp models 1")
    args = parser.parse_args()
    unknown = set(args.models) - set(VARIANTS)
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))} (there are {', '.join(VARIANTS)})")
    if shutil.which("spin") is None:
        print("skipped: spin is not installed (Debian package spin)")
        return SKIPPED
    models = args.models or list(VARIANTS)
    errors = check_table(models)
    if args.mutations:
        work = [(f"{model} {m.number:>2}  {m.labels}: {m.change}", check_mutation, model, m)
                for model in models for m in MUTATIONS[model]]
    else:
        work = [(name_of(model, v), explore, model, v) for model in models
                for v in VARIANTS[model]]
    lines = []
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, result in [(name, pool.submit(*call)) for name, *call in work]:
            try:
                line, error = result.result()
            except Failed as failed:
                line, error = "", str(failed)
            lines.append(f"{'FAILED' if error else 'ok':6} {name:<88} {error or line}")
            errors += [f"{name}: {error}"] if error else []
            print(lines[-1], flush=True)
    if args.table:
        args.table.write_text("\n".join(lines) + "\n")
    for error in errors:
        print(f"run.py: {error} (see docs/protocols.md)", file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
