"""PyTorch's side of the comparisons, speaking the protocol of peer.h.

  select randn N                   -> y[N]
  select exp N                     x[N] -> y[N]
  select gram N D STATISTIC KERNEL s[N][D], t[N][D] -> loss[1], grad[N][D]
  select gradient CONFIG           one iteration's loss and gradient from given
                                   parameters, noise and transitions
  select iteration CONFIG          the training loop of the paper; a call is a step

KERNEL and CONFIG are files of JSON in the program's own format. The loops are
in pytorch_systems.py.
"""

import ctypes
import json
import os
import sys
import time

import numpy
import torch

import pytorch_systems

arrays = {}


def about():
    kernels = [line.split()[-1] for line in torch.__config__.show().splitlines() if "CPU capability usage" in line]
    return f"PyTorch {torch.__version__}, {' '.join(kernels)} kernels, {torch.get_num_threads()} threads, {blas()}"


def blas():
    """The library behind matrix products, as it says itself."""
    with open("/proc/self/maps") as f:
        for path in sorted({line.split()[-1] for line in f if "blas" in line}):
            library = ctypes.CDLL(path)
            if hasattr(library, "openblas_get_num_threads"):
                return f"OpenBLAS with {library.openblas_get_num_threads()}"
    return "no OpenBLAS"


def floats(name, *shape):
    return torch.from_numpy(numpy.frombuffer(arrays[name], dtype=numpy.float32).copy()).reshape(shape)


def read_json(path):
    with open(path) as f:
        return json.load(f)


def randn(n):
    y = arrays["y"] = torch.empty(int(n))
    return lambda: y.normal_()


def exp(n):
    x, y = floats("x", int(n)), torch.empty(int(n))
    arrays["y"] = y
    return lambda: torch.exp(x, out=y)


def gram(n, d, statistic, kernel):
    kernel = pytorch_systems.Kernel(read_json(kernel))
    s, t = floats("s", int(n), int(d)).requires_grad_(), floats("t", int(n), int(d))

    def call():
        s.grad = None
        loss = pytorch_systems.reversibility_loss(s, t, kernel, statistic)
        loss.backward()
        arrays["loss"], arrays["grad"] = loss.detach().double(), s.grad

    return call


def inputs():
    return {name: numpy.frombuffer(data, dtype=numpy.float32).copy() for name, data in arrays.items() if isinstance(data, bytes)}


def gradient(config):
    system, given = pytorch_systems.system(read_json(config)), inputs()

    def call():
        arrays["loss"], arrays["grad"] = system.loss_and_gradient(given)

    return call


def iteration(config):
    return pytorch_systems.system(read_json(config)).step


operations = {
    "randn": randn, "exp": exp, "gram": gram, "gradient": gradient, "iteration": iteration,
}


def main():
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    call = None
    for line in sys.stdin:
        words = line.split()
        try:
            answer = ""
            if words[0] == "about":
                answer = about()
            elif words[0] == "load":
                with open(words[2], "rb") as f:
                    arrays[words[1]] = f.read()
            elif words[0] == "forget":
                arrays.clear()
            elif words[0] == "select":
                call = operations[words[1]](*words[2:])
            elif words[0] == "run":
                start = time.perf_counter_ns()
                for _ in range(int(words[1])):
                    call()
                answer = str(time.perf_counter_ns() - start)
            elif words[0] == "store":
                arrays[words[1]].detach().contiguous().numpy().tofile(words[2])
            else:
                raise ValueError("unknown command")
            print("ok", answer, flush=True)
        except Exception as problem:  # the other side decides what to do
            print("error", type(problem).__name__, " ".join(str(problem).split()), flush=True)


main()
