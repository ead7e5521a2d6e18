"""`semibandit play` on the smaller families."""

import csv

import pytest
from typer.testing import CliRunner

from semibandit.cli import app

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("arguments", "title", "default"),
    [
        (("posted-price",), "40 sales to 5 buyers at a posted price", "0.5"),
        (("second-price", "--bidders", "2"), "40 auctions with 2 bidders and a reserve", "0"),
        (("independent-set", "-n", "20"), "40 graphs with 20 vertices", "1"),
        (("independent-set", "-n", "20", "--adaptive"), "40 graphs with 20 vertices", "1"),
        (("seeding", "--points", "30", "-k", "3"), "40 sets of 30 points, 3 centres", "2"),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_all_kinds_of_feedback(arguments, title, default, tmp_path):
    png, table = tmp_path / "game.png", tmp_path / "game.csv"
    command = ["play", *arguments, "-T", "40", "--png", str(png), "--csv", str(table)]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    for word in (title, "full", "semi-bandit", f"fixed ρ = {default}", "best fixed ρ"):
        assert word in result.output
    assert png.read_bytes().startswith(PNG)
    with table.open() as file:
        assert len(list(csv.DictReader(file))) == 120


def test_mistakes():
    result = CliRunner().invoke(app, ["play", "independent-set", "--density", "0.5"])
    assert result.exit_code != 0
    assert "density must be in [0, 0.25]" in str(result.exception)
