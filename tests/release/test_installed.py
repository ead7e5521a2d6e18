"""The wheel in a fresh environment without extras, away from the checkout."""

import json
import shutil
import sys
from pathlib import Path

import pytest

import semibandit

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

SOLVER = "import sys; print(abs(float(sys.argv[1]) - 0.3))"


def test_the_ten_lines_of_the_readme(installed):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = readme.partition("## Ten lines")[2].partition("```python\n")[2].partition("```")[0]
    out = installed.program(code + "\nprint(sb.__file__)")
    assert out.startswith("Recommendation(rho=2.3")
    assert "Certificate(value=" in out
    assert Path(out.splitlines()[-1]).is_relative_to(installed.python.parents[1])


def test_the_commands(installed):
    assert installed.semibandit("--version") == f"semibandit {semibandit.__version__}\n"
    usage = installed.semibandit("--help")
    assert all(command in usage for command in ("play", "tune", "fit", "dispersion", "study", "serve"))
    table = installed.semibandit("play", "knapsack", "--rounds", "30", "--feedback", "semi-bandit")
    assert "30 mixed knapsacks with 50 items" in table
    assert "best fixed ρ" in table


def test_tune(installed):
    (installed.folder / "solver.py").write_text(SOLVER)
    words = f"{installed.python} solver.py {{rho}} {{instance}}"
    race = installed.semibandit("tune", "--space", "0:1", "--state", "race", "--runs", "6", words, *"abc")
    assert "a race, 5 runs" in race
    assert "ρ to deploy" in race
    installed.env["NUMBA_DISABLE_JIT"] = "1"  # other tests compile
    online = installed.semibandit("tune", "--online", "--space", "0:1", "--state", "knob", words, *"abc")
    assert "3 rounds, 3 runs" in online
    assert "ρ to deploy" in online


REFUSALS = {
    "play knapsack --png game.png": "drawing needs matplotlib: pip install 'semibandit[plot]'",
    "play linkage --kind digits": "the digits stream needs sklearn: pip install 'semibandit[sklearn]'",
    "fit knapsack --scheduler tcp://127.0.0.1:1": (
        "--scheduler needs distributed: pip install 'semibandit[dask]'"
    ),
    "tune --space 0:1 --state knob.json --png t.png 'true {rho} {instance}' a": (
        "drawing needs matplotlib: pip install 'semibandit[plot]'"
    ),
    "serve --storage sqlite:///x.db": "the service needs uvicorn: pip install 'semibandit[serve]'",
    "study list --storage postgresql://localhost/x": (
        "PostgreSQL needs psycopg: pip install 'semibandit[postgres]'"
    ),
}

# All in one process, as each takes a second to begin.
EVERY_REFUSAL = """
import contextlib, io, json, shlex, sys
from semibandit.cli import main

said = {}
for words in json.loads(sys.argv[1]):
    sys.argv = ["semibandit", *shlex.split(words)]
    with contextlib.redirect_stderr(io.StringIO()) as stream:
        try:
            main()
        except SystemExit as end:
            said[words] = end.code, stream.getvalue()
print(json.dumps(said))
"""


def test_commands_name_the_extra_that_they_need(installed):
    program = [installed.python, "-c", EVERY_REFUSAL, json.dumps(list(REFUSALS))]
    said = json.loads(installed.run(*program).splitlines()[-1])
    assert said == {words: [2, f"semibandit: {message}\n"] for words, message in REFUSALS.items()}


EVERY_MODULE = """
import importlib, pkgutil
import semibandit as sb

def tried(call):
    try:
        call()
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        print(error)

for module in pkgutil.walk_packages(sb.__path__, "semibandit."):
    tried(lambda: importlib.import_module(module.name))
history = sb.play(sb.Exp3Set(sb.Interval(0, 1), seed=0), sb.streams.synthetic(5))
tried(history.to_pandas)
tried(lambda: sb.plots.regret(history))
"""


def test_modules_and_functions_name_the_extra_that_they_need(installed):
    assert set(installed.program(EVERY_MODULE).splitlines()) == {
        "PostgreSQL needs psycopg: pip install 'semibandit[postgres]'",
        "semibandit.sklearn needs sklearn: pip install 'semibandit[sklearn]'",
        "the service needs starlette: pip install 'semibandit[serve]'",
        "to_pandas needs pandas: pip install 'semibandit[pandas]'",
        "drawing needs matplotlib: pip install 'semibandit[plot]'",
    }


def test_type_checkers_see_our_types(installed):
    """Its `assert_type`s hold, and each `type: ignore` is needed, which --strict checks as well."""
    pytest.importorskip("mypy")
    shutil.copy(Path(__file__).with_name("user_program.py"), installed.folder)
    mypy = [sys.executable, "-m", "mypy", "--strict", "--python-executable", installed.python]
    out = installed.run(*mypy, "user_program.py")
    assert out == "Success: no issues found in 1 source file\n"
