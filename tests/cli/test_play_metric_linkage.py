import csv

from typer.testing import CliRunner

from semibandit.cli import app


def test_play_shows_the_square_and_the_ends(tmp_path):
    png, table = tmp_path / "game.png", tmp_path / "game.csv"
    arguments = ["play", "metric-linkage", "--rounds", "12", "--rows", "3", "--sizes", "2,3,5"]
    result = CliRunner().invoke(app, [*arguments, "--png", str(png), "--csv", str(table)])
    assert result.exit_code == 0, result.output
    for word in ("12 clusterings of 10 digits", "3 rows", "semi-bandit", "α = 0, best ρ", "ρ = 1, best α"):
        assert word in result.output
    assert png.read_bytes().startswith(b"\x89PNG")
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 36
    assert {float(row["alpha"]) for row in rows} <= {0.0, 0.5, 1.0}


def test_bad_sizes_are_named():
    result = CliRunner().invoke(app, ["play", "metric-linkage", "--sizes", "2,x"])
    assert isinstance(result.exception, ValueError)
    assert "--sizes must be integers separated by commas" in str(result.exception)
