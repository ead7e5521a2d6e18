"""What counts as a loss: limits, failures, and a range that nobody has given."""

import itertools

import numpy as np
import pytest
from scipy.stats import fisher_exact

import semibandit as sb
from commands import Fake, names
from semibandit.tuning import Change, Journal, Outcome, Round, Rules, StoppedError, Tuner
from semibandit.tuning.losses import Hopeless, cluster, range_of

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
        (Rules(None), read(1e9), 1e9, None),
        (Rules(None), LATE, None, "no end after 5 seconds"),
        (Rules(None, failed="high"), CRASH, None, None),
    ],
)
def test_what_a_run_counts_as(rules, outcome, loss, clipped):
    judged = rules.judge(outcome)
    assert (judged.loss, judged.clipped, judged.failure) == (loss, clipped, outcome.failure)


def test_what_was_read_before_the_range_was_known():
    rules = Rules(2.0)
    assert rules.of(Round("a", 0.5, 0.5, 1.0, loss=7.0)) == 2.0
    assert rules.of(Round("a", 0.5, 0.5, 1.0, clipped="no end after 5 seconds")) == 2.0
    assert rules.of(Round("a", 0.5, 0.5, 1.0, failure="exit status 3")) is None
    assert (range_of([1.0, 3.0]), range_of([0.0, 0.0])) == (6.0, 1.0)


def test_failures_cluster_as_fishers_test_says():
    rng = np.random.default_rng(0)
    verdicts = []
    for _ in range(60):
        n, strength = rng.integers(1, 60), rng.choice([0.0, 0.3, 0.9])
        rho = rng.random(n)
        failed = rng.random(n) < np.where(rho < 0.3, strength, 0.1)
        cells = np.minimum((rho * 10).astype(int), 9)
        chances = {}
        for span in itertools.combinations(range(11), 2):
            inside = (cells >= span[0]) & (cells < span[1])
            table = [[np.sum(side & failed), np.sum(side & ~failed)] for side in (inside, ~inside)]
            chances[span] = fisher_exact(table, alternative="greater").pvalue
        found = cluster(list(zip(rho.tolist(), failed.tolist(), strict=True)), 0.0, 1.0)
        verdicts.append(found is not None)
        assert verdicts[-1] == (55 * min(chances.values()) <= 0.01)
        if found:
            span = round(found.lo * 10), round(found.hi * 10)
            inside = (cells >= span[0]) & (cells < span[1])
            assert chances[span] == pytest.approx(min(chances.values()))
            assert (found.failed, found.runs) == (np.sum(inside & failed), np.sum(inside))
            assert (found.failed_elsewhere, found.runs_elsewhere) == (
                np.sum(~inside & failed),
                np.sum(~inside),
            )
    assert 5 < sum(verdicts) < 55
    assert cluster([], 0.0, 1.0) is None


# -- learned from -----------------------------------------------------------------------------------


def slow_on_the_left(instance, rho):
    if rho < 0.5:
        raise TimeoutError("no end after 5 seconds")
    return 0.4


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_what_is_killed_at_the_timeout_is_avoided(tmp_path, feedback):
    with Tuner(Fake(slow_on_the_left), SPACE, tmp_path / "knob", feedback=feedback, horizon=100) as tuner:
        rows = list(tuner.rounds(names(100)))
        summary = tuner.summary()
    assert summary.recommendation.rho >= 0.5
    assert summary.n_failed == 0
    assert {row.loss for row in rows} == {0.4, 1.0}
    assert summary.clipped == {"no end": sum(row.rho < 0.5 for row in rows)}
    if feedback == "black-box":
        assert {(row.lo, row.hi) for row in rows} == {(0.0, 0.5), (0.5, 1.0)}


def test_ten_losses_over_the_limit_from_the_start_stop_it(tmp_path):
    with Tuner(Fake(lambda instance, rho: 4000.0 + rho), SPACE, tmp_path / "knob") as tuner:
        with pytest.raises(StoppedError, match=r"first 10 losses were all over 1: 400.*--high auto"):
            list(tuner.rounds(names(50)))
        assert len(tuner.finished) == 10
    mixed = itertools.cycle([0.5, 4000.0])
    with Tuner(Fake(lambda instance, rho: next(mixed)), SPACE, tmp_path / "mixed") as tuner:
        assert len(list(tuner.rounds(names(50)))) == 50


