"""Models: training, loading, sampling."""

from __future__ import annotations

import ast
import copy
import ctypes
import json
import os
import re
import sys
from typing import Any, Callable, Mapping, NamedTuple, Optional, Union

import numpy as np

from . import _library as library
from ._results import Diagnosis, WeightedSamples, dataset, parse
from ._version import __version__

LogDensity = Union[Callable[[np.ndarray], Any], Callable[[np.ndarray, np.ndarray], Any]]
"""ln π up to a constant: a function of x, (n, dim), and with modes of k, (n,), too, to (n,)."""


class Progress(NamedTuple):
    """Where a training is."""

    step: int
    steps: int
    loss: float
    acceptance: float


class _Target(library.Callbacks):
    """A function of Python as a target."""

    def __init__(self, function: LogDensity, dim: Optional[int], modes: int) -> None:
        super().__init__()
        if dim is None:
            raise library.ConfigError("dim: say how many coordinates the target has")

        def call(_: int, n: int, d: int, x: int, mode: Optional[int], out: int) -> int:
            def evaluate() -> None:
                # Copies: a function may keep what it is given.
                arguments = [library.view(x, n * d, np.float64).reshape(n, d).copy()]
                if mode is not None:
                    arguments.append(library.view(mode, n, np.int32).copy())
                values = np.asarray(function(*arguments))
                if values.shape != (n,):
                    raise library.ConfigError(f"the target returned an array of shape {values.shape} for {n} states, not ({n},)")
                library.view(out, n, np.float64)[:] = values

            return self.guard(evaluate)

        self.c = library.Target(ctypes.sizeof(library.Target), dim, modes, library.LOG_DENSITY(call), None)


class _Watch(library.Callbacks):
    """A function of Python that sees the progress of a training."""

    def __init__(self, function: Callable[[Progress], Any]) -> None:
        super().__init__()
        self.c = library.PROGRESS(lambda _, *record: self.guard(lambda: function(Progress(*record))))


