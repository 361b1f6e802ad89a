"""The C ABI, revgen.h, by ctypes."""

from __future__ import annotations

import _thread
import ctypes
import os
import pathlib
import threading
import weakref
from typing import Any, Callable, Optional

import numpy as np

ABI = 1
OK, ARGUMENT, STOPPED, CALLBACK, FORKED = 0, 3, 6, 7, 8
CONFIGURATION, FILE, MISSING, NUMBER = 1, 2, 3, 4  # what revgen_error_kind returns

HANDLE, SIZE, POINTER, DOUBLE = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_double
# Arrays come as addresses: of ctypes' own array types every length would stay in memory.
LOG_DENSITY = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, SIZE, SIZE, POINTER, POINTER, POINTER)
PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, POINTER, ctypes.c_int64, ctypes.c_int64, DOUBLE, DOUBLE)


class Target(ctypes.Structure):
    _fields_ = [("size", SIZE), ("dim", SIZE), ("modes", SIZE), ("log_density", LOG_DENSITY), ("context", POINTER)]


class Training(ctypes.Structure):
    _fields_ = [("size", SIZE), ("directory", ctypes.c_char_p), ("max_seconds", DOUBLE), ("progress", PROGRESS), ("context", POINTER)]


class SpinTarget(ctypes.Structure):
    _fields_ = [("size", SIZE), ("beta", DOUBLE), ("side", SIZE), ("coupling", DOUBLE), ("field", DOUBLE),
                ("sites", SIZE), ("edges", SIZE), ("edge", POINTER), ("couplings", POINTER), ("fields", POINTER)]


def _open() -> ctypes.CDLL:
    beside = pathlib.Path(__file__).with_name("librevgen.so.1")
    lib = ctypes.CDLL(os.environ.get("REVGEN_LIBRARY") or (str(beside) if beside.exists() else "librevgen.so.1"))
    text, number = ctypes.c_char_p, ctypes.c_uint64
    for name, arguments in {
        "open": [ctypes.c_uint32, ctypes.POINTER(HANDLE)], "close": [HANDLE], "threads": [HANDLE, ctypes.c_int],
        "load": [HANDLE, text, ctypes.POINTER(Target)], "save": [HANDLE, text],
        "train": [HANDLE, text, ctypes.POINTER(Target), ctypes.POINTER(Training)],
        "describe": [HANDLE, POINTER, SIZE, ctypes.POINTER(SIZE)],
        "sample": [HANDLE, number, number, number, text, ctypes.c_int, POINTER, SIZE],
        "energies": [HANDLE, number, text, POINTER, SIZE, POINTER, ctypes.POINTER(DOUBLE)],
        "refine": [HANDLE, number, number, text, ctypes.c_int, POINTER, SIZE],
        "diagnose": [HANDLE, DOUBLE, POINTER, SIZE, ctypes.POINTER(SIZE)],
        "metropolis": [HANDLE, ctypes.POINTER(SpinTarget), ctypes.c_int, number, number, ctypes.c_uint32, number, number, POINTER, SIZE],
        "spin_energies": [HANDLE, ctypes.POINTER(SpinTarget), number, POINTER, SIZE, POINTER],
        "cancel": [HANDLE], "error": [HANDLE, POINTER, SIZE], "error_kind": [HANDLE], "abi": [], "kernel_path": [],
    }.items():
        function = getattr(lib, "revgen_" + name)
        function.argtypes = arguments
        function.restype = {"error": SIZE, "abi": ctypes.c_uint32, "kernel_path": text}.get(name, ctypes.c_int)
    if lib.revgen_abi() != ABI:
        raise ImportError(f"{lib._name} has version {lib.revgen_abi()} of the C interface, not {ABI}")
    return lib


lib = _open()
kernel_path: str = lib.revgen_kernel_path().decode()
"""The vector instructions that the library computes with: generic, avx2 or avx512."""


class Error(Exception):
    """What the library says, in the words of the command line."""


class ConfigError(Error, ValueError):
    """A configuration or an argument is wrong. The text names it, and what would be right."""


class FileError(Error, OSError):
    """A file is damaged, of another version, or cannot be read or written."""


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


class NumberError(Error, ArithmeticError):
    """A number of the training or of the target is not finite."""


