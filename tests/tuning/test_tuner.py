"""Tuning on a study: online and as a race, interrupted, continued, shared and with several jobs."""

import itertools
import math
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest

import semibandit as sb
from commands import Fake, names
from semibandit.tuning import Command, StoppedError, Tuner, plans
from semibandit.tuning import jobs as jobs_module
from semibandit.tuning.tuner import learner_of

SPACE = sb.Interval(0, 1)
ONLINE = [{}, {"feedback": "black-box"}, {"probes": 2}]
RACE = {"race": True, "runs": 150, "seed": 2}


def good_in_the_middle(instance, rho):
    edge = 0.2 + 0.01 * (int(instance) % 20)
    return 0.9 if rho < edge else 0.1 if rho < edge + 0.3 else 0.7


def flaky(instance, rho):
    """Fails on some instances, comes to no end on others."""
    i = int(instance)
    if i % 11 == 0:
        raise ZeroDivisionError("exit status 3")
    if i % 13 == 0 and rho > 0.7:
        raise TimeoutError("no end after 5 seconds")
    return 0.05 * (i % 9) + 0.3 * abs(rho - 0.4) + 0.01 * ((i * 7919 + round(rho * 1e4)) % 10)


def fails_on_the_left(instance, rho):
    return 1 / 0 if rho < 0.5 else 0.4


class Slow(Fake):
    """Runs end in another order than they began."""

    def run(self, instance, rho):
        time.sleep(0.0005 * (hash((instance, rho)) % 5))
        return super().run(instance, rho)


def played(tuner):
    return [(r.instance, r.rho, r.loss, r.failure, r.clipped, r.default_loss) for r in tuner.finished]


# -- rounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", ONLINE)
def test_tuning_online_finds_good_values(tmp_path, options):
    command = Fake(good_in_the_middle)
    with Tuner(command, SPACE, tmp_path / "knob", seed=1, **options) as tuner:
        rows = list(tuner.rounds(names(200)))
        summary = tuner.summary()
        assert 0.38 < tuner.learner.recommend().rho < 0.52
        assert tuner.finished == rows
    assert len(rows) == summary.n_rounds == 200
    assert summary.mean_loss == pytest.approx(np.mean([row.loss for row in rows]))
    assert summary.mean_loss < 0.35
    assert summary.n_runs == len(command.calls) == {"probes": 600}.get("".join(options), len(command.calls))


def test_black_box_feedback_is_the_true_interval(tmp_path):
    command = Fake(good_in_the_middle)
    with Tuner(command, SPACE, tmp_path / "knob", feedback="black-box", tolerance=1e-4) as tuner:
        rows = list(tuner.rounds(names(20)))
        widths = [row.width for row in tuner.study.history()]
    for row, width in zip(rows, widths, strict=True):
        edge = 0.2 + 0.01 * int(row.instance)
        edges = [0.0, edge, edge + 0.3, 1.0]
        lo, hi = next(pair for pair in itertools.pairwise(edges) if pair[0] <= row.rho < pair[1])
        assert width == pytest.approx(hi - lo, abs=2e-4)
        assert row.runs <= 2 * math.ceil(math.log2(1e4)) + 1


@pytest.mark.parametrize("options", ONLINE)
def test_continued_it_is_the_same_learner(tmp_path, options):
    options = {**options, "seed": 5, "default": 0.9, "default_share": 0.4}
    with Tuner(Fake(flaky), SPACE, tmp_path / "whole", **options) as tuner:
        list(tuner.rounds(names(60)))
        whole, density = played(tuner), tuner.learner.density()
    for stop in (1, 2, 17, 40, 60):
        with Tuner(Fake(flaky), SPACE, tmp_path / "parts", **options) as tuner:
            list(itertools.islice(tuner.rounds(names(60)), stop - len(tuner.finished)))
    with Tuner(Fake(flaky), SPACE, tmp_path / "parts", **options) as tuner:
        assert tuner.todo(names(60)) == []
        assert played(tuner) == whole
        assert tuner.learner.density() == density


