"""Generators of independent samples, trained by reversibility.

RevGen trains a generator to sample a distribution that is known up to a constant:
spins on lattices and graphs, real vectors, and vectors with a discrete mode.

>>> import revgen
>>> model = revgen.train("ising", preset="best", target={"l": 4})
>>> spins = model.sample(1000, seed=7)
>>> spins.shape
(1000, 4, 4)

A target of your own is a function of arrays:

>>> def log_density(x):          # x has shape (n, 2), the result has shape (n,)
...     return -0.5 * (x**2).sum(axis=1)
>>> model = revgen.train(log_density, dim=2)

The package holds the library librevgen.so.1, to which $REVGEN_LIBRARY names another. The
library does not survive a fork: start processes by the method "spawn".
"""

from ._library import ConfigError, Error, FileError, ForkedError, MissingFileError, NumberError, Stopped, kernel_path
from ._model import LogDensity, Model, Progress, load, train
from ._results import Diagnosis, WeightedSamples
from ._spins import Spins
from ._version import __version__

__all__ = [
    "ConfigError", "Diagnosis", "Error", "FileError", "ForkedError", "LogDensity", "MissingFileError", "Model", "NumberError",
    "Progress", "Spins", "Stopped", "WeightedSamples", "__version__", "kernel_path", "load", "train",
]
