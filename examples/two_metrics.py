"""Learn how to mix two metrics and which linkage to use, then deploy what was learned on new instances.

Run: python examples/two_metrics.py
"""

import numpy as np

import semibandit as sb

ROUNDS, FRESH, ROWS = 2000, 500, 9

stream = sb.streams.digits_two_metrics(ROUNDS, n_rows=ROWS, seed=0)
learner = sb.Exp3Set(stream[0].space, horizon=ROUNDS, seed=0)
paid = 0.0
for problem in stream:
    trial = learner.ask()
    seen = problem.reveal(trial.rho, trial.alpha)  # the loss on all that has the same tree, in several rows
    learner.tell(trial, seen)
    paid += problem.loss(trial.rho, trial.alpha)
learned = learner.recommend()
print(f"mean loss while learning, {ROUNDS} rounds: {paid / ROUNDS:.4f}")

fresh = list(sb.streams.digits_two_metrics(FRESH, n_rows=ROWS, seed=1))


def mean(rho: float, alpha: float) -> float:
    return float(np.mean([problem.loss(rho, alpha) for problem in fresh]))


print(f"on {FRESH} new instances:")
name = f"learned, ρ = {learned.rho:.2f} and α = {learned.alpha:.2f}"
print(f"  {name:<40} {mean(learned.rho, learned.alpha):.4f}")
grid = np.linspace(0, 1, 11)
for name, values in {
    "pixels alone (α = 0), best of 11 ρ": [mean(rho, 0.0) for rho in grid],
    "embedding alone (α = 1), best of 11 ρ": [mean(rho, 1.0) for rho in grid],
    "single linkage (ρ = 0), best of 11 α": [mean(0.0, alpha) for alpha in grid],
    "complete linkage (ρ = 1), best of 11 α": [mean(1.0, alpha) for alpha in grid],
}.items():
    print(f"  {name:<40} {min(values):.4f}")
