#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks src/sync, and what waits in src/core and src/alternatives, in one place at a time and demands that `mltp explore` notices.

An exploration that cannot fail shows nothing. Each mutation takes out a re-check, a wake-up or
the order of two steps; the sources as they are must pass the same exploration. Makes a checked
library of its own, since only that one can switch between atomic steps.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu17", "-O1", "-g", "-D_GNU_SOURCE", "-DMLTP_CHECKED=1", "-fno-omit-frame-pointer",
         "-pthread", f"-I{ROOT}/include", f"-I{ROOT}/src", "-ftls-model=initial-exec"]

# What is broken, one place at a time.
ROOMS = "sync", "alternatives/spin", "core/wait", "core/timer", "core/life", "core/sched"

# The file that is compiled with a changed header.
USERS = {"lock_word.h": "lock_reactive.c", "rwlock.h": "rwlock.c", "word.h": "persistent.c"}

# File, what is taken out or changed, what comes in its place, the case of primitives, why.
MUTATIONS = [
    ("lock_word.h", "if (mt_lock_holder_in(word) != NULL) return false;", "", "try-reactive",
     "a lock is taken although it is held"),
    ("lock_word.h", "word | MT_LOCK_WAITERS)) {", "word)) {", "reactive",
     "a waiter does not mark the lock: the holder does not come for it"),
    ("lock_word.h", "if (lock->queue_.count_ != 0) word |= MT_LOCK_WAITERS;", "", "reactive",
     "the mark is lost while others wait"),
    ("lock_reactive.c", "if (first != NULL) mt_resume(first);", "", "reactive",
     "the first waiter is taken out and not resumed"),
    ("lock_reactive.c", "mt_lock_pass_on(lock, handed ? first : NULL);", "mt_lock_pass_on(lock, NULL);", "reactive",
     "a lock that was handed over is free"),
    ("lock_reactive.c", "if (mt_lock_take_or_mark(lock, self)) {", "if (lock->word_ = lock->word_ | 1, 0) {",
     "reactive", "the lock is not looked at again under the guard"),
    ("lock_ticket.c", "if (!mt_cas_relaxed(&lock->ticket_, &serving, serving + 1)) return false;",
     "if (lock->ticket_ != serving) return false;\n  mt_step(\"\");\n  lock->ticket_ = serving + 1;",
     "try-spin", "a ticket is looked at and then taken, in two steps"),
    ("lock_ticket.c", "uint64_t ticket = mt_add_relaxed(&lock->ticket_, 1);",
     "uint64_t ticket = lock->ticket_;\n  mt_step(\"\");\n  lock->ticket_ = ticket + 1;",
     "spin", "the same by a waiter"),
    ("lock_sem.c", "if (word == FREE) {", "if (word != (HELD | SLEEPERS)) {",
     "semaphore-lock", "a thread that finds the lock held once takes it for free"),
    ("lock_yield.c", "return mt_lock_reactive_try(lock, self);",
     "return lock->word_ = (uint64_t)(uintptr_t)self, true;", "yield-end",
     "the holder is looked at and then replaced, in two steps"),
    ("sem.c", "if (sem->value_ == 0) return false;", "", "sem", "a unit that is not there is taken"),
    ("sem.c", "if (t == NULL && error == 0)", "if (error == 0)", "sem",
     "a unit is handed over and counted as well"),
    ("sem.c", "return mt_timer_disarm(&timer, wait(sem, self, &timer));",
     "return wait(sem, self, &timer);", "timed-sem", "a timer outlives its wait"),
    ("cond.c", "bool entered = mt_wait_enter(self, q, timer);\n"
     "  int error = lock != NULL ? let_go(call, lock, self) : 0;",
     "mt_ilock_unlock(&q->ilock_);\n"
     "  int error = lock != NULL ? let_go(call, lock, self) : 0;\n"
     "  mt_step(\"\");\n  mt_ilock_lock(&q->ilock_);\n"
     "  bool entered = mt_wait_enter(self, q, timer);", "cond",
     "the lock is let go before the caller is in the queue"),
    ("cond.c", "  if (timer != NULL) error = mt_timer_disarm(timer, error);\n", "",
     "timed-cond", "a timer outlives its wait"),
    ("barrier.c", "parts->open != 0 || parts->given < barrier->needed_", "parts->open != 0", "barrier",
     "units that no part has yet are not waited for"),
    ("barrier.c", "part->owed > 1", "part->owed > 0", "barrier", "a part is completed and the barrier does not count it"),
    ("barrier.c", "mt_store_relaxed(&part->owed, part->owed - 1); /* relaxed: move_unit() looks first */",
     "uint32_t owed = part->owed;\n    mt_ilock_unlock(&part->queue.ilock_);\n    mt_step(\"\");\n"
     "    mt_ilock_lock(&part->queue.ilock_);\n    part->owed = owed - 1;", "barrier",
     "what a part owes is looked at and then changed, in two steps"),
    ("barrier.c", "waiters[count++] = (struct mt_home_chain){part->mixed ? NULL : part->home, part->queue.head_};",
     "", "barrier", "waiters are taken out and not resumed"),
    ("sleep.c", "mt_wait(self, &nobody, false, MT_WHY_SLEEP, &timer));",
     "(mt_ilock_unlock(&nobody.ilock_), 0));", "sleep", "a sleeper does not wait"),
    ("lock_queue.c", "mt_store_relaxed(&self->wait_mode, PARKS);", "", "queue",
     "a thread parks without a record"),
    ("lock_queue.c", "if (mt_lock_take_or_mark(lock, self)) {", "if (lock->word_ = lock->word_ | 1, 0) {",
     "queue", "the lock is not looked at again under the guard"),
    ("lock_queue.c", "mt_lock_pass_on(lock, first);", "mt_lock_pass_on(lock, NULL);", "queue",
     "a lock that was handed over is free"),
    ("lock_spin.c", "if (!kind_of(lock)->trylock(&lock->spin_, &none)) return false;",
     "kind_of(lock)->trylock(&lock->spin_, &none);", "try-mcs", "a lock is taken although it is held"),
    ("word.h", "return mt_spin_word_looks_free(lock) && mt_spin_word_exchange(lock);",
     "return mt_spin_word_exchange(lock) || true;", "persistent", "the same"),
    ("array.c", "mt_add_acq_rel(place, 1);", "", "array", "the next in turn is not tapped"),
    ("mcs.c", "mt_store_release(&next->granted, 1);", "", "mcs", "the lock is not handed over"),
    ("clh.c", "    mt_store_relaxed(&lock->grant_, 0);\n", "", "clh", "the lock's own word stays released"),
    ("await.c", "(mt_load_seq_cst(predicate->word) == predicate->value) == predicate->equal", "false", "await",
     "the word is not looked at again under the guard"),
    ("await.c", "mt_store_seq_cst(&bucket->waiters, bucket->waiters + 1);", "", "await", "a waiter does not count itself"),
    ("await.c", " || !mt_await_holds(t->awaits)) continue;", ") continue;", "await",
     "the waker does not test the predicate"),
    ("await.c", "  if (woken == 1)\n    mt_resume(first);", "  if (woken >= 1)\n    mt_resume(first);", "timed-await",
     "the first waiter only is resumed"),
    ("await.c", "return mt_timer_disarm(&timer, park(self, predicate, &timer));",
     "return park(self, predicate, &timer);", "timed-await", "a timer outlives its wait"),
    ("rwlock.h", "if (mt_cas_acquire(&lock->word_, &word, next)) return true;",
     "return lock->word_ = next, true;", "rwlock", "the word is looked at and then replaced, in two steps"),
    ("rwlock_queue.c", "word & MT_RW_WAITERS || mt_cas_relaxed(&lock->word_, &word, word | MT_RW_WAITERS)",
     "true", "rwlock", "a waiter does not mark the lock"),
    ("rwlock_queue.c", "if (q->count_ != 0) next |= MT_RW_WAITERS;", "", "rwlock",
     "the mark is lost while others wait"),
    ("rwlock_queue.c", "mt_resume_chain(chain);\n  return true;", "return true;", "rwlock",
     "an admitted thread is not resumed"),
    ("rwlock_queue.c", "*word = (*word | MT_RW_READERS) + MT_RW_ONE_READER;",
     "*word |= MT_RW_READERS | MT_RW_ONE_READER;", "rwlock", "readers that are let in together count as one"),
    ("rwlock_queue.c", "if (error != 0) give_up(lock);", "", "timed-rwlock",
     "readers stay behind a writer that gave up"),
    ("rwlock_queue.c", "mt_add_relaxed(&lock->word_, more & ~(uint64_t)MT_RW_READERS);", "", "timed-rwlock",
     "readers admitted then are not counted"),
    ("latch.c", "  latch->left_ -= n;\n",
     "  uint64_t left = latch->left_;\n  mt_ilock_unlock(&q->ilock_);\n  mt_step(\"\");\n"
     "  mt_ilock_lock(&q->ilock_);\n  latch->left_ = left - n;\n", "latch",
     "the count is looked at and then changed, in two steps"),
    ("latch.c", "mt_ilock_lock(&q->ilock_);\n  if (latch->left_ != 0) return",
     "bool shut = latch->left_ != 0;\n  mt_step(\"\");\n  mt_ilock_lock(&q->ilock_);\n  if (shut) return",
     "latch", "the count is looked at before the guard is taken"),
    ("latch.c", "mt_resume_chain(waiters);", "if (waiters != NULL) mt_resume(waiters);", "latch",
     "the first waiter only is resumed"),
    ("latch.c", "return mt_timer_disarm(&timer, wait(call, latch, why, &timer));",
     "return wait(call, latch, why, &timer);", "timed-latch", "a timer outlives its wait"),
    ("latch.c", "  latch->left_ += (uint64_t)n;\n",
     "  uint64_t left = latch->left_;\n  mt_ilock_unlock(&latch->queue_.ilock_);\n  mt_step(\"\");\n"
     "  mt_ilock_lock(&latch->queue_.ilock_);\n  latch->left_ = left + (uint64_t)n;\n", "waitgroup",
     "tasks are added in two steps"),
    ("once.c", "    mt_store_relaxed(&once->state_, RUNNING); /* relaxed: all but DONE is under the internal lock */\n",
     "", "once", "the caller that runs it does not record it"),
    ("once.c", "bool done = once->state_ == DONE;", "bool done = false;", "once",
     "a waiter does it again"),
    ("once.c", "  mt_resume_chain(waiters);\n", "", "once", "waiters are not resumed"),
    ("once.c", "mt_store_release(&once->state_, call->outcome);",
     "mt_store_release(&once->state_, DONE);", "once-left", "what was left counts as done"),
    ("channel.c", "if (t == NULL) continue;", "", "timed-channel", "a case is served whose thread is gone"),
    ("channel.c", "if (t != NULL) record->done = c;", "record->done = c;", "timed-channel",
     "a case happens although the deadline came first"),
    ("channel.c", "if (sender != NULL) put(channel, sender->element);", "(void)sender;", "buffer",
     "an element of a waiting sender is lost"),
    ("channel.c", "    c->error = EPIPE;\n    t->next", "    t->next", "close", "a waiter does not learn that the channel is closed"),
    ("channel.c", "  waiters = give_up(&channel->receivers, waiters);\n", "", "close",
     "receivers stay when a channel is closed"),
    ("select.c", "done = try_all(self, cases, count, &peer);\n    if", "if", "channel",
     "what has become possible is not tried again before waiting"),
    ("select.c", "    mt_case_leave(c);\n", "", "two-selects", "cases stay in the queues"),
    ("select.c", "  if (peer != NULL) mt_resume(peer);\n", "", "channel", "the other one is not resumed"),
    ("select.c", "  mt_ilock_lock(&record->queue.ilock_);\n"
     "  bool entered = mt_wait_enter(self, &record->queue, timer);\n  unlock_all(order);\n",
     "  unlock_all(order);\n  mt_step(\"\");\n  mt_ilock_lock(&record->queue.ilock_);\n"
     "  bool entered = mt_wait_enter(self, &record->queue, timer);\n", "channel",
     "the channels are let go before the caller is in its place"),
    ("select.c", "error = mt_timer_disarm(&timer, ETIMEDOUT);", "", "timed-channel",
     "a timer outlives its wait"),
]


