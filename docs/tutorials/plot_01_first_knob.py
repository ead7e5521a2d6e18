r"""The first knob
==============

You have an algorithm with a knob, and instances that arrive one after another. For each of them you have
to turn the knob *before* you see the instance. At the end of this page you will have learned a good value
while doing so, and you will know what the learning has cost.

The algorithm here is the greedy one for knapsacks: sort the items by decreasing value / size\ :sup:`ρ`,
and pack what fits. The knob is ρ. At ρ = 0 only the value counts, at ρ = 1 it is the value per size, and
beyond that small items come first. Which ρ is best depends on the instances that you happen to get.
"""

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

ROUNDS = 1000
problems = list(sb.streams.knapsack("mixed", rounds=ROUNDS, n=50, seed=0))

# %%
# One instance, one run
# ---------------------
#
# Let us take the first instance and run the greedy algorithm once, at ρ = 1. Its loss is the share of the
# attainable value that was missed, so 0 is perfect:

problem = problems[0]
print("loss at ρ = 1:", round(problem.loss(1.0), 4))

# %%
# The same run can tell more than that. As long as ρ moves so little that the same items are packed, the
# loss stays the same; where that ends can be computed from the run. This is what ``reveal`` does: it
# returns the loss on the *whole interval* around ρ.

seen = problem.reveal(1.0)
print(seen)

# %%
# Drawn over the whole knob, the loss of this instance is a staircase. We pay for one run to compute one
# point of it, and get the shaded step for free.

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
sb.plots.loss_function(problem, 1.0, ax)

# %%
# Learning, round by round
# ------------------------
#
# A learner is asked for a value, and told what the run has shown. That is all there is to it. The learner
# keeps a density over the knob, draws its next value from it, and moves weight away from what was bad.

learner = sb.Exp3Set(sb.Interval(0, 10), seed=0)
paid = []

for problem in problems:
    trial = learner.ask()  # which ρ for the next instance?
    seen = problem.reveal(trial.rho)  # run the algorithm with it
    learner.tell(trial, seen)  # what the run has shown
    paid.append(seen(trial.rho))  # what we had to pay

recommended = learner.recommend()
print(f"to deploy: ρ = {recommended.rho:.3f}, which stands for", np.round(recommended.interval, 3))
print("mean loss there:", recommended.evidence)

# %%
# ``recommend`` is the value to deploy, with the interval that it stands for, and with the evidence: the
# mean loss that was paid in that neighbourhood, its standard error, and in how many rounds.
#
# What has it cost?
# -----------------
#
# The yardstick is the best *fixed* ρ in hindsight, which nobody could know in advance. The package
# computes it exactly, from the whole staircases of all instances:

best = sb.best_in_hindsight(problems)
fixed = sum(problem.loss(1.0) for problem in problems)
print(f"always ρ = 1                 {fixed:7.1f}")
print(f"the learner, while learning  {sum(paid):7.1f}")
print(f"the best fixed ρ = {best.rho:.3f}     {best.mean_loss * ROUNDS:7.1f}")

# %%
# The difference between the last two is the *regret*. A learner that never learned would have a regret
# that grows in a straight line; here the curve flattens while the density gathers around the best ρ. The
# loop above is so common that there is a function for it, ``sb.play``, which also keeps a history to draw
# from.

history = sb.play(sb.Exp3Set(sb.Interval(0, 10), seed=0), problems)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
sb.plots.regret(history, left)
never = np.cumsum([problem.loss(1.0) - problem.loss(best.rho) for problem in problems])
left.plot(np.arange(1, ROUNDS + 1), never, color="0.5", ls="--", label="always ρ = 1")
left.legend(frameon=False)
sb.plots.density(history, right)

# sphinx_gallery_thumbnail_number = 1

# %%
# With the seed above both loops have made the same draws, so they have paid the same:

print(paid == history.loss.tolist())

# %%
# Can we trust it without the hindsight?
# --------------------------------------
#
# In practice you have no staircases of all instances, so you cannot compute the regret. But the learner
# can bound it from what it has seen itself, together with a measure of how the steps of different
# instances are spread over the knob (their *dispersion*):

certificate = learner.certificate(sb.dispersion.measure(problems))
print(f"regret, which we know here   {history.regret()[-1]:5.1f}")
print(f"what the learner vouches for {certificate.value:5.1f}")

# %%
# Try next
# --------
#
# - Draw with another seed, ``sb.Exp3Set(..., seed=1)``: how much does the regret differ?
# - Tell the learner less: ``learner.tell(trial, problem.loss(trial.rho))`` is a single loss, without an
#   interval. ``sb.play(learner, problems, feedback="bandit")`` does that.
# - Tell it more: ``sb.play(learner, problems, feedback="full")`` shows it the whole staircase of each
#   instance, and ``sb.play(learner, problems, probes=3)`` three further looks at it. What does that do to
#   the regret? (Make a new learner for each game: the one above has learned already.)
# - Another stream, ``sb.streams.knapsack("uncorrelated", ...)``, has another best ρ.

plt.show()
