"""Your own family, from scratch
=============================

Your algorithm is not among those that the package knows. If you can say *for which other parameters it
would have done the same*, a run of it teaches the learner an interval instead of a point. This page adds
an algorithm step by step: a rule by which a machine orders its jobs. Then the family is checked, played,
and measured.
"""

import bisect
import textwrap
from itertools import pairwise

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# The algorithm
# -------------
#
# One machine has to do some jobs, one after another. Each job has a weight, which says how urgent it is,
# and a time that it takes. Those who wait should wait little: we want the weighted mean of the times at
# which jobs are done to be small. Were the times known, Smith's rule would be optimal: by decreasing
# weight / time. But they are only guessed, and badly. So how far should guesses be trusted? That is the
# knob:
#
#     do the jobs by decreasing weight / guess\ :sup:`ρ`.
#
# ρ = 0 ignores the guesses, ρ = 1 is Smith's rule. Here is the algorithm, which knows nothing of
# learning:


def order_of(jobs: np.ndarray, rho: float) -> tuple[int, ...]:
    """The order in which jobs are done: an array with a row (weight, guess, time) for each of them."""
    weight, guess, _ = jobs.T
    return tuple(np.argsort(-weight / guess**rho, kind="stable").tolist())


def cost_of(jobs: np.ndarray, order: tuple[int, ...]) -> float:
    """The weighted mean of the times at which jobs are done; the time at which all are is 1."""
    weight, _, time = jobs[list(order)].T
    done = np.cumsum(time)
    return float(weight @ done / (done[-1] * weight.sum()))


def make(seed: int, n: int = 8) -> np.ndarray:
    """A morning's jobs, with guesses that are off by a factor of three or so."""
    rng = np.random.default_rng(seed)
    time = rng.lognormal(0.0, 0.7, n)
    return np.column_stack((rng.uniform(0.1, 1.0, n) ** 2, time * rng.lognormal(0.0, 1.2, n), time))


jobs = make(0)
for rho in (0.0, 0.5, 1.0):
    order = order_of(jobs, rho)
    print(f"ρ = {rho}: cost {cost_of(jobs, order):.4f}, order {order}")

# %%
# Step one: a space and a loss
# ----------------------------
#
# A family is a class. An instance of it says where its parameter lives, and what a run costs. With that
# it can be played already, with single losses (``feedback="bandit"``).


class Morning:
    """The jobs of a morning, to be ordered with a parameter in [0, 3]."""

    space = sb.Interval(0, 3)

    def __init__(self, jobs: np.ndarray) -> None:
        self.jobs = jobs

    def loss(self, rho: float) -> float:
        """One plain run."""
        return cost_of(self.jobs, order_of(self.jobs, rho))


history = sb.play(sb.Exp3Set(Morning.space, seed=0), [Morning(make(seed)) for seed in range(300)], "bandit")
print(history)

# %%
# Step two: what else would have happened?
# ----------------------------------------
#
# As a function of ρ the cost changes only where the order does. Two jobs change places where their scores
# are equal:
#
#     w / g\ :sup:`ρ` = w' / g'\ :sup:`ρ`,   that is at   ρ = log(w / w') / log(g / g').
#
# These are at most n(n - 1)/2 places, the *critical* values, the same for all runs. Between two
# neighbours of them the order stays the same. So a run at ρ has shown the cost on the whole interval
# between the critical values around ρ: that is ``reveal``. And a run in each of these intervals makes the
# whole loss function: that is ``losses``. Functions are given by their edges and values.


class Schedule(Morning):
    """The jobs of a morning, with all that a run can tell."""

    def __init__(self, jobs: np.ndarray) -> None:
        super().__init__(jobs)
        log_weight, log_guess = np.log(jobs[:, 0]), np.log(jobs[:, 1])
        i, j = np.triu_indices(len(jobs), 1)
        critical = (log_weight[i] - log_weight[j]) / (log_guess[i] - log_guess[j])
        inside = critical[(critical > self.space.lo) & (critical < self.space.hi)]
        self.edges = [self.space.lo, *np.unique(inside).tolist(), self.space.hi]

    def reveal(self, rho: float) -> sb.PiecewiseConstant:
        """One run, and the interval on which the order would have been the same."""
        right = min(bisect.bisect_right(self.edges, rho), len(self.edges) - 1)
        return sb.PiecewiseConstant([self.edges[right - 1], self.edges[right]], [self.loss(rho)])

    def losses(self) -> sb.PiecewiseConstant:
        """The whole loss function: a run in the middle of each interval."""
        values = [self.loss(0.5 * (lo + hi)) for lo, hi in pairwise(self.edges)]
        return sb.PiecewiseConstant(self.edges, values)


problem = Schedule(jobs)
print(problem.reveal(1.0))

# %%
# The learner's estimates are right only if two things hold: what ``reveal`` says is true, and the
# intervals that it can show form a partition (wherever in an interval one plays, that interval is what
# one sees). Neither would show in a plot if it failed. So there is a check for it:

