"""A race with a state file: interrupted, continued, several runs at once, it is the same race."""

import itertools
import os
import signal
import threading
import time

import pytest

import semibandit as sb
from commands import Fake, names
from semibandit.tuning import Change, Command, Racer, StoppedError, Tuner

SPACE = sb.Interval(0, 1)


def loss(instance, rho):
    i = int(instance)
    if i % 11 == 0:
        raise ZeroDivisionError("exit status 3")
    if i % 13 == 0 and rho > 0.7:
        raise TimeoutError("no end after 5 seconds")
    return 0.05 * (i % 9) + 0.3 * abs(rho - 0.4) + 0.01 * ((i * 7919 + round(rho * 1e4)) % 10)


class Slow(Fake):
    """Runs end in another order than they began."""

    def run(self, instance, rho):
        time.sleep(0.0005 * (hash((instance, rho)) % 5))
        return super().run(instance, rho)


def made(racer):
    return {(r.instance, r.rho, r.loss, r.failure, r.clipped) for r in racer.finished}


def race(path, command=None, **options):
    return Racer(command or Fake(loss), SPACE, path, **{"runs": 150, "seed": 2, **options})


@pytest.mark.parametrize("high", [1.0, "auto"])
def test_the_same_race_however_it_is_run(tmp_path, high):
    options = {"high": high, "default": 0.9}
    with race(tmp_path / "whole", **options) as racer:
        assert racer.n_todo(names(40)) == 150
        n = len(list(racer.rounds(names(40))))
        assert 140 < n <= 150
        whole, best, standings = made(racer), racer.learner.recommend(), repr(racer.learner.standings())
        changes = [record for record in racer.journal.records if isinstance(record, Change)]
        assert len(changes) == (2 if high == "auto" else 1)
        if high == "auto":
            assert changes[1].high == racer.rules.high < 2
    for stop in (1, 30, 76, 80, 110):
        with race(tmp_path / "parts", **options) as racer:
            list(itertools.islice(racer.rounds(names(40)), stop - len(racer.finished)))
    with race(tmp_path / "parts", **options) as racer:
        list(racer.rounds(names(40)))
        assert made(racer) == whole
    with race(tmp_path / "jobs", Slow(loss), jobs=4, **options) as racer:
        list(racer.rounds(names(40)))
        assert made(racer) == whole
        assert [r.instance for r in racer.finished] != names(40), "they came in another order"
    for path in ("parts", "jobs"):
        with race(tmp_path / path, **options) as racer:
            assert racer.n_todo(names(40)) == 150 - n
            assert list(racer.rounds(names(40))) == []
            assert racer.learner.recommend() == best
            assert repr(racer.learner.standings()) == standings


def test_it_finds_the_value_and_pairs_it_with_the_default(tmp_path):
    with race(tmp_path / "knob", default=0.9, runs=300) as racer:
        list(racer.rounds(names(100)))
        summary = racer.summary()
        assert summary.recommendation.rho == pytest.approx(0.4, abs=0.1)
        assert summary.n_failed == summary.n_skipped > 0
        pairs = [r for r in racer.paired if r.loss is not None and r.default_loss is not None]
    assert len(pairs) > 50
    assert all(
        r.rho != 0.9 and r.default_loss == loss(r.instance, 0.9) for r in pairs if int(r.instance) % 13
    )


def test_more_instances_and_more_runs(tmp_path):
    with race(tmp_path / "knob", runs=None) as racer:
        assert racer.n_todo(names(30)) == 200
        first = len(list(racer.rounds(names(30))))
    with race(tmp_path / "knob", runs=None) as racer:
        more = list(racer.rounds(names(300)))
        assert racer.learner.runs == 300
        assert {int(row.instance) for row in more} - set(range(30))
        assert 290 < first + len(more) <= 300
    with race(tmp_path / "knob", runs=320) as racer:
        assert 0 < len(list(racer.rounds(names(300)))) <= 30
    with race(tmp_path / "knob", runs=100) as racer:
        assert list(racer.rounds(names(300))) == [], "what was run stays"


def test_failures_are_run_again_when_the_command_was_mended(tmp_path):
    with race(tmp_path / "knob", Fake(lambda *_: 1 / 0)) as racer:
        with pytest.raises(StoppedError, match="first 21 rounds have failed in the same way: division"):
            list(racer.rounds(names(40)))
        assert len(racer.finished) == 21, "ten values on two instances, and one on a third"
    with race(tmp_path / "knob") as racer:
        list(racer.rounds(names(40), retry_failed=True))
        failed = [row for row in racer.finished if row.failure == "division by zero"]
        assert [(r.instance, r.rho) for r in racer.finished[21:42]] == [(r.instance, r.rho) for r in failed]
        best = racer.learner.recommend()
    with race(tmp_path / "knob") as racer:
        assert racer.learner.recommend() == best


def test_other_files_and_settings_are_refused(tmp_path):
    with race(tmp_path / "knob", default=0.9) as racer:
        list(itertools.islice(racer.rounds(names(40)), 5))
        with pytest.raises(ValueError, match="more runs"):
            racer.n_todo(names(40), again=True)
    for options, message in (
        ({"default": 0.8}, r"default = 0.8 \(it was 0.9\)"),
        ({"default": None}, r"default = None \(it was 0.9\)"),
        ({"seed": 3, "default": 0.9}, r"seed = 3 \(it was 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            race(tmp_path / "knob", **options)
    with pytest.raises(ValueError, match=r"feedback = bandit \(it was race\)"):
        Tuner(Fake(loss), SPACE, tmp_path / "knob", seed=2)
    with pytest.raises(ValueError, match="a Racer races"):
        Tuner(Fake(loss), SPACE, tmp_path / "new", feedback="race")
    with pytest.raises(ValueError, match="no races"):
        sb.Study(f"journal:///{tmp_path}/knob", "knob")
    with pytest.raises(ValueError, match="jobs must be at least 1"):
        race(tmp_path / "new", jobs=0)
    assert not (tmp_path / "new").exists()


def test_an_interrupt_kills_what_runs_and_loses_it_alone(tmp_path):
    script = tmp_path / "slow.sh"
    script.write_text(f"echo $$ >> {tmp_path}/pids; case $2 in 1?) sleep 60;; esac; echo 0.5")
    command = Command(f"/bin/sh {script} {{rho}} {{instance}}")
    with race(tmp_path / "knob", command, jobs=3) as racer:
        threading.Timer(3.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        start = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            list(racer.rounds(names(40)))
        assert time.perf_counter() - start < 30
        n = len(racer.finished)
        assert all(row.failure is None for row in racer.finished)
    for pid in (tmp_path / "pids").read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
    script.write_text("echo 0.5")
    with race(tmp_path / "knob", command, jobs=3) as racer:
        assert len(racer.finished) == n
        list(racer.rounds(names(40)))
        assert len({(row.instance, row.rho) for row in racer.finished}) == len(racer.finished) > 140
