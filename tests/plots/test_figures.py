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


def test_new_axes_are_shown_by_pyplot_where_it_is_imported(pyplot, tmp_path):
    problem = sb.streams.synthetic(1)[0]
    ax = sb.plots.loss_function(problem)
    assert [pyplot.figure(number) for number in pyplot.get_fignums()] == [ax.figure]
    figure = sb.dispersion.measure([[0.3], [0.5]]).plot()
    assert len(pyplot.get_fignums()) == 2
    assert pyplot.gcf() is figure


def test_new_axes_have_no_window_in_files_or_without_pyplot(pyplot, monkeypatch, tmp_path):
    sb.dispersion.measure([[0.3], [0.5]]).plot(tmp_path / "x.png")
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot")
    ax = sb.plots.loss_function(sb.streams.synthetic(1)[0])
    ax.figure.savefig(tmp_path / "y.png")
    assert {path.name for path in tmp_path.iterdir()} == {"x.png", "y.png"}
    assert pyplot.get_fignums() == []
    assert "matplotlib.pyplot" not in sys.modules