def source_of(file):
    """The one file of that name in the rooms that are broken."""
    return next(path for room in ROOMS
                if (path := ROOT / "src" / room / file).exists())


def object_of(folder, source):
    """Files of two rooms may have one name."""
    return folder / f"{source.parent.name}-{source.name}.o"


def build(cc, names, folder, jobs):
    """The library's sources and the primitives, as they are. Returns the objects."""
    sources = [pathlib.Path(line) for line in names.read_text().splitlines()]
    sources += sorted((ROOT / "tests/explore/primitives").glob("*.c"))
    running = []
    for source in sources:
        if len(running) >= jobs:
            assert running.pop(0).wait() == 0
        running.append(subprocess.Popen([cc, *FLAGS, "-c", source, "-o",
                                         object_of(folder, source)]))
    for process in running:
        assert process.wait() == 0
    return [object_of(folder, source) for source in sources]


def explore(mltp, program, case, runs):
    """The first line of what the strategies say: which of them fails first, or that none does."""
    for strategy in ["preempt", "--bound", "2"], ["random"], ["pct"]:
        said = subprocess.run([mltp, "explore", "--timeout", "20", "--steps", "20000", "--runs", runs,
                               "--strategy", *strategy, "--", program, case],
                              capture_output=True, text=True, check=False)
        if said.returncode != 0:
            line = said.stdout.splitlines()[0] if said.stdout else said.stderr.strip()
            return True, f"{strategy[0]}, " + re.sub("^explore: ", "", line)
    return False, "not noticed"


