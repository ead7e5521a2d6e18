"""Losses of outcomes, the range of losses, and when tuning is aborted."""

import itertools
from dataclasses import replace

import pytest

import semibandit as sb
from commands import Fake, names
from semibandit.tuning import Outcome, Rules, RunRecord, StoppedError, Tuner
from semibandit.tuning.rules import AbortRule

SPACE = sb.Interval(0, 1)
LATE = Outcome(None, None, None, 5.0, late="no end after 5 seconds")
CRASH = Outcome(None, "exit status 3", None, 1.0)


def read(loss):
    return Outcome(loss, None, b"", 1.0)


@pytest.mark.parametrize(
    ("rules", "outcome", "loss", "clipped"),
    [
        (Rules(2.0), read(1.5), 1.5, None),
        (Rules(2.0), read(2.5), 2.0, "over 2: 2.5"),
        (Rules(2.0), LATE, 2.0, "no end after 5 seconds"),
        (Rules(2.0, maximize=True), read(2.5), 2.0, "over 2: 2.5"),
        (Rules(2.0, maximize=True), LATE, 0.0, "no end after 5 seconds"),
        (Rules(2.0), CRASH, None, None),
        (Rules(2.0, failed="high"), CRASH, 2.0, None),
        (Rules(2.0, maximize=True, failed="high"), CRASH, 0.0, None),
        (Rules(2.0, failed=0.5), CRASH, 0.5, None),
        (Rules(), read(-1234.5), -1234.5, None),
        (Rules(seen=(3.0, 5.0)), LATE, 7.0, "no end after 5 seconds"),
        (Rules(seen=(4.0, 4.0)), LATE, 8.0, "no end after 5 seconds"),
        (Rules(seen=(0.0, 0.0)), LATE, 1.0, "no end after 5 seconds"),
        (Rules(maximize=True, seen=(3.0, 5.0)), LATE, 1.0, "no end after 5 seconds"),
        (Rules(seen=(3.0, 5.0)), replace(LATE, loss=5.0), 5.0, "no end after 5 seconds"),
        (Rules(seen=(3.0, 5.0), failed="high"), CRASH, 7.0, None),
        (Rules(failed="high"), CRASH, None, None),
        (Rules(failed=-7.0), CRASH, -7.0, None),
    ],
)
def test_loss_of_an_outcome(rules, outcome, loss, clipped):
    judged = rules.judge(outcome)
    assert (judged.loss, judged.clipped, judged.failure) == (loss, clipped, outcome.failure)


def test_runs_without_a_known_worst_loss_fail_and_negative_losses_need_no_bound():
    assert Rules().judge(LATE).failure == "no end after 5 seconds"
    assert Rules(2.0).judge(read(-1.0)).failure == "the loss must be at least 0, got -1.0"
    with pytest.raises(ValueError, match=r"failed must be in \[0, 2\]"):
        Rules(2.0, failed=3.0)


def test_only_losses_that_were_read_extend_the_range():
    rules = Rules()
    for record in (
        RunRecord("a", 0.5, 3.0),
        RunRecord("b", 0.5, 99.0, clipped="no end after 5 seconds"),
        RunRecord("c", 0.5, 99.0, failure="exit status 3"),
        RunRecord("d", 0.5, -2.0),
    ):
        rules = rules.after(record)
    assert rules.seen == (-2.0, 3.0)


def slow_on_the_left(instance, rho):
    if rho < 0.5:
        raise TimeoutError("no end after 5 seconds")
    return 0.4


@pytest.mark.parametrize("options", [{}, {"feedback": "black-box"}, {"race": True}])
def test_values_killed_at_the_timeout_are_avoided(tmp_path, options):
    with Tuner(Fake(slow_on_the_left), SPACE, tmp_path / "knob", high=1.0, **options) as tuner:
        rows = list(tuner.rounds(names(100)))
        summary = tuner.summary()
        assert tuner.learner.recommend().rho >= 0.5
    assert summary.n_failed == 0
    assert {row.loss for row in rows} == {0.4, 1.0}
    assert summary.clipped == {"no end": sum(row.rho < 0.5 for row in rows)}