class _Bar:
    """A bar by tqdm where that is installed, else lines on stderr."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            tqdm = None
        self._tqdm, self._shown = tqdm, 0
        self._bar: Any = None

    def __call__(self, p: Progress) -> None:
        if self._tqdm is None:
            if p.step < self._shown or (p.step - self._shown) * 10 >= p.steps or p.step == p.steps:
                self._shown = p.step
                print(f"step {p.step} of {p.steps}, loss {p.loss:.4g}", file=sys.stderr, flush=True)
            return
        if self._bar is None or self._bar.total != p.steps or p.step < self._bar.n:
            self.close()  # the generator that this one starts from has been trained
            self._bar = self._tqdm(total=p.steps, unit="step")
        self._bar.set_postfix_str(f"loss {p.loss:.4g}", refresh=False)
        self._bar.update(p.step - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class Model:
    """A trained generator of independent samples.

    Made by :func:`train` and :func:`load`. It ends with its last reference, or with
    :meth:`close`. Calls of one model come one after another; different models are
    independent of each other.
    """

    def __init__(self, target: Optional[_Target] = None, threads: int = 0) -> None:
        self._handle = library.Handle()
        self._target = target
        self._next = 0
        if threads:
            self.threads = threads

    def _call(self, name: str, *arguments: Any, wait: bool = False, watch: tuple[library.Callbacks, ...] = ()) -> None:
        self._handle.call(name, *arguments, callbacks=self._callbacks + watch, wait=wait)

    @property
    def _callbacks(self) -> tuple[library.Callbacks, ...]:
        return (self._target,) if self._target else ()

    def _made(self) -> Model:
        self._described: dict[str, Any] = parse(self._handle.text("describe"))
        self._formats = [(f["name"], np.dtype(ast.literal_eval(f["dtype"])), tuple(f["shape"])) for f in self._described["formats"]]
        self._next = self.config["evaluation"]["samples"]
        return self

    def close(self) -> None:
        """Gives back what the library holds. No other call may follow."""
        self._handle.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a revgen.Model belongs to this process: save it, and load it in the other")

    def __repr__(self) -> str:
        d = self._described
        return f"<revgen.Model of {d['system']}: {d['dim']} {'spins' if self._spins else 'coordinates'}, {d['parameters']} parameters, {d['steps']} steps, seed {d['seed']}>"

    @property
    def _spins(self) -> bool:
        return self._formats[0][1] == np.int8

    @property
    def system(self) -> str:
        """The kind of target."""
        return self._described["system"]

    @property
    def dim(self) -> int:
        """Spins or coordinates of a state."""
        return self._described["dim"]

    @property
    def seed(self) -> int:
        """The seed of the training."""
        return self._described["seed"]

    @property
    def hash(self) -> str:
        """A name of configuration and parameters, as the command line prints it."""
        return self._described["hash"]

    @property
    def config(self) -> dict[str, Any]:
        """The whole configuration, as config.json of a run holds it."""
        return copy.deepcopy(self._described["config"])

    @property
    def evaluation(self) -> Optional[dict[str, Any]]:
        """What the training measured against an exact reference.

        None for a model that was loaded, and where nothing exact is known."""
        return copy.deepcopy(self._described.get("evaluation"))

    @property
    def warnings(self) -> list[str]:
        """What was seen in training that the user should know of."""
        return list(self._described.get("warnings", ()))

    @property
    def formats(self) -> dict[str, str]:
        """The layouts of samples, the default first, with what their numbers mean."""
        return {f["name"]: f["doc"] for f in self._described["formats"]}

    @property
    def threads(self) -> int:
        """Threads to compute with, 0 for one for each processor. Results do not depend on it."""
        return self._threads

    @threads.setter
    def threads(self, n: int) -> None:
        self._call("threads", n)
        self._threads = n

    _threads = 0

    @property
    def beta(self) -> float:
        """β of the target exp(-β E); 1 for real vectors."""
        beta = ctypes.c_double()
        self._call("energies", 0, None, None, 0, None, ctypes.byref(beta))
        return beta.value

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes a model file, which appears whole or not at all.

        :func:`load` and the command line read it."""
        self._call("save", os.fsencode(path))

    def _format(self, name: Optional[str]) -> tuple[str, np.dtype, tuple[int, ...]]:
        if name is None:
            return self._formats[0]
        for f in self._formats:
            if f[0] == name:
                return f
        # The library says what is wrong with the name.
        self._call("sample", 0, 0, 0, name.encode(), 0, None, 0)
        raise AssertionError(name)

    def _format_of(self, states: Any, name: Optional[str]) -> tuple[bytes, np.ndarray, tuple[int, ...]]:
        """The format of states, which are copied to it if need be, and the shape of their batch."""
        states = np.asarray(states)
        if name is None:
            name = next((n for n, dtype, _ in self._formats if dtype == states.dtype), None)
        name, dtype, shape = self._format(name)
        batch = states.shape[:states.ndim - len(shape)]
        if len(shape) > 1 and states.shape[-1:] == (int(np.prod(shape)),):
            batch = states.shape[:-1]  # flat
        elif states.ndim < len(shape) or states.shape[len(batch):] != shape:
            raise library.ConfigError(f"states: an array of shape {states.shape}, where (n, {', '.join(map(str, shape))}) is needed")
        try:
            return name.encode(), np.ascontiguousarray(states.astype(dtype, casting="same_kind", copy=False)), batch
        except TypeError:
            raise library.ConfigError(f"states: an array of {states.dtype}, where {dtype} is needed") from None

    def sample(self, n: int, *, seed: Optional[int] = None, first: Optional[int] = None, refine: int = 0,
               format: Optional[str] = None, weights: bool = False, out: Optional[np.ndarray] = None) -> Any:
        """Draws independent samples.

        Parameters
        ----------
        n : int
            How many.
        seed : int, optional
            The stream to draw from. Sample i depends on the model, the seed and i alone: the
            same call gives the same bits, also as ``revgen sample``. Without a seed, samples
            are those of the training's seed that nothing has seen yet: neither the
            training's evaluation nor an earlier call.
        first : int, optional
            Number of the first sample in the stream of a seed, 0 if not given.
        refine : int, optional
            Metropolis steps after each draw; ``diagnose().refine`` says how many pay.
        format : str, optional
            One of ``formats``; the first if not given.
        weights : bool, optional
            Whether to return importance weights too.
        out : array, optional
            A C-contiguous array to fill in place of a new one.

        Returns
        -------
        array or WeightedSamples
            One sample a row. Vectors with a mode are a structured array with the fields
            ``x`` and ``k``.

        Raises
        ------
        Error
            With weights, if the generator's density is not known.
        """
        if weights:
            if format is not None or out is not None:
                raise library.ConfigError("weights: they have a format of their own; leave out format and out")
            format = "weighted"
        name, dtype, shape = self._format(format)
        if out is None:
            out = np.empty((n, *shape), dtype)
        elif out.dtype != dtype or out.shape != (n, *shape) or not out.flags.c_contiguous or not out.flags.writeable:
            raise library.ConfigError(f"out: not a writeable C-contiguous array of {dtype}, {(n, *shape)}")
        fresh = seed is None and first is None
        start = self._next if fresh else first or 0
        self._call("sample", self.seed if seed is None else seed, start, n, name.encode(), refine, out.ctypes.data, out.nbytes,
                   wait=refine > 0 or out.nbytes > 1 << 20)
        if fresh:
            self._next += n
        if not weights:
            return out
        fields = [f for f in out.dtype.names or () if f != "log_weight"]
        states = out[fields[0]].copy() if len(fields) == 1 else out[fields].astype(self._formats[0][1])
        return WeightedSamples(states, out["log_weight"].copy())

    def energies(self, states: Any, *, format: Optional[str] = None) -> np.ndarray:
        """E of states, of wherever they are; π is proportional to exp(-β E).

        Parameters
        ----------
        states : array
            As :meth:`sample` returns them, (…, *state), with any axes in front; lattices may be flat.
        format : str, optional
            One of ``formats``; that of the array's type if not given.

        Returns
        -------
        array of float
            One energy a state, +inf where π vanishes.
        """
        name, states, batch = self._format_of(states, format)
        out = np.empty(batch)
        self._call("energies", out.size, name, states.ctypes.data, states.nbytes, out.ctypes.data, None)
        return out

    def log_density(self, states: Any, *, format: Optional[str] = None) -> np.ndarray:
        """ln π = -β E of states, up to a constant."""
        return -self.beta * self.energies(states, format=format)

    def refine(self, states: Any, steps: int, *, seed: int, first: int = 0, format: Optional[str] = None) -> np.ndarray:
        """Takes states along the target's Metropolis kernel.

        Parameters
        ----------
        states : array
            As for :meth:`energies`.
        steps : int
            Metropolis steps.
        seed, first : int
            State i draws the random numbers of sample ``first + i`` of the seed.

        Returns
        -------
        array
            The states that they become.
        """
        name, taken, _ = self._format_of(states, format)
        moved = taken.copy()
        self._call("refine", seed, first, name, steps, moved.ctypes.data, moved.nbytes, wait=True)
        return moved.reshape(np.shape(states))

    def diagnose(self, max_seconds: float = 0) -> Diagnosis:
        """Says how far the samples can be trusted, without anything exact of the target.

        Parameters
        ----------
        max_seconds : float, optional
            About how long it may take; 0 for a minute.
        """
        return Diagnosis(self._handle.text("diagnose", max_seconds, callbacks=self._callbacks, wait=True))

    def to_dataset(self, draws: int = 1000, *, chains: int = 4, seed: Optional[int] = None, refine: int = 0, weights: bool = False) -> Any:
        """Draws samples as an ``xarray.Dataset`` in ArviZ's convention.

        The dimensions ``chain`` and ``draw`` come first. The samples are independent, so that
        a chain is but a part of them; R̂ and effective sample sizes then say what they say of
        perfect chains.

        Parameters
        ----------
        draws, chains : int, optional
            Samples of a chain, and chains.
        seed, refine, weights
            As for :meth:`sample`.

        Returns
        -------
        xarray.Dataset
            ``spins`` (row and column of a lattice, site of a graph), or ``x`` (coordinate) and
            ``k``; ``energy``; with weights ``log_weight``. Attributes name model and seed.
        """
        if chains < 1 or draws < 0:
            raise library.ConfigError(f"to_dataset: {chains} chains of {draws} draws")
        start = 0 if seed is not None else self._next
        drawn = self.sample(chains * draws, seed=seed, refine=refine, weights=weights)
        states = drawn.states if weights else drawn
        more = {"energy": self.energies(states)}
        if weights:
            more["log_weight"] = drawn.log_weights
        return dataset(states, chains, more, {
            "inference_library": "revgen", "inference_library_version": __version__, "system": self.system, "model": self.hash,
            "seed": self.seed if seed is None else seed, "first": start, "refine": refine, "beta": self.beta})


