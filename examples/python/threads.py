#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads of libmltp from Python, by ctypes: C functions on VPs, Python functions on bound threads.

The main thread is bound, so that it stays on the kernel thread that Python knows. A Python function
needs such a kernel thread, too: its thread is bound. A C function runs in an unbound thread.
"""
import ctypes
import ctypes.util

mltp = ctypes.CDLL(ctypes.util.find_library("mltp") or "libmltp.so.0")  # gives the GIL up in each call
libc = ctypes.CDLL(None)

USERF = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


class InitAttr(ctypes.Structure):
    """mltp_init_attr_t"""
    _fields_ = [("size", ctypes.c_size_t), ("vps", ctypes.c_int), ("bound_main", ctypes.c_int)]


class Attr(ctypes.Structure):
    """mltp_attr_t"""
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("stack_size", ctypes.c_size_t),
                ("bound", ctypes.c_int), ("detached", ctypes.c_int), ("fp_control", ctypes.c_int),
                ("priority", ctypes.c_int)]


def check(error):
    if error != 0:
        raise OSError(error, "libmltp")


class Thread:
    """A thread that runs a Python callable, or a C function with one pointer."""

    def __init__(self, function, argument=None):
        in_python = not isinstance(function, ctypes._CFuncPtr)
        attr = Attr(size=ctypes.sizeof(Attr), bound=in_python)
        # ctypes frees a callback with its last reference
        self.function = USERF(lambda _: function(argument)) if in_python else function
        self.handle = ctypes.c_void_p()
        check(mltp.mltp_create(ctypes.byref(self.handle), ctypes.byref(attr), self.function,
                               None if in_python else argument))

    def join(self):
        result = ctypes.c_void_p()
        check(mltp.mltp_join(self.handle, ctypes.byref(result)))
        return result.value


def main():
    attr = InitAttr(size=ctypes.sizeof(InitAttr), bound_main=1)
    check(mltp.mltp_init_with(ctypes.byref(attr)))

    texts = [f"text {i}".encode() for i in range(1000)]
    copies = [thread.join() for thread in [Thread(libc.strdup, text) for text in texts]]
    print("C functions on VPs:", sum(ctypes.string_at(copy) == text for copy, text in zip(copies, texts)))
    for copy in copies:
        libc.free(ctypes.c_void_p(copy))

    space, items = ctypes.create_string_buffer(256), []  # a mltp_sem_t has less
    check(mltp.mltp_sem_init(space, 0, b"items"))

    def produce(number):
        items.append(number * number)
        check(mltp.mltp_sem_post(space))
        return number

    threads = [Thread(produce, number) for number in range(10)]
    for _ in threads:
        check(mltp.mltp_sem_wait(space))
    print("Python functions on bound threads:", sum(items), sum(thread.join() or 0 for thread in threads))
    check(mltp.mltp_finalize())


if __name__ == "__main__":
    main()
