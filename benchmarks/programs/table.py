"""The losses of a program on all of its instances, over a fine grid of the knob."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from programs.programs import PROGRAMS, Program

FOLDER = Path(__file__).parents[2] / "build" / "programs"


@dataclass(frozen=True)
class Table:
    """`losses[i, j]` is the loss of instance i at `values[j]`."""

    program: Program
    values: np.ndarray
    losses: np.ndarray

    @classmethod
    def of(cls, name: str, jobs: int = 1) -> Table:
        """The table of a program, which is made if there is none yet."""
        program = PROGRAMS[name]
        path = FOLDER / f"{name}.npz"
        if not path.exists():
            FOLDER.mkdir(parents=True, exist_ok=True)
            values, losses = _measure(program, jobs)
            np.savez(path, values=values, losses=losses)
        with np.load(path) as kept:
            return cls(program, kept["values"], kept["losses"])

    def column(self, rho: float) -> int:
        """The value of the grid that stands for rho: the nearest one."""
        return int(np.abs(self.values - rho).argmin())

    def loss(self, instance: int, rho: float) -> float:
        """A run of the program."""
        return float(self.losses[instance, self.column(rho)])


def _measure(program: Program, jobs: int) -> tuple[np.ndarray, np.ndarray]:
    values = program.grid()
    losses = np.empty((program.instances, len(values)))
    with TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:

        def measure(number: int) -> None:
            instance = program.make(Path(folder), number)
            losses[number] = [min(program.run(instance, value), program.high) for value in values.tolist()]

        for done, _ in enumerate(pool.map(measure, range(program.instances)), start=1):
            print(f"\r{program.name}: {done} of {program.instances} instances", end="", flush=True)
    print()
    return values, losses
