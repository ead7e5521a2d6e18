"""
How to read each plot
=====================

Every function of ``semibandit.plots`` draws into the axes that it is given, or into new ones, and returns
them. The command line draws the same pictures with ``--png``: ``semibandit play`` an overview of games,
``semibandit fit`` the mean loss of a log, ``semibandit dispersion`` where losses break, ``semibandit tune``
what is known of a command's knob. All of it needs the extra ``plot``.

The pictures below are of short games, so that this page is built quickly.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

import semibandit as sb

folder = Path(tempfile.mkdtemp())


def axes(**size):
    """New axes on white."""
    return plt.subplots(layout="constrained", **size)[1]


def show(path, width=9.0):
    """A picture from a file."""
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
# What learning has cost so far: the losses paid, minus those of the best fixed parameter in hindsight.
# *Flat is good*: the learner then plays as well as that parameter. A curve that keeps rising in a straight
# line has learned nothing more. It may fall, too, in rounds where what was played happened to be better
# than the best fixed parameter, and below 0 where the best parameter moves. Behind a name stands what the
# learner's certificate says: its *expected* regret is at most that.

sb.plots.regret(games, axes(), certificates=certified)

# %%
# With ``blocks=s`` there is a dashed curve as well, against the best sequence of s parameters, each for a
# block of rounds. Where it is far above the other, the best parameter moves, and ``drift="auto"`` is worth
# a try.

wandering = sb.streams.synthetic(600, drift=True, seed=0)
plain = sb.play(sb.Exp3Set(sb.Interval(0, 1), seed=0), wandering)
sb.plots.regret(plain, axes(), blocks=4)

# %%
# ``plots.density``
# ^^^^^^^^^^^^^^^^^
#
# From which density the parameter was drawn, round by round; darker is likelier. The dashed line is the
# best fixed parameter in hindsight. The colour is the *root* of the density over the even one, so that what
# is unlikely and still alive is seen. Healthy: all is pale at first, then a band around the dashed line
# grows dark and narrow. Two bands: two valleys, between which the learner has not decided. A dark band away
# from the line: the game has locked in at another place; look at the regret whether that costs anything.

sb.plots.density(games["semi-bandit"], axes())

# %%
# ``plots.widths``
# ^^^^^^^^^^^^^^^^
#
# How much of the line each run has shown, on a log axis, with the running median. Wide intervals are why
# semi-bandit feedback learns quickly. Where the median is far below a 64th of the space, an interval says
# little more than a single loss does.

sb.plots.widths(games["semi-bandit"], axes())

# %%
# ``plots.loss_function``
# ^^^^^^^^^^^^^^^^^^^^^^^
#
# One instance: its loss at every parameter, and shaded what a run at one of them reveals. Steps that are
# many and high make a rough loss, where intervals gain most over single losses.

sb.plots.loss_function(stream[3], 2.3, axes())

# %%
# ``plots.regret(..., by="run")``
# ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#
# Regret over the runs of the algorithm instead of over rounds, for games in which a round takes several,
# here with three probes. It says what further looks are worth at equal cost. The axis is logarithmic.

probing = sb.play(sb.Exp3Set(sb.Interval(0, 10), seed=0), stream, probes=3)
sb.plots.regret({"semi-bandit, three probes": probing, "bandit, no probe": games["bandit"]}, axes(), by="run")

# %%
# ``plots.overview``
# ^^^^^^^^^^^^^^^^^^
#
# All of that on one page; it is what ``semibandit play knapsack --png game.png`` writes. Top left regret,
# top right the density of the game with semi-bandit feedback, bottom left the last instance, bottom right
# the widths, or regret by runs where a round took several.

sb.plots.overview(games, folder / "game.png", "500 knapsacks", certificates=certified)
show(folder / "game.png")

# %%
# Clusterings
# -----------
#
# ``plots.dendrogram``
# ^^^^^^^^^^^^^^^^^^^^
#
# The cluster tree of a linkage problem at one ρ: heights are the distances at which clusters merge. Dots
# are points, in the colours of their true classes. In a good tree each colour is below one branch. Above
# stands the loss. ``semibandit play linkage --png`` draws the tree at both ends of the space and at the
# parameter to deploy.

clusterings = sb.streams.clustering("elongated", rounds=4, seed=0)
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
sb.plots.dendrogram(clusterings[0], 0.1, left)
sb.plots.dendrogram(clusterings[0], 1.0, right)

# %%
# Two parameters
# --------------
#
# On ``Strips`` there are a ρ and an α. The rows are the values of α.

plane = sb.streams.digits_two_metrics(60, n_rows=5, seed=0)
two = sb.Exp3Set(plane[0].space, seed=0)
game = sb.play(two, plane)
best = two.recommend()

# %%
# ``plots.plane.density``
# ^^^^^^^^^^^^^^^^^^^^^^^
#
# The density over the square when the game is over. The cross is the best point in hindsight, the ring what
# the learner recommends. After so few rounds most of the square is still alive.

sb.plots.plane.density(game, axes(), chosen=best)

# %%
# ``plots.plane.marginal``
# ^^^^^^^^^^^^^^^^^^^^^^^^
#
# The density of one parameter through time, over all values of the other: ``of="alpha"`` or ``of="rho"``.
# The dashed line is the best one.

sb.plots.plane.marginal(game, axes(), of="alpha")

# %%
# ``plots.plane.loss``
# ^^^^^^^^^^^^^^^^^^^^
#
# A function over the square, here the mean loss of all instances: *dark is a high loss*. Cross and ring as
# above.

mean, _ = sb.game.mean_loss(plane)
sb.plots.plane.loss(mean, plane[0].space, axes(), history=game, chosen=best)

# %%
# ``plots.plane.instance``
# ^^^^^^^^^^^^^^^^^^^^^^^^
#
# The loss of one instance. The dot is what was played, outlined in red is what that run has revealed: a set
# of intervals, in one row or in several.

sb.plots.plane.instance(plane[0], 0.5, 0.5, axes())

# %%
# Knobs
# -----
#
# Several knobs with names. One of them runs along the rows; the others make the rows.


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
# ``plots.rows.across``
# ^^^^^^^^^^^^^^^^^^^^^
#
# The density over the other knobs, a band for each row: here the row of ``good`` grows dark.

sb.plots.rows.across(history, axes())

# %%
# ``plots.rows.along``
# ^^^^^^^^^^^^^^^^^^^^
#
# The density of the knob along the rows, all rows together, on its own scale.

sb.plots.rows.along(history, axes())

# %%
# A log
# -----
#
# ``plots.fit``
# ^^^^^^^^^^^^^
#
# What ``sb.fit`` has found, and ``semibandit fit --png`` draws. The black line is the mean loss of the log
# at every parameter. The band around it holds the *expected* loss of instances of the same kind, everywhere
# at once, with a probability of 95 %. The orange stretch holds the best parameters of the log; dashed is
# the default. Where the band is wider than the difference between the two, this picture alone does not tell
# that the default is worse: hold something out (``holdout=0.2``) and look at ``result.confidence.gap``.

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
# How many of the T losses break in the worst interval of length ε. The thick line is what was measured,
# pale ones the same after T/2, T/4, ... rounds. Dispersed means that the thick line stays below the dashed
# one, C·ε·T, down to small ε; where it crosses is β, the further left the better. A line that stays level
# to the left says that many losses break at one and the same place. Green is a theorem's bound, dotted what
# evenly spread breaks would have.

sb.plots.dispersion.counts(measured, axes())

# %%
# ``plots.dispersion.histogram``
# ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
#
# Where the losses break. The orange stretch is the worst interval of a length of 1/√T of the space.

sb.plots.dispersion.histogram(measured, axes())

# %%
# ``result.plot("x.png")``, ``plots.dispersion.plot`` and ``semibandit dispersion --png`` put both panels on
# one page.

sb.plots.dispersion.plot(measured, folder / "dispersion.png", title="500 knapsacks")

# %%
# A command
# ---------
#
# ``plots.tuning.picture``
# ^^^^^^^^^^^^^^^^^^^^^^^^
#
# What ``semibandit tune --png`` draws. Above, a dot is a run: its value of ρ and its loss. Dots scatter up
# and down as instances differ. The blue line joins the means of the values tried, with a band of two
# standard errors. Green is the value to deploy, orange the default with its mean. Believe a valley only
# where the band leaves it. Below is the density that the next ρ is drawn from; of a race it is where the
# runs were made. ``plots.tuning.knob`` is the upper panel alone.

from semibandit.plots import tuning as pictures
from semibandit.tuning import Command, Tuner

command = Command('python -S -c "print(0.2 + 0.1 * ({rho} - 1) ** 2 + 0.005 * {instance})"')
with Tuner(command, sb.Interval(0, 3), folder / "knob.db", default=2.5) as tuner:
    list(tuner.rounds([str(i) for i in range(40)]))
    pictures.picture(tuner, folder / "knob.png")
show(folder / "knob.png")
