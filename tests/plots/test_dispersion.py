"""The picture: what is drawn, and that it is written."""

import numpy as np
import pytest

import semibandit as sb
from semibandit.dispersion import measure

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def result():
    return measure(np.random.default_rng(0).random((200, 2)), sb.Interval(0, 1))


def test_counts_lines_and_histogram(result, tmp_path):
    path = tmp_path / "dispersion.png"
    figure = result.plot(path, title="uniform")
    assert path.read_bytes().startswith(PNG)
    above, below = figure.axes
    lines = {line.get_label(): line for line in above.lines}
    assert lines["D(T, ε), T = 200"].get_ydata().tolist() == result.counts.tolist()
    assert (lines["Theorem 5, at the measured rate"].get_ydata() >= result.counts).all()
    slope = lines[f"C·ε·T, C = {result.C:.3g}"].get_ydata() / result.eps
    assert slope == pytest.approx(200 * result.C)
    assert above.get_xscale() == above.get_yscale() == "log"
    assert (
        sum(bar.get_height() for bar in below.patches if bar.get_width() > 0 and bar.get_height() > 1) == 400
    )


def test_a_bound_of_ones_own(result):
    figure = result.plot(bound=lambda T, eps: T / 2, bound_name="half")
    lines = {line.get_label(): line for line in figure.axes[0].lines}
    assert set(lines["half"].get_ydata()) == {100.0}


@pytest.mark.parametrize("stream", [[[], []], [[0.5]] * 40])
def test_extremes(stream, tmp_path):
    measure(stream, sb.Interval(0, 1)).plot(tmp_path / "x.png")
    assert (tmp_path / "x.png").exists()
