"""Four real programs with a knob, and tables of their losses on generated instances.

A table has the loss of every instance at every value of a grid. It is made once and kept in
build/programs; methods then look runs up in it. Losses are counts and sizes, so that a table is the same
on every machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
FOLDER = Path(__file__).resolve().parents[1] / "build" / "programs"


@dataclass(frozen=True)
class Program:
    """A program with a knob in [lo, hi] and losses in [0, high]."""

    name: str
    knob: str
    lo: float
    hi: float
    default: float
    high: float
    make: Callable[[Path, int], Any]
    run: Callable[[Any, float], float]
    instances: int = 240
    points: int = 61
    integer: bool = False

    def values(self) -> np.ndarray:
        """Return the grid of the knob, the default included."""
        if self.integer:
            return np.arange(self.lo, self.hi + 1)
        return np.unique(np.append(np.linspace(self.lo, self.hi, self.points), self.default))


def _output(*words: str, good: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode not in good:
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


# -- minisat: conflicts on Tseitin's formulas of random cubic graphs


def _formula(folder: Path, number: int) -> Path:
    rng = np.random.default_rng([1, number])
    n = 2 * int(rng.integers(9, 16))
    ends = np.repeat(np.arange(n), 3)
    while (ends[::2] == ends[1::2]).any():
        rng.shuffle(ends)
    at = [np.flatnonzero(ends == node) // 2 + 1 for node in range(n)]
    clauses = [
        [-edge if odd else edge for edge, odd in zip(edges.tolist(), odds, strict=True)]
        for node, edges in enumerate(at)
        for odds in product((0, 1), repeat=3)
        if sum(odds) % 2 != (node == 0)
    ]
    path = folder / f"{number}.cnf"
    lines = [f"p cnf {len(ends) // 2} {len(clauses)}", *(" ".join(map(str, c)) + " 0" for c in clauses)]
    path.write_text("\n".join(lines) + "\n")
    return path


def _minisat(path: Path, decay: float) -> float:
    out = _output("minisat", f"-var-decay={decay!r}", "-rnd-seed=1", str(path), good=(10, 20))
    found = re.search(r"conflicts\s*: (\d+)", out)
    assert found is not None
    return float(found[1])


# -- PPMd, a compressor of text: compressed size over size, on pieces of Python's library


def _text(folder: Path, number: int) -> bytes:
    files = sorted(Path(np.__file__).parent.rglob("*.py")) + sorted(Path(re.__file__).parents[1].glob("*.py"))
    rng = np.random.default_rng([2, number])
    data = b"".join(files[i].read_bytes() for i in rng.choice(len(files), 4, replace=False))
    size = int(2 ** rng.uniform(10, 16))
    return data[:size]


def _ppmd(data: bytes, order: float) -> float:
    import pyppmd

    return len(pyppmd.compress(data, max_order=round(order), mem_size=1 << 16)) / len(data)


# -- flac: encoded size over size, on notes with overtones, noise and decay


def _notes(folder: Path, number: int) -> Path:
    rng = np.random.default_rng([3, number])
    rate, seconds = 22_050, 1.0
    time = np.arange(round(rate * seconds)) / rate
    sound = np.zeros_like(time)
    for _ in range(rng.integers(1, 6)):
        start, pitch, decay = rng.uniform(0, seconds), 2 ** rng.uniform(6, 11), rng.uniform(1, 20)
        late = np.maximum(time - start, 0)
        tones = sum(np.sin(2 * np.pi * pitch * k * late) / k ** rng.uniform(0.5, 2) for k in range(1, 8))
        sound += (time >= start) * np.exp(-decay * late) * tones
    sound += 10 ** rng.uniform(-4, -1) * rng.standard_normal(len(time))
    path = folder / f"{number}.raw"
    (sound / np.abs(sound).max() * 32_000).astype("<i2").tofile(path)
    return path


def _flac(path: Path, share: float) -> float:
    options = ("-8", "-A", f"tukey({share!r})", "--totally-silent", "-f", "-c", "--force-raw-format")
    form = ("--endian=little", "--channels=1", "--bps=16", "--sample-rate=22050", "--sign=signed")
    done = subprocess.run(["flac", *options, *form, str(path)], capture_output=True, check=True)
    return len(done.stdout) / path.stat().st_size


# -- HiGHS: simplex iterations on knapsacks with several constraints


def _knapsack(folder: Path, number: int) -> Any:
    from tune_solver import generate

    return generate(4, number, 12 + number % 9, knapsacks=3)


def _highs(program: Any, effort: float) -> float:
    from tune_solver import solve

    return float(solve(program, effort).iterations)


PROGRAMS = {
    program.name: program
    for program in (
        Program("minisat", "-var-decay", 0.5, 0.999, 0.95, 20_000.0, _formula, _minisat, 160, 31),
        Program("ppmd", "max_order", 2, 32, 6, 1.0, _text, _ppmd, integer=True),
        Program("flac", "-A tukey(P)", 0.0, 1.0, 0.5, 1.0, _notes, _flac),
        Program("highs", "mip_heuristic_effort", 0.0, 0.5, 0.05, 3_000.0, _knapsack, _highs, 140, 31),
    )
}


@dataclass(frozen=True)
class Table:
    """`losses[i, j]` is the loss of instance i at `values[j]`."""

    program: Program
    values: np.ndarray
    losses: np.ndarray

    @classmethod
    def of(cls, name: str) -> Table:
        """Return the table of a program; make it if there is none yet."""
        program, path = PROGRAMS[name], FOLDER / f"{name}.npz"
        if not path.exists():
            FOLDER.mkdir(parents=True, exist_ok=True)
            np.savez(path, values=program.values(), losses=measure_losses(program))
        with np.load(path) as kept:
            return cls(program, kept["values"], kept["losses"])

    def column(self, rho: float) -> int:
        """Return the index of the value nearest to rho."""
        return int(np.abs(self.values - rho).argmin())


def measure_losses(program: Program) -> np.ndarray:
    rows = []
    with TemporaryDirectory() as folder:
        for number in range(program.instances):
            instance = program.make(Path(folder), number)
            rows.append([min(program.run(instance, x), program.high) for x in program.values().tolist()])
            print(f"\r{program.name}: {number + 1} of {program.instances} instances", end="", file=sys.stderr)
    return np.array(rows)
