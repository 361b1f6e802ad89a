"""RevGen from Python: samples of a trained model, and a generator of a target of one's own.

    python3 ring.py MODEL SEED N OUT

MODEL is that of a 3x3 lattice, which "revgen train" leaves in runs/ising-quick-seed1.
"""

import os
import sys

import numpy

import revgen


def ring(x):
    """A ring of radius 2 and width 0.4 in the plane."""
    return -((numpy.linalg.norm(x, axis=1) - 2) / 0.4) ** 2 / 2


def main(path, seed, n, out):
    model = revgen.load(path)
    model.threads(2)
    spins = model.sample(int(n), seed=int(seed), refine=2)
    spins.tofile(out)
    energies, beta = model.energies(spins)
    print(f"revgen {revgen.version} on {revgen.kernel_path}: <E> = {energies.mean():.3f} at beta = {beta}")

    # Chains of the same target, given as a lattice and as its edges: all up, then 20 sweeps.
    lattice = revgen.Spins(beta, side=3)
    sites = numpy.arange(9)
    right, down = sites // 3 * 3 + (sites + 1) % 3, (sites + 3) % 9
    edges = numpy.concatenate([numpy.stack([sites, right], 1), numpy.stack([sites, down], 1)])
    graph = revgen.Spins(beta, sites=9, edges=edges, couplings=numpy.ones(18))
    for target in lattice, graph:
        words = numpy.full((1024, 1), 0o777, numpy.uint64)
        target.metropolis(words, 20, seed=3)
        walked = target.spin_energies(words)
        assert abs(walked.mean() + 4.843) < 0.7 and (walked == graph.spin_energies(words)).all()
    try:
        graph.metropolis(words, 20, seed=3, first=5)
        raise AssertionError("chains that draw together were split")
    except revgen.Error as e:
        print("the library said:", e)
    print("diagnosis:", model.diagnose(0.5)["sentence"])

    steps = []
    mine = revgen.train({"training": {"steps": 50, "batch": 256}, "evaluation": {"samples": 2000}}, ring, dim=2,
                        progress=lambda step, *_: steps.append(step))
    x = mine.sample(1000, seed=3, refine=64)
    distance = numpy.linalg.norm(x, axis=1).mean()
    print(f"<|x|> = {distance:.2f} on a ring of radius 2, after {steps[-1]} steps")
    assert abs(distance - 2) < 0.3 and steps[-1] == 50

    def broken(x):
        raise ArithmeticError("no density here")

    try:
        revgen.train({"training": {"steps": 50, "batch": 256}}, broken, dim=2)
        raise AssertionError("a target that raises was trained")
    except ArithmeticError as e:
        print("the target said:", e)

    child = os.fork()
    if child == 0:
        try:
            model.sample(1, seed=1)
        except revgen.Error as e:
            os._exit(0 if e.status == revgen.FORKED and "fork" in str(e) else 2)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a forked child is refused"


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: ring.py MODEL SEED N OUT")
    main(*sys.argv[1:])
