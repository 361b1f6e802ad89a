"""RevGen from Python: generators of independent samples, trained by reversibility.

    import revgen
    model = revgen.load("runs/ising")
    spins = model.sample(1_000_000, seed=7)   # an array that the library fills itself

The library is librevgen.so, found by the linker or named by $REVGEN_LIBRARY. It
holds a Go runtime, which does not survive a fork: start processes by the method
"spawn" (multiprocessing.set_start_method), or import revgen in each of them only.
"""

import ast
import ctypes
import json
import os

import numpy

ABI = 1
OK, ARGUMENT, STOPPED, FORKED = 0, 3, 6, 8
FLIPS, SWEEPS = 0, 1

_LOG_DENSITY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t,
                                ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int32), ctypes.POINTER(ctypes.c_double))
_PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_double, ctypes.c_double)


class _Target(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("dim", ctypes.c_size_t), ("modes", ctypes.c_size_t),
                ("log_density", _LOG_DENSITY), ("context", ctypes.c_void_p)]


class _Training(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("directory", ctypes.c_char_p), ("max_seconds", ctypes.c_double),
                ("progress", _PROGRESS), ("context", ctypes.c_void_p)]


class _Spins(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("beta", ctypes.c_double), ("side", ctypes.c_size_t), ("coupling", ctypes.c_double),
                ("field", ctypes.c_double), ("sites", ctypes.c_size_t), ("edges", ctypes.c_size_t), ("edge", ctypes.c_void_p),
                ("couplings", ctypes.c_void_p), ("fields", ctypes.c_void_p)]


def _open():
    lib = ctypes.CDLL(os.environ.get("REVGEN_LIBRARY", "librevgen.so"))
    handle, size, text, buffer = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
    for name, arguments in {
        "open": [ctypes.c_uint32, ctypes.POINTER(handle)], "close": [handle], "threads": [handle, ctypes.c_int],
        "load": [handle, text, ctypes.POINTER(_Target)], "save": [handle, text],
        "train": [handle, text, ctypes.POINTER(_Target), ctypes.POINTER(_Training)],
        "describe": [handle, buffer, size, ctypes.POINTER(size)],
        "sample": [handle, handle, handle, handle, text, ctypes.c_int, buffer, size],
        "energies": [handle, handle, text, buffer, size, buffer, ctypes.POINTER(ctypes.c_double)],
        "refine": [handle, handle, handle, text, ctypes.c_int, buffer, size],
        "diagnose": [handle, ctypes.c_double, buffer, size, ctypes.POINTER(size)],
        "metropolis": [handle, ctypes.POINTER(_Spins), ctypes.c_int, handle, handle, ctypes.c_uint32, handle, handle, buffer, size],
        "spin_energies": [handle, ctypes.POINTER(_Spins), handle, buffer, size, buffer],
        "cancel": [handle], "error": [handle, buffer, size], "version": [], "kernel_path": [],
    }.items():
        function = getattr(lib, "revgen_" + name)
        function.argtypes = arguments
        function.restype = {"error": size, "version": text, "kernel_path": text}.get(name, ctypes.c_int)
    return lib


_lib = _open()
version = _lib.revgen_version().decode()
kernel_path = _lib.revgen_kernel_path().decode()


