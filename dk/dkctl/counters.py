# SPDX-License-Identifier: Apache-2.0
"""Instructions and cycles of this process's children, where the machine has counters (perf_event_open(2))."""
import ctypes
import os
import platform
import struct

CALLS = {"x86_64": 298, "aarch64": 241}
CYCLES, INSTRUCTIONS = 0, 1
INHERIT, EXCLUDE_KERNEL, EXCLUDE_HV = 1 << 1, 1 << 5, 1 << 6
ATTR_SIZE = 64


def opened(event):
    """A descriptor that counts an event of this process and of children to come; None if it cannot be had."""
    number = CALLS.get(platform.machine())
    if number is None:
        return None
    flags = INHERIT | EXCLUDE_KERNEL | EXCLUDE_HV
    attr = struct.pack("IIQQQQQ", 0, ATTR_SIZE, event, 0, 0, 0, flags).ljust(ATTR_SIZE, b"\0")
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, ctypes.c_char_p(attr), 0, -1, -1, 0)
    return descriptor if descriptor >= 0 else None


class Counters:
    """Counts from construction on. ipc() is instructions per cycle, None where the machine has no counters."""

    def __init__(self):
        self.open = [opened(INSTRUCTIONS), opened(CYCLES)]

    def ipc(self):
        """Instructions per cycle of all children that have ended, and of this process."""
        values = [struct.unpack("Q", os.read(d, 8))[0] if d is not None else 0 for d in self.open]
        for descriptor in self.open:
            if descriptor is not None:
                os.close(descriptor)
        self.open = []
        return values[0] / values[1] if all(values) else None