@pytest.mark.parametrize("options", [{}, {"feedback": "black-box"}, {"race": True}])
def test_values_killed_at_the_timeout_are_avoided_without_a_bound(tmp_path, options):
    with Tuner(Fake(slow_on_the_left), SPACE, tmp_path / "knob", **options) as tuner:
        rows = list(tuner.rounds(names(100)))
        assert tuner.learner.recommend().rho >= 0.5
    assert {row.loss for row in rows if row.failure is None} == {0.4, 0.8}
    failed = [row.failure is not None for row in rows]
    assert failed == sorted(failed, reverse=True), "only before the first loss"


def test_ten_losses_above_the_limit_from_the_start_abort_tuning(tmp_path):
    with Tuner(Fake(lambda instance, rho: 4000.0 + rho), SPACE, tmp_path / "knob", high=1.0) as tuner:
        with pytest.raises(StoppedError, match=r"first 10 losses were all over 1: 400.*a larger --high"):
            list(tuner.rounds(names(50)))
        assert len(tuner.finished) == 10
    mixed = itertools.cycle([0.5, 4000.0])
    with Tuner(Fake(lambda instance, rho: next(mixed)), SPACE, tmp_path / "mixed", high=1.0) as tuner:
        assert len(list(tuner.rounds(names(50)))) == 50


def test_equal_failures_abort_tuning_unless_they_count_as_losses():
    failed = [RunRecord(str(i), 0.5, None, failure="exit status 3") for i in range(10)]
    for rule, reason in (
        ("skip", "first 10 rounds have failed in the same way: exit status 3"),
        ("high", None),
    ):
        abort = AbortRule(Rules(1.0, failed=rule), 10)
        *before, last = [abort.reason(each) for each in failed]
        assert before == [None] * 9
        assert last == (reason and f"the {reason}")


@pytest.mark.parametrize("n", [1, 2, 9])
def test_ten_rounds_on_one_of_several_instances_are_no_reason(n):
    abort = AbortRule(Rules(1.0), n)
    same = RunRecord("a", 0.5, None, failure="exit status 3: of a")
    assert [bool(abort.reason(same)) for _ in range(12)] == [n == 1 and i >= 9 for i in range(12)]
    assert abort.reason(replace(same, instance="b", failure="exit status 3: of b"))
    assert not abort.reason(replace(same, failure="exit status 4"))


def test_a_command_that_has_worked_may_fail_on_a_few_instances():
    abort = AbortRule(Rules(1.0), 9, has_worked=True)
    failed = [RunRecord(str(i // 6), 0.5, None, failure="exit status 3") for i in range(30)]
    reasons = [abort.reason(each) for each in failed]
    assert reasons[:24] == [None] * 24
    assert reasons[24] == "the first 25 rounds have failed in the same way: exit status 3"


def test_a_race_stops_after_ten_equal_failures(tmp_path):
    def fails(instance, rho):
        raise ZeroDivisionError("no licence")

    with Tuner(Fake(fails), SPACE, tmp_path / "knob", race=True) as tuner:
        with pytest.raises(StoppedError, match="first 10 rounds have failed"):
            list(tuner.rounds(names(50)))
        assert len(tuner.finished) == 10


@pytest.mark.parametrize("options", [{}, {"feedback": "black-box"}, {"race": True}])
@pytest.mark.parametrize(("factor", "shift"), [(4000.0, 0.0), (0.01, -5000.0)])
def test_losses_of_any_size_need_no_bound(tmp_path, options, factor, shift):
    command = Fake(lambda instance, rho: factor * (abs(rho - 0.7) + 0.1 * (int(instance) % 3)) + shift)
    with Tuner(command, SPACE, tmp_path / "knob", **options) as tuner:
        assert all(row.failure is None for row in tuner.rounds(names(200)))
        assert "high" not in tuner.study.settings.options
        assert 0.4 < tuner.learner.recommend().rho < 1.0
    with Tuner(command, SPACE, tmp_path / "knob", **options) as tuner:
        assert list(tuner.rounds(names(200))) == []
    with pytest.raises(
        ValueError, match=r"knob was begun with other settings: high = 1.0 \(it was not given"
    ):
        Tuner(command, SPACE, tmp_path / "knob", race="race" in options, high=1.0)
