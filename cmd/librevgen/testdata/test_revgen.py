"""Tests of the package for Python, as it is installed: python3 test_revgen.py.

$REVGEN_ERRORS names a JSON file of assignments that are wrong, with what Go says of them.
"""

import copy
import gc
import importlib.metadata
import json
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import unittest
import warnings
from pathlib import Path

import numpy as np

import revgen

BRIEF = {"training.steps": 40, "training.batch": 64, "evaluation.samples": 500}
LATTICE = {"target.l": 3, "target.beta": 0.2}


def normal(x, k=None):
    """Independent normal coordinates, and modes k with the weights e^(-k/2)."""
    return -0.5 * np.square(x).sum(axis=1) - (0 if k is None else 0.5 * k)


class Training(unittest.TestCase):
    def test_same_model_by_any_spelling(self):
        by_keys = revgen.train("ising", **LATTICE, **BRIEF)
        for other in (
            revgen.train({"system": "ising", "target": {"l": 3, "beta": 0.7}}, **LATTICE, **BRIEF),
            revgen.train({**LATTICE, **BRIEF, "system": "ising"}, threads=1),
            revgen.train(target={"l": np.int64(3), "beta": np.float64(0.2)}, **BRIEF),
        ):
            self.assertEqual(by_keys.hash, other.hash)
        self.assertNotEqual(by_keys.hash, revgen.train("ising", preset="paper", **LATTICE, **BRIEF).hash)
        self.assertEqual(by_keys.config["target"]["beta"], 0.2)
        self.assertEqual((by_keys.system, by_keys.dim, by_keys.seed, by_keys.beta), ("ising", 9, 1, 0.2))
        self.assertIn("9 spins", repr(by_keys))
        self.assertEqual(by_keys.evaluation["samples"], 500)

    def test_texts_of_the_command_line(self):
        with open(os.environ["REVGEN_ERRORS"]) as f:
            known = json.load(f)
        self.assertGreater(len(known), 3)
        for system, assignment, text in known:
            key, value = assignment.split("=")
            with self.assertRaises(revgen.ConfigError) as e:
                revgen.train(system, **{key: json.loads(value)})
            self.assertEqual(str(e.exception), text)
            self.assertIsInstance(e.exception, ValueError)

    def test_other_errors(self):
        for kind, text, do in (
            (revgen.ConfigError, "unknown system", lambda: revgen.train("isin")),
            (revgen.ConfigError, "preset", lambda: revgen.train(preset="bst")),
            (revgen.ConfigError, "say how many coordinates", lambda: revgen.train(normal)),
            (revgen.ConfigError, "those of a function", lambda: revgen.train("reals", dim=2)),
            (revgen.ConfigError, "not a time", lambda: revgen.train(max_seconds=-1)),
            (revgen.ConfigError, "does not hold", lambda: revgen.train(**{"target.l": {1, 2}})),
            (FileNotFoundError, "/nowhere", lambda: revgen.load("/nowhere")),
            (revgen.FileError, "", lambda: revgen.load(__file__)),
            (OSError, "", lambda: revgen.load(__file__)),
            (revgen.Stopped, "step", lambda: revgen.train(progress=lambda p: p.step > 10, **BRIEF)),
        ):
            with self.assertRaisesRegex(kind, text) as e:
                do()
            self.assertIsInstance(e.exception, revgen.Error)

    def test_progress(self):
        seen = []
        revgen.train(progress=seen.append, **BRIEF)
        self.assertEqual((seen[-1].step, seen[-1].steps), (40, 40))
        with tempfile.TemporaryFile("w+") as out:
            kept, sys.stderr = sys.stderr, out
            try:
                revgen.train(progress=True, **BRIEF)
            finally:
                sys.stderr = kept
            out.seek(0)
            self.assertRegex(out.read(), "40/40|step 40 of 40")

        def broken(_):
            raise LookupError("of progress")

        with self.assertRaisesRegex(LookupError, "of progress"):
            revgen.train(progress=broken, **BRIEF)

    def test_interrupt_and_resume(self):
        whole = revgen.train(**BRIEF)
        with tempfile.TemporaryDirectory() as dir:
            def interrupt(p):
                if p.step == 20:
                    os.kill(os.getpid(), signal.SIGINT)
                    time.sleep(0.2)  # in which Python's main thread hears it

            with self.assertRaisesRegex(KeyboardInterrupt, "at step [23]. of 40; the same command continues"):
                revgen.train(progress=interrupt, directory=Path(dir) / "run", **BRIEF)
            steps = []
            again = revgen.train(progress=lambda p: steps.append(p.step), directory=Path(dir) / "run", **BRIEF)
            self.assertGreater(steps[0], 20)
            self.assertEqual(whole.hash, again.hash)
            with self.assertRaises(revgen.FileError):  # that of another configuration
                revgen.train(directory=Path(dir) / "run", **{**BRIEF, "training.seed": 2})

    def test_interrupt_of_a_target_that_does_not_return(self):
        ends = threading.Event()

        def hangs(_):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(2)  # in which Python's main thread hears it, and not both as one
            os.kill(os.getpid(), signal.SIGINT)
            ends.wait(60)

        began = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            revgen.train(progress=hangs, **BRIEF)
        self.assertLess(time.monotonic() - began, 50)
        ends.set()

    def test_threads(self):
        hashes, kept = [], []

        def one(seed):
            hashes.append((seed, revgen.train(lambda x: kept.append(x) or normal(x), dim=2, preset="paper", **{**BRIEF, "training.seed": seed}).hash))

        threads = [threading.Thread(target=one, args=(seed,)) for seed in (1, 2, 1)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([len(hashes), len(set(hashes))], [3, 2])
        gc.collect()
        self.assertTrue(all(np.isfinite(x).all() and x.shape[1] == 2 for x in kept))  # copies, which stay


class Targets(unittest.TestCase):
    def test_function(self):
        model = revgen.train(normal, dim=2, **{**BRIEF, "training.steps": 200})
        x = model.sample(20000, seed=3)
        self.assertEqual((x.shape, x.dtype), ((20000, 2), np.float32))
        np.testing.assert_allclose([x.mean(), x.var()], [0, 1], atol=0.1)
        np.testing.assert_allclose(model.log_density(x), normal(x.astype(float)), rtol=1e-5, atol=1e-6)
        w = model.sample(5000, weights=True)
        self.assertGreater(w.effective_sample_size, 4000)
        np.testing.assert_allclose(w.log_z, np.log(2 * np.pi), atol=0.05)
        np.testing.assert_allclose(w.mean(w.states**2), [1, 1], atol=0.1)
        np.testing.assert_allclose(w.weights.sum(), 1)
        states, logs = w
        self.assertEqual((states.shape, logs.shape), ((5000, 2), (5000,)))
        moved = model.refine(x[:100], 5, seed=3)
        np.testing.assert_array_equal(moved, model.sample(100, seed=3, refine=5))
        with tempfile.TemporaryDirectory() as dir:
            model.save(Path(dir) / "m.rvg")
            again = revgen.load(Path(dir) / "m.rvg", normal, dim=2)
            np.testing.assert_array_equal(again.sample(10, seed=3), x[:10])
            self.assertIsNone(again.evaluation)
            with self.assertRaisesRegex(revgen.Error, "callback"):
                revgen.load(Path(dir) / "m.rvg")

    def test_modes(self):
        model = revgen.train(normal, dim=1, modes=3, **{**BRIEF, "training.steps": 200})
        s = model.sample(20000, seed=3)
        self.assertEqual(s.dtype.names, ("x", "k"))
        law = np.exp(-0.5 * np.arange(3))
        np.testing.assert_allclose(np.bincount(s["k"], minlength=3) / len(s), law / law.sum(), atol=0.05)
        np.testing.assert_allclose(model.energies(s), -normal(s["x"][:, None].astype(float), s["k"]), rtol=1e-6, atol=1e-6)
        w = model.sample(10, weights=True)
        self.assertEqual(w.states.dtype, s.dtype)
        self.assertEqual(model.sample(10, format="x").dtype, np.float32)

    def test_what_functions_do_wrong(self):
        def raises(_):
            raise ArithmeticError("no density here")

        for kind, text, function in (
            (ArithmeticError, "no density here", raises),
            (revgen.ConfigError, r"shape \(\d+, 2\) for \d+ states", lambda x: x),
            (revgen.ConfigError, "shape", lambda x: 1.0),
            (TypeError, "", lambda: 0),
            (revgen.Error, "NaN|undefined|not a number|finite", lambda x: np.full(len(x), np.nan)),
        ):
            with self.assertRaisesRegex(kind, text):
                revgen.train(function, dim=2, **BRIEF)

    def test_arrays_of_a_graph(self):
        edges = np.array([[0, 1, 1], [1, 2, -1], [2, 3, 0.5]])
        model = revgen.train("spins", target={"spins": 4, "edges": edges}, **BRIEF)
        s = model.sample(100, seed=1)
        self.assertEqual(s.shape, (100, 4))
        i, j = edges[:, :2].astype(int).T
        np.testing.assert_allclose(model.energies(s), -(s[:, i] * s[:, j] * edges[:, 2]).sum(1))


class Sampling(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = revgen.train("ising", preset="best", **{"target.l": 4}, **{**BRIEF, "training.steps": 300})

    def test_streams(self):
        m = copy_of(self.model)
        np.testing.assert_array_equal(m.sample(10, seed=7)[4:], m.sample(6, seed=7, first=4))
        new = m.sample(10)
        np.testing.assert_array_equal(new, m.sample(10, first=500))  # after those of the evaluation
        np.testing.assert_array_equal(m.sample(10), m.sample(10, seed=1, first=510))
        out = np.empty((10, 4, 4), np.int8)
        self.assertIs(m.sample(10, seed=7, out=out), out)
        np.testing.assert_array_equal(out, m.sample(10, seed=7))
        bits = m.sample(10, seed=7, format="bits")
        np.testing.assert_array_equal(revgen.Spins(0.2, side=4).unpack(bits).reshape(out.shape), out)
        np.testing.assert_array_equal(m.energies(bits), m.energies(out))
        m.threads = 1
        np.testing.assert_array_equal(m.sample(10, seed=7), out)
        self.assertEqual(m.threads, 1)
        self.assertEqual(m.sample(0, seed=1).shape, (0, 4, 4))

    def test_energies(self):
        s = self.model.sample(60, seed=2)
        by_hand = -(s * (np.roll(s, 1, 1) + np.roll(s, 1, 2))).astype(int).sum((1, 2))
        np.testing.assert_array_equal(self.model.energies(s), by_hand)
        for other in s.reshape(60, 16), s.astype(int), s.astype(np.int64).tolist():
            np.testing.assert_array_equal(self.model.energies(other), by_hand)
        np.testing.assert_array_equal(self.model.energies(s.reshape(3, 20, 4, 4)), by_hand.reshape(3, 20))
        self.assertEqual(self.model.energies(s[0]), by_hand[0])
        np.testing.assert_allclose(self.model.log_density(s), -0.2 * by_hand)

    def test_wrong_arguments(self):
        for text, do in (
            ("format", lambda: self.model.sample(1, format="csv")),
            ("refine", lambda: self.model.sample(1, refine=-1)),
            ("out", lambda: self.model.sample(2, out=np.empty((1, 4, 4), np.int8))),
            ("weights", lambda: self.model.sample(2, weights=True, format="bits")),
            ("shape", lambda: self.model.energies(np.ones((2, 5)))),
            ("float64", lambda: self.model.energies(np.ones((2, 4, 4)))),
            ("chains", lambda: self.model.to_dataset(chains=0)),
            ("density of this generator is not known",
             lambda: revgen.train(preset="paper", **{**BRIEF, "training.steps": 2}).sample(1, weights=True)),
        ):
            with self.assertRaisesRegex(revgen.Error, text):
                do()

    def test_diagnosis(self):
        d = self.model.diagnose(0.5)
        self.assertIn(d.verdict, ("trustworthy", "refine", "wrong", "unknown"))
        self.assertEqual(d.trustworthy, d.verdict == "trustworthy")
        self.assertEqual(d.sentence, repr(d).split("\n")[0])
        self.assertIn("magnetisation", str(d))
        self.assertEqual(d.to_dict()["observables"][0], d.observables["energy"])
        self.assertGreater(d.weights["effective_size"], 0.9)
        self.assertIsInstance(d.weights["pareto_k"], float)
        self.assertLess(len(repr(d)), 3000)

    def test_dataset(self):
        try:
            import xarray
        except ImportError:
            self.skipTest("no xarray")
        ds = copy_of(self.model).to_dataset(50, chains=3, seed=5, weights=True)
        self.assertIsInstance(ds, xarray.Dataset)
        self.assertEqual(ds.spins.dims, ("chain", "draw", "row", "column"))
        self.assertEqual((ds.sizes["chain"], ds.sizes["draw"]), (3, 50))
        s = self.model.sample(150, seed=5)
        np.testing.assert_array_equal(ds.spins.values.reshape(s.shape), s)
        np.testing.assert_array_equal(ds.energy.values.ravel(), self.model.energies(s))
        self.assertEqual(ds.log_weight.dims, ("chain", "draw"))
        self.assertEqual((ds.attrs["inference_library"], ds.attrs["seed"], ds.attrs["first"]), ("revgen", 5, 0))
        self.assertEqual(ds.attrs["model"], self.model.hash)
        ds.to_netcdf  # attributes are plain: what NetCDF takes
        self.assertTrue(all(isinstance(v, (str, int, float)) for v in ds.attrs.values()))
        mixed = revgen.train(normal, dim=2, modes=2, **BRIEF).to_dataset(5, chains=2)
        self.assertEqual((mixed.x.dims, mixed.k.dims), (("chain", "draw", "coordinate"), ("chain", "draw")))
        graph = revgen.train("spins", target={"spins": 4, "edges": [[0, 1, 1.0]]}, **BRIEF).to_dataset(5, chains=2)
        self.assertEqual(graph.spins.dims, ("chain", "draw", "site"))

    def test_interrupted_sampling(self):
        for _ in range(2):  # and the model works afterwards
            timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                self.model.sample(20000, seed=1, refine=1000000)
            timer.join()
            self.assertEqual(self.model.sample(1, seed=1).shape, (1, 4, 4))


class Chains(unittest.TestCase):
    def test_lattice_and_graph(self):
        sites = np.arange(9)
        right, down = sites // 3 * 3 + (sites + 1) % 3, (sites + 3) % 9
        edges = np.concatenate([np.stack([sites, right], 1), np.stack([sites, down], 1)])
        lattice, graph = revgen.Spins(0.2, side=3), revgen.Spins(0.2, sites=9, edges=edges, couplings=np.ones(18))
        for target in lattice, graph:
            words = target.pack(np.ones((4096, 9)))
            target.metropolis(words, 20, seed=3)
            spins = target.unpack(words)
            energies = -(spins[:, edges[:, 0]] * spins[:, edges[:, 1]]).sum(1)
            np.testing.assert_array_equal(target.energies(words), energies)
            np.testing.assert_array_equal(target.pack(spins), words)
            self.assertLess(abs(energies.mean() + 4.843), 0.4)
        for do in (
            lambda: graph.metropolis(words, 20, seed=3, first=5),
            lambda: graph.metropolis(words.astype(np.int64), 20, seed=3),
            lambda: graph.pack(np.zeros((2, 9))),
            lambda: revgen.Spins(0.2, sites=2, edges=[[0, 1]]),
            lambda: revgen.Spins(0.2, sites=2, fields=[1.0]),
        ):
            self.assertRaises(revgen.ConfigError, do)
        many = revgen.Spins(1.0, sites=70, edges=[[0, 69]], couplings=[1.0])
        spins = np.where(np.random.default_rng(1).random((5, 70)) < 0.5, -1, 1)
        np.testing.assert_array_equal(many.unpack(many.pack(spins)), spins)


class Process(unittest.TestCase):
    def test_fork(self):
        model = revgen.train(**BRIEF)
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                model.sample(1, seed=1)
            except revgen.ForkedError as e:
                code = 0 if "fork" in str(e) else 2
            os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_no_copies(self):
        model = revgen.train(**BRIEF)
        for of in model, revgen.Spins(0.2, side=3):
            self.assertRaises(TypeError, pickle.dumps, of)
            self.assertRaises(TypeError, copy.copy, of)
        with model as m:
            self.assertEqual(m.sample(1).shape, (1, 3, 3))
        self.assertRaisesRegex(revgen.Error, "not open", model.sample, 1)

    def test_version(self):
        self.assertEqual(revgen.__version__, importlib.metadata.version("revgen"))
        self.assertIn(revgen.kernel_path, ("generic", "avx2", "avx512"))


def copy_of(model):
    """A model whose own stream is at its beginning."""
    with tempfile.TemporaryDirectory() as dir:
        model.save(Path(dir) / "m.rvg")
        return revgen.load(Path(dir) / "m.rvg")


if __name__ == "__main__":
    warnings.simplefilter("error", DeprecationWarning)
    unittest.main()
