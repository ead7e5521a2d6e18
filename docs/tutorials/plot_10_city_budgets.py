"""Real city budgets
=================

This page tunes the rule by which cities spend a budget that people vote on. Projects have costs, and voters
approve of some of them. Most cities use this rule or a variant of it: *by decreasing number of votes, fund
each project that the remaining budget can pay for.* That is a greedy knapsack, and has a hidden knob.

`Pabulib <https://pabulib.org>`_ collects the files of such votes. To use real files, set the environment
variable ``PABULIB`` to their folder and run this page as a script. Otherwise it generates a small folder of
files in the same format.
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
# A ``.pb`` file has three parts: META with the budget, PROJECTS with the cost and the number of votes of each
# project, and VOTES with the ballots. The generated votes resemble real ones: costs differ widely, and
# expensive projects get more votes, but less than in proportion to their cost. The funded projects are those
# of the rule above.


def invent(folder: Path, cities: int = 150) -> None:
    """Write files of generated votes, one a week, from 2018 on."""
    rng = np.random.default_rng(0)
    first = np.datetime64("2018-01-07")
    for city in range(cities):
        n = int(rng.integers(10, 40))
        cost = np.round(np.exp(rng.normal(11.0, 1.0, n)), -2)
        votes = np.round(40.0 * (cost / 60_000.0) ** 0.35 * rng.lognormal(0.0, 0.7, n)) + 1.0
        left = budget = max(float(np.round(cost.sum() * rng.uniform(0.15, 0.4), -3)), float(cost.min()))
        lines = ["META", "key;value", f"description;Generated vote {city}", "rule;greedy"]
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
# ``sb.Knapsack`` takes items by decreasing value / size\ :sup:`ρ` while they fit. The value of a project is
# its number of votes, and its size is its cost. At **ρ = 0** the cost does not matter: projects by decreasing
# votes, skipping those that are too expensive. Pabulib calls this rule ``greedy``. At ρ = 1 the order is by
# votes per cost.
#
# Files may contain the rule and the selected projects, so we can check this. Real cities have variants:
# ``greedy-threshold`` leaves out projects with few votes, ``greedy-no-skip`` stops at the first project that
# does not fit, and some count points instead of approvals (``read_knapsacks(..., value="score")``).


def rule_of(path: Path) -> tuple[str, list[bool] | None]:
    """Return the rule named in a file, and the selected projects if it lists them."""
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
    rule, selected = rule_of(path)
    rules[rule] += 1
    if selected is not None:
        told[rule] += 1
        same[rule] += problem.solve(0.0)[0].tolist() == selected
for rule, count in rules.most_common():
    print(f"{rule:<18} {count:4} votes, ρ = 0 gives what was selected in {same[rule]} of {told[rule]}")

# %%
# The loss
# --------
#
# The value of a choice is the total number of votes of the funded projects. The loss is 1 - this number / an
# upper bound on it (that of divisible projects). A city may prefer another objective, such as fairness
# between districts; that is for citizens to decide. But *if* votes count, ρ = 0 is not a good rule: it spends
# the budget on a few expensive projects.

problem = cities[len(cities) // 2]
fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
sb.plots.loss_function(problem, 0.0, ax)
ax.set(xlim=(0, 3), title=f"One vote, {problem.values.size} projects; shaded: same as the city's rule")

# %%
# Learning, vote by vote
# ----------------------
#
# The votes arrive in the order of their dates. Before each of them the learner chooses ρ; then it observes
# the loss of this ρ and of the interval around it.

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
# Left: cumulative losses. Right: the exact mean loss over all votes, with the three values.

mean = sb.PiecewiseConstant.sum([problem.losses() for problem in problems])
fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(np.cumsum(usual), color="0.4", ls="--", label="ρ = 0, as cities do")
left.plot(np.cumsum(history.loss), color="tab:blue", label="the learner")
left.plot(
    np.cumsum(history.loss) - history.regret(), color="tab:orange", label=f"ρ = {best.rho:.3f}, in hindsight"
)
left.set(xlabel="vote", ylabel="losses so far", title="Cumulative loss")
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
# The vote plotted above, with both rules:

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
#   plot_10_city_budgets.py``.
# - On the command line, the same game with three kinds of feedback, and the best ρ with confidence bounds:
#   ``semibandit play knapsack --files folder --order date --skip-bad --png game.png`` and
#   ``semibandit fit knapsack --files folder --default 0 --png fit.png``.
# - How large is the gain with points, ``value="score"``, for files with such a column?

plt.show()
