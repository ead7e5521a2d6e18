import contextlib
import itertools
import math
import re
from collections import Counter

import msgspec
import numpy as np
import pytest

import semibandit as sb
from commands import Fake, names
from semibandit.tuning import Command, Journal, StoppedError, Tuner

SPACE = sb.Interval(0, 1)


def good_in_the_middle(instance, rho):
    edge = 0.2 + 0.01 * (int(instance) % 20)
    return 0.9 if rho < edge else 0.1 if rho < edge + 0.3 else 0.7


def played(tuner):
    return [(r.instance, r.rho, r.loss, r.failure, r.lo, r.hi) for r in tuner.finished]


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_it_learns(tmp_path, feedback):
    command = Fake(good_in_the_middle)
    with Tuner(command, SPACE, tmp_path / "knob", feedback=feedback, horizon=200, seed=1) as tuner:
        rows = list(tuner.rounds(names(200)))
        summary = tuner.summary()
    assert len(rows) == summary.n_rounds == 200
    assert 0.38 < summary.recommendation.rho < 0.52
    assert summary.mean_loss == pytest.approx(np.mean([row.loss for row in rows]))
    assert summary.mean_loss < 0.5
    assert summary.n_failed == 0
    assert summary.n_runs == len(command.calls)
    if feedback == "bandit":
        assert summary.n_runs == 200


def test_black_box_rounds_hold_the_true_intervals(tmp_path):
    command = Fake(good_in_the_middle)
    with Tuner(command, SPACE, tmp_path / "knob", feedback="black-box", tolerance=1e-4) as tuner:
        for row in tuner.rounds(names(20)):
            edge = 0.2 + 0.01 * int(row.instance)
            edges = [0.0, edge, edge + 0.3, 1.0]
            lo, hi = next(pair for pair in itertools.pairwise(edges) if pair[0] <= row.rho < pair[1])
            assert (row.lo, row.hi) == pytest.approx((lo, hi), abs=1e-4)
            assert row.lo <= row.rho <= row.hi
            assert row.runs <= 2 * math.ceil(math.log2(1e4)) + 1


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_interrupted_and_continued_it_is_the_same_learner(tmp_path, feedback):
    def flaky(instance, rho):
        return good_in_the_middle(instance, rho) if int(instance) % 7 else 1 / 0

    options = {"feedback": feedback, "horizon": 60, "seed": 5, "default": 0.9, "default_share": 0.4}
    with Tuner(Fake(flaky), SPACE, tmp_path / "whole", **options) as tuner:
        list(tuner.rounds(names(60)))
        whole, density, summary = played(tuner), tuner.learner.density(), tuner.summary()
    for stop in (1, 2, 17, 40, 60):
        with Tuner(Fake(flaky), SPACE, tmp_path / "parts", **options) as tuner:
            list(itertools.islice(tuner.rounds(names(60)), stop - len(tuner.finished)))
    with Tuner(Fake(flaky), SPACE, tmp_path / "parts", **options) as tuner:
        assert tuner.todo(names(60)) == []
        assert played(tuner) == whole
        assert tuner.learner.density() == density
        assert tuner.learner.ask().rho not in {rho for _, rho, *_ in whole} or feedback == "bandit"
        again = tuner.summary()
    assert (again.recommendation, again.comparison, again.failures) == (
        summary.recommendation, summary.comparison, summary.failures
    )  # fmt: skip