class Error(Exception):
    """What the library says, with its status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Model:
    """A trained generator."""

    def __init__(self):
        self._handle = ctypes.c_uint64()
        self._target = None
        self._check(_lib.revgen_open(ABI, ctypes.byref(self._handle)))

    def __del__(self):
        if _lib is not None and self._handle:
            _lib.revgen_close(self._handle)

    def _check(self, status):
        thrown = self._target and self._target.thrown
        if thrown:
            self._target.thrown = None
            raise thrown
        if status != OK:
            size = _lib.revgen_error(self._handle, None, 0)
            text = ctypes.create_string_buffer(size)
            _lib.revgen_error(self._handle, text, size)
            raise Error(status, text.value.decode())

    def threads(self, n):
        """Computes with n threads, 0 for one for each processor."""
        self._check(_lib.revgen_threads(self._handle, n))

    def save(self, path):
        """Writes a model file."""
        self._check(_lib.revgen_save(self._handle, os.fsencode(path)))

    def describe(self):
        """The model, its configuration, its evaluation and its formats, as a dictionary."""
        size = ctypes.c_size_t()
        _lib.revgen_describe(self._handle, None, 0, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        self._check(_lib.revgen_describe(self._handle, text, size, ctypes.byref(size)))
        return json.loads(text.value)

    def diagnose(self, max_seconds=0):
        """What "revgen diagnose --json" says of the samples, as a dictionary."""
        size = ctypes.c_size_t()
        status = _lib.revgen_diagnose(self._handle, max_seconds, None, 0, ctypes.byref(size))
        if status != ARGUMENT or not size.value:
            self._check(status)
        text = ctypes.create_string_buffer(size.value)
        self._check(_lib.revgen_diagnose(self._handle, max_seconds, text, size, ctypes.byref(size)))
        return json.loads(text.value)

    def _format(self, name):
        formats = self.describe()["formats"]
        for f in formats:
            if name in (None, f["name"]):
                return f["name"].encode(), numpy.dtype(ast.literal_eval(f["dtype"])), tuple(f["shape"])
        raise ValueError(f"format {name!r} is not one of {[f['name'] for f in formats]}")

    def sample(self, n, seed, first=0, refine=0, format=None, out=None):
        """Samples first ... first+n-1 of a seed, one a row, after refine Metropolis
        steps each. out, if given, is a C-contiguous array that is filled instead of a new one."""
        name, dtype, shape = self._format(format)
        if out is None:
            out = numpy.empty((n, *shape), dtype)
        if out.dtype != dtype or out.shape != (n, *shape) or not out.flags.c_contiguous or not out.flags.writeable:
            raise ValueError(f"out is not a writeable C-contiguous array of {dtype}, {(n, *shape)}")
        self._check(_lib.revgen_sample(self._handle, seed, first, n, name, refine, out.ctypes.data, out.nbytes))
        return out

    def energies(self, states, format=None):
        """E of states as sample returns them, and the beta of their weights exp(-beta E)."""
        name, dtype, _ = self._format(format)
        states = numpy.ascontiguousarray(states, dtype)
        energies, beta = numpy.empty(len(states)), ctypes.c_double()
        self._check(_lib.revgen_energies(self._handle, len(states), name, states.ctypes.data, states.nbytes,
                                         energies.ctypes.data, ctypes.byref(beta)))
        return energies, beta.value

    def refine(self, states, seed, steps, first=0, format=None):
        """Takes states Metropolis steps, and returns them in a new array."""
        name, dtype, _ = self._format(format)
        states = numpy.array(states, dtype, order="C")
        self._check(_lib.revgen_refine(self._handle, seed, first, name, steps, states.ctypes.data, states.nbytes))
        return states


class Spins(Model):
    """Spins +1 and -1 with E(s) = -sum J_ij s_i s_j - sum h_i s_i and weights exp(-beta E), on
    a periodic lattice of side L, or on the edges, an array (n, 2), with their couplings.

    A state is packed into 64-bit words: bit i % 64 of word i // 64 is spin i, 1 for +1."""

    def __init__(self, beta, side=0, coupling=1.0, field=0.0, sites=0, edges=(), couplings=(), fields=None):
        super().__init__()
        self._edges = numpy.ascontiguousarray(edges, numpy.uint32).reshape(-1, 2)
        self._couplings = numpy.ascontiguousarray(couplings, float)
        self._fields = None if fields is None else numpy.ascontiguousarray(fields, float)
        if len(self._couplings) != len(self._edges) or (fields is not None and len(self._fields) != sites):
            raise ValueError("as many couplings as edges, and fields as sites")
        self._c = _Spins(ctypes.sizeof(_Spins), beta, side, coupling, field, sites, len(self._edges), self._edges.ctypes.data,
                         self._couplings.ctypes.data, None if fields is None else self._fields.ctypes.data)
        self.words = ((side * side or sites) + 63) // 64

    def _states(self, states):
        if states.dtype != numpy.uint64 or states.ndim != 2 or states.shape[1] != self.words or not states.flags.c_contiguous:
            raise ValueError(f"states are not a C-contiguous array of uint64, (n, {self.words})")
        return len(states), states.ctypes.data, states.nbytes

    def metropolis(self, states, steps, seed, stream=0, first=0, kind=SWEEPS):
        """Takes packed states along a chain that leaves their law as it is, in place."""
        n, data, size = self._states(states)
        if not states.flags.writeable:
            raise ValueError("states are not writeable")
        self._check(_lib.revgen_metropolis(self._handle, ctypes.byref(self._c), kind, steps, seed, stream, first, n, data, size))

    def spin_energies(self, states):
        """E of packed states."""
        n, data, size = self._states(states)
        out = numpy.empty(n)
        self._check(_lib.revgen_spin_energies(self._handle, ctypes.byref(self._c), n, data, size, out.ctypes.data))
        return out


class _Callback:
    """A function of Python as a target: exceptions wait until the library has returned."""

    def __init__(self, function, dim, modes):
        self.thrown = None

        def call(_, n, d, x, mode, out):
            try:
                arguments = [numpy.ctypeslib.as_array(x, (n, d))]
                if modes:
                    arguments.append(numpy.ctypeslib.as_array(mode, (n,)))
                numpy.ctypeslib.as_array(out, (n,))[:] = function(*arguments)
                return 0
            except BaseException as e:
                self.thrown = e
                return 1

        self.c = _Target(ctypes.sizeof(_Target), dim, modes, _LOG_DENSITY(call), None)


def load(path, log_density=None, dim=0, modes=0):
    """The model of a run directory or a model file; with log_density, of a target of
    one's own."""
    model = Model()
    if log_density:
        model._target = _Callback(log_density, dim, modes)
    model._check(_lib.revgen_load(model._handle, os.fsencode(path), model._target and ctypes.byref(model._target.c)))
    return model


def train(configuration, log_density=None, dim=0, modes=0, directory=None, max_seconds=0, progress=None):
    """Trains what a configuration, a dictionary, describes: {"system": "ising", "preset": "best"}.

    log_density(x) or, with modes, log_density(x, mode) returns ln pi of n states, x of
    shape (n, dim); its system is "callback". progress(step, steps, loss, acceptance)
    returns True to stop."""
    model = Model()
    if log_density:
        configuration = {"system": "callback", **configuration}
        model._target = _Callback(log_density, dim, modes)

    def watch(_, *record):
        return bool(progress(*record))

    training = _Training(ctypes.sizeof(_Training), os.fsencode(directory) if directory else None, max_seconds,
                         _PROGRESS(watch) if progress else _PROGRESS(), None)
    model._check(_lib.revgen_train(model._handle, json.dumps(configuration).encode(),
                                   model._target and ctypes.byref(model._target.c), ctypes.byref(training)))
    return model
