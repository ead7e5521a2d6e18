"""Learners of ten kinds, shared by eight threads, and for many rounds against an adversary."""

import copy
import itertools
import math
import pickle
import random
import resource
import threading
import time
import traceback

import semibandit as sb
from soak.attack import Outcome

UNIT = sb.Interval(0, 1)
PRIOR = sb.PiecewiseConstant([0, 0.5, 1], [1.5, 0.5])
KINDS = {
    "default": lambda seed: sb.Exp3Set(UNIT, seed=seed),
    "no baseline": lambda seed: sb.Exp3Set(UNIT, baseline=None, seed=seed),
    "low baseline": lambda seed: sb.Exp3Set(UNIT, baseline="low", max_pieces=40, seed=seed),
    "drift": lambda seed: sb.Exp3Set(UNIT, drift="auto", seed=seed),
    "prior": lambda seed: sb.Exp3Set(UNIT, drift=0.01, prior=PRIOR, seed=seed),
    "utilities": lambda seed: sb.Exp3Set(sb.Interval(-5, 5, margin=1), maximize=True, high=10, seed=seed),
    "nine doubles": lambda seed: sb.Exp3Set(sb.Interval(1e15, 1e15 + 1), seed=seed),
    "strips": lambda seed: sb.Exp3Set(sb.Strips(4, UNIT), seed=seed),
    "knobs": lambda seed: sb.Exp3Set(sb.Knobs(a=sb.Real(0, 1), b=sb.Integer(1, 4)), seed=seed),
    "grid": lambda seed: sb.Exp3Grid(UNIT, 16, seed=seed),
}


def feedback(learner, trial, loss, random_):
    """Return a number, or a step around the parameter whose width is from one double to the whole space."""
    space = learner.space
    x = trial.rho if isinstance(space, sb.Interval) else trial.positions[0]
    steps = isinstance(space, sb.Interval | sb.Strips) and not isinstance(learner, sb.Exp3Grid)
    if not steps or random_.random() < 0.2:
        return loss
    lo, hi = (space.lo, space.hi) if isinstance(space, sb.Interval) else (math.floor(x), math.floor(x) + 1)
    width = (hi - lo) * 10.0 ** -random_.uniform(0, 17)
    left = max(lo, min(x, math.nextafter(hi, lo)) - width * random_.random())
    right = min(hi, max(x + width * random_.random(), math.nextafter(x, math.inf)))
    return sb.PiecewiseConstant.constant(left, right, loss)


def check(learner):
    """Check what holds after any round."""
    density = learner.density()
    assert abs(density.integral() - 1) < 1e-6, f"the density integrates to {density.integral()}"
    assert density.min() >= 0.0, "the density is negative"
    learner.recommend()


def copy_of(learner, path, random_):
    """Copy a learner in one of three ways."""
    kind = random_.randrange(3)
    if kind == 0:
        return pickle.loads(pickle.dumps(learner))
    if kind == 1:
        return copy.deepcopy(learner)
    learner.save(path)
    return sb.load(path)


def play_against(learner, random_, path, more):
    """Ask, tell late, forget and copy while more(); the adversary punishes what is recommended."""
    asked, told, late, bad = 0, 0, [], None
    while more():
        late.append(learner.ask(probes=random_.choice([0, 0, 2])))
        asked += 1
        if random_.random() < 0.3 and len(late) < 30:
            continue
        trial = late.pop(random_.randrange(len(late)))
        if random_.random() < 0.1:
            learner.forget(trial)
        else:
            loss = random_.choice([0.0, 1.0, random_.random(), float(trial.rho == bad)])
            learner.tell(trial, feedback(learner, trial, (learner.high or 1.0) * loss, random_))
            told += 1
        if random_.random() < 0.01:
            check(learner)
            bad = learner.recommend().rho
            other = copy_of(learner, path, random_)
            trial = other.ask()
            other.tell(trial, feedback(other, trial, 0.5 * (other.high or 1.0), random_))
            check(other)
    return asked, told


def attack(sizes, kind, n_threads, more):
    """Let threads share a learner: no call raises, and no round is lost."""
    outcome, learner, counts = Outcome(), KINDS[kind](sizes.seed), []

    def run(number):
        try:
            random_ = random.Random(100 * sizes.seed + number)
            counts.append(play_against(learner, random_, sizes.folder / f"{number}.sb", more))
        except Exception:
            outcome.found(f"after {learner.n_asked} rounds: {traceback.format_exc(limit=-4)}")

    workers = [threading.Thread(target=run, args=(number,)) for number in range(n_threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    outcome.attempts = learner.n_asked
    counted, summed = (learner.n_asked, learner.n_told), tuple(map(sum, zip(*counts, strict=True)))
    if not outcome.findings and counted != summed:
        outcome.found(f"the learner counts {counted} asks and tells, the threads {summed}")
    outcome.notes["MB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return outcome


def threads(sizes, kind):
    until = time.monotonic() + sizes.seconds
    return attack(sizes, kind, 8, lambda: time.monotonic() < until)


def adversary(sizes, kind):
    rounds = itertools.count()
    return attack(sizes, kind, 1, lambda: next(rounds) < sizes.rounds)