def in_the_first_format(data):
    return re.sub(rb',"crc":"........"}', b"}", data.replace(b'"version":3', b'"version":1'))


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_the_file_knows_better_than_the_draws(tmp_path, feedback):
    """Rounds drawn otherwise, as by the program of the first format, are learned from as they were played."""
    options = {"feedback": feedback, "horizon": 30}
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "one", seed=1, **options) as tuner:
        list(tuner.rounds(names(30)))
        density = tuner.learner.density()
    lines = in_the_first_format((tmp_path / "one").read_bytes())
    (tmp_path / "one").write_bytes(lines)
    (tmp_path / "two").write_bytes(lines.replace(b'"seed":1', b'"seed":2'))
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "two", seed=2, **options) as tuner:
        assert tuner.learner.density() == density
        assert tuner.learner.n_asked == 30
        next_draw = tuner.learner.ask().rho
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "one", seed=1, **options) as tuner:
        assert tuner.learner.density() == density
        if feedback == "black-box":
            assert tuner.learner.ask().rho != next_draw
    with pytest.raises(ValueError, match="position must be in"):
        tuner.learner.ask(position=-1.0)


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_rounds_that_do_not_follow_from_each_other_are_refused(tmp_path, feedback):
    """All checksums are right: the lines were written so."""
    options = {"feedback": feedback, "horizon": 9, "n_arms": 5 if feedback == "bandit" else None}
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "one", **options) as tuner:
        list(tuner.rounds(names(9)))
    for change in ({"position": 0.125}, {"rho": 0.126}):
        with Journal(tmp_path / "one") as old, Journal(tmp_path / "two") as new:
            new.begin(old.settings)
            for number, record in enumerate(old.rounds):
                new.append(msgspec.structs.replace(record, **change) if number == 4 else record)
        with pytest.raises(ValueError, match=rf"two: line 6 is damaged \(its {next(iter(change))} is 0.12"):
            Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "two", **options)
        (tmp_path / "two").unlink()
    first = in_the_first_format((tmp_path / "one").read_bytes())
    (tmp_path / "two").write_bytes(re.sub(rb'"rho":[0-9.]*,', b'"rho":0.1234,', first))
    with pytest.raises(ValueError, match=r"two: line 2 is damaged \(its rho"):
        Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "two", **options)


def test_an_exception_loses_the_round_in_flight_alone(tmp_path):
    calls = itertools.count()

    def interrupted(instance, rho):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return 0.5

    with Tuner(Fake(interrupted), SPACE, tmp_path / "knob", horizon=10) as tuner:
        with pytest.raises(KeyboardInterrupt):
            list(tuner.rounds(names(10)))
        assert len(tuner.finished) == 5
        assert tuner.todo(names(10)) == names(10)[5:]
        list(tuner.rounds(names(10)))
        assert tuner.learner.pending == ()
    with Tuner(Fake(interrupted), SPACE, tmp_path / "knob", horizon=10) as tuner:
        assert [row.instance for row in tuner.finished] == names(10)


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_continued_after_an_interrupt_it_draws_as_a_file_opened_anew(tmp_path, feedback):
    calls = itertools.count()

    def interrupted(instance, rho):
        if next(calls) in (5, 6, 33):
            raise KeyboardInterrupt
        return good_in_the_middle(instance, rho)

    options = {"feedback": feedback, "horizon": 10, "n_arms": 20 if feedback == "bandit" else None}
    with Tuner(Fake(interrupted), SPACE, tmp_path / "one", **options) as tuner:
        while tuner.todo(names(10)):
            with contextlib.suppress(KeyboardInterrupt):
                list(tuner.rounds(names(10)))
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "two", **options) as whole:
        list(whole.rounds(names(10)))
    assert played(tuner) == played(whole)


# -- failed rounds --------------------------------------------------------------------------------


def fails_on_the_left(instance, rho):
    return 1 / 0 if rho < 0.5 else 0.4


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_failed_rounds_are_counted_and_leave_the_learner_as_it_was(tmp_path, feedback):
    command = Fake(fails_on_the_left)
    with Tuner(command, SPACE, tmp_path / "knob", feedback=feedback, horizon=64) as tuner:
        before = tuner.learner.density()
        for row in tuner.rounds(names(64)):
            if row.failure:
                assert row.loss is row.lo is None
                assert row.runs == 1, "nothing to learn: no search"
                assert tuner.learner.density() == before
            before = tuner.learner.density()
        summary = tuner.summary()
    failed = sum(row.rho < 0.5 for row in tuner.finished)
    assert summary.n_failed == tuner.learner.n_failed == failed > 5
    assert summary.failures == Counter({"division by zero": failed})
    assert summary.mean_loss == pytest.approx(0.4)


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_a_loss_for_failed_rounds_keeps_away_from_them(tmp_path, feedback):
    options = {"feedback": feedback, "horizon": 100, "failed": 1.0}
    with Tuner(Fake(fails_on_the_left), SPACE, tmp_path / "knob", **options) as tuner:
        rows = list(tuner.rounds(names(100)))
        summary = tuner.summary()
    assert summary.recommendation.rho >= 0.5  # a point of the grid
    assert summary.n_failed == sum(row.rho < 0.5 for row in rows) < 50
    assert {row.loss for row in rows} == {0.4, 1.0}
    if feedback == "black-box":
        assert {(row.lo, row.hi) for row in rows} == {(0.0, 0.5), (0.5, 1.0)}


