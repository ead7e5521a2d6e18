"""Learn the parameter of any function: python examples/black_box.py

The function is in schedule.py and does not use semibandit. Its output is an order of jobs. Bisection finds
the interval of parameters with the same order, and the learner learns the loss on the whole interval.
"""

import statistics

import schedule

import semibandit as sb

ROUNDS = 500
SPACE = sb.Interval(0, 3)

jobs = [schedule.make(seed) for seed in range(ROUNDS)]
stream = [sb.BlackBox(schedule.schedule, instance, SPACE, schedule.cost) for instance in jobs]
learner = sb.Exp3Set(SPACE, horizon=ROUNDS, seed=0)
paid = []

for problem in stream:
    trial = learner.ask()
    seen = problem.reveal(trial.rho)
    learner.tell(trial, seen)
    paid.append(seen(trial.rho))

runs = [problem.n_runs for problem in stream]
rho, _ = learner.recommend()
print(f"runs a round: {statistics.mean(runs):.1f} on average, {max(runs)} at most")
print(f"mean loss of the first hundred rounds {statistics.mean(paid[:100]):.4f}")
print(f"             of the last hundred      {statistics.mean(paid[-100:]):.4f}")
for value in (1.0, rho):
    print(f"mean loss of rho = {value:.3f} throughout  {statistics.mean(p.loss(value) for p in stream):.4f}")
