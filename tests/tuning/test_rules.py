"""Losses of outcomes, the range of losses, and when tuning is aborted."""

import itertools

import pytest

import semibandit as sb
from commands import Fake, names
from semibandit.tuning import Outcome, Rules, RunRecord, StoppedError, Tuner
from semibandit.tuning.rules import AbortRule, range_of

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
    ],
)
def test_loss_of_an_outcome(rules, outcome, loss, clipped):
    judged = rules.judge(outcome)
    assert (judged.loss, judged.clipped, judged.failure) == (loss, clipped, outcome.failure)


def slow_on_the_left(instance, rho):
    if rho < 0.5:
        raise TimeoutError("no end after 5 seconds")
    return 0.4


@pytest.mark.parametrize("options", [{}, {"feedback": "black-box"}, {"race": True}])
def test_values_killed_at_the_timeout_are_avoided(tmp_path, options):
    with Tuner(Fake(slow_on_the_left), SPACE, tmp_path / "knob", **options) as tuner:
        rows = list(tuner.rounds(names(100)))
        summary = tuner.summary()
        assert tuner.learner.recommend().rho >= 0.5
    assert summary.n_failed == 0
    assert {row.loss for row in rows} == {0.4, 1.0}
    assert summary.clipped == {"no end": sum(row.rho < 0.5 for row in rows)}


def test_ten_losses_above_the_limit_from_the_start_abort_tuning(tmp_path):
    with Tuner(Fake(lambda instance, rho: 4000.0 + rho), SPACE, tmp_path / "knob") as tuner:
        with pytest.raises(StoppedError, match=r"first 10 losses were all over 1: 400.*--high auto"):
            list(tuner.rounds(names(50)))
        assert len(tuner.finished) == 10
    mixed = itertools.cycle([0.5, 4000.0])
    with Tuner(Fake(lambda instance, rho: next(mixed)), SPACE, tmp_path / "mixed") as tuner:
        assert len(list(tuner.rounds(names(50)))) == 50


def test_equal_failures_abort_tuning_unless_they_count_as_losses():
    failed = [RunRecord(str(i), 0.5, None, failure="exit status 3") for i in range(10)]
    for rule, reason in (
        ("skip", "first 10 rounds have failed in the same way: exit status 3"),
        ("high", None),
    ):
        abort = AbortRule(Rules(1.0, failed=rule), [], never)
        *before, last = [abort.reason(each) for each in failed]
        assert before == [None] * 9
        assert last == (reason and f"the {reason}")


def never(record, instance):
    raise AssertionError("three instances are enough")


@pytest.mark.parametrize("broken", ["a", "ab", "abc", "abcd"])
def test_ten_rounds_on_one_instance_are_checked_on_two_others(broken):
    def again(record, instance):
        calls.append(instance)
        failure = "exit status 3: of " + instance if instance in broken else None
        return Outcome(None if failure else 0.5, failure, None, 0.1)

    calls = []
    abort = AbortRule(Rules(1.0), list("abcd"), again)
    one = RunRecord("a", 0.5, None, failure="exit status 3")
    reasons = [abort.reason(one) for _ in range(20)]
    assert calls == {"a": ["b"]}.get(broken, ["b", "c"])
    assert [bool(reason) for reason in reasons] == [i == 9 and len(broken) > 2 for i in range(20)]


def test_a_race_stops_after_ten_equal_failures(tmp_path):
    def fails(instance, rho):
        raise ZeroDivisionError("no licence")

    with Tuner(Fake(fails), SPACE, tmp_path / "knob", race=True) as tuner:
        with pytest.raises(StoppedError, match="first 10 rounds have failed"):
            list(tuner.rounds(names(50)))
        assert len(tuner.finished) == 10


def conflicts(instance, rho):
    if int(instance) % 9 == 8:
        raise TimeoutError("no end after 5 seconds")
    return 100.0 * (1 + int(instance) % 5) * (1 + abs(rho - 0.7)) + (10_000 if instance == "30" else 0)


@pytest.mark.parametrize("options", [{}, {"feedback": "black-box"}, {"race": True}])
def test_the_range_is_learned_from_ten_runs_before_the_first_round(tmp_path, options):
    options = {**options, "high": "auto"}
    command = Fake(conflicts)
    with Tuner(command, SPACE, tmp_path / "knob", **options) as tuner:
        assert not (tmp_path / "knob").exists()
        assert (tuner.finished, tuner.learner.n_told) == ([], 0)
        rows = list(tuner.rounds(names(60)))
        high = tuner.rules.high
    assert high == 2 * max(conflicts(*call) for call in command.calls[:10] if int(call[0]) % 9 != 8)
    assert {row.loss for row in rows if row.instance == "30" or row.clipped} == {high}
    with Tuner(command, SPACE, tmp_path / "knob", **options) as tuner:
        assert tuner.rules.high == high
        assert list(tuner.rounds(names(60))) == []
    with pytest.raises(ValueError, match=r"knob was begun with other settings: high = 1.0 \(it was "):
        Tuner(command, SPACE, tmp_path / "knob", race="race" in options)


def test_without_any_loss_the_range_is_unknown(tmp_path):
    with Tuner(Fake(lambda *_: 1 / 0), SPACE, tmp_path / "knob", high="auto") as tuner:
        with pytest.raises(StoppedError, match=r"no run showed the range .* division by zero"):
            list(tuner.rounds(names(3)))
        assert tuner.summary().n_rounds == 0
    assert (range_of([1.0, 3.0]), range_of([0.0, 0.0])) == (6.0, 1.0)
