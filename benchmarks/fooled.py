"""Streams of two places, one of them quiet, that fool learners with a baseline.

Run: python benchmarks/fooled.py [PART ...]

places: mean and worst regret of the default over seeds, and the mean of the best other learner. One place
(A) is quiet, the other (B) is noisier and better. On `phases`, A costs 0.5, and B costs 1 in the first
eleventh of the rounds and 0 afterwards. Variants: places exchanged, 11 pieces, an integer knob.
growth: regret at 500, 2,000 and 8,000 rounds, and the exponent of its growth.
search: hill climbing over streams of two and three places, each constant, uniform or Bernoulli in two phases,
for the largest quotient of the regret of the default and of `baseline=None` at 2,000 rounds, both plus 10.
The streams found are judged with other seeds.
information: regret with intervals over that with single losses, and with a probe over that without, on
streams of the suite, hybrid search and scheduling (`--streams`), and on a file of step functions on [0, 1]
(`--functions`: ptr, left, val).
units: regret on a·loss + c, divided by a, on streams of the suite.
constants: regret with half and with twice each constant of the rule, on streams of the suite and of places.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from measure import at_most, choose, number, run_parts, say, table
from playing import RECIPES, Recipe, Stream, default, load, play

import semibandit as sb
from semibandit.weights import LocalPieces

UNIT = sb.Interval(0, 1)
KNOB = sb.Knobs(x=sb.Integer(0, 1))
OTHERS = {
    'baseline="low"': lambda seed: sb.Exp3Set(UNIT, baseline="low", seed=seed),
    "baseline=None": lambda seed: sb.Exp3Set(UNIT, baseline=None, seed=seed),
    "Exp3Grid(20)": lambda seed: sb.Exp3Grid(UNIT, 20, seed=seed),
}
KINDS = (
    "A 0.5, B Bernoulli 0.4",
    "A 0.3, B Bernoulli 0.2",
    "both Bernoulli",
    "both uniform",
    "A 0.5, B uniform",
)
PHASES = "phases"


def losses(kind: str, rounds: int, seed: int) -> tuple[Any, Any]:
    """Return the losses of both places."""
    u = np.random.default_rng([seed, 5]).random((2, rounds))
    half = np.full(rounds, 0.5)
    return {
        KINDS[0]: (half, (u[1] < 0.4) * 1.0),
        KINDS[1]: (np.full(rounds, 0.3), (u[1] < 0.2) * 1.0),
        KINDS[2]: ((u[0] < 0.5) * 1.0, (u[1] < 0.4) * 1.0),
        KINDS[3]: (0.4 + 0.2 * u[0], 0.8 * u[1]),
        KINDS[4]: (half, 0.9 * u[1]),
        PHASES: (half, np.where(np.arange(rounds) < rounds // 11, 1.0, 0.0)),
    }[kind]


def regret(learner: Any, places: tuple[Any, Any], pieces: int = 2) -> float:
    """Play a game: the left half of the pieces is the first place."""
    paid, border = 0.0, pieces // 2 / pieces if pieces > 2 else 0.5
    for pair in zip(*places, strict=True):
        trial = learner.ask()
        loss = float(pair[trial.rho >= border])
        paid += loss
        if learner.space is KNOB:
            learner.tell(trial, loss)
            continue
        i = min(int(trial.rho * pieces), pieces - 1)
        learner.tell(trial, sb.PiecewiseConstant([i / pieces, (i + 1) / pieces], [loss]))
    return paid - min(float(place.sum()) for place in places)


def places(seeds: int, rounds: int = 2000, **_: Any) -> None:
    rows = []
    for kind in (*KINDS, PHASES):
        n = 550 if kind == PHASES else rounds
        games = [losses(kind, n, seed) for seed in range(seeds)]
        best = min(np.mean([regret(make(s), g) for s, g in enumerate(games)]) for make in OTHERS.values())
        variants = {
            "": [regret(sb.Exp3Set(UNIT, seed=s), g) for s, g in enumerate(games)],
            ", exchanged": [regret(sb.Exp3Set(UNIT, seed=s), g[::-1]) for s, g in enumerate(games)],
            ", 11 pieces": [regret(sb.Exp3Set(UNIT, seed=s), g, 11) for s, g in enumerate(games)],
            ", knob": [regret(sb.Exp3Set(KNOB, seed=s), g) for s, g in enumerate(games)],
        }
        for variant, regrets in variants.items():
            mean, worst = float(np.mean(regrets)), max(regrets)
            at_most(f"{kind}{variant}: mean", mean, round(1.5 * max(best, 0.0), 1))
            at_most(f"{kind}{variant}: worst", worst, round(3.0 * mean + 20.0, 1))
            rows.append([kind + variant, number(mean), number(worst), number(best)])
    table("fooled", ["stream", "mean", "worst", "best other, mean"], rows)


def growth(seeds: int, **_: Any) -> None:
    rows = []
    for kind in KINDS:
        means = []
        for rounds in (500, 2000, 8000):
            say(f"{kind}, {rounds} rounds")
            games = [losses(kind, rounds, seed) for seed in range(seeds)]
            means.append(float(np.mean([regret(sb.Exp3Set(UNIT, seed=s), g) for s, g in enumerate(games)])))
        exponent = math.log(means[2] / means[0]) / math.log(16.0)
        at_most(f"{kind}: exponent of growth", exponent, 0.65)
        rows.append([kind, *map(number, means), f"{exponent:.2f}"])
    table("fooled-growth", ["stream", "500 rounds", "2,000", "8,000", "exponent"], rows)


# -- a search for streams that fool the default ----------------------------------------------------------

SLACK = 10.0  # added to both regrets: quotients of small regrets say nothing

# A place has a kind and a mean for each of two phases; the first phase ends after a fraction of the rounds.
Place = tuple[str, float, float]
Found = tuple[float, tuple[Place, ...]]


# Found by earlier searches on a faster copy of the rule; the search begins with them.
KNOWN: tuple[Found, ...] = (
    (0.1, (("constant", 0.9, 0.0), ("uniform", 0.6, 0.6), ("uniform", 0.6, 0.4))),
    (0.2, (("constant", 0.5, 0.1), ("uniform", 0.4, 0.4), ("constant", 0.3, 0.3))),
    (0.1, (("constant", 0.2, 0.2), ("uniform", 0.3, 0.9), ("constant", 0.6, 0.1))),
)


def draw_place(rng: Any) -> Place:
    kind = str(rng.choice(["constant", "uniform", "Bernoulli"]))
    first = float(rng.choice(np.linspace(0.1, 0.9, 9)))
    return kind, first, first if rng.random() < 0.5 else float(rng.choice(np.linspace(0.0, 1.0, 11)))


def draw_stream(rng: Any) -> Found:
    end = float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.5]))
    return end, tuple(draw_place(rng) for _ in range(int(rng.integers(2, 4))))


def changed(found: Found, rng: Any) -> Found:
    """Return the stream with one place drawn anew, or with another end of the first phase, or reordered."""
    end, places = found
    choice = rng.integers(4)
    if choice == 0:
        return draw_stream(rng)[0], places
    if choice == 1:
        return end, places[::-1]
    i = int(rng.integers(len(places)))
    return end, (*places[:i], draw_place(rng), *places[i + 1 :])


def losses_of(found: Found, rounds: int, seed: int) -> Any:
    """Return the losses of the places, a row each."""
    end, places = found
    u = np.random.default_rng([seed, 6]).random((len(places), rounds))
    late = np.arange(rounds) >= end * rounds
    rows = []
    for (kind, first, then), noise in zip(places, u, strict=True):
        mean = np.where(late, then, first)
        width = np.minimum(mean, 1.0 - mean)
        drawn = {"constant": mean, "uniform": mean + width * (2.0 * noise - 1.0), "Bernoulli": noise < mean}
        rows.append(drawn[kind] * 1.0)
    return np.array(rows)


def regret_on(learner: Any, rows: Any) -> float:
    """Play a game on places of equal width."""
    paid, n = 0.0, len(rows)
    for column in rows.T.tolist():
        trial = learner.ask()
        i = min(int(trial.rho * n), n - 1)
        paid += column[i]
        learner.tell(trial, sb.PiecewiseConstant([i / n, (i + 1) / n], [column[i]]))
    return paid - float(rows.sum(axis=1).min())


def fooled_by(found: Found, seeds: range, rounds: int = 2000) -> tuple[float, float, float]:
    """Return the mean regrets of the default and of `baseline=None`, and their quotient with the slack."""
    games = [(losses_of(found, rounds, seed), seed) for seed in seeds]
    ours = statistics.fmean(regret_on(sb.Exp3Set(UNIT, seed=seed), rows) for rows, seed in games)
    theirs = statistics.fmean(regret_on(OTHERS["baseline=None"](seed), rows) for rows, seed in games)
    return ours, theirs, (max(ours, 0.0) + SLACK) / (max(theirs, 0.0) + SLACK)


def described(found: Found) -> str:
    end, places = found
    return f"{end:g}: " + "; ".join(f"{kind} {a:.1f}, {b:.1f}" for kind, a, b in places)


def search(seeds: int, tries: int, **_: Any) -> None:
    rng = np.random.default_rng(1)
    tried: dict[Found, float] = {}
    for attempt in range(tries):
        if attempt < len(KNOWN):
            found = KNOWN[attempt]
        elif attempt < tries // 2:
            found = draw_stream(rng)
        else:
            found = changed(max(tried, key=tried.__getitem__), rng)
        tried.setdefault(found, fooled_by(found, range(100, 103))[2])
    worst = sorted(tried, key=tried.__getitem__, reverse=True)[:5]
    judged = [fooled_by(found, range(seeds)) for found in worst]
    rows = [
        [described(found), number(a), number(b), f"{quotient:.2f}"]
        for found, (a, b, quotient) in zip(worst, judged, strict=True)
    ]
    head = ["end of the first phase: places, means in both phases", "default", "baseline=None", "quotient"]
    table("fooled-search", head, rows)
    at_most("largest quotient found", max(quotient for *_, quotient in judged), 2.0)


# -- more information -----------------------------------------------------------------------------------


def functions_of(path: str) -> Stream:
    """Return the step functions of a file: function q has pieces ptr[q] ... ptr[q + 1] - 1."""
    with np.load(path) as kept:
        ptr, left, values = kept["ptr"].tolist(), kept["left"], kept["val"]
    parts = [(np.append(left[a:b], 1.0), values[a:b]) for a, b in pairwise(ptr)]
    problems = [sb.Explicit(sb.PiecewiseConstant(edges, values)) for edges, values in parts]
    return Stream("functions", problems, keeps_order=False)


def mean_regret(stream: Stream, seeds: int, **options: Any) -> float:
    return statistics.fmean(
        sum(play(default(len(stream), seed), stream.game(seed), **options)) - stream.best
        for seed in range(seeds)
    )


# Flat mean curves, large differences between instances, narrow intervals.
NOISY = {
    "hybrid search": Recipe(lambda T: sb.streams.rank_mix("debian", T, seed=0), 1500),
    "scheduling": Recipe(lambda T: sb.streams.dispatch("or-library", T, seed=0), 1000),
}


def information(seeds: int, streams: str | None, functions: str | None, **_: Any) -> None:
    recipes = RECIPES | NOISY
    chosen = [load(name, recipes[name]) for name in choose(streams, recipes)]
    if functions is not None:
        chosen.append(functions_of(functions))
    rows = []
    for stream in chosen:
        single = mean_regret(stream, seeds, feedback="bandit")
        intervals = mean_regret(stream, seeds)
        probe = mean_regret(stream, seeds, probes=1)
        at_most(f"{stream.name}: intervals", intervals, round(1.05 * single, 1))
        at_most(f"{stream.name}: 1 probe", probe, round(intervals, 1))
        rows.append([stream.name, number(single), number(intervals), number(probe)])
    table("fooled-information", ["regret with", "single losses", "intervals", "intervals, 1 probe"], rows)


# -- units ----------------------------------------------------------------------------------------------

UNITS = [(a, c) for a in (1.0, 0.01, 100.0) for c in (0.0, 0.9, 1000.0)]


def units(seeds: int, streams: str | None, **_: Any) -> None:
    rows = []
    for stream in (load(name, RECIPES[name]) for name in choose(streams, RECIPES)):
        regrets = []
        for a, c in UNITS:
            problems = [sb.Explicit(problem.function * a + c) for problem in stream.problems]
            changed = Stream(stream.name, problems, stream.keeps_order)
            regrets.append(mean_regret(changed, seeds) / a)
        quotient = max(regrets) / regrets[0] if regrets[0] > 0.0 else min(regrets) / regrets[0]
        at_most(
            f"{stream.name}: largest regret with a·loss + c, over a, over that with the loss", quotient, 1.25
        )
        rows.append([stream.name, number(regrets[0]), number(min(regrets)), number(max(regrets))])
    table("units", ["regret over a with a·loss + c", "a = 1, c = 0", "least", "largest"], rows)


# -- constants ------------------------------------------------------------------------------------------

GAMES: dict[str, Callable[[int, float], float]] = {
    "mixed": lambda seed, term: on_suite("mixed", seed, term),
    "iris": lambda seed, term: on_suite("iris", seed, term),
    "seeding": lambda seed, term: on_suite("seeding", seed, term),
    KINDS[0]: lambda seed, term: on_places(KINDS[0], 2000, seed, term),
    KINDS[3]: lambda seed, term: on_places(KINDS[3], 2000, seed, term),
    PHASES: lambda seed, term: on_places(PHASES, 550, seed, term),
}
LOG_TERM = 10.0  # of the default rate


@cache
def kept_stream(name: str) -> Stream:
    return load(name, RECIPES[name])


def learner_with(log_term: float, seed: int) -> sb.Exp3Set:
    return sb.Exp3Set(UNIT, rate=sb.AdaptiveRate(log_term=log_term), seed=seed)


def on_suite(name: str, seed: int, log_term: float = LOG_TERM) -> float:
    stream = kept_stream(name)
    return sum(play(learner_with(log_term, seed), stream.game(seed))) - stream.best


def on_places(kind: str, rounds: int, seed: int, log_term: float = LOG_TERM) -> float:
    return regret(learner_with(log_term, seed), losses(kind, rounds, seed)[:: 1 - 2 * (seed % 2)])


def constants(seeds: int, **_: Any) -> None:
    usual = LocalPieces.constants

    def regrets(log_term: float = LOG_TERM) -> list[str]:
        means = (statistics.fmean(game(seed, log_term) for seed in range(seeds)) for game in GAMES.values())
        return [number(mean) for mean in means]

    rows = [["as it is", *regrets()]]
    for name, value in usual._asdict().items():
        for factor, word in ((0.5, "half"), (2.0, "twice")):
            say(f"{word} {name}")
            LocalPieces.constants = usual._replace(**{name: factor * value})
            rows.append([f"{word} `{name}` ({factor * value:g})", *regrets()])
    LocalPieces.constants = usual
    rows += [[f"log-term {term:g}", *regrets(term)] for term in (0.5 * LOG_TERM, 2.0 * LOG_TERM)]
    table("constants", ["mean regret", *GAMES], rows)


if __name__ == "__main__":
    run_parts(
        {
            "places": places,
            "growth": growth,
            "search": search,
            "information": information,
            "units": units,
            "constants": constants,
        },
        __doc__,
        "fooled-targets",
        seeds=20,
        tries=40,
        streams=None,
        functions=None,
    )
