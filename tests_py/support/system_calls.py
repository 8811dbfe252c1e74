"""system_calls.py: lists the system calls of a child process, which this process traces as a debugger does."""

import contextlib
import ctypes
import os
import platform
import signal
import sys
import threading

import pytest

import child_process

# The calls that tests tell apart; all others are "other".
NUMBERS = {
    "x86_64": {2: "openat", 27: "mincore", 110: "getppid", 257: "openat"},  # 2 is open
    "aarch64": {56: "openat", 173: "getppid", 232: "mincore"},
}
TRACE_ME, SYSCALL, SET_OPTIONS, GET_SYSCALL_INFO = 0, 24, 0x4200, 0x420E
MARKED_STOPS, KILL_AT_EXIT = 1, 1 << 20  # options
AT_A_CALL = signal.SIGTRAP | 0x80
ENTRY = 1
REFUSED = 77
LIMIT = 300

# This code precedes that of the child.
CHILD = f"""
import ctypes, os, signal

def trace():
    # The child calls it when it is prepared.
    if ctypes.CDLL(None).ptrace({TRACE_ME}, 0, None, None) != 0:
        os._exit({REFUSED})
    os.kill(os.getpid(), signal.SIGSTOP)

def listed(call):
    os.getppid()  # a mark, which the library does not need
    call()
    os.getppid()
"""


def listed_calls(code, **settings):
    """The names of the system calls that the main thread of a child makes in each of its calls of listed().

    A child that has not ended after LIMIT seconds is killed.
    """
    names = NUMBERS.get(platform.machine())
    if names is None:
        pytest.skip(f"the numbers of system calls of {platform.machine()} are not in NUMBERS")
    child = os.posix_spawn(sys.executable, [sys.executable, "-c", CHILD + code], child_process.settings(settings))
    handle = os.pidfd_open(child)  # unlike its number, it never names another process
    late = threading.Timer(LIMIT, _kill, (handle,))
    late.start()
    try:
        return _traced(child, names)
    finally:
        late.cancel()
        late.join()
        _kill(handle)
        os.close(handle)
        with contextlib.suppress(ChildProcessError):  # its end is known already
            os.waitpid(child, 0)


def _kill(handle):
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)


def _traced(child, names):
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status) == REFUSED:
        pytest.skip("this process may not trace its children")
    _require_stop(child, status)
    _request(SET_OPTIONS, child, 0, MARKED_STOPS | KILL_AT_EXIT)
    info = ctypes.create_string_buffer(128)
    sections, signal_to_pass = [[]], 0
    while True:
        _request(SYSCALL, child, 0, signal_to_pass)
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            return sections[1::2]
        stopped_by = _require_stop(child, status)
        signal_to_pass = 0 if stopped_by == AT_A_CALL else stopped_by
        if stopped_by == AT_A_CALL:
            _request(GET_SYSCALL_INFO, child, len(info), ctypes.addressof(info))
            if info.raw[0] == ENTRY:
                name = names.get(int.from_bytes(info.raw[24:32], sys.byteorder), "other")
                if name == "getppid":
                    sections.append([])
                else:
                    sections[-1].append(name)


def _require_stop(child, status):
    """The signal that has stopped the child."""
    assert os.WIFSTOPPED(status), f"the child {child} ended with {os.waitstatus_to_exitcode(status)}"
    return os.WSTOPSIG(status)


def _request(kind, child, address, data):
    function = ctypes.CDLL(None, use_errno=True).ptrace
    function.restype = ctypes.c_long
    if function(ctypes.c_long(kind), child, ctypes.c_void_p(address), ctypes.c_void_p(data)) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace request {kind:#x} failed")
