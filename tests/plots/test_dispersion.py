"""Plots of dispersion: their curves, and the files written."""

import numpy as np
import pytest

import semibandit as sb
from semibandit.dispersion import measure

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def result():
    return measure(np.random.default_rng(0).random((200, 2)), sb.Interval(0, 1))


def test_curves_and_histogram_show_the_counts(result, tmp_path):
    path = tmp_path / "dispersion.png"
    figure = result.plot(path, title="uniform")
    assert path.read_bytes().startswith(PNG)
    above, below = figure.axes
    lines = {line.get_label(): line for line in above.lines}
    assert lines["D(T, ε), T = 200"].get_ydata().tolist() == result.counts.tolist()
    theorem = lines["Theorem 5, at the measured rate"].get_ydata()
    assert ((theorem >= result.counts) & (theorem < 200))[:25].all()
    assert np.isnan(theorem[-5:]).all()  # vacuous: not drawn
    slope = lines[f"C·ε·T, C = {result.C:.3g}"].get_ydata() / result.eps
    assert slope == pytest.approx(200 * result.C)
    assert above.get_xscale() == above.get_yscale() == "log"
    assert (
        sum(bar.get_height() for bar in below.patches if bar.get_width() > 0 and bar.get_height() > 1) == 400
    )
