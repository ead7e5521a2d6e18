"""On the first run processes compile side by side, and nothing depends on them."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

import semibandit as sb
from semibandit import _jit
from semibandit.cli import first_run


class Helper:
    """A process that is started, and then waited for or killed."""

    def __init__(self, word):
        self.word, self.fate = json.loads(word), None

    def wait(self, timeout):
        assert 0.0 <= timeout <= first_run._PATIENCE
        self.fate = "waited for"

    def poll(self):
        return None if self.fate is None else 1

    def kill(self):
        self.fate = "killed"


@pytest.fixture
def helpers(monkeypatch):
    started = []
    monkeypatch.setattr(first_run, "_start", lambda word: started.append(Helper(word)) or started[-1])
    monkeypatch.setattr(first_run, "_is_first", lambda: True)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (0.5, 0.0, 0.0))
    return started


def test_each_learner_has_a_helper_which_is_waited_for(helpers):
    with first_run.compiled_beside(["full", "semi-bandit", "bandit"], probes=3) as needed:
        assert needed
        assert [h.fate for h in helpers] == [None, None]
    assert [h.word for h in helpers] == [["full", {"probes": 3}], ["semi-bandit", {"probes": 3}]]
    assert [h.fate for h in helpers] == ["waited for", "waited for"]


def test_a_helper_that_hangs_is_ended(helpers, monkeypatch):
    monkeypatch.setattr(first_run, "_PATIENCE", 0.05)
    hang = "import time; time.sleep(60)"
    monkeypatch.setattr(first_run, "_start", lambda word: subprocess.Popen([sys.executable, "-c", hang]))
    start = time.monotonic()
    with first_run.compiled_beside(["full", "semi-bandit"]):
        pass
    assert time.monotonic() - start < 30.0


def test_an_error_ends_the_helpers(helpers):
    with pytest.raises(KeyboardInterrupt), first_run.compiled_beside(["full"]):
        raise KeyboardInterrupt
    assert [h.fate for h in helpers] == ["killed"]


def test_no_helpers_on_a_busy_machine(helpers, monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (2.0, 0.0, 0.0))
    with first_run.compiled_beside(["full"]) as needed:
        assert not needed


def test_no_helpers_for_what_is_compiled_or_with_one_processor(helpers, monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    with first_run.compiled_beside(["full"]) as needed:
        assert not needed
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(first_run, "_is_first", lambda: False)
    with first_run.compiled_beside(["full"]) as needed:
        assert not needed
    assert helpers == []


def test_a_helper_that_fails_is_a_helper_that_ends():
    assert first_run._start("not JSON").wait() != 0


@pytest.mark.parametrize("feedback", ["full", "semi-bandit"])
def test_a_rehearsal_plays_the_game(feedback):
    first_run.rehearse(json.dumps([feedback, {"provable": False, "probes": 2, "drift": None}]))


def test_a_problem_shows_everything_once():
    seen = []

    class Watched(sb.Knapsack):
        def __getattribute__(self, name):
            seen.append(name)
            return super().__getattribute__(name)

    values, sizes = np.random.default_rng(0).random((2, 5)) + 0.1
    first_run.exercise(Watched(values, sizes, 1.0))
    assert {"reveal", "loss", "losses"} <= set(seen)


def test_a_kernel_is_new_until_it_is_compiled(tmp_path):
    program = """
import semibandit._double_double as dd
from semibandit._jit import is_new
print(is_new(dd.two_product), dd.two_product(3.0, 0.5)[0], is_new(dd.two_product))
"""
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words, capture_output=True, text=True, env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    )
    assert done.stdout.split() == ["True", "1.5", "False"], done.stderr
    assert not _jit.is_new(len)


def test_inner_kernels_are_for_kernels():
    @_jit.inner
    def double(x):
        return 2.0 * x

    @_jit.kernel
    def quadruple(x):
        return double(double(x))

    assert quadruple(3.0) == 12.0
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        with pytest.raises(TypeError, match="inner kernel"):
            double(3.0)
