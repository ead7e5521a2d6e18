"""Real city budgets
=================

In many cities people vote on how a part of the budget is spent: there are projects with their costs,
everybody approves of some, and the city has to choose projects that it can pay for. Most cities use a
simple rule, or a variant of it: *by decreasing number of votes, take what the money is still enough for.*
That is a greedy knapsack, and the rule has a hidden knob. This page turns it.

`Pabulib <https://pabulib.org>`_ collects the files of such votes. If you have some, name their folder in
the environment variable ``PABULIB`` and run this page as a script: everything below is then about real
cities. Otherwise it writes a small folder of invented ones, in the same format.
"""

import csv
import os
import tempfile
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# The files
# ---------
#
# A ``.pb`` file has three parts: META with the budget, PROJECTS with a cost and the number of votes for
# each, and VOTES with the ballots. Invented cities are made in the image of real ones: costs differ
# widely, and large projects get more votes than small ones, but not in proportion to what they cost. The
# funded projects are those of the rule above.


def invent(folder: Path, cities: int = 150) -> None:
    """Write files of invented votes, one a week, from 2018 on."""
    rng = np.random.default_rng(0)
    first = np.datetime64("2018-01-07")
    for city in range(cities):
        n = int(rng.integers(10, 40))
        cost = np.round(np.exp(rng.normal(11.0, 1.0, n)), -2)
        votes = np.round(40.0 * (cost / 60_000.0) ** 0.35 * rng.lognormal(0.0, 0.7, n)) + 1.0
        left = budget = max(float(np.round(cost.sum() * rng.uniform(0.15, 0.4), -3)), float(cost.min()))
        lines = ["META", "key;value", f"description;An invented vote, number {city}", "rule;greedy"]
        lines += [f"budget;{budget:.0f}", f"num_projects;{n}", f"date_end;{first + 7 * city}"]
        lines += ["PROJECTS", "project_id;cost;votes;selected"]
        for i in np.lexsort((cost, -votes)).tolist():  # of equal votes the cheaper first
            chosen = cost[i] <= left
            left -= cost[i] * chosen
            lines.append(f"{i};{cost[i]:.0f};{votes[i]:.0f};{chosen:d}")
        lines += ["VOTES", "voter_id;vote", "0;" + ",".join(map(str, range(min(n, 3))))]
        (folder / f"city-{city:03}.pb").write_text("\n".join(lines) + "\n")


if "PABULIB" in os.environ:
    folder = Path(os.environ["PABULIB"])
else:
    folder = Path(tempfile.mkdtemp(prefix="budgets-"))
    invent(folder)

cities = sb.streams.read_knapsacks(folder, order="date", skip_bad=True)
print(f"{len(cities)} votes in the order of their dates, {len(cities.skipped)} files could not be used")

# %%
# The rule that cities use
# ------------------------
#
# ``sb.Knapsack`` takes items by decreasing value / size\ :sup:`ρ` while they fit. Here a project's value
# is its number of votes, and its size is its cost. At **ρ = 0** the cost drops out of the score: projects
# by decreasing votes, skipping what the money is not enough for. That is the rule which Pabulib calls
# ``greedy``. At ρ = 1 it would be votes per money.
#
# Is it really the same? Files may say which rule was used, and which projects were selected. Let us
# compare. Real cities have variants: ``greedy-threshold`` leaves out projects with few votes,
# ``greedy-no-skip`` stops at the first project that does not fit, and where people give points instead of
# approvals it is points that count (``read_knapsacks(..., value="score")``).


def said(path: Path) -> tuple[str, list[bool] | None]:
    """The rule that a file names, and the projects that were selected, if it tells."""
    rule, selected, section, header = "unknown", [], "", []
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        for row in csv.reader(file, delimiter=";"):
            if len(row) == 1:
                section, header = row[0].strip().upper(), []
            elif section == "META" and row[:1] == ["rule"]:
                rule = row[1].strip()
            elif section == "PROJECTS" and not header:
                header = [name.strip().lower() for name in row]
            elif section == "PROJECTS" and "selected" in header:
                selected.append(row[header.index("selected")].strip() == "1")
    return rule, selected or None


