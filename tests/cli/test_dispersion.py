import numpy as np
import pytest
from typer.testing import CliRunner

from semibandit.cli import app

PNG = b"\x89PNG\r\n\x1a\n"


def run(*arguments):
    return CliRunner().invoke(app, ["dispersion", *arguments])


def test_a_dispersed_stream_is_reported_with_its_bounds(tmp_path):
    png = tmp_path / "x.png"
    result = run("synthetic", "--rounds", "400", "--png", str(png))
    assert result.exit_code == 0, result.output
    words = ("400 random step functions", "3,600 (9 each)", "dispersed, the guarantee applies with beta = 0.",
             "Theorem 5: at most", "regret, T = 4,000", "over T = 25 to 400")  # fmt: skip
    for word in words:
        assert word in result.output
    assert png.read_bytes().startswith(PNG)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("concentrated", "-T", "100"), "not dispersed: 90 of 100 functions break within"),
        (("halving", "-T", "40"), "vacuous: larger than T = 40"),
        (("synthetic", "-T", "1000", "--spread", "1e-6"), "not dispersed: 900 of 1000"),
    ],
)
def test_streams_that_are_not_dispersed_are_named(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert "not dispersed:" in result.output
    assert message in result.output


def test_discontinuities_from_files(tmp_path):
    rng = np.random.default_rng(0)
    one, two = tmp_path / "one.txt", tmp_path / "two.csv"
    one.write_text(
        "# discontinuities\n" + "\n".join(" ".join(map(str, 5 * row)) for row in rng.random((100, 3)))
    )
    two.write_text("\n".join(",".join(map(str, 5 * row)) for row in rng.random((50, 2))) + "\n\n")
    result = run("edges", str(one), str(two), "--hi", "5")
    assert result.exit_code == 0, result.output
    assert "one.txt, two.csv" in result.output
    assert "151" in result.output  # the empty line is a function without discontinuities
    assert "400 (" in result.output
    assert "dispersed, the guarantee applies" in result.output


def test_knapsacks_are_compared_with_lemma_8():
    result = run("knapsack", "-T", "150", "--n", "6", "--kappa", "1")
    assert result.exit_code == 0, result.output
    assert "150 mixed knapsacks with 6 items" in result.output
    assert "Lemma 8: at most" in result.output
    assert "Lemma 8: vacuous: larger than T" in result.output
    assert "at most 150 in" not in result.output
    assert "Lemma 8" not in run("knapsack", "-T", "20", "--n", "6", "--kappa", "0").output