def test_failures_beside_rho_bound_the_interval(tmp_path):
    with Tuner(Fake(fails_on_the_left), SPACE, tmp_path / "knob", feedback="black-box") as tuner:
        seen = {(row.lo, row.hi) for row in tuner.rounds(names(20)) if row.failure is None}
    assert seen == {(0.5, 1.0)}


def test_nothing_but_failures(tmp_path):
    with Tuner(Fake(lambda instance, rho: 1 / 0), SPACE, tmp_path / "knob") as tuner:
        list(tuner.rounds(names(5)))
        summary = tuner.summary()
    assert summary.n_failed == 5
    assert math.isnan(summary.mean_loss)
    assert summary.recommendation.interval == (0.0, 1.0)


def test_ten_failures_alike_at_the_start_stop_it(tmp_path):
    def fails(instance, rho):
        raise ZeroDivisionError(f"exit status 3: cannot read {instance}")

    with Tuner(Fake(fails), SPACE, tmp_path / "knob") as tuner:
        with pytest.raises(StoppedError, match=r"first 10 rounds .* same way: exit status 3: cannot read 0"):
            list(tuner.rounds(names(50)))
        assert len(tuner.finished) == 10
        assert len(tuner.todo(names(50))) == 40
        assert tuner.todo(names(50), retry_failed=True) == names(50)
        tuner.command = Fake(good_in_the_middle)
        list(tuner.rounds(names(50), retry_failed=True))
        assert tuner.todo(names(50), retry_failed=True) == []
    with Tuner(Fake(fails), SPACE, tmp_path / "learned", failed="high") as tuner:
        assert len(list(tuner.rounds(names(50)))) == 50, "failures are what is to be learned"
    kinds = itertools.cycle(["exit status 3", "exit status 4"])
    with Tuner(Fake(lambda *_: divide(next(kinds))), SPACE, tmp_path / "mixed") as tuner:
        assert len(list(tuner.rounds(names(50)))) == 50


def divide(message):
    raise ZeroDivisionError(message)


def test_a_command_that_vanishes_burns_no_instances(tmp_path, monkeypatch):
    monkeypatch.setattr("semibandit.tuning.command.time.sleep", lambda seconds: None)
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 0.5\n")
    tool.chmod(0o755)
    with Tuner(Command(f"{tool} {{rho}} {{instance}}"), SPACE, tmp_path / "knob") as tuner:
        rounds = tuner.rounds(names(20))
        for _ in range(5):
            next(rounds)
        tool.unlink()
        with pytest.raises(StoppedError, match="cannot be started"):
            next(rounds)
        assert tuner.todo(names(20)) == names(20)[5:]


@pytest.mark.parametrize("name", ["bad\udcff", "nul\0", 7])
def test_names_that_cannot_be_kept_are_refused_before_anything_runs(tmp_path, name):
    command = Fake(good_in_the_middle)
    with (
        Tuner(command, SPACE, tmp_path / "knob") as tuner,
        pytest.raises((ValueError, TypeError), match="instance"),
    ):
        list(tuner.rounds(["1", name]))
    assert command.calls == []


# -- instances, the default, other options ----------------------------------------------------------


def test_which_instances_are_left(tmp_path):
    with Tuner(Fake(lambda instance, rho: 0.5), SPACE, tmp_path / "knob") as tuner:
        assert tuner.todo(["a", "b", "a"]) == ["a", "b", "a"]
        assert tuner.todo(["a", "b"], again=True) == ["a", "b"]
        list(tuner.rounds(["a", "b"]))
        assert tuner.todo(["a", "b"]) == []
        assert tuner.todo(["a", "b", "c"]) == ["c"]
        assert tuner.todo(["a", "b", "a"]) == ["a"]
        assert tuner.todo(["a", "b"], again=True) == ["a", "b"]
        list(itertools.islice(tuner.rounds(["a", "b"], again=True), 1))
        assert tuner.todo(["a", "b"], again=True) == ["b"], "a second pass that was cut short goes on"
        list(tuner.rounds(["a", "b"], again=True))
        assert tuner.todo(["a", "b"], again=True) == ["a", "b"]
        assert tuner.todo([]) == []