@pytest.mark.parametrize("jobs", [1, 4])
def test_the_same_race_however_it_is_run(tmp_path, jobs):
    # Without `high`, the loss of a killed run depends on the runs that have ended before.
    options = {**RACE, "default": 0.9, "high": None if jobs == 1 else 2.0}
    with Tuner(Fake(flaky), SPACE, tmp_path / "whole", **options) as tuner:
        assert tuner.n_todo(names(40)) == 150
        n = len(list(tuner.rounds(names(40))))
        whole, best, standings = set(played(tuner)), tuner.learner.recommend(), tuner.learner.standings()
    assert 140 < n <= 150
    for stop in (1, 30, 76, 80, 110):
        with Tuner(Slow(flaky), SPACE, tmp_path / "parts", jobs=jobs, **options) as tuner:
            list(itertools.islice(tuner.rounds(names(40)), max(stop - len(tuner.finished), 0)))
    with Tuner(Slow(flaky), SPACE, tmp_path / "parts", jobs=jobs, **options) as tuner:
        list(tuner.rounds(names(40)))
        assert len(played(tuner)) == n
        assert set(played(tuner)) == whole
        assert tuner.n_todo(names(40)) == 150 - n
        assert tuner.learner.recommend() == best
        assert repr(tuner.learner.standings()) == repr(standings)


def test_a_race_of_knobs_is_the_same_in_parts_and_on_a_shared_store(tmp_path):
    knobs = sb.Knobs(x=sb.Real(0.01, 1, log=True), n=sb.Integer(1, 9), mode=sb.Choice("a", "b"))
    template = "echo {x} {n} {mode} {instance} | awk '{print $1 + ($2 - 4) ^ 2 + ($3 == \"a\") + $4}'"

    def racer(storage, *study, jobs=1):
        command = Command(template, shell=True, names=knobs.names)
        default = {"x": 1.0, "n": 1, "mode": "a"}
        return Tuner(command, knobs, storage, *study, race=True, runs=60, default=default, jobs=jobs)

    with racer(tmp_path / "whole") as tuner:
        list(tuner.rounds(names(20)))
        best, standings = tuner.learner.recommend(), tuner.learner.standings()
        assert {row.values["n"] for row in tuner.finished} > {1}
        assert tuner.verdict().values == best.values
    shared = f"sqlite:///{tmp_path}/shared.db", "knobs"
    for stop in (5, 20, 33):
        with racer(*shared, jobs=2) as tuner:
            list(itertools.islice(tuner.rounds(names(20)), max(stop - len(tuner.finished), 0)))
    with racer(*shared) as tuner, racer(*shared) as other:
        for _ in zip(tuner.rounds(names(20)), other.rounds(names(20)), strict=False):
            pass
        list(tuner.rounds(names(20)))
        assert tuner.learner.recommend().values == best.values
        assert repr(tuner.learner.standings()) == repr(standings)
    with sb.Study(*shared) as study:  # replayed from its events
        assert repr(study.at(event=len(study.events())).standings()) == repr(standings)


def test_a_race_pairs_its_leader_with_the_default(tmp_path):
    with Tuner(Fake(flaky), SPACE, tmp_path / "knob", **{**RACE, "default": 0.9, "runs": 300}) as tuner:
        list(tuner.rounds(names(100)))
        assert tuner.learner.recommend().rho == pytest.approx(0.4, abs=0.15)
        verdict, records = tuner.verdict(), tuner.finished
    losses = {(r.instance, r.rho): r.loss for r in records if r.loss is not None}
    best = verdict.values["rho"]
    common = {name for name, rho in losses if rho == best} & {name for name, rho in losses if rho == 0.9}
    assert verdict.n_pairs == len(common) > verdict.n_paired >= 25
    assert verdict.means[1] == pytest.approx(np.mean([losses[name, 0.9] for name in common]))
    assert (verdict.ended, verdict.better) == (True, True)