class Stopped(Error):
    """A training stopped before its end: out of time, or as progress asked.

    With a directory, the same call continues, to the same bits."""


class ForkedError(Error, RuntimeError):
    """This process is a fork of the one that loaded the library."""


_KINDS = {CONFIGURATION: ConfigError, FILE: FileError, MISSING: MissingFileError, NUMBER: NumberError}
_STATUSES = {STOPPED: Stopped, FORKED: ForkedError}


def view(address: int, n: int, dtype: type) -> np.ndarray:
    """The array of n numbers at an address, which lives as long as what is there."""
    size = n * np.dtype(dtype).itemsize
    memory = ctypes.pythonapi.PyMemoryView_FromMemory(ctypes.c_void_p(address), ctypes.c_ssize_t(size), 0x200)
    return np.frombuffer(memory, dtype)


ctypes.pythonapi.PyMemoryView_FromMemory.restype = ctypes.py_object


class Callbacks:
    """Functions of Python that the library calls. What one raises waits until it has returned."""

    def __init__(self) -> None:
        self.thrown: Optional[BaseException] = None

    def guard(self, do: Callable[[], Any]) -> int:
        try:
            return int(bool(do()))
        except BaseException as e:
            self.thrown = e
            return 1


class Handle:
    """A handle of the library."""

    def __init__(self) -> None:
        self.number = HANDLE()
        status = lib.revgen_open(ABI, ctypes.byref(self.number))
        if status != OK:
            raise self._error(status)
        self.close = weakref.finalize(self, lib.revgen_close, HANDLE(self.number.value))
        self.close.atexit = False  # the process ends, and with it what the handle holds

    def call(self, name: str, *arguments: Any, callbacks: tuple[Callbacks, ...] = (), wait: bool = False) -> None:
        """Calls a function of the library, so that Ctrl-C ends it if it makes one wait."""
        function = getattr(lib, "revgen_" + name)
        if wait and threading.current_thread() is threading.main_thread():
            status = self._interruptible(function, arguments)
        else:
            status = function(self.number, *arguments)
        for c in callbacks:
            if c.thrown is not None:
                thrown, c.thrown = c.thrown, None
                raise thrown
        if status != OK:
            raise self._error(status)

    def _interruptible(self, function: Any, arguments: tuple[Any, ...]) -> int:
        # Python runs handlers of signals in the main thread alone, between its own
        # instructions: so another thread makes the call, and this one waits for it.
        statuses: list[int] = []
        started, once, done = False, threading.Lock(), threading.Event()

        def call() -> None:
            if once.acquire(blocking=False):  # an interrupt may come before started is set
                statuses.append(function(self.number, *arguments))
                done.set()

        interrupt: Optional[BaseException] = None
        while not done.is_set():
            try:
                if not started:
                    _thread.start_new_thread(call, ())
                    started = True
                if interrupt is None:
                    done.wait()
                while not done.wait(0.05):  # until the call has heard it: it may not have begun
                    lib.revgen_cancel(self.number)
            except BaseException as e:  # KeyboardInterrupt, or what another handler raises
                if interrupt is not None:
                    raise  # asked twice: a callback does not return
                interrupt = e
                lib.revgen_cancel(self.number)
        if interrupt is not None:
            if isinstance(interrupt, KeyboardInterrupt) and statuses[0] == STOPPED:
                interrupt.args = (str(self._error(STOPPED)),)
            raise interrupt
        return statuses[0]

    def text(self, name: str, *arguments: Any, **options: Any) -> str:
        """The text that a function of the library writes to a buffer."""
        needed = SIZE()
        try:
            self.call(name, *arguments, None, 0, ctypes.byref(needed), **options)
        except ValueError:
            if not needed.value:
                raise
        buffer = ctypes.create_string_buffer(needed.value)
        self.call(name, *arguments, buffer, needed, ctypes.byref(needed))
        return buffer.value.decode()

    def _error(self, status: int) -> Error:
        size = lib.revgen_error(self.number, None, 0)
        buffer = ctypes.create_string_buffer(size)
        lib.revgen_error(self.number, buffer, size)
        kind: type[Error] = _STATUSES.get(status) or _KINDS.get(lib.revgen_error_kind(self.number), Error)
        if status == ARGUMENT:
            kind = ConfigError
        return kind(buffer.value.decode())
