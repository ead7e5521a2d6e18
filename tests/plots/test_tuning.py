import pytest

from commands import Fake, names
from semibandit import Interval
from semibandit.plots.figures import new_figure
from semibandit.plots.tuning import knob, picture
from semibandit.tuning import Command, Tuner


@pytest.fixture
def tuner(tmp_path):
    command = Command("awk 'BEGIN { print ({rho} - 0.3) ^ 2 }' # {instance}", shell=True)
    with Tuner(command, Interval(0, 1), tmp_path / "knob.db", default=0.9, default_share=1.0) as tuner:
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


def test_a_picture_without_runs_is_drawn(tuner, tmp_path):
    picture(tuner, tmp_path / "knob.png")
    assert (tmp_path / "knob.png").stat().st_size > 5_000


def test_each_value_of_a_race_has_its_mean(tmp_path):
    command = Fake(lambda instance, rho: (rho - 0.3) ** 2)
    with Tuner(command, Interval(0, 1), tmp_path / "race.db", race=True, runs=80) as racer:
        list(racer.rounds(names(20)))
        _, means, *_ = knob(racer, new_figure().subplots()).get_lines()
        values = sorted({r.rho for r in racer.finished})
    assert len(values) > 12
    assert means.get_xdata().tolist() == values