def test_the_default_is_run_on_a_share_of_the_same_instances(tmp_path):
    command = Fake(good_in_the_middle)
    options = {"default": 0.95, "default_share": 0.3, "horizon": 300}
    with Tuner(command, SPACE, tmp_path / "knob", **options) as tuner:
        rows = list(tuner.rounds(names(300)))
        comparison = tuner.summary().comparison
    pairs = np.array([(row.loss, row.default_loss) for row in rows if row.default_loss is not None])
    assert 60 < len(pairs) == comparison.n < 120
    assert sum(rho == 0.95 for _, rho in command.calls) == len(pairs)
    assert comparison.default == pytest.approx(0.7)
    assert comparison.learner == pytest.approx(pairs[:, 0].mean())
    difference = pairs[:, 0] - pairs[:, 1]
    assert comparison.error == pytest.approx(difference.std(ddof=1) / math.sqrt(len(pairs)))


def test_a_default_that_fails_is_not_compared(tmp_path):
    with Tuner(Fake(fails_on_the_left), SPACE, tmp_path / "k", default=0.1, default_share=1) as tuner:
        rows = list(tuner.rounds(names(10)))
        assert tuner.summary().comparison is None
    assert {row.default_failure for row in rows} == {"division by zero"}


def test_maximize_and_high(tmp_path):
    command = Fake(lambda instance, rho: 40.0 * good_in_the_middle(instance, rho))
    options = {"maximize": True, "high": 40.0, "horizon": 150, "n_arms": 5}
    with Tuner(command, SPACE, tmp_path / "knob", **options) as tuner:
        list(tuner.rounds(names(150)))
        assert tuner.summary().recommendation.interval in {(0.0, 0.2), (0.2, 0.4)}


def test_other_settings_are_refused(tmp_path):
    Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob", horizon=10).close()
    for change in ({"seed": 1}, {"feedback": "black-box"}, {"maximize": True}, {"n_arms": 7}):
        with pytest.raises(ValueError, match=f"begun with other settings: {next(iter(change))} = "):
            Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob", **change)
    with pytest.raises(ValueError, match=r"hi = 2.0 \(it was 1.0\)"):
        Tuner(Fake(good_in_the_middle), sb.Interval(0, 2), tmp_path / "knob")
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob", horizon=99) as tuner:
        assert tuner.settings.horizon == 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"default": 2}, r"default must be in \[0, 1\]"),
        ({"default_share": 1.5}, r"default_share must be in \[0, 1\]"),
        ({"failed": 3}, r"failed must be in \[0, 1\]"),
        ({"failed": "never"}, "failed must be one of"),
        ({"high": -1}, "high must be finite and > 0"),
        ({"feedback": "full"}, "feedback must be one of"),
        ({"tolerance": 0.1}, "tolerance goes with black-box feedback"),
        ({"tolerance": 0.0, "feedback": "black-box"}, r"tolerance must be in \(0, 1\)"),
        ({"n_arms": 3, "feedback": "black-box"}, "n_arms goes with bandit feedback"),
        ({"n_arms": 0}, "n_arms must be at least 1"),
        ({"n_arms": 10**12}, "n_arms must be at most 1000000"),
        ({"horizon": 0}, "horizon must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_input_leaves_no_file(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob", **options)
    assert not (tmp_path / "knob").exists()


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_the_margin_of_the_space_is_kept(tmp_path, feedback):
    """Half of the line is margin, so many draws fall on it: they play the ends, and are learned from."""
    space = sb.Interval(0, 1, margin=0.5)
    with Tuner(Fake(good_in_the_middle), space, tmp_path / "knob", feedback=feedback, seed=1) as tuner:
        assert tuner.learner.space == space
        rows = list(tuner.rounds(names(60)))
        density = tuner.learner.density()
    if feedback == "black-box":
        assert (density.edges[0], density.edges[-1]) == (-0.5, 1.5)
        assert any(not 0 <= row.position <= 1 for row in rows)
    assert all(0 <= row.rho <= 1 for row in rows)
    with Tuner(Fake(good_in_the_middle), space, tmp_path / "knob", feedback=feedback, seed=1) as tuner:
        assert tuner.learner.density() == density
    with pytest.raises(ValueError, match=r"other settings: margin = 0.0 \(it was 0.5\)"):
        Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob", feedback=feedback, seed=1)