def test_more_instances_and_runs_continue_a_race(tmp_path):
    def race(runs):
        return Tuner(Fake(flaky), SPACE, tmp_path / "knob", race=True, runs=runs)

    with race(None) as tuner:
        assert tuner.n_todo(names(30)) == 200
        first = len(list(tuner.rounds(names(30))))
    with race(None) as tuner:
        more = list(tuner.rounds(names(300)))
        assert tuner.learner.runs == 300
    assert {int(row.instance) for row in more} - set(range(30))
    assert 290 < first + len(more) <= 300
    with race(100) as tuner:
        assert list(tuner.rounds(names(300))) == []
        with pytest.raises(ValueError, match="give it more runs"):
            tuner.n_todo(names(300), again=True)


def test_instances_are_run_as_often_as_given(tmp_path):
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob") as tuner:
        assert tuner.todo(["1", "2", "1"]) == ["1", "2", "1"]
        assert [row.instance for row in tuner.rounds(["1", "2", "1"])] == ["1", "1", "2"]
        assert tuner.todo(["1", "2", "3"]) == ["3"]
        assert tuner.todo(["1", "2"], again=True) == ["2"]
        assert [row.instance for row in tuner.rounds(["1", "2", "3"], again=True)] == ["3"]
        assert list(tuner.rounds([])) == []


def test_names_that_are_not_printable_are_kept_escaped(tmp_path):
    command = Fake(lambda instance, rho: 0.5)
    odd = ["a\tb", "ü", "-n"]
    with Tuner(command, SPACE, tmp_path / "knob") as tuner:
        assert len(list(tuner.rounds(odd))) == 3
        assert [row.instance for row in tuner.finished] == ["a\\tb", "ü", "-n"]
        assert tuner.todo(odd) == []
        for bad, message in (("", "1 to 500"), ("x" * 501, "1 to 500"), ("a\0", "null"), ("\udcff", "UTF-8")):
            with pytest.raises(ValueError, match=message):
                next(tuner.rounds([bad]))
    assert [instance for instance, _ in command.calls] == odd


# -- the default -----------------------------------------------------------------------------------


def test_the_default_is_run_on_its_share_of_the_instances(tmp_path):
    command = Fake(good_in_the_middle)
    options = {"default": 0.95, "default_share": 0.3, "seed": 2}
    with Tuner(command, SPACE, tmp_path / "knob", **options) as tuner:
        rows = list(tuner.rounds(names(300)))
        (beside,) = [row for row in tuner.standings() if row.default]
        assert beside.mean == pytest.approx(0.7)
    pairs = [row for row in rows if row.default_loss is not None]
    assert 60 < len(pairs) == beside.runs < 120
    assert sum(rho == 0.95 for _, rho in command.calls) == len(pairs)


def test_a_default_that_fails_is_not_compared(tmp_path):
    with Tuner(Fake(fails_on_the_left), SPACE, tmp_path / "k", default=0.1, default_share=1) as tuner:
        rows = list(tuner.rounds(names(10)))
        assert tuner.verdict() is None
    assert {row.default_failure for row in rows} == {"division by zero"}


@pytest.mark.parametrize("options", [*ONLINE, {"race": True, "runs": 60}])
def test_integer_parameters_are_run_as_integers(tmp_path, options):
    command = Fake(lambda instance, rho: abs(rho - 4) / 40, integer=True)
    space = sb.Interval(1.5 + 1e-9, 32.5 - 1e-9)
    with Tuner(command, space, tmp_path / "knob", **options) as tuner:
        rows = list(tuner.rounds(names(40)))
        assert {row.rho for row in tuner.finished} == {row.rho for row in rows} <= set(range(2, 33))
        assert {rho for _, rho in command.calls} <= set(range(2, 33))


