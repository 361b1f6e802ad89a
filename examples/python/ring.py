"""RevGen from Python: samples of a trained model, and a generator of a target of one's own.

    pip install revgen-*.whl
    python3 ring.py MODEL SEED N OUT

MODEL is that of a 3x3 lattice, which "revgen train" leaves in runs/ising-quick-seed1.
"""

import sys

import numpy as np

import revgen


def ring(x):
    """A ring of radius 2 and width 0.4 in the plane."""
    return -((np.linalg.norm(x, axis=1) - 2) / 0.4) ** 2 / 2


def main(path, seed, n, out):
    model = revgen.load(path, threads=2)
    spins = model.sample(int(n), seed=int(seed), refine=2)
    spins.tofile(out)
    print(f"revgen {revgen.__version__} on {revgen.kernel_path}: <E> = {model.energies(spins).mean():.3f} at beta = {model.beta}")

    # Chains of the same target: all up, then 20 sweeps.
    lattice = revgen.Spins(model.beta, side=3)
    chains = lattice.pack(np.ones((1024, 9)))
    lattice.metropolis(chains, 20, seed=3)
    print(f"<E> = {lattice.energies(chains).mean():.3f} of chains")
    print("diagnosis:", model.diagnose(0.5).sentence)

    mine = revgen.train(ring, dim=2, training={"steps": 50, "batch": 256}, evaluation={"samples": 2000})
    distance = np.linalg.norm(mine.sample(1000, seed=3, refine=64), axis=1).mean()
    print(f"<|x|> = {distance:.2f} on a ring of radius 2")
    assert abs(distance - 2) < 0.3


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit("usage: ring.py MODEL SEED N OUT")
    main(*sys.argv[1:])
