"""Tutorials have the sections that the gallery needs, and the quick ones run. `make docs` runs all."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import semibandit
from pages import ROOT

SCRIPTS = sorted((ROOT / "docs" / "tutorials").glob("*.py"))
QUICK = ("plot_01_first_knob", "plot_10_city_budgets")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_tutorial_has_a_title_sections_and_a_plot(path):
    text = path.read_text(encoding="utf-8")
    title, line, blank, *introduction = ast.get_docstring(ast.parse(text, path.name)).splitlines()
    assert (line, blank) == ("=" * len(title), "")
    assert introduction
    assert text.count("# %%\n") >= 5
    assert text.endswith("\nplt.show()\n")


@pytest.mark.parametrize("name", QUICK)
def test_quick_tutorial_runs_in_an_empty_folder(name, tmp_path):
    source = str(Path(semibandit.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source, "MPLBACKEND": "agg", "TMPDIR": str(tmp_path)}
    environment.pop("PABULIB", None)
    script = ROOT / "docs" / "tutorials" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "ρ" in done.stdout