# -- failures and interrupts -----------------------------------------------------------------------


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_failed_rounds_leave_the_learner_as_it_was(tmp_path, feedback):
    with Tuner(Fake(fails_on_the_left), SPACE, tmp_path / "knob", feedback=feedback) as tuner:
        before = tuner.learner.density()
        for row in tuner.rounds(names(64)):
            if row.failure:
                assert row.loss is None
                assert row.runs == 1, "nothing to learn: no search"
                assert tuner.learner.density() == before
            before = tuner.learner.density()
        failed = sum(row.rho < 0.5 for row in tuner.finished)
        assert tuner.summary().n_failed == tuner.learner.n_failed == failed > 5


def test_failed_rounds_count_as_the_loss_given(tmp_path):
    with Tuner(Fake(fails_on_the_left), SPACE, tmp_path / "knob", failed=0.8) as tuner:
        rows = list(tuner.rounds(names(64)))
        assert {row.loss for row in tuner.finished if row.failure == "division by zero"} == {0.8}
        assert tuner.learner.recommend().rho > 0.5
        assert tuner.summary().n_skipped == 0
    assert rows == tuner.finished


@pytest.mark.parametrize("race", [False, True])
def test_failed_rounds_are_run_again_on_request(tmp_path, race):
    options = {"race": race, "runs": 60 if race else None}
    with Tuner(Fake(lambda *_: 1 / 0), SPACE, tmp_path / "knob", **options) as tuner:
        with pytest.raises(StoppedError, match="have failed in the same way: division"):
            list(tuner.rounds(names(30)))
        n = len(tuner.finished)
        assert n == 10
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob", **options) as tuner:
        todo = tuner.n_todo(names(30), retry_failed=True)
        again = list(tuner.rounds(names(30), retry_failed=True))
        assert 0 <= todo - len(again) <= 10 * race
        runs = Counter((r.instance, r.rho if race else None) for r in tuner.finished if r.failure is None)
        assert set(runs.values()) == {1}
        failed = {(r.instance, r.rho if race else None) for r in tuner.finished[:n]}
        assert failed <= runs.keys()


@pytest.mark.parametrize("options", [{}, {"feedback": "black-box"}, RACE])
def test_an_interrupted_round_is_given_back_and_run_again(tmp_path, options):
    calls = itertools.count()

    def interrupted(instance, rho):
        if next(calls) == 5:
            raise KeyboardInterrupt
        return 0.5

    with Tuner(Fake(interrupted), SPACE, tmp_path / "knob", **options) as tuner:
        with pytest.raises(KeyboardInterrupt):
            list(tuner.rounds(names(10)))
        assert len(tuner.finished) <= 5
        assert tuner.study.pending == []
        list(tuner.rounds(names(10)))
        runs = [(row.instance, row.rho if "race" in options else None) for row in tuner.finished]
        assert len(runs) == len(set(runs)) >= 10


INTERRUPTED = """
import signal, sys
import semibandit as sb
from semibandit.tuning import Command, Tuner

signal.signal(signal.SIGINT, signal.default_int_handler)
command = Command(sys.argv[1])
with Tuner(command, sb.Interval(0, 1), sys.argv[2], jobs=3) as tuner:
    try:
        list(tuner.rounds([str(i) for i in range(40)]))
    except KeyboardInterrupt:
        assert tuner.study.pending == []
        print(*sorted(int(row.instance) for row in tuner.finished), [r for r in tuner.finished if r.failure])
"""


def test_an_interrupt_kills_all_commands(tmp_path):
    script, pids = tmp_path / "slow.sh", tmp_path / "pids"
    script.write_text(f"echo $$ >> {pids}; case $2 in 1?) sleep 60;; esac; echo 0.5")
    words = [f"/bin/sh {script} {{rho}} {{instance}}", str(tmp_path / "knob")]
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *words], stdout=subprocess.PIPE, text=True
    ) as process:
        while not (pids.exists() and pids.read_text().count("\n") >= 13):
            time.sleep(0.01)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=50)
    assert out == "0 1 2 3 4 5 6 7 8 9 []\n"
    for pid in map(int, pids.read_text().split()):
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


# -- studies that are shared -----------------------------------------------------------------------


