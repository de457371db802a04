# SPDX-License-Identifier: Apache-2.0
"""Jobs of many nodes: start-up and allreduce of 8 bytes, from constants that were measured on a few nodes.

Each node is a process that sends and receives one message at a time. A message takes its sender SEND, then LATENCY, then
its receiver RECEIVE. Assumed: no two messages share a link, all nodes begin at once, and a node has a CPU whenever it
needs one. docs/design/040-thousand-nodes.md says where the constants come from.

    python3 -m model.nodes [NODES...]
"""
import sys

LATENCY, SEND, RECEIVE = 6e-6, 1e-6, 2e-6  # s: over loopback; SEND and RECEIVE are assumed parts of it
NODE_START, PEER_START = 58e-3, 1.4e-3  # s of CPU time of a node, and for each of its peers
PEER_BYTES, PEER_SOCKETS = 4900, 2
LOCAL = 3e-6  # s: 64 ranks meet within a node; assumed


class Nodes:
    """The time at which each node is free."""

    def __init__(self, count):
        self.free = [0.0] * count

    def send(self, source):
        """@return when the message is at its receiver."""
        self.free[source] += SEND
        return self.free[source] + LATENCY

    def receive(self, dest, arrival):
        self.free[dest] = max(self.free[dest], arrival) + RECEIVE


def broadcast(nodes):
    """A binomial tree from node 0: the farthest receivers first, as coll/nodes.c has it."""
    count, step = len(nodes.free), 1
    while step < count:
        for source in range(min(step, count - step)):
            nodes.receive(source + step, nodes.send(source))
        step *= 2


def to_root(count):
    """As it is: each node sends to node 0, which then broadcasts."""
    nodes = Nodes(count)
    for arrival in sorted(nodes.send(node) for node in range(1, count)):
        nodes.receive(0, arrival)
    broadcast(nodes)
    return max(nodes.free) + 2 * LOCAL


def tree(count):
    """Proposed: a binomial tree of partial results, in the order of nodes, then the broadcast."""
    nodes, step = Nodes(count), 1
    while step < count:
        for dest in range(0, count - step, 2 * step):
            nodes.receive(dest, nodes.send(dest + step))
        step *= 2
    broadcast(nodes)
    return max(nodes.free) + 2 * LOCAL


def start(count):
    return NODE_START + (count - 1) * PEER_START


def main(counts):
    print("nodes  start s  sockets  MB for peers  allreduce us: to the root  by a tree")
    for count in counts:
        print(f"{count:5}  {start(count):7.2f}  {PEER_SOCKETS * (count - 1):7}  {PEER_BYTES * (count - 1) / 1e6:12.2f}"
              f"  {1e6 * to_root(count):25.0f}  {1e6 * tree(count):9.0f}")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [2, 16, 128, 512, 1000])
