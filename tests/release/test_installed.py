"""The wheel works in a fresh environment without extras, away from the repository."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import semibandit

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.slow

SOLVER = "import sys; print(abs(float(sys.argv[1]) - 0.3))"


def test_first_code_of_the_readme_runs(installed):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = readme.partition("## Ten lines")[2].partition("```python\n")[2].partition("```")[0]
    out = installed.run(installed.python, "-c", code.replace("rounds=2000", "rounds=30"))
    assert out.startswith("Recommendation(rho=")


def test_commands_run(installed):
    assert installed.semibandit("--version") == f"semibandit {semibandit.__version__}\n"
    usage = installed.semibandit("--help")
    assert all(command in usage for command in ("play", "tune", "fit", "dispersion", "study", "serve"))
    table = installed.semibandit("play", "knapsack", "--rounds", "9", "--feedback", "semi-bandit")
    assert "9 mixed knapsacks with 50 items" in table
    assert "best fixed ρ" in table


def test_tune_runs(installed):
    (installed.folder / "solver.py").write_text(SOLVER)
    words = f"{installed.python} solver.py {{rho}} {{instance}}"
    race = installed.semibandit("tune", "--space", "0:1", "--state", "race", "--runs", "6", words, *"abc")
    assert "a race, 6 runs" in race
    assert "answer" in race
    online = installed.semibandit("tune", "--online", "--space", "0:1", "--state", "knob", words, *"abc")
    assert "3 rounds, 3 runs" in online
    assert "deploy ρ" in online


# Commands, and their messages without extras.
MESSAGES = {
    "play knapsack --png game.png": "drawing needs matplotlib: pip install 'semibandit[plot]'",
    "play linkage --kind digits": "the digits stream needs sklearn: pip install 'semibandit[sklearn]'",
    "play metric-linkage": "the stream of digits needs sklearn: pip install 'semibandit[sklearn]'",
    "dispersion knapsack --png game.png": "drawing needs matplotlib: pip install 'semibandit[plot]'",
    "fit knapsack --png fit.png": "drawing needs matplotlib: pip install 'semibandit[plot]'",
    "fit knapsack --scheduler tcp://127.0.0.1:1": (
        "--scheduler needs distributed: pip install 'semibandit[dask]'"
    ),
    "tune --space 0:1 --state knob.json --png t.png 'true {rho} {instance}' a": (
        "drawing needs matplotlib: pip install 'semibandit[plot]'"
    ),
    "serve --storage sqlite:///x.db": "the service needs starlette: pip install 'semibandit[serve]'",
    "study list --storage postgresql://localhost/x": (
        "PostgreSQL needs psycopg: pip install 'semibandit[postgres]'"
    ),
}

# In one process: starting one takes a second.
RUN_COMMANDS = """
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
    program = [installed.python, "-c", RUN_COMMANDS, json.dumps(list(MESSAGES))]
    said = json.loads(installed.run(*program).splitlines()[-1])
    assert said == {words: [2, f"semibandit: {message}\n"] for words, message in MESSAGES.items()}


EVERY_MODULE = """
import importlib, pathlib, pkgutil, sys
import semibandit as sb

def show_error(call):
    try:
        call()
    except ModuleNotFoundError:
        raise
    except ImportError as error:
        print(error)

for module in pkgutil.walk_packages(sb.__path__, "semibandit."):
    show_error(lambda: importlib.import_module(module.name))
print()
assert pathlib.Path(sb.__file__).is_relative_to(sys.prefix)
problems = sb.streams.synthetic(5)
history = sb.play(sb.Exp3Set(sb.Interval(0, 1), seed=0), problems)
show_error(history.to_pandas)
show_error(lambda: sb.plots.regret(history))
show_error(lambda: sb.plots.overview({"game": history}, "page.png"))
show_error(sb.dispersion.measure(problems).plot)
show_error(lambda: sb.streams.clustering("iris", rounds=1)[0])
show_error(lambda: sb.streams.digits_two_metrics(rounds=1)[0])
show_error(lambda: sb.Study("postgresql://localhost/x", "name", space=sb.Interval(0, 1)))
"""


def test_functions_name_the_extra_that_they_need(installed):
    modules, _, functions = installed.run(installed.python, "-c", EVERY_MODULE).partition("\n\n")
    service = "the service needs starlette: pip install 'semibandit[serve]'"
    postgres = "PostgreSQL needs psycopg: pip install 'semibandit[postgres]'"
    assert sorted(modules.splitlines()) == [
        postgres,
        "semibandit.optuna needs optuna: pip install 'semibandit[optuna]'",
        "semibandit.sklearn needs sklearn: pip install 'semibandit[sklearn]'",
        service,
    ]
    assert functions.splitlines() == [
        "to_pandas needs pandas: pip install 'semibandit[pandas]'",
        *["drawing needs matplotlib: pip install 'semibandit[plot]'"] * 3,
        "the iris stream needs sklearn: pip install 'semibandit[sklearn]'",
        "the stream of digits needs sklearn: pip install 'semibandit[sklearn]'",
        postgres,
    ]


def test_type_checkers_see_our_types():
    """Each `assert_type` holds, and each `type: ignore` is needed; with the cache of `make check`."""
    pytest.importorskip("mypy")
    mypy = [sys.executable, "-m", "mypy", "tests/release/user_program.py"]
    out = subprocess.run(mypy, cwd=ROOT, capture_output=True, text=True).stdout
    assert out == "Success: no issues found in 1 source file\n"