def load(path: Union[str, os.PathLike[str]], log_density: Optional[LogDensity] = None, *, dim: Optional[int] = None, modes: int = 0,
         threads: int = 0) -> Model:
    """Reads the model of a run directory or a model file, of Python or of the command line.

    Parameters
    ----------
    path : path-like
        The directory or the file.
    log_density, dim, modes : optional
        As for :func:`train`, if the model is of a target of your own: a file does not hold it.
    threads : int, optional
        Threads to compute with, 0 for one for each processor.

    Raises
    ------
    MissingFileError, FileError
        If there is no such model, or it is damaged.
    """
    model = Model(_Target(log_density, dim, modes) if log_density else None, threads)
    model._call("load", os.fsencode(path), model._target and ctypes.byref(model._target.c))
    return model._made()


def train(target: Union[str, Mapping[str, Any], LogDensity] = "ising", /, *, preset: Optional[str] = None, dim: Optional[int] = None,
          modes: int = 0, directory: Union[str, os.PathLike[str], None] = None, max_seconds: float = 0, threads: int = 0,
          progress: Union[bool, Callable[[Progress], Any]] = False, **settings: Any) -> Model:
    """Trains a generator.

    Parameters
    ----------
    target : str, mapping or function
        What to sample: the name of a system (``"ising"``, ``"gmm"``, ``"hybrid"``, ``"spins"``,
        ``"reals"``, ``"mixed"``), a configuration as config.json of a run holds it or a part of it,
        or a function that returns ln π of n states, up to a constant and -inf where π vanishes.
        It is called with x, float64 of shape (n, dim), and with modes with the mode k too, int32
        of shape (n,), and returns shape (n,). Calls come one after another, from another thread.
    preset : str, optional
        A recipe: ``"quick"``, ``"best"``, ``"paper"`` and so on.
    dim, modes : int, optional
        Coordinates of a function's states, and how many modes they have.
    directory : path-like, optional
        Where to keep checkpoints and files. If it holds a run of the same configuration that
        stopped, this call continues it, to the same bits.
    max_seconds : float, optional
        Stop after that long, with :class:`Stopped`.
    threads : int, optional
        Threads to compute with, 0 for one for each processor. Results do not depend on it.
    progress : bool or function, optional
        True for a bar on stderr, by tqdm if that is installed; or a function of a
        :class:`Progress`, called at every logged step from another thread, which returns True to stop.
    **settings
        Keys of the configuration: ``target={"l": 16}`` or ``**{"target.l": 16}``. They override
        those of a mapping.

    Returns
    -------
    Model

    Raises
    ------
    ConfigError
        If a key or a value is wrong.
    Stopped
        If ``max_seconds`` or ``progress`` ended the training.
    KeyboardInterrupt
        By Ctrl-C, after a checkpoint has been written to the directory.
    Exception
        What the target or progress raises.

    Examples
    --------
    >>> model = revgen.train("ising", preset="best", **{"target.l": 16, "target.beta": 0.44})
    >>> model = revgen.train({"system": "ising", "target": {"l": 16}}, directory="runs/mine", progress=True)
    """
    configuration: dict[str, Any] = {}
    function: Optional[_Target] = None
    if callable(target):
        function, configuration = _Target(target, dim, modes), {"system": "callback"}
    elif isinstance(target, str):
        configuration = {"system": target}
    else:
        _merge(configuration, target)
    if function is None and (dim is not None or modes):
        raise library.ConfigError("dim, modes: they are those of a function; give target.dim and target.modes of a system")
    _merge(configuration, settings)
    if preset is not None:
        configuration["preset"] = preset
    # A preset comes with its system, before what overrides it.
    text = json.dumps({k: configuration[k] for k in ("system", "preset") if k in configuration} | configuration, default=_plain)
    bar = _Bar() if progress is True else None
    see = bar or progress
    watch = _Watch(see) if callable(see) else None
    model = Model(function, threads)
    training = library.Training(ctypes.sizeof(library.Training), None if directory is None else os.fsencode(directory), max_seconds,
                                watch.c if watch else library.PROGRESS(), None)
    try:
        model._call("train", text.encode(), function and ctypes.byref(function.c), ctypes.byref(training), wait=True,
                    watch=(watch,) if watch else ())
    except library.ConfigError as e:
        # Lines and columns are those of the text above, which nobody has written.
        raise library.ConfigError(re.sub(r"^line \d+:\d+: ", "", str(e))) from None
    finally:
        if bar:
            bar.close()
    return model._made()


def _merge(configuration: dict[str, Any], settings: Mapping[str, Any]) -> None:
    """Adds settings, whose keys may be paths such as target.l."""
    for key, value in settings.items():
        *path, last = key.split(".")
        at = configuration
        for name in path:
            at = at.setdefault(name, {})
        if isinstance(value, Mapping) and isinstance(at.setdefault(last, {}), dict):
            _merge(at[last], value)
        else:
            at[last] = value


def _plain(value: Any) -> Any:
    """NumPy's arrays and numbers, and paths, as JSON has them."""
    if isinstance(value, (np.ndarray, np.generic)):
        return _whole(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise library.ConfigError(f"a configuration does not hold {value!r}")


def _whole(value: Any) -> Any:
    """Whole numbers as such: an array of edges with couplings holds its sites as floats."""
    if isinstance(value, list):
        return [_whole(v) for v in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