rules, told, same = Counter(), Counter(), Counter()
for path, problem in zip(cities.paths, cities, strict=True):
    rule, selected = said(path)
    rules[rule] += 1
    if selected is not None:
        told[rule] += 1
        same[rule] += problem.solve(0.0)[0].tolist() == selected
for rule, count in rules.most_common():
    print(f"{rule:<18} {count:4} votes, ρ = 0 gives what was selected in {same[rule]} of {told[rule]}")

# %%
# What is good?
# -------------
#
# We have to say what a choice is worth. Here it is the number of votes that the funded projects have, all
# together: how often somebody gets what he wanted. The loss is 1 - this number / an upper bound on it
# (what could be funded if projects were divisible). A city may well prefer something else, such as the
# money that goes to what people approved of, or fairness between districts; that is a question for
# citizens and not for an algorithm. But *if* it is votes that count, ρ = 0 is not a good rule: it spends
# the money on a few expensive projects.

problem = cities[len(cities) // 2]
fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
sb.plots.loss_function(problem, 0.0, ax)
ax.set(xlim=(0, 3), title=f"One vote, {problem.values.size} projects; shaded: same as the city's rule")

# %%
# Learning, vote by vote
# ----------------------
#
# The votes come in the order of their dates. Before each of them the learner says which ρ to use, and it
# sees what that ρ, and those around it, would have done. It starts with no idea at all.

learner = sb.Exp3Set(cities[0].space, seed=0)
problems = list(cities)
history = sb.play(learner, problems)
best = history.best()
learned = learner.recommend().rho
usual = np.array([problem.loss(0.0) for problem in problems])
print(f"ρ = 0, as cities do      {usual.mean():.4f}")
print(f"the learner, all along   {history.loss.mean():.4f}")
print(f"ρ = {best.rho:.3f}, in hindsight  {best.mean_loss:.4f}")
print(f"to deploy: ρ = {learned:.3f}")

# %%
# The left picture adds up the losses. The learner begins with values that are as bad as any, and is below
# the city's rule soon. To the right, the mean loss over all votes, which is exact, with the three values
# on it.

mean = sb.PiecewiseConstant.sum([problem.losses() for problem in problems])
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(np.cumsum(usual), color="0.4", ls="--", label="ρ = 0, as cities do")
left.plot(np.cumsum(history.loss), color="tab:blue", label="the learner")
left.plot(
    np.cumsum(history.loss) - history.regret(), color="tab:orange", label=f"ρ = {best.rho:.3f}, in hindsight"
)
left.set(xlabel="vote", ylabel="losses so far", title="What was missed, added up")
left.legend(frameon=False)
right.stairs(mean.values / len(problems), mean.edges, baseline=None, color="black")
for rho, colour, name in (
    (0.0, "0.4", "cities"),
    (learned, "tab:blue", "learned"),
    (best.rho, "tab:orange", "in hindsight"),
):
    right.plot(
        [rho], [mean(rho) / len(problems)], "o", color=colour, label=f"{name}, ρ = {rho:.3g}", clip_on=False
    )
right.set(xlim=(0, 4), ylim=(0, None), xlabel="ρ", ylabel="mean loss", title=f"Mean of {len(problems)} votes")
right.legend(frameon=False)

# sphinx_gallery_thumbnail_number = 2

# %%
# One vote, two rules
# -------------------
#
# What does it mean for a city? The same vote as above, with both rules:

for name, rho in (("cities", 0.0), ("learned", learned)):
    chosen, votes = problem.solve(rho)
    money = problem.sizes[chosen].sum() / problem.capacity
    print(
        f"{name:<8} {chosen.sum():3} of {chosen.size} projects, {votes:6.0f} votes, {money:.0%} of the budget"
    )

# %%
# Try next
# --------
#
# - Real files: download some from `pabulib.org <https://pabulib.org>`_ and run ``PABULIB=folder python
#   plot_05_city_budgets.py``.
# - On the command line, the same game with three kinds of feedback, and the best ρ with bounds on what to
#   expect of it: ``semibandit play knapsack --files folder --order date --skip-bad --png game.png`` and
#   ``semibandit fit knapsack --files folder --default 0 --png fit.png``.
# - How much of the gain is there with points, ``value="score"``, where files have a column of that name?

plt.show()
