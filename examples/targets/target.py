#!/usr/bin/env python3
"""ln π of a φ⁴ field on 8 × 8 sites for revgen: change log_density and DIM.
The protocol is that of docs/targets.md, "Programs in any language"."""
import struct
import sys

import numpy as np

DIM, MODES = 64, 0  # coordinates of x; values of a mode k, 0 if there is none
KAPPA, LAMBDA = 0.2, 0.02


def log_density(x, k):
    """x is [n, DIM], k is [n] (or None); returns [n], up to a constant."""
    phi = np.ascontiguousarray(x.T).reshape(8, 8, -1)  # sums go site by site
    neighbours = np.roll(phi, -1, axis=0) + np.roll(phi, -1, axis=1)
    square = phi * phi
    well = (square - 1) * (square - 1)
    hop = (phi * neighbours).reshape(DIM, -1)
    site = (square + LAMBDA * well).reshape(DIM, -1)
    return 2 * KAPPA * hop.sum(axis=0) - site.sum(axis=0)


def read(n):
    data = stdin.read(n)
    if len(data) < n:
        sys.exit(0)  # revgen has ended
    return data


stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
read(20)  # "RVGD", version, coordinates, modes, bits of a number
stdout.write(b"RVGD" + struct.pack("<4i", 1, DIM, MODES, 64))
stdout.flush()
while True:
    (n,) = struct.unpack("<i", read(4))
    x = np.frombuffer(read(8 * n * DIM), "<f8").reshape(n, DIM)
    k = np.frombuffer(read(4 * n), "<i4") if MODES else None
    stdout.write(struct.pack("<i", n) + log_density(x, k).astype("<f8").tobytes())
    stdout.flush()
