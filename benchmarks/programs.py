"""Real programs with one to four knobs, and tables of their losses on generated instances.

A table has the loss of every instance at every point of a grid of knobs. It is made once, in some minutes,
and kept in build/programs; methods then look runs up in it. Losses are counts and sizes, so that a table
depends on the versions of the programs only.
"""

from __future__ import annotations

import lzma
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import semibandit as sb

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
FOLDER = Path(__file__).resolve().parents[1] / "build" / "programs"


@dataclass(frozen=True)
class Program:
    """A program with knobs, a grid of their values, and its defaults."""

    knobs: sb.Knobs
    default: dict[str, Any]
    grid: dict[str, tuple[Any, ...]]
    make: Callable[[Path, int], Any]
    run: Callable[..., float]
    instances: int = 120


def _even(kind: Any, n: int, *more: Any) -> tuple[Any, ...]:
    """Return the ends of a knob, values evenly spread between them, and further ones."""
    return tuple(sorted({kind.lo, kind.hi, *kind.spread(n), *more}))


def _output(*words: str, good: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode not in good:
        raise RuntimeError(f"{words} ended with {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


# -- compressors: compressed size over size, on pieces of source text, machine code and arrays


def _data(folder: Path, number: int) -> bytes:
    rng = np.random.default_rng([2, number])
    size = int(2 ** rng.uniform(10, 15))
    if number % 3 == 2:
        walk = np.cumsum(rng.normal(0, 10 ** rng.uniform(-1, 2), size // 4))
        return walk.astype(rng.choice(["<i4", "<f4"])).tobytes()
    suffix = ("*.py", "*.so")[number % 3]
    files = [path for path in sorted(Path(np.__file__).parent.rglob(suffix)) if path.stat().st_size > 2**12]
    data = files[rng.integers(len(files))].read_bytes()
    start = int(rng.integers(max(len(data) - size, 1)))
    return data[start : start + size]


def _text(folder: Path, number: int) -> bytes:
    return _data(folder, 3 * number)


def _zstd(data: bytes, **values: int) -> float:
    import zstandard

    parameters = zstandard.ZstdCompressionParameters(window_log=17, chain_log=16, hash_log=15, **values)
    return len(zstandard.ZstdCompressor(compression_params=parameters).compress(data)) / len(data)


def _xz(data: bytes, **values: int) -> float:
    chain = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 16, "mode": lzma.MODE_NORMAL, **values}]
    return len(lzma.compress(data, format=lzma.FORMAT_RAW, filters=chain)) / len(data)


def _ppmd(data: bytes, order: int) -> float:
    import pyppmd

    return len(pyppmd.compress(data, max_order=order, mem_size=1 << 16)) / len(data)


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


def _minisat(path: Path, decay: float, first: int, phase: int) -> float:
    knobs = f"-var-decay={decay!r}", f"-rfirst={first}", f"-phase-saving={phase}", "-rnd-seed=1"
    found = re.search(r"conflicts\s*: (\d+)", _output("minisat", *knobs, str(path), good=(10, 20)))
    assert found is not None
    return float(found[1])


# -- HiGHS: simplex iterations on knapsacks with several constraints


def _knapsack(folder: Path, number: int) -> Any:
    from tune_solver import generate

    return generate(4, number, 12 + number % 9, knapsacks=3)


def _highs(program: Any, effort: float, reliable: int, age: int) -> float:
    from tune_solver import solve

    work = solve(program, effort, mip_pscost_minreliable=reliable, mip_lp_age_limit=age)
    return float(work.iterations)


def _programs() -> dict[str, Program]:
    zstd = sb.Knobs(
        strategy=sb.Integer(1, 9), min_match=sb.Integer(3, 7), search_log=sb.Integer(1, 8),
        target_length=sb.Integer(4, 999, log=True),
    )  # fmt: skip
    xz = sb.Knobs(lc=sb.Integer(0, 4), pb=sb.Integer(0, 4), nice_len=sb.Integer(2, 273, log=True))
    minisat = sb.Knobs(
        decay=sb.Real(0.5, 0.999), first=sb.Integer(10, 1000, log=True), phase=sb.Choice(0, 1, 2)
    )
    highs = sb.Knobs(effort=sb.Real(0, 0.5), reliable=sb.Integer(0, 16), age=sb.Integer(1, 20))
    ppmd = sb.Knobs(order=sb.Integer(2, 32))

    def all_of(kind: Any) -> tuple[Any, ...]:
        return tuple(kind.spread(10**6))

    return {
        "zstd": Program(
            zstd, {"strategy": 2, "min_match": 5, "search_log": 2, "target_length": 4},
            {name: _even(kind, 8, 4) if kind.log else all_of(kind) for name, kind in zstd.knobs.items()},
            _data, _zstd,
        ),
        "xz": Program(
            xz, {"lc": 3, "pb": 2, "nice_len": 64},
            {name: _even(kind, 14, 64) if kind.log else all_of(kind) for name, kind in xz.knobs.items()},
            _text, _xz,
        ),
        "minisat": Program(
            minisat, {"decay": 0.95, "first": 100, "phase": 2},
            {"decay": _even(minisat.knobs["decay"], 14, 0.95), "first": (10, 30, 100, 300, 1000),
             "phase": (0, 1, 2)},
            _formula, _minisat, 240,
        ),
        "highs": Program(
            highs, {"effort": 0.05, "reliable": 8, "age": 10},
            {"effort": (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5), "reliable": (0, 1, 2, 4, 8, 16),
             "age": (1, 10, 20)},
            _knapsack, _highs, 100,
        ),
        "ppmd": Program(ppmd, {"order": 6}, {"order": all_of(ppmd.knobs["order"])}, _data, _ppmd, 240),
    }  # fmt: skip


PROGRAMS = _programs()


@dataclass(frozen=True)
class Table:
    """`losses[i, j]` is the loss of instance i at point j of the grid of a program."""

    program: Program
    losses: np.ndarray

    @classmethod
    def of(cls, name: str) -> Table:
        """Return the table of a program; make it if there is none yet.

        "minisat.decay" is a part of minisat's table: one knob, with the others at their defaults.
        """
        whole, _, knob = name.partition(".")
        program, path = PROGRAMS[whole], FOLDER / f"{whole}.npy"
        if not path.exists():
            FOLDER.mkdir(parents=True, exist_ok=True)
            np.save(path, measure_losses(program))
        table = cls(program, np.load(path))
        return table._along(knob) if knob else table

    def _along(self, knob: str) -> Table:
        """Return the part of one knob."""
        whole = self.program
        columns = [self.column({**whole.default, knob: value}) for value in whole.grid[knob]]
        program = Program(
            sb.Knobs(**{knob: whole.knobs.knobs[knob]}), {knob: whole.default[knob]},
            {knob: whole.grid[knob]}, whole.make, whole.run, whole.instances,
        )  # fmt: skip
        return Table(program, self.losses[:, columns])

    def column(self, values: dict[str, Any]) -> int:
        """Return the index of the point of the grid that is nearest on the scale of each knob."""
        index = 0
        for name, points in self.program.grid.items():
            kind = self.program.knobs.knobs[name]
            at = [abs(kind.coordinate(point) - kind.coordinate(values[name])) for point in points]
            index = index * len(points) + int(np.argmin(at))
        return index


def measure_losses(program: Program) -> np.ndarray:
    names, points = list(program.grid), list(product(*program.grid.values()))
    assert len(points) == prod(map(len, program.grid.values()))
    rows = []
    with TemporaryDirectory() as folder:
        for number in range(program.instances):
            instance = program.make(Path(folder), number)
            rows.append([program.run(instance, **dict(zip(names, point, strict=True))) for point in points])
            print(f"\r{number + 1} of {program.instances} instances", end="", file=sys.stderr)
    return np.array(rows)
