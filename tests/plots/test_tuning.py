import pytest

from commands import Fake, names
from semibandit import Choice, Integer, Interval, Knobs, Real
from semibandit.plots.figures import new_figure
from semibandit.plots.tuning import effect, picture
from semibandit.tuning import Command, Tuner


@pytest.mark.parametrize("race", [True, False])
def test_the_picture_has_the_means_of_the_table(tmp_path, race):
    command = Fake(lambda instance, rho: (rho - 0.3) ** 2)
    runs = 80 if race else None
    with Tuner(command, Interval(0, 1), tmp_path / "a.db", race=race, runs=runs, default=0.9) as tuner:
        list(tuner.rounds(names(20)))
        ax = effect(tuner, "rho", new_figure().subplots())
        drawn = {(bar[0].get_xdata()[0], bar[0].get_ydata()[0]) for bar in ax.containers}
        assert drawn == {(row.values["rho"], row.mean) for row in tuner.standings() if row.runs}
        picture(tuner, tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 5_000


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
