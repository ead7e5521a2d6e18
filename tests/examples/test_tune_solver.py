"""The solver example: HiGHS as a black box in a process of its own."""

import importlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import semibandit as sb

pytest.importorskip("highspy")

EXAMPLE = Path(__file__).parents[2] / "examples" / "tune_solver.py"


@pytest.fixture(scope="module")
def example():
    # Importable by name, so that the process of the solver finds it as well.
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLE.parent))
        yield importlib.import_module("tune_solver")


def test_the_solver_is_repeatable_and_right(example):
    program = example.generate(0, 1, items=12)
    assert example.solve(program, 0.3) == example.solve(program, 0.3)
    assert example.solve(program, 0.3).iterations > 0


def test_feedback_is_the_work_of_the_solver(example):
    program = example.generate(0, 2, items=14)
    with ProcessPoolExecutor(1, get_context("spawn")) as solver:
        box = example.problem(program, solver, limit=3000, tolerance=0.05)
        seen = box.reveal(0.4)
        piece = seen.piece(0.4)
        lo, hi, loss = *piece.edges.tolist(), *piece.values.tolist()
        assert lo <= 0.4 < hi
        assert box.n_runs <= box.most_runs == 11
        for effort in (lo + 0.1 * (hi - lo), 0.5 * (lo + hi)):
            work = example.solve(program, effort)
            assert loss == min(work.iterations / 3000, 1.0)


def test_tuning(example):
    lines = []
    best = example.tune(2, 10, limit=1000, tolerance=0.1, seed=1, say=lines.append)
    assert isinstance(best, sb.Recommendation)
    assert best.rho in example.EFFORT
    assert len(lines) == 6
    assert "(learned)" in lines[-2]
    assert "(default)" in lines[-1]
