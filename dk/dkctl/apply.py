# SPDX-License-Identifier: Apache-2.0
"""Makes the writes of a plan, and puts the old state back."""
from . import cpus


def split(target):
    """The parts of a thread's target: (tid, start); None for a file."""
    if not target.startswith("affinity:"):
        return None
    _, tid, start, _ = target.split(":", 3)
    return int(tid), int(start)


def current(host, target):
    """The text that a target has now; None if it is gone."""
    thread = split(target)
    if not thread:
        return host.read(target)
    task = host.task(thread[0])
    return cpus.format_list(task.affinity) if task and task.start == thread[1] else None


def put(host, target, text):
    """Writes a text to a target. OSError: the kernel refuses."""
    thread = split(target)
    if thread:
        host.set_affinity(thread[0], cpus.parse_list(text))
    else:
        host.write(target, text)


def same(target, first, second):
    """True if two texts mean the same to a target: cgroups may list controllers in any order."""
    if first == second:
        return True
    return target.endswith("subtree_control") and sorted((first or "").split()) == sorted((second or "").split())


def apply(host, writes):
    """Makes writes in order. A target that is gone is left out. Returns what the kernel refused, as texts.

    The caller has put the writes into the journal before.
    """
    refused = []
    for write in writes:
        if split(write.target) and current(host, write.target) is None:
            continue  # the thread has ended
        try:
            put(host, write.target, write.new)
        except OSError as error:
            refused.append(f"{write.why}: {write.target} stays {write.old or 'empty'}: {error.strerror}")
    return refused


def restore(host, entries):
    """Puts back every entry of a journal, the last first. Returns (restored, gone, failed), as lists of texts."""
    restored, gone, failed = [], [], []
    for target, old, undo, _ in reversed(entries):
        now = current(host, target)
        if now is None:
            if old or not target.endswith("cpuset.cpus"):  # that file leaves with its controller
                gone.append(target)
            continue
        if same(target, now, old):
            continue
        try:
            put(host, target, old if undo is None else undo)
        except OSError as error:
            failed.append((target, old, error.strerror))
            continue
        if same(target, current(host, target), old):
            restored.append(target)
        else:
            failed.append((target, old, f"it reads '{current(host, target)}' in place of '{old}'"))
    # A cgroup with tasks takes no empty CPU set back; the set leaves with its controller, which comes later.
    left = [f"{target}: {why}" for target, old, why in failed
            if current(host, target) is not None or old or not target.endswith("cpuset.cpus")]
    return restored, gone, left


def free_inheritors(host, entries, since):
    """Widens threads that started after the plan and inherited an affinity of it. Returns how many.

    since: the start of the youngest thread that the plan knew. An affinity counts as inherited if the
    journal moved threads to exactly it, and all of those came from one and the same affinity.
    """
    olds, freed = {}, 0
    for target, old, _, new in entries:
        if split(target):
            olds.setdefault(new, set()).add(old)
    for task in host.tasks() if olds else ():
        before = olds.get(cpus.format_list(task.affinity), ())
        if task.start <= since or task.pinned or len(before) != 1:
            continue
        try:
            host.set_affinity(task.tid, cpus.parse_list(next(iter(before))))
            freed += 1
        except OSError:
            continue  # it has ended
    return freed
