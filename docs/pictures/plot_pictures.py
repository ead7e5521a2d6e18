"""
How to read each plot
=====================

A function of ``semibandit.plots`` draws into the given axes, or into new ones, and returns them. The
commands ``play``, ``fit``, ``dispersion`` and ``tune`` draw the same plots with ``--png``. Plots need the
extra ``plot``.

The games below are short, so that this page builds quickly.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import semibandit as sb

folder = Path(tempfile.mkdtemp())


def axes(**size):
    """Return new axes."""
    return plt.subplots(layout="constrained", **size)[1]


def show(path, width=9.0):
    """Show a picture from a file."""
    pixels = plt.imread(path)
    figure = plt.figure(figsize=(width, width * pixels.shape[0] / pixels.shape[1]))
    figure.add_axes((0, 0, 1, 1)).imshow(pixels)
    plt.axis("off")


# %%
# A game
# ------
#
# Three kinds of feedback on the same 500 knapsacks.

stream = sb.streams.knapsack("mixed", rounds=500, n=40, seed=0)
learners = {name: sb.Exp3Set(sb.Interval(0, 10), seed=0) for name in ("full", "semi-bandit", "bandit")}
games = {name: sb.play(learner, stream, feedback=name) for name, learner in learners.items()}
measured = sb.dispersion.measure(stream)
certified = {name: learners[name].certificate(measured).value for name in ("full", "semi-bandit")}

# %%
# ``plots.regret``
# ^^^^^^^^^^^^^^^^
#
# The losses paid minus those of the best fixed parameter in hindsight. A *flat* curve plays as well as that
# parameter; a straight rising line does not learn. The curve falls in rounds that went better than the best
# fixed parameter, and below 0 where the best parameter moves. The number after a name is the certificate, a
# bound on the expected regret.

sb.plots.regret(games, axes(), certificates=certified)

# %%
# With ``blocks=s`` a dashed curve shows the regret against the best sequence of s parameters, each for a
# block of rounds. If it is far above the other curve, the best parameter moves: try ``drift="auto"``.

wandering = sb.streams.synthetic(600, drift=True, seed=0)
plain = sb.play(sb.Exp3Set(sb.Interval(0, 1), seed=0), wandering)
sb.plots.regret(plain, axes(), blocks=4)

# %%
# ``plots.density``
# ^^^^^^^^^^^^^^^^^
#
# The density of the parameter, round by round; darker is likelier. The colour is the root of the density
# relative to the uniform one, so that unlikely values stay visible. The dashed line is the best fixed
# parameter in hindsight. Usually a band around that line becomes dark and narrow. Two bands are two valleys
# between which the learner has not decided. A dark band elsewhere is a wrong value; the regret shows what
# it costs.

sb.plots.density(games["semi-bandit"], axes())

# %%
# ``plots.widths``
# ^^^^^^^^^^^^^^^^
#
# The width of the interval that each run revealed, on a log axis, with the running median. Wide intervals
# make semi-bandit feedback fast. If the median is far below 1/64 of the space, an interval is worth little
# more than a single loss.

sb.plots.widths(games["semi-bandit"], axes())

# %%
# ``plots.loss_function``
# ^^^^^^^^^^^^^^^^^^^^^^^
#
# The loss of one instance at every parameter; a run at one of them reveals the shaded interval.

sb.plots.loss_function(stream[3], 2.3, axes())

# %%
# ``plots.regret(..., by="run")``
# ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#
# Regret over runs of the algorithm instead of rounds, on a log axis. It compares games with different
# numbers of probes at equal cost.

probing = sb.play(sb.Exp3Set(sb.Interval(0, 10), seed=0), stream, probes=3)
sb.plots.regret({"semi-bandit, three probes": probing, "bandit, no probe": games["bandit"]}, axes(), by="run")

# %%
# ``plots.overview``
# ^^^^^^^^^^^^^^^^^^
#
# The page that ``semibandit play knapsack --png game.png`` writes: regret, the density with semi-bandit
# feedback, the last instance, and the widths (with probes, regret by runs).

sb.plots.overview(games, folder / "game.png", "500 knapsacks", certificates=certified)
show(folder / "game.png")

# %%
# Clusterings
# -----------
#
# ``plots.dendrogram``
# ^^^^^^^^^^^^^^^^^^^^
#
# The cluster tree of a linkage problem at one ρ, with its loss. Heights are the distances at which clusters
# merge. Dots are points in the colours of their true classes; in a good tree each colour is below one
# branch. ``semibandit play linkage --png`` draws the tree at both ends of the space and at the parameter to
# deploy.

clusterings = sb.streams.clustering("elongated", rounds=4, seed=0)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
sb.plots.dendrogram(clusterings[0], 0.1, left)
sb.plots.dendrogram(clusterings[0], 1.0, right)

# %%
# Two parameters
# --------------
#
# ``Strips`` has the parameters ρ and α; a row is a value of α.

plane = sb.streams.digits_two_metrics(60, n_rows=5, seed=0)
two = sb.Exp3Set(plane[0].space, seed=0)
game = sb.play(two, plane)
best = two.recommend()

# %%
# ``plots.plane.density``
# ^^^^^^^^^^^^^^^^^^^^^^^
#
# The density over the square at the end of the game. The cross is the best point in hindsight, the ring the
# recommendation.

sb.plots.plane.density(game, axes(), chosen=best)

# %%
# ``plots.across``
# ^^^^^^^^^^^^^^^^
#
# The density of α over time, for all values of ρ; ``plots.density`` draws that of ρ. The dashed line is the
# best value.

sb.plots.across(game, axes())

# %%
# ``plots.plane.loss``
# ^^^^^^^^^^^^^^^^^^^^
#
# A function over the square, here the mean loss of all instances; dark is a high loss.

mean = (1.0 / len(plane)) * sb.PiecewiseConstant.sum([problem.losses() for problem in plane])
sb.plots.plane.loss(mean, plane[0].space, axes(), history=game, chosen=best)

# %%
# ``plots.plane.instance``
# ^^^^^^^^^^^^^^^^^^^^^^^^
#
# The loss of one instance. The dot is the point played; the red outline is the set that the run revealed.

sb.plots.plane.instance(plane[0], 0.5, 0.5, axes())

# %%
# Knobs
# -----
#
# Several named knobs. One of them runs along the rows; a row is a combination of the others.


class Valley:
    """A loss with its best values at step = 0.01 and mode = "good"."""

    space = sb.Knobs(step=sb.Real(1e-4, 1.0, log=True), mode=sb.Choice("fast", "good", "safe"))

    def loss(self, step, mode):
        """One run."""
        from math import log10

        return min(0.2 + 0.2 * abs(log10(step) + 2.0) + 0.15 * (mode != "good"), 1.0)


learner = sb.Exp3Set(Valley.space, seed=0)
history = sb.play(learner, [Valley()] * 300, feedback="bandit")

# %%
# The density of each row over time (the row of ``good`` becomes dark), and that of the knob along the rows,
# summed over the rows, on its own scale.

sb.plots.across(history, axes(), best=False)
sb.plots.density(history, axes(), best=False)

# %%
# A log
# -----
#
# ``plots.fit``
# ^^^^^^^^^^^^^
#
# The result of ``sb.fit``. The black line is the mean loss of the log. The band contains the *expected*
# loss at all parameters simultaneously with a probability of 95 %. Orange are the best parameters of the
# log, dashed is the default. If the band is wider than the difference between the two, hold out a part of
# the log (``holdout=0.2``) and look at ``result.confidence.gap``.

result = sb.fit(stream, default=1.0, holdout=0.2)
sb.plots.fit(result, axes(), default=1.0)
print(result.confidence.gap)

# %%
# Dispersion
# ----------
#
# ``plots.dispersion.counts``
# ^^^^^^^^^^^^^^^^^^^^^^^^^^^
#
# The number of the T losses with a discontinuity in the worst interval of length ε; pale lines are shorter
# prefixes of the stream. The stream is dispersed if the thick line stays below the dashed one, C·ε·T, down
# to small ε; they cross at β. A line that is level on the left means that many losses break at the same
# place. Green is the theorem's bound, dotted are evenly spread discontinuities.

sb.plots.dispersion.counts(measured, axes())

# %%
# ``plots.dispersion.histogram``
# ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#
# The places of the discontinuities. Orange is the worst interval of length 1/√T of the space.

sb.plots.dispersion.histogram(measured, axes())

# %%
# ``plots.dispersion.plot``, ``result.plot("x.png")`` and ``semibandit dispersion --png`` draw both panels.

sb.plots.dispersion.plot(measured, folder / "dispersion.png", title="500 knapsacks")

# %%
# A command
# ---------
#
# ``semibandit tune --png``
# ^^^^^^^^^^^^^^^^^^^^^^^^^
#
# A point is the mean of a configuration in the table of the report, with two standard errors; in a race,
# those of its difference to the best. Points of configurations that have left the race are pale. Green is
# the best found, orange the default. Several knobs have a panel each.

command = 'python -S -c "print(0.2 + 0.1 * ({rho} - 1) ** 2 + 0.005 * {instance})"'
tune = [sys.executable, "-m", "semibandit", "tune", "--space", "0:3", "--default", "2.5"]
files = ["--state", folder / "knob", "--png", folder / "knob.png"]
subprocess.run([*tune, *files, command, *map(str, range(40))], check=True, stdout=subprocess.DEVNULL)
show(folder / "knob.png")