def stale():
    """The mutations whose place is not in the source, or there more than once."""
    return [f"{source_of(file)} has no single '{old}' (bring the table up to date)"
            for file, old, *_ in MUTATIONS if source_of(file).read_text().count(old) != 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("mltp")
    parser.add_argument("sources", type=pathlib.Path, help="file with the names of libmltp's sources")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--runs", default="300", help="of each strategy")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    parser.add_argument("--table", type=pathlib.Path, help="file for the results")
    parser.add_argument("--look", action="store_true",
                        help="only look whether the source has each place that is to be broken")
    asked = parser.parse_args()
    if stale() or asked.look:
        print("\n".join(stale()) or f"mutations: all {len(MUTATIONS)} places are there")
        return bool(stale())
    bad = 0
    rows = [f"{'file':16}{'case':16}{'noticed by':52}mutation"]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        objects = build(asked.cc, asked.sources, folder, asked.jobs)
        program = folder / "program"
        for room in ROOMS:
            (folder / room).mkdir(parents=True)
        subprocess.run([asked.cc, "-pthread", *objects, "-o", program], check=True)
        for case in sorted({case for *_, case, _ in MUTATIONS}):
            failed, how = explore(asked.mltp, program, case, asked.runs)
            bad += failed
            if failed:
                rows.append(f"{'(as it is)':16}{case:16}{how:52}must pass")
        for file, old, new, case, why in MUTATIONS:
            text = source_of(file).read_text()
            mutant = folder / source_of(file).relative_to(ROOT / "src")
            mutant.write_text(text.replace(old, new))
            source = source_of(USERS[file]) if file in USERS else mutant
            subprocess.run([asked.cc, f"-I{folder}", *FLAGS, "-c", source, "-o", folder / "mutant.o"],
                           check=True)
            mutant.unlink()
            others = [path for path in objects if path != object_of(folder, source)]
            subprocess.run([asked.cc, "-pthread", *others, folder / "mutant.o", "-o", program],
                           check=True)
            noticed, how = explore(asked.mltp, program, case, asked.runs)
            bad += not noticed
            rows.append(f"{file:16}{case:16}{how:52}{why}")
            print(rows[-1], flush=True)
    if asked.table:
        asked.table.write_text("\n".join(rows) + "\n")
    print(f"mutations: {len(MUTATIONS)} tried, {bad} results not as wanted")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
