# SPDX-License-Identifier: Apache-2.0
"""Closed networks by brute force: simulated event by event. What the analysis is compared with."""

import heapq
import random


def one_class(delay, demands, customers, cycles, seed):
    """Customers with exponential times at a delay and, one after the other, at queues in order of
    arrival. Returns cycles a second, and the mean number of customers at each queue."""
    rng = random.Random(seed)
    now, ended, area, last = 0.0, 0, [0.0] * len(demands), 0.0
    lines = [[] for _ in demands]  # the customers at each queue; the first is in service
    events = []  # (time, tie, customer, place): the customer ends its service there; -1: the delay

    def arrive(customer, place):
        if place == len(demands):
            place = -1
        if place < 0:
            heapq.heappush(events, (now + rng.expovariate(1 / delay), customer, place))
            return
        lines[place].append(customer)
        if len(lines[place]) == 1:
            serve(place)

    def serve(place):
        time = now + rng.expovariate(1 / demands[place])
        heapq.heappush(events, (time, lines[place][0], place))

    for customer in range(customers):
        arrive(customer, -1)
    while ended < cycles:
        now, customer, place = heapq.heappop(events)
        for k, line in enumerate(lines):
            area[k] += len(line) * (now - last)
        last = now
        if place >= 0:
            lines[place].pop(0)
            if lines[place]:
                serve(place)
        if place == len(demands) - 1:
            ended += 1
        arrive(customer, place + 1)
    return ended / now, [a / now for a in area]


def two_classes(classes, cycles, seed):
    """Two classes, (customers, delay, demand) each, at one queue that shares itself among those
    present. Returns the mean time at the queue of each class."""
    rng = random.Random(seed)
    at_queue, area, ended, now = [0, 0], [0.0, 0.0], [0, 0], 0.0
    while sum(ended) < cycles:
        present = sum(at_queue)
        rates = [(n - q) / delay for (n, delay, _), q in zip(classes, at_queue)]
        rates += [q / present / demand if q else 0.0
                  for (_, _, demand), q in zip(classes, at_queue)]
        step = rng.expovariate(sum(rates))
        now += step
        for c in (0, 1):
            area[c] += at_queue[c] * step
        event = rng.choices(range(4), rates)[0]
        if event < 2:
            at_queue[event] += 1
        else:
            at_queue[event - 2] -= 1
            ended[event - 2] += 1
    return [a / e for a, e in zip(area, ended)]
