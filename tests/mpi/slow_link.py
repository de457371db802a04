#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A link between a node of check_nodes.py and the bridge that delays frames and loses some of them.

A process takes frames of a TAP device in the node's network namespace, and gives them to one in its own, and back. The
kernel's netem does the same, but stock kernels of containers do not have it. It ends when its input is closed.
"""
import argparse
import collections
import ctypes
import fcntl
import os
import random
import select
import struct
import sys
import time

TUNSETIFF, IFF_TAP, IFF_NO_PI = 0x400454ca, 0x2, 0x1000
CLONE_NEWNET = 0x40000000
FRAME_MAX = 65536


def tap(name):
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return device


def enter_network(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net", "rb") as space:
        if libc.setns(space.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")


def send_due(waiting, now):
    """Frames that a device does not take are lost, as on a link that is full."""
    while waiting and waiting[0][0] <= now:
        _, device, frame = waiting.popleft()
        try:
            os.write(device, frame)
        except OSError:
            pass


def relay(one, other, delay, loss):
    """All frames are delayed alike, so they keep their order."""
    waiting, chance = collections.deque(), random.Random(1)
    while True:
        now = time.monotonic()
        send_due(waiting, now)
        pause = max(waiting[0][0] - now, 0) if waiting else None
        readable, _, _ = select.select([one, other, sys.stdin], [], [], pause)
        if sys.stdin in readable:
            return
        for device in readable:
            try:
                frame = os.read(device, FRAME_MAX)
            except OSError:  # the device is not up yet
                time.sleep(0.001)
                continue
            if chance.random() >= loss:
                waiting.append((time.monotonic() + delay, other if device == one else one, frame))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pid", type=int, help="a process in the node's namespaces")
    parser.add_argument("port", help="name of the device here; the node's is eth0")
    parser.add_argument("delay", type=float, help="ms")
    parser.add_argument("loss", type=float, help="percent of the frames")
    args = parser.parse_args()
    here = tap(args.port)
    enter_network(args.pid)
    there = tap("eth0")
    print("ready", flush=True)
    relay(here, there, args.delay / 1000, args.loss / 100)


if __name__ == "__main__":
    main()
