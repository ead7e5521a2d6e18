import sys

import pytest

import semibandit as sb


@pytest.fixture
def pyplot():
    """Import pyplot for one test."""
    there = "matplotlib.pyplot" in sys.modules
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    plt.close("all")
    yield plt
    plt.close("all")
    if not there:
        sys.modules.pop("matplotlib.pyplot", None)


def test_new_axes_are_shown_by_pyplot(pyplot, monkeypatch):
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")  # not imported before the first plot
    ax = sb.plots.loss_function(sb.streams.synthetic(1)[0])
    import matplotlib.pyplot as plt

    assert plt.gcf() is ax.figure
    figure = sb.dispersion.measure([[0.3], [0.5]]).plot()
    assert plt.gcf() is figure
    assert len(plt.get_fignums()) == 2


def test_figures_for_files_are_not_shown(pyplot, tmp_path):
    sb.dispersion.measure([[0.3], [0.5]]).plot(tmp_path / "x.png")
    assert pyplot.get_fignums() == []
