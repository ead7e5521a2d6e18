"""Regret with contexts: against one learner for all, separate learners, and one learner per true kind.

Run: python benchmarks/contexts.py [PART ...]

kinds: knapsacks of three kinds, 1,500 rounds. Two features tell the kinds apart (the correlation of values
and sizes, and the spread of the sizes), and 0, 2 or 8 do not. Vowpal Wabbit, if it is installed (the extra
`bench`), on the same streams: SquareCB on 12 arms, the best of 8 settings, and CATS, the best of 6.
useless: knapsacks of one kind with 2 and 10 features that do not matter.
labels: 200 labels in three hidden groups, with 10 and 100 rounds each.
moving: a best parameter that moves along a feature, 3,000 rounds.
families: knapsacks by kind, job dispatching by tightness, clusterings by number of classes, rankings
by number of documents, and branching in SCIP for auctions and facility locations (extra `scip`): 600 draws
from 600 problems, for SCIP from 240.
The feature has a value for each kind, so that a learner for each value is one per kind.
attack: streams made to mislead the splits; the worst ratio to one learner for all.
time: seconds of a round over those without contexts.

Regret is against the best parameter of each kind in hindsight ("moving": of each tenth of the feature).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from time import thread_time
from typing import Any

import numpy as np
from measure import at_most, note, number, run_parts, say, table
from playing import KEPT, Recipe, load, on_unit_interval

import semibandit as sb

UNIT = sb.Interval(0, 1)
FOLDER = KEPT.with_name("contexts")
TRIPLES = (
    ("uncorrelated", "mixed", "inverse-strongly-correlated"),
    ("mixed", "circle", "weakly-correlated"),
)
SOLVER = "branching in SCIP by kind"
FAMILIES = (
    "knapsacks by kind",
    "dispatching by tightness",
    "clusterings by classes",
    "rankings by documents",
    SOLVER,
)
ARMS = 12
SQUARE_CB = tuple(
    f"--cb_explore {ARMS} --squarecb --gamma_scale {gamma} -l {rate} --interactions ::"
    for gamma in (10, 100, 1000, 10000)
    for rate in (0.5, 5.0)
)
CATS = tuple(
    f"--cats 16 --bandwidth {bandwidth} --min_value 0 --max_value 1 --epsilon {epsilon} -l 0.5"
    for bandwidth in (0.05, 0.1)
    for epsilon in (0.02, 0.05, 0.2)
)

Features = list[dict[str, Any]]


def scaled(problem: Any) -> sb.Explicit:
    return sb.Explicit(sb.PiecewiseConstant(*on_unit_interval(problem.losses())))


def paid(learner: Any, problems: Sequence[Any], contexts: Features | None = None) -> float:
    return float(sb.play(learner, problems, contexts=contexts).loss.sum())


def least(problems: Sequence[Any], groups: Any) -> float:
    parts = [[p for p, g in zip(problems, groups, strict=True) if g == each] for each in np.unique(groups)]
    return sum(len(part) * sb.best_in_hindsight(part).mean_loss for part in parts)


def separate(problems: Sequence[Any], groups: Any, seed: int) -> float:
    """Return the losses paid by a learner for each group."""
    total = 0.0
    for i, each in enumerate(np.unique(groups)):
        part = [p for p, g in zip(problems, groups, strict=True) if g == each]
        total += paid(sb.Exp3Set(UNIT, seed=seed + 1000 * i), part)
    return total


def reals(names: Sequence[str]) -> sb.Context:
    return sb.Context(**{name: sb.Real(0, 1) for name in names})


# -- kinds ----------------------------------------------------------------------------------------------


@cache
def knapsacks(kinds: tuple[str, ...], rounds: int, seed: int) -> tuple[list[Any], Any, Any]:
    """Return problems, two features of each, and kinds."""
    rng = np.random.default_rng([seed, 11])
    streams = [sb.streams.knapsack(kind, rounds, 50, 100 + seed) for kind in kinds]
    which = rng.integers(len(kinds), size=rounds)
    made = [streams[k][t] for t, k in enumerate(which)]
    features = [(correlation(p.values, p.sizes), float(np.std(p.sizes) / np.mean(p.sizes))) for p in made]
    return [scaled(p) for p in made], np.clip(features, 0.0, 1.0), which


def correlation(x: Any, y: Any) -> float:
    return float(np.corrcoef(x, y)[0, 1]) if np.std(x) > 0.0 and np.std(y) > 0.0 else 0.0


def with_useless(features: Any, useless: int, seed: int) -> Features:
    more = np.random.default_rng([seed, 12]).random((len(features), useless))
    rows = np.hstack((features, more))
    return [{f"x{i}": float(x) for i, x in enumerate(row)} for row in rows]


def kinds(seeds: int, rounds: int = 1500) -> None:
    rows = []
    for triple in TRIPLES:
        regrets: dict[str, list[float]] = {}
        for seed in range(seeds):
            problems, features, which = knapsacks(triple, rounds, seed)
            best = least(problems, which)
            regrets.setdefault("all", []).append(paid(sb.Exp3Set(UNIT, seed=seed), problems) - best)
            regrets.setdefault("oracle", []).append(separate(problems, which, seed) - best)
            for useless in (0, 2, 8):
                contexts = with_useless(features, useless, seed)
                learner = sb.Exp3Set(UNIT, context=reals(list(contexts[0])), seed=seed)
                regrets.setdefault(f"{useless}", []).append(paid(learner, problems, contexts) - best)
                theirs = rivals(f"{triple[0]} {useless}", problems, contexts, seed)
                regrets.setdefault(f"rivals {useless}", []).append(theirs - best)
            say(f"{triple} {seed}")
        mean = {key: float(np.mean(regrets[key])) for key in ("all", "oracle", "0", "2", "8")}
        best_of = {n: best_settings(regrets[f"rivals {n}"]) for n in (0, 2, 8)}
        rows.append(
            [", ".join(triple), *map(number, (*mean.values(), *np.transpose([*best_of.values()]).flat))]
        )
        for n, target in ((0, 1.8), (2, 2.2), (8, 3.0)):
            what = f"{triple[0]}, ..., {n} useless: over"
            at_most(f"{what} one learner per kind", mean[str(n)] / mean["oracle"], target)
            for name, other in zip(("SquareCB", "CATS"), best_of[n], strict=True):
                if not math.isnan(other):
                    at_most(f"{what} {name}", mean[str(n)] / other, 1.0)
    head = ["kinds", "one for all", "one per kind", "0 useless", "2 useless", "8 useless"]
    head += [f"{name}, {n}" for name in ("SquareCB", "CATS") for n in (0, 2, 8)]
    table("contexts-kinds", head, rows)


def rivals(name: str, problems: Sequence[Any], contexts: Features, seed: int) -> Any:
    """Return the losses paid by Vowpal Wabbit with each setting; they are kept in the folder of streams."""
    path = FOLDER / f"rivals-{name.replace(' ', '-')}-{seed}.npy"
    if not path.exists() and find_spec("vowpalwabbit"):
        FOLDER.mkdir(parents=True, exist_ok=True)
        np.save(path, [vowpal(problems, contexts, setting, seed) for setting in (*SQUARE_CB, *CATS)])
    return np.load(path) if path.exists() else np.full(len(SQUARE_CB) + len(CATS), math.nan)


def best_settings(regrets: list[Any]) -> tuple[float, float]:
    """Return the mean regrets of the best setting of SquareCB and of CATS."""
    mean = np.mean(regrets, axis=0)
    return mean[: len(SQUARE_CB)].min(), mean[len(SQUARE_CB) :].min()


def vowpal(problems: Sequence[Any], contexts: Features, setting: str, seed: int) -> float:
    """Return the losses paid by a learner of Vowpal Wabbit."""
    from vowpalwabbit import Workspace

    vw = Workspace(f"{setting} --quiet --random_seed {seed + 1}")
    rng, total = np.random.default_rng([seed, 13]), 0.0
    for problem, context in zip(problems, contexts, strict=True):
        text = " ".join(f"{name}{'=' if isinstance(x, str) else ':'}{x}" for name, x in context.items())
        if "--cats" in setting:
            rho, density = vw.predict(f"| {text}")
            loss = problem.loss(min(max(rho, 0.0), 1.0))
            told = f"ca {rho:.9f}:{loss:.9f}:{density:.9f}"
        else:
            chances = np.array(vw.predict(f"| {text}"))
            arm = int(rng.choice(ARMS, p=chances / chances.sum()))
            loss = problem.loss((arm + 0.5) / ARMS)
            told = f"{arm + 1}:{loss:.9f}:{chances[arm]:.9f}"
        total += loss
        vw.learn(f"{told} | {text}")
    vw.finish()
    return total


# -- other streams --------------------------------------------------------------------------------------


def useless(seeds: int, rounds: int = 1500) -> None:
    ratios = []
    for n in (2, 10):
        regrets = []
        for seed in range(seeds):
            problems, _, which = knapsacks(("mixed",), rounds, 50 + seed)
            best = least(problems, which)
            contexts = with_useless(np.zeros((rounds, 0)), n, seed)
            learner = sb.Exp3Set(UNIT, context=reals(list(contexts[0])), seed=seed)
            alone = paid(sb.Exp3Set(UNIT, seed=seed), problems) - best
            regrets.append((paid(learner, problems, contexts) - best, alone))
        ours, alone = np.mean(regrets, axis=0)
        ratios.append([f"{n}", number(alone), number(ours)])
        at_most(f"{n} features that do not matter: over one for all", ours / alone, 1.15)
    table("contexts-useless", ["features", "one for all", "contexts"], ratios)


def labels(seeds: int, n_labels: int = 200) -> None:
    rows = []
    for each in (10, 100):
        regrets = []
        for seed in range(max(1, seeds // 5) if each == 100 else seeds):
            rng = np.random.default_rng([seed, 14])
            group = rng.integers(3, size=n_labels)
            order = rng.permutation(np.repeat(np.arange(n_labels), each))
            streams = [sb.streams.knapsack(kind, order.size, 50, 200 + seed) for kind in TRIPLES[0]]
            problems = [scaled(streams[group[label]][t]) for t, label in enumerate(order)]
            best = least(problems, group[order])
            contexts = [{"label": int(label)} for label in order]
            learner = sb.Exp3Set(UNIT, context=sb.Context(label=sb.Label()), seed=seed)
            regrets.append(
                (
                    paid(sb.Exp3Set(UNIT, seed=seed), problems),
                    separate(problems, order, seed),
                    separate(problems, group[order], seed),
                    paid(learner, problems, contexts),
                )
            )
            regrets[-1] = tuple(x - best for x in regrets[-1])
            say(f"labels {each} {seed}")
        alone, apart, oracle, ours = np.mean(regrets, axis=0)
        rows.append([f"{n_labels} × {each}", *map(number, (alone, apart, oracle, ours))])
        at_most(f"{n_labels} labels × {each}: over the better of both", ours / min(alone, apart), 0.6)
    table(
        "contexts-labels",
        ["labels × rounds", "one for all", "one per label", "one per group", "contexts"],
        rows,
    )


def moving(seeds: int, rounds: int = 3000) -> None:
    regrets = []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 15])
        x = rng.random(rounds)
        problems = []
        for place in x:
            edges = np.concatenate(([0.0], np.sort(rng.random(9)), [1.0]))
            middles = 0.5 * (edges[1:] + edges[:-1])
            level = rng.uniform(0.0, 0.3)
            problems.append(
                sb.Explicit(sb.PiecewiseConstant(edges, level + 0.6 * abs(middles - 0.1 - 0.8 * place)))
            )
        best = least(problems, (10.0 * x).astype(int))
        contexts = [{"x": float(place)} for place in x]
        ours = paid(sb.Exp3Set(UNIT, context=reals(["x"]), seed=seed), problems, contexts)
        regrets.append((ours - best, paid(sb.Exp3Set(UNIT, seed=seed), problems) - best))
    ours, alone = np.mean(regrets, axis=0)
    table("contexts-moving", ["one for all", "contexts"], [[number(alone), number(ours)]])
    at_most("a best parameter that moves along a feature: over one for all", ours / alone, 0.5)


def family(name: str, seed: int, rounds: int = 600) -> tuple[list[Any], Any]:
    """Return draws from problems of several kinds, and the kinds. The problems are kept in a folder."""
    makers: dict[str, Callable[[int], list[Any]]] = {
        "knapsacks by kind": lambda n: [sb.streams.knapsack(k, n, 50, 300) for k in TRIPLES[0]],
        "dispatching by tightness": lambda n: [
            sb.streams.dispatch(rounds=n, tardy=tardy, seed=0) for tardy in (0.3, 0.6, 0.9)
        ],
        "clusterings by classes": lambda n: [
            sb.streams.clustering("elongated", n, n_classes=k, per_class=each, seed=0)
            for k, each in ((2, 30), (4, 15), (6, 10))
        ],
        "rankings by documents": lambda n: [
            sb.streams.rank_mix(rounds=n, documents=documents, seed=0) for documents in (15, 60, 240)
        ],
        SOLVER: lambda n: [
            sb.streams.branching(kind, n, size=size, node_limit=200, seed=2)
            for kind, size in (("auction", 24), ("facility", 32))
        ],
    }
    kinds, each = (2, 120) if name == SOLVER else (3, 200)

    def make(rounds: int) -> list[Any]:
        return [problem for stream in makers[name](each) for problem in stream]

    recipe = Recipe(make, kinds * each)
    problems = load(name.replace(" ", "-"), recipe, FOLDER).problems
    drawn = np.random.default_rng([seed, 16]).integers(len(problems), size=rounds)
    return [problems[i] for i in drawn], drawn // each


def families(seeds: int) -> None:
    rows = []
    for name in FAMILIES:
        ours, others = [], []
        for seed in range(seeds):
            problems, which = family(name, seed)
            contexts: Features = [{"x": 0.5 * float(kind)} for kind in which]
            context = reals(["x"])
            if name == FAMILIES[0]:  # the kinds have no order
                contexts = [{"x": "abc"[kind]} for kind in which]
                context = sb.Context(x=sb.Choice("a", "b", "c"))
            best = least(problems, which)
            learner = sb.Exp3Set(UNIT, context=context, seed=seed)
            ours.append(
                [
                    paid(sb.Exp3Set(UNIT, seed=seed), problems) - best,
                    separate(problems, which, seed) - best,
                    paid(learner, problems, contexts) - best,
                ]
            )
            others.append(rivals(name, problems, contexts, seed) - best)
            say(f"{name} {seed} {ours[-1]}")
        rows.append([name, *map(number, (*np.mean(ours, axis=0), *best_settings(others)))])
    head = ["family", "one for all", "one per kind", "contexts", "SquareCB", "CATS"]
    table("contexts-families", head, rows)


def attacked(name: str, rounds: int, seed: int) -> tuple[list[Any], Features, sb.Context]:
    """Return problems and contexts of a stream that may mislead the splits."""
    rng = np.random.default_rng([seed, 17])
    problems, _, which = knapsacks(("mixed",) if "useless" in name else TRIPLES[0], rounds, 70 + seed)
    context = reals([f"x{i}" for i in range(8)])
    if name == "8 useless features":
        return problems, with_useless(np.zeros((rounds, 0)), 8, seed), context
    if name == "rare labels, useless":  # most labels come once or twice
        keys = np.minimum(rng.zipf(1.3, rounds), 10**6)
        return problems, [{"x": int(key)} for key in keys], sb.Context(x=sb.Label())
    if name == "sorted contexts, useless":
        return problems, [{"x": t / rounds} for t in range(rounds)], reals(["x"])
    if name == "unknown values, useless":  # missing at random
        rows = [{"x": float(x)} if x < 0.5 else {} for x in rng.random(rounds)]
        return problems, rows, reals(["x"])
    kinds = [("a", "b", "c")[k] for k in which]
    if name == "kinds in blocks":
        order = np.argsort(which, kind="stable")
        problems, kinds = [problems[i] for i in order], [kinds[i] for i in order]
    if name == "kinds change names half-way":
        rename = {"a": "b", "b": "c", "c": "a"}
        kinds = kinds[: rounds // 2] + [rename[kind] for kind in kinds[rounds // 2 :]]
    return problems, [{"x": kind} for kind in kinds], sb.Context(x=sb.Choice("a", "b", "c"))


ATTACKS = (
    "8 useless features",
    "rare labels, useless",
    "sorted contexts, useless",
    "unknown values, useless",
    "kinds in blocks",
    "kinds change names half-way",
)


def attack(seeds: int, rounds: int = 1500) -> None:
    rows, worst = [], 0.0
    for name in ATTACKS:
        regrets = []
        for seed in range(seeds):
            problems, contexts, context = attacked(name, rounds, seed)
            best = rounds * sb.best_in_hindsight(problems).mean_loss
            ours = paid(sb.Exp3Set(UNIT, context=context, seed=seed), problems, contexts) - best
            regrets.append((paid(sb.Exp3Set(UNIT, seed=seed), problems) - best, ours))
        alone, ours = np.mean(regrets, axis=0)
        worst = max(worst, ours / alone) if alone > 0.0 else worst
        rows.append([name, number(alone), number(ours)])
        say(f"{name} {alone} {ours}")
    table("contexts-attack", ["stream", "one for all", "contexts"], rows)
    note("worst ratio to one learner for all", worst)


def time(seeds: int, rounds: int = 1500) -> None:
    problems, features, _ = knapsacks(TRIPLES[0], rounds, 0)
    for useless in (0, 8):
        contexts = with_useless(features, useless, 0)
        context = reals(list(contexts[0]))
        ratios = []
        for _ in range(5):
            plain = seconds_of(sb.Exp3Set(UNIT, seed=0), problems, [None] * rounds)
            ratios.append(seconds_of(sb.Exp3Set(UNIT, context=context, seed=0), problems, contexts) / plain)
        at_most(f"{2 + useless} features: mean time of a round, relative", float(np.median(ratios)), 2.0)


def seconds_of(learner: Any, problems: Sequence[Any], contexts: Sequence[Any]) -> float:
    """Return the seconds of the processor that a learner takes, after 100 rounds."""
    total = 0.0
    for t, (problem, context) in enumerate(zip(problems, contexts, strict=True)):
        start = thread_time()
        trial = learner.ask(context=context)
        asked = thread_time()
        seen = problem.reveal(trial.rho)
        told = thread_time()
        learner.tell(trial, seen)
        total += (t >= 100) * (asked - start + thread_time() - told)
    return total


if __name__ == "__main__":
    run_parts(
        {
            "kinds": kinds,
            "useless": useless,
            "labels": labels,
            "moving": moving,
            "families": families,
            "attack": attack,
            "time": time,
        },
        __doc__,
        "contexts-targets",
        seeds=20,
    )
