#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a Python program records through ctypes: the same as program.c. Usage: program.py LIBRARY"""
import ctypes
import sys
import threading


def main():
    lib = ctypes.CDLL(sys.argv[1])
    lib.fabscope_push.argtypes = [ctypes.c_char_p]
    lib.fabscope_push.restype = None
    lib.fabscope_pop.argtypes = [ctypes.c_uint64, ctypes.c_int64]
    lib.fabscope_pop.restype = None
    lib.fabscope_step.argtypes = [ctypes.c_int64]
    lib.fabscope_step.restype = None
    lib.fabscope_ignored.restype = ctypes.c_uint64

    def other_thread():
        lib.fabscope_pop(0, 0)
        lib.fabscope_push(b"thread")
        lib.fabscope_pop(5, 5)

    for number in range(10):
        lib.fabscope_step(number)
        lib.fabscope_push(b"outer")
        lib.fabscope_push(b"inner")
        lib.fabscope_pop(100, number)
        lib.fabscope_pop(0, -number)
    thread = threading.Thread(target=other_thread)
    thread.start()
    thread.join()
    for name in (None, b""):
        lib.fabscope_push(name)
        lib.fabscope_pop(0, 0)
    lib.fabscope_pop(0, 0)
    for _ in range(70):
        lib.fabscope_push(b"deep")
    for _ in range(70):
        lib.fabscope_pop(0, 0)
    lib.fabscope_flush()
    return 0 if lib.fabscope_ignored() == 4 + 6 else 2


if __name__ == "__main__":
    sys.exit(main())
