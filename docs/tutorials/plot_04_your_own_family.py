"""Your own family, from scratch
=============================

This page writes the class of an algorithm step by step, for which you know *at which other parameters it
would have done the same*. A run then teaches the learner an interval instead of a point. (For numpy code,
``sb.traced`` finds the interval; see :doc:`/gallery/plot_03_traced`.) The algorithm orders the jobs of a
machine. The page checks the class, plays it, and measures its dispersion.
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
# One machine processes jobs one after another. Each job has a weight and a processing time. The cost is the
# weighted mean of the completion times. If the times are known, Smith's rule is optimal: by decreasing
# weight / time. Here only inaccurate guesses are known. How far should they be trusted? That is the knob:
#
#     do the jobs by decreasing weight / guess\ :sup:`ρ`.
#
# ρ = 0 ignores the guesses, ρ = 1 is Smith's rule. The algorithm itself does no learning:


def order_of(jobs: np.ndarray, rho: float) -> tuple[int, ...]:
    """Return the order of the jobs, given a row (weight, guess, time) for each."""
    weight, guess, _ = jobs.T
    return tuple(np.argsort(-weight / guess**rho, kind="stable").tolist())


def cost_of(jobs: np.ndarray, order: tuple[int, ...]) -> float:
    """Return the weighted mean of the completion times, relative to the last one."""
    weight, _, time = jobs[list(order)].T
    done = np.cumsum(time)
    return float(weight @ done / (done[-1] * weight.sum()))


def make(seed: int, n: int = 8) -> np.ndarray:
    """Return the jobs of a morning, with guesses that are wrong by a factor of about three."""
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
# A family is a class with the range of the parameter, ``space``, and the loss of a run. This is enough to
# play it with single losses (``feedback="bandit"``).


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
# There are at most n(n - 1)/2 such *critical* values. Between two neighbours the order is the same. So a run
# at ρ gives the cost on the whole interval between the critical values around ρ: that is ``reveal``. A run
# in each of these intervals gives the whole loss function: that is ``losses``.


class Schedule(Morning):
    """The jobs of a morning, with semi-bandit and full feedback."""

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
        """Return the whole loss function: a run in the middle of each interval."""
        values = [self.loss(0.5 * (lo + hi)) for lo, hi in pairwise(self.edges)]
        return sb.PiecewiseConstant(self.edges, values)


problem = Schedule(jobs)
print(problem.reveal(1.0))

# %%
# The learner is biased unless the losses that ``reveal`` returns are true and its intervals form a partition
# (every ρ of an interval reveals this interval). A plot does not show an error in either; this check does:

for seed in range(5):
    sb.testing.check_problem(Schedule(make(seed)))
print("no complaints")

# %%
# A check that fails: a simpler ``reveal`` assumes that the order does not change within 0.05 of ρ.


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
# We play 800 mornings, once with single losses and once with intervals, and compare both with Smith's rule.

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
# Above: the loss of one morning, with the interval that one run reveals, and the smooth mean over all
# mornings. Below: regret, and the density of the learner.

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
# Does the guarantee hold here?
# -----------------------------
#
# The regret bound requires that the edges of different instances do not concentrate in one place: the
# stream must be *dispersed*, which is an exponent ``beta`` of at least 0.4 (independent edges: towards 1).

result = sb.dispersion.measure(mornings)
print(textwrap.fill(result.verdict(), 88))

# %%
# The upper plot shows how many mornings have an edge in the worst interval of length ε. The count should
# stay below the dashed line, which is proportional to ε; the vertical line marks the shortest interval for
# which it does. The lower plot shows the positions of the edges; the worst interval is shaded.

fig, (above, below) = plt.subplots(2, 1, figsize=(8, 7.5), height_ratios=[2.2, 1.0], layout="constrained")
sb.plots.dispersion.counts(result, above)
sb.plots.dispersion.histogram(result, below)

# %%
# If you do not know the intervals
# --------------------------------
#
# ``sb.BlackBox`` finds the interval around ρ by bisection, with further runs. It needs the algorithm and the
# cost of its output. The result is the same interval, to 10\ :sup:`-9`.

box = sb.BlackBox(order_of, jobs, Schedule.space, lambda order: cost_of(jobs, order))
print(box.reveal(1.0), "after", box.n_runs, "runs")
print(problem.reveal(1.0), "by the formula")

# %%
# Try next
# --------
#
# - Wider intervals: neighbours in ``losses`` with the same value may be joined, ``losses().compress()``, if
#   ``reveal`` returns the joined interval, too.
# - A stream of your own makes instances on demand: ``semibandit.streams.Stream(make, rounds, seed)``.
# - Two parameters: ``space = sb.Strips(n_rows, sb.Interval(0, 1))``, and methods that take ``rho`` and
#   ``alpha``.
# - :doc:`/families` explains how the families of the package are exact.

plt.show()
