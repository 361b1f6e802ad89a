"""What samples and diagnoses are."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Optional

import numpy as np


_NUMBERS = {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}


def parse(text: str) -> Any:
    """JSON of the library, whose numbers that are not finite are texts."""

    def numbers(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: numbers(v) for k, v in value.items()}
        if isinstance(value, list):
            return [numbers(v) for v in value]
        return _NUMBERS.get(value, value) if isinstance(value, str) else value

    return numbers(json.loads(text))


class WeightedSamples(NamedTuple):
    """Samples of a generator whose density q is known, with their importance weights.

    It is a pair: ``states, log_weights = model.sample(1000, weights=True)``.
    """

    states: np.ndarray
    """The samples, one a row."""
    log_weights: np.ndarray
    """ln w = ln π - ln q of each, π as the target gives it: Z is the mean of w."""

    @property
    def weights(self) -> np.ndarray:
        """The weights, whose sum is 1."""
        w = np.exp(self.log_weights - np.max(self.log_weights))
        return w / w.sum()

    @property
    def effective_sample_size(self) -> float:
        """The number of independent exact samples that these are worth, (Σw)²/Σw²."""
        return float(1 / np.square(self.weights).sum())

    @property
    def log_z(self) -> float:
        """ln Z, the logarithm of the mean of w."""
        top = np.max(self.log_weights)
        return float(top + np.log(np.mean(np.exp(self.log_weights - top))))

    def mean(self, values: Any) -> Any:
        """The mean Σ w f / Σ w over the target of values f, (n, …), one a sample."""
        return np.tensordot(self.weights, np.asarray(values), 1)


class Diagnosis:
    """How far samples can be trusted: what ``revgen diagnose`` says.

    ``print(diagnosis)`` shows the verdict and a table, ``to_dict()`` has all that was seen.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._seen: dict[str, Any] = parse(text)

    @property
    def verdict(self) -> str:
        """``"trustworthy"``, ``"refine"``, ``"wrong"`` or ``"unknown"``."""
        return self._seen["verdict"]

    @property
    def sentence(self) -> str:
        """The verdict with its reason."""
        return self._seen["sentence"]

    @property
    def trustworthy(self) -> bool:
        """Whether the samples can be used as drawn."""
        return self.verdict == "trustworthy"

    @property
    def refine(self) -> Optional[int]:
        """Metropolis steps after which the averages no longer move; None if there is no such number."""
        steps = self._seen["refine"]
        return None if steps < 0 else steps

    @property
    def observables(self) -> dict[str, dict[str, Any]]:
        """What was seen of each function of the states, by its name."""
        return {o["name"]: o for o in self._seen["observables"]}

    @property
    def chains(self) -> Optional[dict[str, Any]]:
        """The Markov chains that owe nothing to the generator; None if there were none."""
        return self._seen.get("chains")

    @property
    def weights(self) -> Optional[dict[str, Any]]:
        """Importance weights; None if the generator's density is not known."""
        return self._seen.get("weights")

    def to_dict(self) -> dict[str, Any]:
        """All that was seen: what ``revgen diagnose --json`` prints."""
        return parse(self._text)

    def __repr__(self) -> str:
        header = ["observable", "as drawn", "deviation", "drift", "± 95 %", "settled after"]
        rows = []
        for o in self._seen["observables"]:
            last = (o.get("drift") or [{}])[-1]
            row = [o["name"].replace("_", " "), _digits(o["mean"]), _digits(o["deviation"]), _digits(last.get("change")),
                   _digits(last.get("standard_error"), 1.96), "never" if o["settled"] < 0 else f"{o['settled']} steps"]
            if self.chains:
                chains = o.get("chains") or {}
                row += [_digits(chains.get("mean")), _fixed(chains.get("z"), "+.1f"), _fixed(chains.get("r_hat"), ".3f")]
            rows.append(row)
        if self.chains:
            header += ["chains", "z", "R̂"]
        return f"{self.sentence}\n\n{_table([header, *rows])}"


def _digits(x: Any, times: float = 1.0) -> str:
    return "–" if x is None else f"{x * times:.4g}"


def _fixed(x: Any, form: str) -> str:
    return "–" if x is None else format(x, form)


def _table(rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join([row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:]))]).rstrip() for row in rows)


def dataset(states: np.ndarray, chains: int, more: dict[str, np.ndarray], attributes: dict[str, Any]) -> Any:
    """Samples as an xarray.Dataset in ArviZ's convention: chain and draw come first."""
    import xarray

    draws = len(states) // chains

    def split(values: np.ndarray, *names: str) -> tuple[tuple[str, ...], np.ndarray]:
        return ("chain", "draw", *names), values.reshape(chains, draws, *values.shape[1:])

    variables = {name: split(values) for name, values in more.items()}
    if states.dtype.names:
        for name in states.dtype.names:
            variables[name] = split(states[name], *["coordinate"] * (states[name].ndim - 1))
    elif states.dtype == np.int8:
        variables["spins"] = split(states, *(("row", "column") if states.ndim == 3 else ("site",)))
    else:
        variables["x"] = split(states, "coordinate")
    return xarray.Dataset(variables, {"chain": np.arange(chains), "draw": np.arange(draws)}, attributes)
