r"""The first knob
==============

You have an algorithm with a knob, and instances that arrive one after another. You must set the knob for
each instance *before* you see it. This page learns a good value on the way, and measures the cost of
learning.

The algorithm is the greedy one for knapsacks: sort the items by decreasing value / size\ :sup:`ρ`, and pack
those that fit. The knob is ρ. At ρ = 0 only the value counts, at ρ = 1 the value per size, and for larger ρ
small items come first. The best ρ depends on your instances.
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
# Run the greedy algorithm once on the first instance, at ρ = 1. Its loss is the share of the attainable
# value that was missed, so 0 is perfect:

problem = problems[0]
print("loss at ρ = 1:", round(problem.loss(1.0), 4))

# %%
# The same run gives more information: the interval of ρ on which the same items are packed. The loss is the
# same there, and ``reveal`` returns it for this *whole interval*.

seen = problem.reveal(1.0)
print(seen)

# %%
# The loss of this instance is a step function of ρ. One run at ρ = 1 gives the whole shaded step.

fig, ax = plt.subplots(figsize=(8, 4), layout="constrained")
sb.plots.loss_function(problem, 1.0, ax)

# %%
# Learning, round by round
# ------------------------
#
# Ask the learner for a value, and tell it the feedback of the run. The learner keeps a density over the
# knob, draws the next value from it, and reduces the weight of bad values.

learner = sb.Exp3Set(sb.Interval(0, 10), seed=0)
paid = []

for problem in problems:
    trial = learner.ask()  # which ρ for the next instance?
    seen = problem.reveal(trial.rho)  # run the algorithm with it
    learner.tell(trial, seen)  # the feedback of the run
    paid.append(seen(trial.rho))  # the loss of this round

recommended = learner.recommend()
lo, hi = recommended.interval
print(f"to deploy: ρ = {recommended.rho:.3f}, as good as all of [{lo:.3f}, {hi:.3f})")
print("mean loss there:", recommended.evidence)

# %%
# ``recommend`` returns the value to deploy, its interval, and the evidence: the mean loss in that interval,
# its standard error, and the number of rounds.
#
# The cost of learning
# --------------------
#
# Compare with the best *fixed* ρ in hindsight. The package computes it exactly, from the whole loss
# functions of all instances:

best = sb.best_in_hindsight(problems)
fixed = sum(problem.loss(1.0) for problem in problems)
print(f"always ρ = 1                 {fixed:7.1f}")
print(f"the learner, while learning  {sum(paid):7.1f}")
print(f"the best fixed ρ = {best.rho:.3f}     {best.mean_loss * ROUNDS:7.1f}")

# %%
# The difference between the last two is the *regret*. Without learning it grows linearly; here the curve
# flattens while the density concentrates around the best ρ (dashed in the right plot). ``sb.play`` runs
# the loop above, and returns a history to plot.

history = sb.play(sb.Exp3Set(sb.Interval(0, 10), seed=0), problems)

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
sb.plots.regret(history, left)
never = np.cumsum([problem.loss(1.0) - problem.loss(best.rho) for problem in problems])
left.plot(np.arange(1, ROUNDS + 1), never, color="0.5", ls="--", label="always ρ = 1")
left.legend(frameon=False)
sb.plots.density(history, right)

# sphinx_gallery_thumbnail_number = 1

# %%
# With the same seed both loops make the same draws, so their losses are equal:

print(paid == history.loss.tolist())

# %%
# A bound without hindsight
# -------------------------
#
# In practice you do not have the loss functions of all instances, so you cannot compute the regret. The
# *certificate* bounds its expectation from the feedback that was told and the *dispersion* of the stream:
# how far the steps of different instances lie apart. The default learner has the smaller regret, and often a
# certificate that says nothing: here, that the regret is at most the sum of the losses paid.
# ``baseline=None`` has a larger regret, and a useful certificate.

dispersion = sb.dispersion.measure(problems)
for baseline in ("local", None):
    learner = sb.Exp3Set(sb.Interval(0, 10), baseline=baseline, high=1, seed=0)
    regret = sb.play(learner, problems).regret()[-1]
    print(
        f"baseline={baseline!r}: regret {regret:.1f}, certified {learner.certificate(dispersion).value:.1f}"
    )

# %%
# Try next
# --------
#
# - Use another seed, ``sb.Exp3Set(..., seed=1)``: how much does the regret differ?
# - Less feedback: ``learner.tell(trial, problem.loss(trial.rho))`` is a single loss, without an interval.
#   ``sb.play(learner, problems, feedback="bandit")`` does that.
# - More feedback: ``sb.play(learner, problems, feedback="full")`` reveals the whole loss function of each
#   instance, and ``sb.play(learner, problems, probes=3)`` three further intervals. How does the regret
#   change? (Make a new learner for each game.)
# - Another stream, ``sb.streams.knapsack("uncorrelated", ...)``, has another best ρ.

plt.show()