def test_only_failures_that_teach_nothing_are_hopeless():
    failed = [Round(str(i), 0.5, 0.5, 1.0, failure="exit status 3") for i in range(10)]
    assert [bool(Hopeless(Rules(1.0)).verdict(each)) for each in failed] == [False] * 10
    for failed_counts, reason in (("skip", "exit status 3"), ("high", None)):
        hopeless = Hopeless(Rules(1.0, failed=failed_counts))
        *_, last = [hopeless.verdict(each) for each in failed]
        assert (last is None) == (reason is None)


# -- a range to be learned ---------------------------------------------------------------------------


def conflicts(instance, rho):
    if int(instance) % 9 == 8:
        raise TimeoutError("no end after 5 seconds")
    return 100.0 * (1 + int(instance) % 5) * (1 + abs(rho - 0.7)) + (10_000 if instance == "30" else 0)


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_the_range_is_learned_from_the_first_rounds(tmp_path, feedback):
    options = {"feedback": feedback, "high": "auto", "horizon": 60, "tolerance": None}
    with Tuner(Fake(conflicts), SPACE, tmp_path / "whole", **options) as tuner:
        assert tuner.rules.high is None
        rows = list(tuner.rounds(names(60)))
        high, density = tuner.rules.high, tuner.learner.density()
        changes = [record for record in tuner.journal.records if isinstance(record, Change)]
        assert tuner.learner.n_told == 60
    first = [row.loss for row in rows[:11] if row.loss is not None]
    assert len(first) == 10, "the ninth of eleven was killed"
    assert changes == [Change(high=2 * max(first))]
    assert high == 2 * max(first)
    assert (rows[30].loss, rows[26].loss) == (high, high)
    for stop in (4, 10, 11, 12, 40, 60):  # resumed, it is the same
        with Tuner(Fake(conflicts), SPACE, tmp_path / "parts", **options) as tuner:
            list(itertools.islice(tuner.rounds(names(60)), stop - len(tuner.finished)))
    with Tuner(Fake(conflicts), SPACE, tmp_path / "parts", **options) as tuner:
        assert [(r.rho, r.loss) for r in tuner.finished] == [(r.rho, r.loss) for r in rows]
        assert (tuner.rules.high, tuner.learner.density()) == (high, density)
    with pytest.raises(ValueError, match=r"high = 1.0 \(it was auto\)"):
        Tuner(Fake(conflicts), SPACE, tmp_path / "parts", feedback=feedback)


# -- a grid that grows, and integers -----------------------------------------------------------------


def test_the_grid_grows_with_the_instances(tmp_path):
    def tuner():
        return Tuner(Fake(lambda instance, rho: rho), SPACE, tmp_path / "knob", horizon=3, seed=1)

    with tuner() as first:
        assert first.learner.n_arms == 2
        list(first.rounds(names(3)))
        list(itertools.islice(first.rounds(names(1003)), 5))
    with tuner() as second:
        assert (second.learner.n_arms, second.learner.n_told) == (10, 5)
        rows = list(second.rounds(names(1003)))
        density = second.learner.density()
    assert len({row.rho for row in rows}) == 10
    with Journal(tmp_path / "knob") as journal:
        assert [type(record).__name__ for record in journal.records[:5]] == ["Round"] * 3 + [
            "Change",
            "Round",
        ]
        assert journal.records[3] == Change(horizon=1000)
    with tuner() as third:
        assert third.learner.density() == density
        list(third.rounds(names(1500)))
        assert third.learner.n_arms == 10, "half as many again are no reason to forget"


@pytest.mark.parametrize("options", [{}, {"n_arms": 30}, {"probes": 2}, {"feedback": "black-box"}])
def test_integers(tmp_path, options):
    command = Fake(lambda instance, rho: abs(rho - 4) / 40, integer=True)
    space = sb.Interval(1.5 + 1e-9, 32.5 - 1e-9)
    with Tuner(command, space, tmp_path / "knob", horizon=40, **options) as tuner:
        rows = list(tuner.rounds(names(40)))
        density = tuner.learner.density()
    assert {row.rho for row in rows} <= set(range(2, 33))
    with Tuner(command, space, tmp_path / "knob", horizon=40, **options) as tuner:
        assert tuner.learner.density() == density
    with pytest.raises(ValueError, match="integer = False"):
        Tuner(Fake(lambda instance, rho: 0.5), space, tmp_path / "knob", horizon=40, **options)
