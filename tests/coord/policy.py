#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the properties of src/coord/policy.h on random histories of programs.

Usage: policy.py LIBRARY [HISTORIES]

A history is a list of events: programs start, end, ask for more or less, and the policy decides
after each of them, as the daemon does. LIBRARY is the policy as a shared library.
"""
import ctypes
import sys
import time

try:
    from hypothesis import HealthCheck, given, settings, strategies as st
except ImportError:
    print("policy.py: no hypothesis here (install python3-hypothesis): skipped")
    sys.exit(77)


class Program(ctypes.Structure):
    """struct mt_policy_program."""
    _fields_ = [(name, ctypes.c_uint32)
                for name in ("user", "weight", "most", "demand", "granted", "share", "first")]


EVENTS = st.one_of(
    st.tuples(st.just("start"), st.integers(0, 3), st.sampled_from([1, 1, 1, 2, 3, 10]),
              st.integers(1, 70), st.integers(0, 80)),
    st.tuples(st.just("end"), st.integers(0, 40)),
    st.tuples(st.just("ask"), st.integers(0, 40), st.integers(0, 80)))

# A user's programs share time when they outnumber its CPUs, so both sides of that are drawn.
HISTORIES = st.tuples(st.sampled_from([1, 2, 3, 4, 7, 8, 16, 64, 128]),
                      st.lists(EVENTS, min_size=1, max_size=25))


def decide(library, cpus, programs):
    """Returns programs after one decision. It leaves alone what follows them."""
    after = Program(user=9, weight=1, most=1, demand=1, granted=1, share=1000, first=7)
    array = (Program * (len(programs) + 1))(*programs, after)
    error = library.mt_policy_divide(cpus, array, len(programs))
    assert error == 0, f"error {error}"
    assert bytes(array[len(programs)]) == bytes(after), "a program that was not given has changed"
    return list(array)[:len(programs)]


def useful(program):
    """The VPs that a program can keep busy now."""
    return min(program.demand, program.most)


def check(cpus, programs):
    """Checks one decision."""
    active = [p for p in programs if p.demand > 0]
    users = {p.user for p in active}
    demand = sum(useful(p) for p in active)
    assert sum(p.share for p in programs) <= 1000 * cpus, "shares above the CPUs"
    for p in programs:
        assert 1 <= p.granted <= p.most, "starved, or more than it can run"
        assert p.demand > 0 or p.share == 0, "an idle program counts"
        assert p.demand == 0 or p.share > 0, "starved"
        assert p.share <= 1000 * p.granted
    granted = sum(p.granted for p in active)
    if len(users) == 1 and len(active) <= cpus:
        assert granted <= cpus, "VPs above the CPUs"
    timed = sum(1 for p in active if p.share < 1000)
    assert sum(p.granted for p in active if p.share >= 1000) <= cpus
    assert granted <= cpus + timed, "VPs above the CPUs, and nobody shares time"
    assert granted >= min(cpus, demand), "a CPU is left although a program asks for it"
    if demand <= cpus:
        for p in active:
            assert p.granted >= useful(p), "less than asked for while CPUs are left"
    if sum(p.granted for p in programs) < cpus:
        assert all(p.granted == p.most for p in active), "CPUs are granted to nobody"
    own = [cpu for p in programs if p.first for cpu in range(p.first, p.first + p.granted)]
    assert len(set(own)) == len(own), "one CPU is two programs' own"
    assert all(1 <= cpu <= cpus for cpu in own), "a CPU that there is not"
    for p in programs:
        assert (p.first != 0) == (p.share > 0 and p.share == 1000 * p.granted)
    for user in users:  # a user with enough to do gets its part, whatever others start
        mine = [p for p in active if p.user == user]
        part = min(cpus * 1000 // len(users), 1000 * sum(useful(p) for p in mine))
        got = sum(p.share for p in mine)
        if len(users) <= cpus and all(p.weight == 1 for p in mine):
            assert got + 1000 + len(mine) > part, f"user {user} got {got} of {part}"


def fair(cpus, programs):
    """Equal hungry programs of one user differ by one VP at most."""
    hungry = [p.granted for p in programs if p.demand >= cpus and p.most >= cpus and p.weight == 1]
    if len({p.user for p in programs}) == 1 and hungry:
        assert max(hungry) - min(hungry) <= 1, f"unfair: {hungry}"


def run(library, history):
    """Runs one history; after each event the answer must be settled at the second look."""
    cpus, events = history
    programs = []
    for event in events:
        if event[0] == "start":
            programs.append(Program(user=event[1], weight=event[2], most=event[3],
                                    demand=event[4]))
        elif programs and event[0] == "end":
            del programs[event[1] % len(programs)]
        elif programs and event[0] == "ask":
            programs[event[1] % len(programs)].demand = event[2]
        programs = decide(library, cpus, programs)
        check(cpus, programs)
        fair(cpus, programs)
        again = decide(library, cpus, programs)
        assert [p.granted for p in again] == [p.granted for p in programs], "not settled"


def refuse(library):
    """Numbers out of range are refused, and the last that are in range are not."""
    for cpus, weight, most in ((0, 1, 1), (5000, 1, 1), (2, 0, 1), (2, 1, 0), (2, 5000, 1)):
        array = (Program * 1)(Program(user=1, weight=weight, most=most, demand=1, granted=7))
        assert library.mt_policy_divide(cpus, array, 1) != 0
        assert array[0].granted == 7
    for cpus, weight, most in ((1, 1, 1), (4096, 1, 1), (2, 1000, 1)):
        array = (Program * 1)(Program(user=1, weight=weight, most=most, demand=1, granted=7))
        assert library.mt_policy_divide(cpus, array, 1) == 0
        assert array[0].granted == 1


# Divisions: CPUs; of each program the user, the weight, the most VPs, the demand, and what it had; then what it gets,
# its thousandths of a CPU, and its first own CPU (0: it has none).
DIVISIONS = (
    ("by weight", 8, ((0, 3, 8, 8, 0), (0, 1, 8, 8, 0)), ((6, 6000, 1), (2, 2000, 7))),
    ("by three weights", 8, ((0, 5, 8, 8, 0), (0, 2, 8, 8, 0), (0, 1, 8, 8, 0)), ((5, 5000, 1), (2, 2000, 6), (1, 1000, 8))),
    ("by what each can use", 8, ((0, 1, 2, 8, 0), (0, 1, 8, 3, 0), (0, 1, 8, 8, 0)), ((2, 2000, 1), (3, 3000, 3), (3, 3000, 6))),
    ("by user, however many programs", 8, ((0, 1, 8, 8, 0), (1, 1, 8, 8, 0), (1, 1, 8, 8, 0), (1, 1, 8, 8, 0)),
     ((4, 4000, 1), (2, 2000, 5), (1, 1000, 7), (1, 1000, 8))),
    ("by user, in any order", 6, ((1, 1, 8, 8, 0), (0, 1, 8, 8, 0), (1, 1, 8, 8, 0)), ((2, 2000, 1), (3, 3000, 3), (1, 1000, 6))),
    ("what a user cannot use", 5, ((0, 1, 1, 8, 0), (0, 1, 1, 8, 0), (1, 1, 8, 8, 0)), ((1, 1000, 1), (1, 1000, 2), (3, 3000, 3))),
    ("a tie, for the second", 3, ((0, 1, 8, 8, 1), (0, 1, 8, 8, 2)), ((1, 1000, 1), (2, 2000, 2))),
    ("a tie, for the first", 3, ((0, 1, 8, 8, 2), (0, 1, 8, 8, 1)), ((2, 2000, 1), (1, 1000, 3))),
    ("a tie of users", 3, ((0, 1, 8, 8, 1), (1, 1, 8, 8, 2)), ((1, 1000, 1), (2, 2000, 2))),
    ("a tie of those that had as much", 5, ((0, 1, 8, 8, 2), (0, 1, 8, 8, 2)), ((3, 3000, 1), (2, 2000, 4))),
    ("a tie of newcomers", 3, ((0, 1, 8, 8, 0), (1, 1, 8, 8, 0)), ((2, 2000, 1), (1, 1000, 3))),
    ("a tie for what is spare", 3, ((0, 1, 8, 0, 1), (0, 1, 8, 0, 2)), ((1, 0, 0), (2, 0, 0))),
    ("the same for the first", 3, ((0, 1, 8, 0, 2), (0, 1, 8, 0, 1)), ((2, 0, 0), (1, 0, 0))),
    ("time in equal parts", 2, ((0, 1, 8, 8, 0),) * 3, ((1, 666, 0),) * 3),
    ("time of those that had more", 2, ((0, 1, 8, 8, 3),) * 3, ((1, 666, 0),) * 3),
    ("time of those that had a CPU", 2, ((0, 1, 8, 8, 1),) * 3, ((1, 666, 0),) * 3),
    ("time of those that ask for little", 2, ((0, 1, 8, 1, 0),) * 3, ((1, 666, 0),) * 3),
    ("time by weight", 2, ((0, 1, 8, 8, 0), (0, 1, 8, 8, 0), (0, 2, 8, 8, 0)), ((1, 500, 0), (1, 500, 0), (1, 1000, 1))),
    ("time, a whole CPU at most", 3, ((0, 10, 8, 8, 0),) + ((0, 1, 8, 8, 0),) * 3, ((1, 1000, 1),) + ((1, 666, 0),) * 3),
    ("time, two whole CPUs", 4, ((0, 10, 8, 8, 0), (0, 9, 8, 8, 0)) + ((0, 1, 8, 8, 0),) * 3,
     ((1, 1000, 1), (1, 1000, 2)) + ((1, 666, 0),) * 3),
    ("time, and nothing for the idle", 1, ((0, 1, 8, 8, 0), (0, 1, 8, 0, 0), (0, 1, 8, 8, 0)), ((1, 500, 0), (1, 0, 0), (1, 500, 0))),
    ("time of one user", 4, ((0, 1, 8, 8, 0),) * 3 + ((1, 1, 8, 8, 0),), ((1, 666, 0),) * 3 + ((2, 2000, 1),)),
    ("more users than CPUs", 2, ((0, 1, 8, 8, 0), (1, 1, 8, 8, 0), (2, 3, 8, 8, 0)), ((1, 666, 0),) * 3),
    ("more users that ask for little", 2, ((0, 1, 8, 1, 0), (1, 1, 8, 1, 0), (2, 3, 8, 1, 0)), ((1, 666, 0),) * 3),
    ("as many users as CPUs", 2, ((0, 1, 8, 8, 0), (1, 1, 8, 8, 0), (2, 1, 8, 0, 0)), ((1, 1000, 1), (1, 1000, 2), (1, 0, 0))),
    ("spare CPUs by weight", 8, ((0, 3, 8, 0, 0), (0, 1, 8, 0, 0), (1, 1, 8, 2, 0)), ((5, 0, 0), (1, 0, 0), (2, 2000, 1))),
    ("spare CPUs beside own ones", 8, ((0, 3, 8, 1, 0), (1, 1, 8, 1, 0)), ((6, 1000, 0), (2, 1000, 0))),
    ("no more than it can run", 4, ((0, 1, 3, 0, 0),), ((3, 0, 0),)),
    ("nothing to divide", 4, (), ()),
)


def divide(library):
    """Each division is as the rules say, to the thousandth."""
    for name, cpus, programs, expected in DIVISIONS:
        before = [Program(user=user, weight=weight, most=most, demand=demand, granted=had, share=1000 * had, first=9)
                  for user, weight, most, demand, had in programs]
        got = tuple((p.granted, p.share, p.first) for p in decide(library, cpus, before))
        assert got == expected, f"{name}: {got}, not {expected}"


class Allocated(ctypes.Structure):
    """struct mallinfo2."""
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
                                                     "fordblks", "keepcost")]


def give_back(library):
    """A division gives back all memory that it has taken."""
    mallinfo = ctypes.CDLL(None).mallinfo2
    mallinfo.restype = Allocated
    programs, times = 1000, 100
    array = (Program * programs)(*[Program(user=i % 5, weight=1, most=4, demand=2) for i in range(programs)])
    before = mallinfo().uordblks
    for _ in range(times):
        assert library.mt_policy_divide(8, array, programs) == 0
    assert mallinfo().uordblks - before < programs * times  # a byte of each program


def keep(library):
    """Of two users with as much, the one that had more keeps the CPU that is left: a part of a CPU counts as one."""
    programs = [Program(user=0, weight=1, most=3, demand=3, granted=1, share=1000),
                Program(user=1, weight=1, most=3, demand=3, granted=1, share=501),
                Program(user=1, weight=1, most=3, demand=3, granted=1, share=500)]
    for order in (programs, programs[::-1]):
        assert [p.share for p in decide(library, 3, order)] == [1000, 1000, 1000]


def speed(library):
    """A thousand programs: prints how long a decision takes, the least of ten."""
    programs = [Program(user=i % 5, weight=1, most=64, demand=i % 65) for i in range(1000)]
    for cpus in (2, 64, 1024):
        best = 1e9
        array = (Program * 1000)(*programs)
        for _ in range(10):
            begin = time.perf_counter()
            assert library.mt_policy_divide(cpus, array, 1000) == 0
            best = min(best, time.perf_counter() - begin)
        print(f"1000 programs on {cpus} CPUs: {best * 1e6:.0f} us")


def main():
    library = ctypes.CDLL(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 2000

    @settings(max_examples=count, deadline=None, database=None,
              suppress_health_check=list(HealthCheck))
    @given(HISTORIES)
    def histories(history):
        run(library, history)

    refuse(library)
    divide(library)
    give_back(library)
    keep(library)
    histories()
    print(f"{count} histories")
    speed(library)


if __name__ == "__main__":
    main()
