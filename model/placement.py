# SPDX-License-Identifier: Apache-2.0
"""Equation 3.1: how many queues a processor looks at before it finds work.

`threads` ready threads lie in `queues` queues, each in any with the same probability; the processor
begins with its own and continues in order. It looks at as many as the first non-empty one has as its
number: E(r, q) is the mean of the least of r numbers drawn from 1..q. The paper sums over which
thread is the least one; summed over how long the search continues it is much shorter,

    E(r, q) = sum over i = 1..q of ((q - i + 1) / q) ** r,

since all r numbers are at least i with that probability. The two are equal (the tests compare
them), and this one also takes a mean number of threads, which need not be whole.
"""


def queues_examined(threads, queues):
    """E(r, q) of equation 3.1, with r = threads (1 or more) and q = queues (1 or more)."""
    if queues < 1 or queues != int(queues):
        raise ValueError(f"{queues} queues: there must be a whole number of them, at least 1")
    if not threads >= 1:
        raise ValueError(f"{threads} ready threads: a search ends only if there is at least 1")
    return sum((left / queues) ** threads for left in range(1, queues + 1))


def searched(runnable, processors):
    """Queues looked at per thread when `runnable` threads run on, or wait for, `processors`.

    Figure 5's reading of (3.1). Below the number of processors, one of the runnable threads has
    just been created and all idle processors look for it: by symmetry the ready thread and the
    searchers change places. From there on, a processor has just finished one and looks for the
    others that do not run. Both give r = 1 where there are as many threads as processors: half of
    all queues are empty on the way.
    """
    if runnable < 1:
        raise ValueError(f"{runnable} runnable threads: there must be at least 1")
    return queues_examined(abs(runnable - processors) + 1, processors)
