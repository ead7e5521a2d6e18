import pytest

from semibandit import Interval
from semibandit.plots.figures import new_figure
from semibandit.plots.tuning import knob, picture
from semibandit.tuning import Command, Tuner


@pytest.fixture
def tuner(tmp_path):
    command = Command("awk 'BEGIN { print ({rho} - 0.3) ^ 2 }' # {instance}", shell=True)
    with Tuner(
        command, Interval(0, 1), tmp_path / "knob.json", default=0.9, default_share=1.0, n_arms=4
    ) as tuner:
        yield tuner


def test_runs_means_and_default_are_drawn(tuner, tmp_path):
    list(tuner.rounds(["a", "b", "c", "d", "e", "f"]))
    ax = knob(tuner, new_figure().subplots())
    runs, means, *_ = ax.get_lines()
    assert sorted(zip(*runs.get_data(), strict=True)) == sorted((r.rho, r.loss) for r in tuner.finished)
    assert len(means.get_xdata()) == len({r.rho for r in tuner.finished})
    assert "default, 0.9" in [text.get_text() for text in ax.get_legend().get_texts()]
    picture(tuner, tmp_path / "knob.png")
    assert (tmp_path / "knob.png").read_bytes().startswith(b"\x89PNG")


def test_nothing_run_yet(tuner, tmp_path):
    picture(tuner, tmp_path / "knob.png")
    assert (tmp_path / "knob.png").stat().st_size > 5_000