for seed in range(5):
    sb.testing.check_problem(Schedule(make(seed)))
print("no complaints")

# %%
# It is worth seeing a check fail. Someone may think that ``reveal`` could be made simpler: orders surely
# do not change within 0.05 of ρ?


class Careless(Schedule):
    """A family with a mistake."""

    def reveal(self, rho: float) -> sb.PiecewiseConstant:
        """Wrong."""
        return sb.PiecewiseConstant([max(rho - 0.05, 0.0), min(rho + 0.05, 3.0)], [self.loss(rho)])


try:
    sb.testing.check_problem(Careless(jobs))
except AssertionError as error:
    print(error)

# %%
# Playing
# -------
#
# Now the family does all that those of the package do. We play the learner against 800 mornings, once
# with single losses and once with intervals, and compare both with Smith's rule.

ROUNDS = 800
mornings = [Schedule(make(seed)) for seed in range(ROUNDS)]
histories = {
    name: sb.play(sb.Exp3Set(Schedule.space, seed=0), mornings, name) for name in ("semi-bandit", "bandit")
}
best = histories["semi-bandit"].best()
smith = np.array([problem.loss(1.0) - problem.loss(best.rho) for problem in mornings])
for name, history in histories.items():
    print(f"{name:<12} regret {history.regret()[-1]:5.1f}")
print(f"Smith's rule regret {smith.sum():5.1f}")
print(f"best fixed ρ = {best.rho:.3f}, mean cost {best.mean_loss:.4f}")
print(f"mean width of the intervals seen: {histories['semi-bandit'].widths.mean():.3f}")

# %%
# The jagged line is one morning, and its shaded step what one run shows of it. The mean over all mornings
# is smooth.

fig, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
sb.plots.loss_function(mornings[-1], 1.0, axes[0, 0])
mean = sb.PiecewiseConstant.sum([problem.losses() for problem in mornings])
axes[0, 1].stairs(mean.values / ROUNDS, mean.edges, baseline=None, color="black")
axes[0, 1].axvline(1.0, color="0.5", ls="--", label="Smith's rule")
axes[0, 1].axvline(best.rho, color="tab:orange", label="best")
axes[0, 1].set(title=f"Mean loss of {ROUNDS} mornings", xlabel="ρ", ylabel="loss")
axes[0, 1].legend(frameon=False)
sb.plots.regret(histories, axes[1, 0])
axes[1, 0].plot(np.cumsum(smith), color="0.5", ls="--", label="Smith's rule")
axes[1, 0].legend(frameon=False)
sb.plots.density(histories["semi-bandit"], axes[1, 1])

# sphinx_gallery_thumbnail_number = 1

# %%
# Does the guarantee mean anything here?
# --------------------------------------
#
# The proof behind the learner asks that the steps of different instances do not pile up in one place:
# that the stream is *dispersed*. It is, if instances carry a little randomness. On your own family,
# measure it:

result = sb.dispersion.measure(mornings)
print(textwrap.fill(result.verdict(), 88))

# %%
# The upper picture counts mornings: how many have a step within an interval of length ε, in the worst
# place for it. What is asked is that this stays below the dashed line, in proportion to ε, down to short
# intervals; the vertical line is where it no longer does. The lower picture shows where the steps are:
# more of them at small ρ, but spread out there. Most mornings have a step somewhere in the stretch that
# is shaded, the worst one of its length; the shorter it is, the fewer do.

fig, (above, below) = plt.subplots(2, 1, figsize=(8, 7.5), height_ratios=[2.2, 1.0], layout="constrained")
sb.plots.dispersion.counts(result, above)
sb.plots.dispersion.histogram(result, below)

# %%
# If intervals are out of reach
# -----------------------------
#
# Perhaps you cannot say where your algorithm changes its mind, as it is not yours. ``sb.BlackBox`` finds
# the interval around ρ by bisection, with further runs; it needs a function that runs, and one that says
# what the outcome costs. The result is the same interval, to 10\ :sup:`-9`.

box = sb.BlackBox(order_of, jobs, Schedule.space, lambda order: cost_of(jobs, order))
print(box.reveal(1.0), "after", box.n_runs, "runs")
print(problem.reveal(1.0), "by thinking")

# %%
# Try next
# --------
#
# - Wider steps: two orders that differ may have the same cost, but mostly they have not. Where neighbours
#   in ``losses`` have the same value they may be joined, ``losses().compress()``, if ``reveal`` shows the
#   joined interval, too.
# - A ``stream`` of your own makes instances on demand: ``semibandit.streams.Stream(make, rounds, seed)``.
# - Two parameters: ``space = sb.Strips(n_rows, sb.Interval(0, 1))``, and methods that take ``rho`` and
#   ``alpha``.
# - What other families do to be exact is in :doc:`/families`.

plt.show()
