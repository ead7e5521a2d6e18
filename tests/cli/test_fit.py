"""`semibandit fit` on streams and on files."""

import pytest
from typer.testing import CliRunner

import semibandit as sb
from semibandit.cli import app


def fit(*arguments):
    return CliRunner().invoke(app, ["fit", *map(str, arguments)])


def cells(result, name):
    row = next(line for line in result.output.splitlines() if line.strip().startswith(name))
    return row.split(name, 1)[1].strip()


@pytest.fixture
def knapsacks(tmp_path):
    for k in range(12):
        (tmp_path / f"{k:02}.kp").write_text(f"4 {7 + k}\n6 5\n5 4\n4 3\n{k} 2\n")
    return tmp_path


def test_files_are_fitted_exactly(knapsacks):
    result = fit("knapsack", "--files", f"{knapsacks}/*.kp", "--default", 0.5)
    assert result.exit_code == 0, result.output
    assert "12 knapsacks from files" in result.output
    best = sb.best_in_hindsight(sb.streams.read_knapsacks(knapsacks))
    assert cells(result, "best ρ").startswith(f"{best.rho:.6g}")
    assert cells(result, "mean loss") == f"{best.mean_loss:.6g} over 12 instances"
    assert "worse by" in cells(result, "default ρ = 0.5")
    assert fit("knapsack", "--files", knapsacks, "-T", 5).output.count("over 5 instances") == 1


def test_clusterings_from_files_are_fitted(tmp_path):
    for k in range(4):
        points = "".join(f"{x},{x * k % 7},{x % 2}\n" for x in range(9))
        (tmp_path / f"{k}.csv").write_text("x,y,class\n" + points)
    result = fit("linkage", "--files", tmp_path, "--label", "class", "--standardise")
    assert result.exit_code == 0, result.output
    assert "4 clusterings from files" in result.output
    played = CliRunner().invoke(app, ["play", "linkage", "--files", str(tmp_path), "--label", "class"])
    assert played.exit_code == 0, played.output


def test_the_result_is_the_same_for_any_number_of_jobs():
    result = fit("synthetic", "-T", 60, "--jobs", 2, "--chunk", 7)
    assert result.exit_code == 0, result.output
    assert cells(result, "best ρ") == cells(fit("synthetic", "-T", 60), "best ρ")


def test_an_unknown_scheduler(monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(distributed, "Client", unreachable)
    result = fit("synthetic", "-T", 5, "--scheduler", "tcp://nowhere:1")
    assert isinstance(result.exception, OSError)


def unreachable(address):
    raise OSError(f"no scheduler at {address}")
