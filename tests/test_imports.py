"""Cost of imports, and read-only installations."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import semibandit

PACKAGE = Path(semibandit.__file__).parent
HEAVY = ("numba", "llvmlite", "scipy", "matplotlib", "sklearn")


def run(code, path=PACKAGE.parent, **environment):
    """Run code in a fresh process; its standard output."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import semibandit",
        "import semibandit.cli",
        "import semibandit; dir(semibandit); semibandit.__version__",
        "from semibandit import PiecewiseConstant, Interval, Explicit; PiecewiseConstant([0, 1], [1]).mean()",
    ],
)
def test_importing_is_light(code):
    loaded = run(f"{code}\nimport sys\nprint([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_every_public_name_exists():
    for name in semibandit.__all__:
        assert getattr(semibandit, name) is not None
    assert {*semibandit.__all__, "sklearn"} == set(dir(semibandit))
    with pytest.raises(AttributeError, match="semibandit attribute nothing"):
        _ = semibandit.nothing


@pytest.mark.parametrize("home", ["nowhere to write", "a writable home"])
def test_a_read_only_installation_works(tmp_path, home):
    """Files stand where cache directories would be made: that stops even the superuser."""
    shutil.copytree(PACKAGE, tmp_path / "lib" / "semibandit", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [path.parent for path in (tmp_path / "lib").rglob("*.py")]:
        (folder / "__pycache__").touch()
    user = tmp_path / "home"
    if home == "nowhere to write":
        user.touch()
    else:
        user.mkdir()
    code = """
import semibandit
from semibandit.weights import _scaled
assert "lib" in semibandit.__file__
# One kernel is enough, and compiles fast.
print(_scaled.log(0.5, 1))
"""
    environment = {"HOME": str(user), "XDG_CACHE_HOME": str(user / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    for _ in range(2):
        assert float(run(code, tmp_path / "lib", NUMBA_CACHE_DIR="", **environment)) == 0.0
    assert any(tmp_path.rglob("*.nbi")) == (home == "a writable home")


def test_the_jit_can_be_off(tmp_path):
    code = (
        f"FILE = {str(tmp_path / 'learner')!r}"
        + """
from semibandit import Exp3Set, Interval, PiecewiseConstant
learner = Exp3Set(Interval(0, 1), seed=0)
for i in range(40):
    trial = learner.ask()
    lo = 0.25 * int(4 * trial.rho)
    learner.tell(trial, PiecewiseConstant.constant(lo, lo + 0.25, 0.1 + lo))
learner.ask()
learner.save(FILE)
print(repr(learner.ask().rho), repr(learner.gap_sum))
"""
    )
    assert run(code, NUMBA_DISABLE_JIT="1") == run(code)


def test_the_package_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "semibandit", "--version"],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"semibandit {semibandit.__version__}\n"
