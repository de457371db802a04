# SPDX-License-Identifier: Apache-2.0
"""The iteration between the levels of the model, until neither changes the other any more."""

STEPS_MAX = 2000
TOLERANCE = 1e-9


class NotConverged(Exception):
    """The levels of the model did not agree within STEPS_MAX rounds."""


def fixed_point(step, state):
    """Finds the list of numbers that `step` leaves as it is, beginning with `state`.

    A round goes only part of the way to what `step` says. Where the last two rounds went to and
    fro the part is halved, else it grows again: spinning processors slow the bus, a slow bus makes
    more of them spin, and whole steps would swing forever. Where there are several fixed points,
    the one found is that which a machine comes to from an idle start.
    """
    part, last = 0.5, None
    for _ in range(STEPS_MAX):
        target = step(state)
        change = [new - old for new, old in zip(target, state)]
        error = max((abs(c) / max(abs(old), 1.0) for c, old in zip(change, state)), default=0.0)
        if error < TOLERANCE:
            return target
        if last is not None:
            turned = sum(a * b for a, b in zip(change, last)) < 0
            part = part / 2 if turned else min(1.0, part * 1.2)
        state = [old + part * c for old, c in zip(state, change)]
        last = change
    raise NotConverged(f"no agreement between the levels within {STEPS_MAX} rounds: they still "
                       f"differ by {error:.1e} (allowed: {TOLERANCE:.0e}). Look at the demands: a "
                       "spinner that asks for more than the whole bus or line has no steady state")