def test_several_tuners_share_the_work(tmp_path):
    done = []

    def work(options):
        with Tuner(Slow(good_in_the_middle), SPACE, tmp_path / "knob", **options) as tuner:
            done.extend((record.instance, record.rho) for record in tuner.rounds(names(24)))

    for options, n in (({}, 24), ({"race": True, "runs": 60}, 60)):
        done.clear()
        threads = [threading.Thread(target=work, args=(options,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert 0.9 * n < len(done) == len(set(done)) <= n
        (tmp_path / "knob").unlink()
    with Tuner(Fake(flaky), SPACE, f"sqlite:///{tmp_path}/db", "knob") as tuner:
        assert tuner.where == f"the study 'knob' in sqlite:///{tmp_path}/db"


def test_a_dead_worker_loses_its_instance(tmp_path, monkeypatch):
    """At once if its process has ended on this machine, else when its lease ends."""
    monkeypatch.setattr(jobs_module, "_PAUSE", 0.02)
    dead = subprocess.Popen(["true"])
    dead.wait()
    with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob") as tuner:
        tuner.study.ask(lease=600.0, info={"instance": "0"}, worker=f"{socket.gethostname()}:{dead.pid}")
        tuner.study.ask(lease=0.3, info={"instance": "1"}, worker="elsewhere:1")
        start = time.monotonic()
        assert [row.instance for row in tuner.rounds(names(3))] == ["0", "2", "1"]
        assert 0.2 < time.monotonic() - start < 60


def test_a_lease_is_renewed_while_the_command_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(jobs_module, "LEASE", 0.3)
    monkeypatch.setattr(plans, "LEASE", 0.3)
    with Tuner(Fake(lambda *_: time.sleep(0.8) or 0.5), SPACE, tmp_path / "knob") as tuner:
        assert len(list(tuner.rounds(names(1)))) == 1
        assert [row.forgotten for row in tuner.study.history()] == [False]


# -- settings and files ----------------------------------------------------------------------------


def test_other_settings_are_refused(tmp_path):
    for path, options in (("knob", {}), ("race", {"race": True, "default": 0.9})):
        with Tuner(Fake(good_in_the_middle), SPACE, tmp_path / path, **options) as tuner:
            next(tuner.rounds(names(3)))
    for path, change, message in (
        ("knob", {"seed": 1}, r"seed = 1 \(it was 0\)"),
        ("knob", {"maximize": True}, "maximize = True"),
        ("knob", {"high": 2}, r"high = 2.0 \(it was not given\)"),
        ("knob", {"race": True}, r"learner = Race \(it was Exp3Set\)"),
        ("race", {"race": True, "default": 0.8}, r"default = 0.8 \(it was 0.9\)"),
        ("race", {"race": True}, r"default = None \(it was 0.9\)"),
    ):
        with pytest.raises(ValueError, match=f"{path} was begun with other settings: {message}"):
            Tuner(Fake(good_in_the_middle), SPACE, tmp_path / path, **change)
    with pytest.raises(ValueError, match=r"'hi': 2.0.*it was .*'hi': 1.0"):
        Tuner(Fake(good_in_the_middle), sb.Interval(0, 2), tmp_path / "knob")
    for change in ({"probes": 2}, {"feedback": "black-box"}, {"default": 0.1}, {"jobs": 2}):
        Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob", **change).close()


def test_a_file_that_has_learned_nothing_accepts_other_settings(tmp_path):
    def fails(instance, rho):
        raise ZeroDivisionError("no licence")

    path = tmp_path / "knob"
    with Tuner(Fake(fails), SPACE, path) as tuner:
        assert len(list(tuner.rounds(names(3)))) == 3
    with Tuner(Fake(fails), SPACE, path) as tuner:
        assert len(tuner.finished) == 3, "the same settings keep the failures"
    assert learner_of(path) is None
    with Tuner(Fake(good_in_the_middle), sb.Interval(0, 2), path, high=4) as tuner:
        assert tuner.finished == []
        tuner.study.ask()
        with pytest.raises(ValueError, match="begun with other settings"):  # a run is under way
            Tuner(Fake(good_in_the_middle), SPACE, path)
    assert learner_of(path) == "Exp3Set"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"default": 2}, r"default must be in \[0, 1\]"),
        ({"default_share": 1.5}, r"default_share must be in \[0, 1\]"),
        ({"failed": 3, "high": 1}, r"failed must be in \[0, 1\]"),
        ({"failed": "never"}, "failed must be one of"),
        ({"high": -1}, "high must be finite and > 0"),
        ({"feedback": "full"}, "feedback must be one of"),
        ({"tolerance": 0.1}, "tolerance goes with black-box feedback"),
        ({"tolerance": 0.0, "feedback": "black-box"}, r"tolerance must be in \(0, 1\)"),
        ({"probes": 1, "feedback": "black-box"}, "probes go with bandit feedback"),
        ({"probes": 1, "race": True}, "a race goes without probes"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"runs": 0, "race": True}, "runs must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_input_leaves_no_file(tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob", **options)
    assert not (tmp_path / "knob").exists()


