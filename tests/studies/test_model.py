"""Random operations of several workers, compared with the reference study."""

import math
import random

import pytest

import semibandit as sb
from reference.study import ReferenceStudy
from semibandit.studies.log import local
from semibandit.studies.log.operations import ForgottenError
from study_workers import SPACE, bits


def functions(rho, random_):
    """Return feedback of a random kind: an interval, several pieces, the whole function, a failure."""
    lo, hi = rho * random_.random(), rho + (1 - rho) * random_.random()
    if lo >= hi:
        lo, hi = 0.0, 1.0
    kind = random_.randrange(5)
    if kind == 0:
        return None
    if kind == 1:
        return sb.PiecewiseConstant([0, 0.5, 1], [random_.random(), random_.random()])
    if kind == 2 and lo > 0.0 and hi < 1.0:
        return sb.PiecewiseConstant([0, lo, hi, 1], [math.nan, random_.random(), random_.random()])
    return sb.PiecewiseConstant.constant(lo, hi, random_.random())


def attempt(do):
    try:
        answer = do()
    except ForgottenError:
        return "forgotten"
    except ValueError as error:
        return "finished" if "no lease to renew" in str(error) else error
    return True if answer is None else answer


def step(study, reference, clock, random_):
    """Apply one random operation to both; the results must agree."""
    asked = len(reference.trials)
    kind = random_.choice(["ask", "ask", "tell", "tell", "tell", "forget", "renew", "wait"])
    if kind == "ask" or not asked:
        lease = random_.choice([None, 5.0, 50.0, math.inf])
        ours, theirs = study.ask(lease=lease), reference.ask(lease)
        assert (ours.id, ours.rho, ours.position) == (theirs.id, theirs.rho, theirs.position)
        return
    number = random_.randrange(max(0, asked - 12), asked)
    if kind == "tell":
        seen = functions(reference.trials[number][0].rho, random_)
        assert attempt(lambda: study.tell(number, seen)) == reference.tell(number, seen)
    elif kind == "forget":
        assert study.forget(number) == reference.forget(number)
    elif kind == "renew":
        lease = random_.choice([5.0, 20.0])
        assert attempt(lambda: study.renew(number, lease=lease)) == reference.renew(number, lease)
    else:
        clock[0] += random_.choice([0.5, 4.0, 30.0])
        reference.now = clock[0]


@pytest.mark.parametrize("seed", range(6))
def test_random_operations_agree_with_the_reference(tmp_path, monkeypatch, seed):
    random_ = random.Random(seed)
    clock = [1000.0]
    monkeypatch.setattr("time.time", lambda: clock[0])
    monkeypatch.setattr(local, "snapshot_stride", lambda pieces: 32)
    url = f"sqlite:///{tmp_path}/studies.db"
    options = {"max_pieces": 20} if seed % 2 else {}
    workers = [sb.Study(url, "knob", space=SPACE, seed=seed, **options) for _ in range(3)]
    reference = ReferenceStudy(sb.Exp3Set(SPACE, seed=seed, **options))
    reference.now = clock[0]
    moments = []
    for i in range(250):
        step(random_.choice(workers), reference, clock, random_)
        if i % 60 == 59:  # one worker is replaced by another
            workers[random_.randrange(3)] = sb.Study(url, "knob")
            moments.append((workers[0].n_events, bits(workers[0].learner)))
    pending = random_.choice(workers).pending
    assert [lease.trial for lease in pending] == reference.pending()
    assert [lease.until for lease in pending] == reference.ends()
    for worker in workers:
        assert worker.density() == reference.learner.density()
        assert worker.learner.n_failed == reference.learner.n_failed
        assert bits(worker.learner) == bits(workers[0].learner)
    for event, learner in moments:
        assert bits(workers[1].at(event)) == learner
    statuses = {record.trial: "forgotten" if record.forgotten else "told" for record in workers[2].history()}
    assert statuses == {entry[0].id: entry[1] for entry in reference.trials if entry[1] != "pending"}
