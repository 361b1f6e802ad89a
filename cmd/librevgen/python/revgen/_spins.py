"""Chains of spins, which need no model."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from . import _library as library

FLIPS, SWEEPS = 0, 1


class Spins:
    """Spins ±1 with E(s) = -Σ J_ij s_i s_j - Σ h_i s_i and weights exp(-β E).

    They stand on a periodic square lattice, or on a graph.

    Parameters
    ----------
    beta : float
        Inverse temperature, at least 0.
    side : int, optional
        L of an L×L lattice, whose site is ``row * L + column``; then ``coupling`` and
        ``field`` are J and h.
    sites : int, optional
        Number of spins of a graph.
    edges : array of int, shape (n, 2), optional
        Its pairs of sites from 0 on, each at most once.
    couplings : array of float, shape (n,), optional
        J_ij of the edges.
    fields : array of float, shape (sites,), optional
        h_i, 0 if not given.
    """

    def __init__(self, beta: float, *, side: int = 0, coupling: float = 1.0, field: float = 0.0, sites: int = 0,
                 edges: Any = (), couplings: Any = (), fields: Any = None) -> None:
        self._handle = library.Handle()
        self._edges = np.ascontiguousarray(edges, np.uint32).reshape(-1, 2)
        self._couplings = np.ascontiguousarray(couplings, float)
        self._fields = None if fields is None else np.ascontiguousarray(fields, float)
        if self._couplings.shape != (len(self._edges),):
            raise library.ConfigError(f"couplings: their shape is {self._couplings.shape}, for {len(self._edges)} edges")
        if self._fields is not None and self._fields.shape != (sites,):
            raise library.ConfigError(f"fields: their shape is {self._fields.shape}, for {sites} sites")
        self._c = library.SpinTarget(
            ctypes.sizeof(library.SpinTarget), beta, side, coupling, field, sites, len(self._edges), self._edges.ctypes.data,
            self._couplings.ctypes.data, None if self._fields is None else self._fields.ctypes.data)
        self.sites = side * side or sites
        self.words = (self.sites + 63) // 64

    def pack(self, spins: Any) -> np.ndarray:
        """Packs spins ±1, (n, sites), as the other functions take them.

        That is (n, words) of uint64: bit i % 64 of word i // 64 is spin i, 1 for +1."""
        spins = np.asarray(spins)
        spins = spins.reshape(len(spins), -1)
        if spins.shape[1] != self.sites or not np.isin(spins, (-1, 1)).all():
            raise library.ConfigError(f"spins: not an array of ±1, (n, {self.sites})")
        rows = np.zeros((len(spins), 8 * self.words), np.uint8)
        packed = np.packbits(spins > 0, axis=1, bitorder="little")
        rows[:, :packed.shape[1]] = packed
        return rows.view("<u8")

    def unpack(self, states: np.ndarray) -> np.ndarray:
        """Spins ±1 as int8, (n, sites), of packed states."""
        bits = np.unpackbits(np.ascontiguousarray(states, "<u8").view(np.uint8), axis=1, bitorder="little")
        return (2 * bits[:, :self.sites]).astype(np.int8) - 1

    def _packed(self, states: np.ndarray) -> tuple[int, int, int]:
        if states.dtype != np.uint64 or states.ndim != 2 or states.shape[1] != self.words or not states.flags.c_contiguous:
            raise library.ConfigError(f"states: not a C-contiguous array of uint64, (n, {self.words}), as pack returns it")
        return len(states), states.ctypes.data, states.nbytes

    def metropolis(self, states: np.ndarray, steps: int, *, seed: int, stream: int = 0, first: int = 0, kind: int = SWEEPS) -> None:
        """Takes packed states along a chain that leaves their distribution as it is, in place.

        Parameters
        ----------
        states : array of uint64, shape (n, words)
            Packed states.
        steps : int
            Heat-bath sweeps, or with ``kind=0`` proposals to flip one spin.
        seed, stream, first : int
            State i draws the random numbers of chain ``first + i`` of the seed and the stream.
            Chains that go on draw from another stream.
        """
        if not states.flags.writeable:
            raise library.ConfigError("states: not writeable")
        n, data, size = self._packed(states)
        self._handle.call("metropolis", ctypes.byref(self._c), kind, steps, seed, stream, first, n, data, size, wait=True)

    def energies(self, states: np.ndarray) -> np.ndarray:
        """E of packed states, shape (n,)."""
        n, data, size = self._packed(states)
        out = np.empty(n)
        self._handle.call("spin_energies", ctypes.byref(self._c), n, data, size, out.ctypes.data)
        return out

    def __reduce__(self) -> Any:
        raise TypeError("revgen.Spins belongs to this process: make another in each")
