"""`semibandit play`: tables, pictures, files, mistakes."""

import pytest
from typer.testing import CliRunner

import semibandit as sb
from command_line import main
from semibandit.cli import app

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_instances_are_made_once_and_looked_at_once(tmp_path, monkeypatch):
    made, looked_at = [], []
    knapsack, losses = sb.Knapsack.__init__, sb.Knapsack.losses
    monkeypatch.setattr(sb.Knapsack, "__init__", lambda *a, **k: made.append(1) or knapsack(*a, **k))
    monkeypatch.setattr(sb.Knapsack, "losses", lambda self: looked_at.append(1) or losses(self))
    result = run("play", "knapsack", "-T", 30, "--n", 10, "--png", tmp_path / "x.png")
    assert result.exit_code == 0, result.output
    assert (len(made), len(looked_at)) == (30, 30)


def test_bounds_are_shown_where_they_hold():
    options = ("play", "synthetic", "-T", 2000, "--pieces", 3, "-f", "semi-bandit")
    proved, played = run(*options, "--provable"), run(*options)
    for result, by in ((proved, "Theorem 3"), (proved, "its certificate"), (played, "its certificate")):
        row = next(line for line in result.output.splitlines() if by in line and "regret, " in line)
        regret, bound = map(float, row.replace("regret, semi-bandit", "").split()[:2])
        assert 0 < regret < bound < 2000
    assert "Theorem 3" not in played.output
    short = run(*options[:3], 10, *options[4:], "--provable")
    assert "vacuous" in short.output


def cells(output, feedback):
    return next(line.split() for line in output.splitlines() if line.split()[:1] == [feedback])


def test_runs_are_counted_where_they_are_not_the_rounds(tmp_path):
    png = tmp_path / "game.png"
    result = run("play", "synthetic", "-T", 30, "--probes", 3, "--png", png)
    runs = [cells(result.output, name)[-4] for name in ("full", "semi-bandit", "bandit")]
    assert runs == ["-", "120", "120"]
    assert png.read_bytes().startswith(PNG)
    assert "runs" not in run("play", "synthetic", "-T", 30).output
    counts = {}
    for partition in ("tree", "loss"):
        output = run("play", "linkage", "-T", 20, "--per-class", 6, "--partition", partition).output
        counts[partition] = {name: int(cells(output, name)[5]) for name in ("full", "semi-bandit")}
    assert counts["tree"]["semi-bandit"] < counts["loss"]["semi-bandit"] < counts["loss"]["full"]


def test_regret_against_blocks_where_the_stream_drifts_or_on_request(tmp_path):
    options = ("-f", "semi-bandit", "--png", tmp_path / "game.png")
    for arguments, blocks in (
        (("knapsack", "--kind", "drifting"), 8),
        (("synthetic", "--blocks", 3, "--drift", 0.01), 3),
    ):
        result = run("play", *arguments, "-T", 60, *options)
        assert result.exit_code == 0, result.output
        assert f"{blocks} blocks" in result.output
        fixed, moving = map(float, cells(result.output, "semi-bandit")[2:4])
        assert fixed < moving
    assert "blocks" not in run("play", "synthetic", "-T", 20).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("synthetic", "--gap", "7"), "gap must be in [0, 0.8], got 7.0"),
        (("synthetic", "--spread", "0"), "spread must be above 0"),
        (("synthetic", "--png", "no/such/folder/x.png"), "there is no folder no/such/folder"),
        (("synthetic", "--png", "x.tables"), "x.tables must end in .png"),
        (("synthetic", "--csv", "/dev/full"), "/dev/full is not a file"),
        (("synthetic", "--csv", "."), ". is a folder"),
        (("metric-linkage", "--sizes", "2,x"), "--sizes must be integers separated by commas, got '2,x'"),
        (("synthetic", "--drift", "2"), "--drift must be auto or a share between 0 and 1, got '2'"),
        (("synthetic", "--drift", "auto", "--provable"), "--provable and --drift exclude each other"),
        (("independent-set", "--density", "0.5"), "density must be in [0, 0.25]"),
    ],
)
def test_a_mistake_is_one_line_without_a_traceback(arguments, message):
    result = main("play", *arguments)
    assert result.returncode == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
