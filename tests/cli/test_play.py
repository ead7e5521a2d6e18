import csv
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from semibandit.cli import app

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


def test_synthetic_shows_all_kinds_of_feedback(tmp_path):
    png, table = tmp_path / "game.png", tmp_path / "game.csv"
    result = run("play", "synthetic", "--rounds", "200", "--png", str(png), "--csv", str(table))
    assert result.exit_code == 0, result.output
    for word in ("full", "semi-bandit", "bandit", "best fixed ρ", "fixed ρ = 0.5", "regret"):
        assert word in result.output
    assert png.read_bytes().startswith(PNG)
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 600
    assert {row["feedback"] for row in rows} == {"full", "semi-bandit", "bandit"}


def test_one_kind_of_feedback_and_the_provable_learner():
    result = run("play", "synthetic", "--rounds", "50", "-f", "semi-bandit", "--provable", "--drift")
    assert result.exit_code == 0, result.output
    assert "Theorem 3" in result.output
    assert "full" not in result.output


def test_linkage_draws_dendrograms(tmp_path):
    png = tmp_path / "game.png"
    options = ("--rounds", "12", "--per-class", "6", "--png", str(png), "-f", "semi-bandit")
    result = run("play", "linkage", *options)
    assert result.exit_code == 0, result.output
    assert "clusterings of elongated points" in result.output
    assert "fixed ρ = 1" in result.output
    assert png.read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--gap", "7"), "gap must be in [0, 0.8], got 7.0"),
        (("--spread", "0"), "spread must be above 0"),
        (("--png", "no/such/folder/x.png"), "there is no folder no/such/folder"),
        (("--csv", "."), ". is a folder"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(arguments, message):
    result = subprocess.run(
        [sys.executable, "-c", "from semibandit.cli import main; main()", "play", "synthetic", *arguments],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_version_and_help():
    assert run("--version").output.startswith("semibandit 0.")
    for arguments in (["--help"], ["play", "--help"], ["play", "synthetic", "--help"]):
        assert run(*arguments).exit_code == 0
