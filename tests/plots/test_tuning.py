import pytest

from commands import Fake, names
from semibandit import Choice, Integer, Interval, Knobs, Real
from semibandit.plots.figures import new_figure
from semibandit.plots.tuning import effect, knob, picture
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


def test_the_picture_of_a_race_has_the_means_of_its_table(tmp_path):
    command = Fake(lambda instance, rho: (rho - 0.3) ** 2)
    with Tuner(command, Interval(0, 1), tmp_path / "race.db", race=True, runs=80, default=0.9) as racer:
        list(racer.rounds(names(20)))
        ax = effect(racer, "rho", new_figure().subplots())
        drawn = {(bar[0].get_xdata()[0], bar[0].get_ydata()[0]) for bar in ax.containers}
        assert drawn == {(row.values["rho"], row.mean) for row in racer.learner.standings()}
        picture(racer, tmp_path / "race.png")
    assert (tmp_path / "race.png").stat().st_size > 5_000


@pytest.mark.parametrize("race", [True, False])
def test_each_knob_has_its_panel(tmp_path, race):
    knobs = Knobs(x=Real(0.01, 1, log=True), n=Integer(1, 5), mode=Choice("a", "b"), y=Real(0, 1))
    command = Command(
        "echo {x} {n} {mode} {y} {instance} | awk '{print $1 + $2}'", shell=True, names=knobs.names
    )
    with Tuner(command, knobs, tmp_path / "race.db", race=race, runs=40 if race else None) as racer:
        picture(racer, tmp_path / "none.png")
        list(racer.rounds(["a", "b", "c", "d"]))
        ax = effect(racer, "n", new_figure().subplots())
        drawn = sorted((bar[0].get_xdata()[0], bar[0].get_ydata()[0]) for bar in ax.containers)
        assert drawn == sorted((row.values["n"], row.mean) for row in racer.standings() if row.runs)
        picture(racer, tmp_path / "race.png")
    assert (tmp_path / "race.png").stat().st_size > 10_000
