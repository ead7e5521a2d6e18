"""The tutorials: each is a script with a title that compiles, and the quick ones run from an empty folder.

All of them run, one after another, when the site is built (`make docs`).
"""

import ast
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import semibandit

FOLDER = Path(__file__).parents[2] / "docs" / "tutorials"
SCRIPTS = sorted(FOLDER.glob("*.py"))
QUICK = ("plot_01_first_knob", "plot_05_city_budgets")


def test_none_is_missing():
    assert [path.stem[:8] for path in SCRIPTS] == [f"plot_{i:02}_" for i in range(1, 10)]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_title_an_introduction_and_what_to_try_next(path):
    text = path.read_text(encoding="utf-8")
    title, line, blank, *introduction = ast.get_docstring(ast.parse(text, path.name)).splitlines()
    assert title
    assert line == "=" * len(title)
    assert blank == ""
    assert len(" ".join(introduction)) > 200
    assert text.count("# %%\n") >= 5
    assert "# Try next\n# --------\n" in text
    assert text.endswith("\nplt.show()\n")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_underlines_are_as_long_as_headings(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    for heading, line in pairwise(lines):
        if line.startswith("# ---"):
            assert len(line) == len(heading), heading


@pytest.mark.parametrize("name", QUICK)
def test_the_quick_ones_run(name, tmp_path):
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(semibandit.__file__).parents[1]),
        "MPLBACKEND": "agg",
        "TMPDIR": str(tmp_path),
    }
    environment.pop("PABULIB", None)
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "ρ" in done.stdout