def test_the_margin_of_the_space_is_kept(tmp_path):
    """Half of the line is margin, so many draws fall on it: they play the ends, and are learned from."""
    space = sb.Interval(0, 1, margin=0.5)
    with Tuner(Fake(good_in_the_middle), space, tmp_path / "knob", seed=1) as tuner:
        rows = list(tuner.rounds(names(60)))
        density = tuner.learner.density()
    assert (density.edges[0], density.edges[-1]) == (-0.5, 1.5)
    assert {0.0, 1.0} & {row.rho for row in rows}
    assert all(0 <= row.rho <= 1 for row in rows)


DAMAGES = {
    "cut": "UPDATE events SET line = substr(line, 1, 20) WHERE event = {event}",
    "bytes": "UPDATE events SET line = replace(line, 'trial', 'thing') WHERE event = {event}",
    "value": "UPDATE events SET line = replace(line, '\"trial\":', '\"trial\":7') WHERE event = {event}",
    "missing": "DELETE FROM events WHERE event = {event}",
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("race", [False, True])
def test_a_damaged_record_is_an_error_that_names_the_file(tmp_path, damage, race):
    """Also the last record; where it is missing as a whole, its round is run again."""
    path = tmp_path / "knob"
    with Tuner(Fake(good_in_the_middle), SPACE, path, race=race, runs=20 if race else None) as tuner:
        list(itertools.islice(tuner.rounds(names(10)), 5))
        last = tuner.study.n_events
    for event in (4, last):
        copy = tmp_path / f"copy{event}"
        copy.write_bytes(path.read_bytes())
        with sqlite3.connect(copy) as database:
            database.execute(DAMAGES[damage].format(event=event))
        database.close()
        if damage == "missing" and event == last:
            continue  # as if the process had been killed before it was written
        with pytest.raises(ValueError, match=str(copy)):
            Tuner(Fake(good_in_the_middle), SPACE, copy, race=race)


@pytest.mark.parametrize("content", [b"precious", b"SQLite format 3\0" + bytes(100), bytes(5000)])
def test_a_file_that_is_no_study_is_refused_and_left_alone(tmp_path, content):
    (tmp_path / "knob").write_bytes(content)
    with pytest.raises(ValueError, match=str(tmp_path / "knob")):
        Tuner(Fake(good_in_the_middle), SPACE, tmp_path / "knob")
    assert (tmp_path / "knob").read_bytes() == content
    with pytest.raises(ValueError, match="not a file"):
        Tuner(Fake(good_in_the_middle), SPACE, "/dev/full")


def test_a_deleted_state_file_stops_tuning(tmp_path):
    def delete(instance, rho):
        if instance == "5":
            (tmp_path / "knob").unlink()
        return 0.5

    message = "knob was deleted or replaced while it was in use"
    with Tuner(Fake(delete), SPACE, tmp_path / "knob") as tuner, pytest.raises(OSError, match=message):
        list(tuner.rounds(names(10)))
