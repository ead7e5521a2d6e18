"""
The first knob
==============

A learner picks a parameter before it sees an instance, and learns from what the run has shown.
"""

import semibandit as sb

stream = sb.streams.knapsack("mixed", rounds=300, n=50, seed=0)
learner = sb.Exp3Set(sb.Interval(0, 10), seed=0)
history = sb.play(learner, stream)
print(learner.recommend())

# %%
# The regret so far.

import matplotlib.pyplot as plt

sb.plots.regret({"semi-bandit": history}, plt.figure().gca())
