"""emcee's ensemble sampler of targets that NumPy evaluates for all walkers at once.

Speaks the protocol of peer.h: select TARGET WALKERS DIM SEED, and run steps; the array
series has states [steps][walkers][dim] and evaluations how many of ln π were asked for.
"""

import sys
import time

import emcee
import numpy as np

arrays = {}


def funnel(x):
    v = x[:, 0]
    return -v * v / 18 - (x[:, 1:] ** 2).sum(1) * np.exp(-v) / 2 - (x.shape[1] - 1) * v / 2


def banana(x):
    return -x[:, 0] ** 2 / 2 - (x[:, 1] - x[:, 0] ** 2) ** 2 / (2 * 0.3**2)


def two_modes(x):
    return np.logaddexp(np.log(0.7) - (x**2).sum(1) / 2, np.log(0.3) - ((x - arrays["x"]) ** 2).sum(1) / 2)


def schools(x):
    effects, errors = arrays["y"], arrays["x"]
    mu, log_tau, z = x[:, 0], x[:, 1], x[:, 2:]
    tau = np.exp(log_tau)
    off = (effects - mu[:, None] - tau[:, None] * z) / errors
    return -(mu**2) / 50 - np.log1p((tau / 5) ** 2) + log_tau - (z**2).sum(1) / 2 - (off**2).sum(1) / 2


def logistic(x):
    design = arrays["x"].reshape(len(arrays["y"]), -1)
    return -(x**2).sum(1) / (2 * 2.5**2) - np.logaddexp(0, -(x @ design.T) * arrays["y"]).sum(1)


def phi4(x):
    n = x.shape[1]
    side = int(round(n**0.5))
    f = x.reshape(-1, side, side)
    kappa, lam = arrays["x"]
    near = f * (np.roll(f, 1, 1) + np.roll(f, 1, 2))
    return (2 * kappa * near - f**2 - lam * (f**2 - 1) ** 2).sum((1, 2))


def regression(x):
    p = x.shape[1] - 1
    rows, rest, cauchy = arrays["x"][:3]
    factor = np.zeros((p, p))
    factor[np.triu_indices(p)] = arrays["x"][3:-p]
    off = x[:, :p] @ factor.T - arrays["x"][-p:]
    sigma = np.exp(x[:, p])
    log = (1 - rows) * x[:, p] - (rest + (off**2).sum(1)) / (2 * sigma**2)
    if cauchy > 0:
        log -= np.log1p((sigma / cauchy) ** 2)
    if len(arrays["y"]) > 0:
        means, deviations = arrays["y"].reshape(2, p)
        log -= (((x[:, :p] - means) / deviations) ** 2).sum(1) / 2
    return log


TARGETS = {f.__name__: f for f in (funnel, banana, two_modes, schools, logistic, phi4, regression)}


class Operation:
    def __init__(self, target, walkers, dim, seed):
        self.asked = 0
        log_density = TARGETS[target]

        def counted(x):
            self.asked += len(x)
            return log_density(x)

        rng = np.random.default_rng(int(seed))
        self.sampler = emcee.EnsembleSampler(int(walkers), int(dim), counted, vectorize=True)
        self.sampler.random_state = np.random.RandomState(int(seed)).get_state()
        self.state = rng.normal(size=(int(walkers), int(dim)))
        self.chain = []

    def run(self, steps):
        for self.state in self.sampler.sample(self.state, iterations=steps, store=False):
            self.chain.append(self.state.coords.copy())

    def publish(self):
        arrays["series"] = np.asarray(self.chain)
        arrays["evaluations"] = np.array([float(self.asked)])


operation = None


def answer(words):
    global operation
    match words:
        case ["about"]:
            return f"emcee {emcee.__version__}, NumPy {np.__version__}, one thread"
        case ["load", name, path]:
            arrays[name] = np.fromfile(path, np.float64)
        case ["forget"]:
            arrays.clear()
        case ["select", *arguments]:
            operation = Operation(*arguments)
        case ["run", steps]:
            start = time.perf_counter_ns()
            operation.run(int(steps))
            return str(time.perf_counter_ns() - start)
        case ["store", name, path]:
            operation.publish()
            arrays[name].tofile(path)
        case _:
            raise ValueError("unknown command")
    return ""


for line in sys.stdin:
    try:
        print("ok", answer(line.split()), flush=True)
    except Exception as e:  # whatever went wrong is the answer
        print("error", repr(e).replace("\n", " "), flush=True)
