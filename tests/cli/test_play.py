"""`semibandit play`: tables, pictures, files, mistakes."""

import csv
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

import semibandit as sb
from semibandit.cli import app

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("synthetic",), ("40 random step functions", "fixed ρ = 0.5")),
        (("linkage", "--per-class", 6), ("40 clusterings of elongated points", "fixed ρ = 1")),
        (("knapsack", "--n", 20), ("40 mixed knapsacks with 20 items", "fixed ρ = 1", "Lemma 8")),
        (("posted-price",), ("40 sales to 5 buyers at a posted price", "fixed ρ = 0.5")),
        (("second-price", "--bidders", 2), ("40 auctions with 2 bidders and a reserve", "fixed ρ = 0 ")),
        (("independent-set", "-n", 20), ("40 graphs with 20 vertices", "fixed ρ = 1")),
        (("independent-set", "-n", 20, "--adaptive"), ("40 graphs with 20 vertices", "fixed ρ = 1")),
        (("seeding", "--points", 30, "-k", 3), ("40 sets of 30 points, 3 centres", "fixed ρ = 2")),
        (
            ("metric-linkage", "--rows", 3, "--sizes", "2,3,5"),
            ("40 clusterings of 10 digits", "3 rows", "α = 0, best ρ", "ρ = 1, best α"),
        ),
    ],
    ids=lambda value: value[0] if len(value) != 3 else None,
)
def test_all_kinds_of_feedback(arguments, words, tmp_path):
    png, table = tmp_path / "game.png", tmp_path / "game.csv"
    result = run("play", *arguments, "-T", 40, "--png", png, "--csv", table)
    assert result.exit_code == 0, result.output
    for word in (*words, "full", "semi-bandit", "bandit", "best fixed ρ", "regret"):
        assert word in result.output
    assert png.read_bytes().startswith(PNG)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 120
    assert {row["feedback"] for row in rows} == {"full", "semi-bandit", "bandit"}
    assert ("alpha" in rows[0]) == (arguments[0] == "metric-linkage")


@pytest.mark.parametrize("kinds", [("full", "semi-bandit", "bandit"), ("semi-bandit",)])
def test_instances_are_made_once_and_looked_at_once(kinds, tmp_path, monkeypatch):
    made, looked_at = [], []
    knapsack, losses = sb.Knapsack.__init__, sb.Knapsack.losses
    monkeypatch.setattr(sb.Knapsack, "__init__", lambda *a, **k: made.append(1) or knapsack(*a, **k))
    monkeypatch.setattr(sb.Knapsack, "losses", lambda self: looked_at.append(1) or losses(self))
    feedback = [word for kind in kinds for word in ("-f", kind)]
    result = run("play", "knapsack", "-T", 30, "--n", 10, "--png", tmp_path / "x.png", *feedback)
    assert result.exit_code == 0, result.output
    assert (len(made), len(looked_at)) == (30, 30)


def test_full_feedback_is_timed_where_it_is_computed(monkeypatch):
    losses = sb.Explicit.losses
    monkeypatch.setattr(sb.Explicit, "losses", lambda self: time.sleep(0.002) or losses(self))
    result = run("play", "synthetic", "-T", 20)
    row = next(line for line in result.output.splitlines() if line.split()[:1] == ["full"])
    assert float(row.split()[-1]) >= 2000  # microseconds


def test_one_kind_of_feedback_and_the_provable_learner():
    result = run("play", "synthetic", "--rounds", "50", "-f", "semi-bandit", "--provable", "--drift")
    assert result.exit_code == 0, result.output
    assert "Theorem 3" in result.output
    assert "full" not in result.output


def test_bounds_are_shown_where_they_hold():
    options = ("play", "synthetic", "-T", 4000, "--pieces", 3, "-f", "semi-bandit")
    proved, played = run(*options, "--provable"), run(*options)
    regret, bound = map(float, proved.output.split("regret, semi-bandit")[1].split()[:2])
    assert 0 < regret < bound < 4000
    assert "no proof" not in proved.output
    assert played.output.split("regret, semi-bandit")[1].split()[1:4] == ["no", "proof", "--provable"]
    short = run(*options[:3], 40, *options[4:], "--provable")
    assert "no bound" in short.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("synthetic", "--gap", "7"), "gap must be in [0, 0.8], got 7.0"),
        (("synthetic", "--spread", "0"), "spread must be above 0"),
        (("synthetic", "--png", "no/such/folder/x.png"), "there is no folder no/such/folder"),
        (("synthetic", "--png", "x.tables"), "x.tables must end in .png"),
        (("synthetic", "--png", "x"), "x must end in .png"),
        (("synthetic", "--csv", "/dev/full"), "/dev/full is not a file"),
        (("synthetic", "--csv", "."), ". is a folder"),
        (("metric-linkage", "--sizes", "2,x"), "--sizes must be integers separated by commas, got '2,x'"),
        (("independent-set", "--density", "0.5"), "density must be in [0, 0.25]"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(arguments, message):
    result = subprocess.run(
        [sys.executable, "-c", "from semibandit.cli import main; main()", "play", *arguments],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_version_and_help():
    assert run("--version").output.startswith("semibandit 0.")
    for arguments in (["--help"], ["play", "--help"], ["dispersion", "--help"], ["tune", "--help"]):
        assert run(*arguments).exit_code == 0
