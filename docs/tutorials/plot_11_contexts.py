"""Contexts: a parameter for each kind of instance
===============================================

This page tunes a knob whose best value depends on the instance. Two features that are cheap to compute tell
three kinds of knapsacks apart. A learner that is given the features as a *context* finds where the value must
differ; without them it finds a compromise.
"""

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# Three kinds of knapsacks
# ------------------------
#
# ``sb.Knapsack`` takes items by decreasing value / size\ :sup:`ρ` while they fit. The best ρ differs between
# kinds of instances. Here three kinds arrive in random order.

KINDS = ("uncorrelated", "mixed", "inverse-strongly-correlated")
ROUNDS = 1500

rng = np.random.default_rng(0)
streams = [sb.streams.knapsack(kind, ROUNDS, 50, seed) for seed, kind in enumerate(KINDS)]
which = rng.integers(len(KINDS), size=ROUNDS)
problems = [streams[k][t] for t, k in enumerate(which)]
groups = [KINDS[k] for k in which]

members = {kind: [p for p, group in zip(problems, groups, strict=True) if group == kind] for kind in KINDS}
best = {kind: sb.best_in_hindsight(members[kind]).rho for kind in KINDS}
shared = sb.best_in_hindsight(problems).rho
print(f"{'mean loss at':<28} best ρ of the kind    ρ = {shared:.3f}, the best for all")
for kind in KINDS:
    own, common = (np.mean([p.loss(rho) for p in members[kind]]) for rho in (best[kind], shared))
    print(f"{kind:<28} {own:.4f} (ρ = {best[kind]:.3f})    {common:.4f}")

# %%
# The second kind loses much with the common value. The other two do not.

# %%
# Two features
# ------------
#
# The learner is not told the kind. It gets two numbers that can be computed before the instance is solved:
#
# - ``scatter``, 1 - correlation of values and sizes. Ratios matter here, so its scale is logarithmic.
# - ``spread``, the standard deviation of the sizes over their mean.


def features(problem: sb.Knapsack) -> dict[str, float]:
    """Return what is known about an instance before it is solved."""
    correlation = np.corrcoef(problem.values, problem.sizes)[0, 1]
    return {"scatter": float(1.0 - correlation), "spread": float(problem.sizes.std() / problem.sizes.mean())}


contexts = [features(problem) for problem in problems]
context = sb.Context(scatter=sb.Real(1e-6, 2, log=True), spread=sb.Real(0, 1))

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for kind in KINDS:
    chosen = [x for x, group in zip(contexts, groups, strict=True) if group == kind]
    ax.plot([x["scatter"] for x in chosen], [x["spread"] for x in chosen], ".", label=kind)
ax.set(xscale="log", xlabel="scatter", ylabel="spread", title="The two features")
ax.legend(frameon=False)

# %%
# With and without contexts
# -------------------------
#
# Both learners see the same instances. Regret is against the best ρ of each kind in hindsight.

space = problems[0].space
plain = sb.play(sb.Exp3Set(space, seed=0), problems)
learner = sb.Exp3Set(space, context=context, seed=0)
with_contexts = sb.play(learner, problems, contexts=contexts)

histories = {"without contexts": plain, "two features": with_contexts}
for name, history in histories.items():
    print(f"{name:<18} regret {history.regret(by=groups)[-1]:6.1f}")

# %%
# What was learned
# ----------------
#
# ``contexts()`` lists the cells into which the learner has split the contexts: the conditions, the
# recommended value, and the number of rounds. The learner splits only where it pays: the two kinds that do
# well with the same value share a cell.

for cell in learner.contexts():
    where = ", ".join(f"{name} in [{lo:.3g}, {hi:.3g})" for name, (lo, hi) in cell.where.items())
    print(f"ρ = {cell.recommendation.rho:.3f} after {cell.rounds} rounds with {where}")

# %%
# To deploy, ask for the recommendation for an instance. Without a context it is the best value for all.

for kind in KINDS:
    given = contexts[groups.index(kind)]
    print(f"{kind:<28} ρ = {learner.recommend(context=given).rho:.3f}, best {best[kind]:.3f}")
print(f"{'all':<28} ρ = {learner.recommend().rho:.3f}")

# %%
# The recommended value over one feature; the other one is at its median. The band is the interval of equally
# good values.

fig, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
scatter = float(np.median([x["scatter"] for x in contexts]))
sb.plots.recommended(learner, "spread", {"scatter": scatter}, ax)

# sphinx_gallery_thumbnail_number = 2

# %%
# What a useless feature costs
# ----------------------------
#
# First, random numbers beside the two useful features. A split on one of them needs evidence that it pays.


def with_noise(known: list[dict[str, float]], count: int) -> list[dict[str, float]]:
    """Return the contexts with as many random numbers more."""
    rows = np.random.default_rng(1).random((len(known), count)).tolist()
    return [x | {f"noise{i}": y for i, y in enumerate(row)} for x, row in zip(known, rows, strict=True)]


def noise(count: int) -> dict[str, sb.Real]:
    return {f"noise{i}": sb.Real(0, 1) for i in range(count)}


for count in (1, 8):
    wider = sb.Exp3Set(space, context=sb.Context(**context.features, **noise(count)), seed=0)
    histories[f"two, {count} useless"] = sb.play(wider, problems, contexts=with_noise(contexts, count))

fig, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
for name, history in histories.items():
    regret = history.regret(by=groups)
    print(f"{name:<18} regret {regret[-1]:6.1f}")
    ax.plot(regret, label=name, ls="--" if "useless" in name else "-")
ax.set(xlabel="round", ylabel="regret against the best ρ of each kind", title="What features save and cost")
ax.legend(frameon=False)

# %%
# Second, a single kind of instances: no feature can help. Regrets of four learners with different seeds:

alone = members["mixed"]
for count in (0, 1, 8):
    regrets = []
    for seed in range(4):
        wider = sb.Exp3Set(space, context=sb.Context(**noise(count)) if count else None, seed=seed)
        given = with_noise([{}] * len(alone), count) if count else None
        regrets.append(sb.play(wider, alone, contexts=given).regret()[-1])
    print(f"{count} useless: mean {np.mean(regrets):5.1f}, each", *(f"{regret:5.1f}" for regret in regrets))

# %%
# As long as it has not split, the learner plays exactly as without contexts. On other streams it may split
# where it should not: see the measurements in :doc:`/guides/contexts`.

# %%
# Try next
# --------
#
# - Give the kind itself: ``sb.Context(kind=sb.Choice(*KINDS))``. How much do two features lose against it?
# - ``sb.Context(kind=sb.Label())`` takes labels that are not known in advance, such as customers.
# - Leave ``spread`` out of half of the contexts: a missing feature is unknown, which is a value of its own.
# - A command: ``semibandit tune online --feature NAME=COMMAND`` measures features of files, see :doc:`/tune`.
# - What is measured and what is guaranteed, missed targets included: :doc:`/guides/contexts`.

plt.show()
