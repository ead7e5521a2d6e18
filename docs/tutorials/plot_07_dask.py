"""Fitting a log on a Dask cluster
===============================

You have a log: many instances that were solved in the past, in files. Nothing has to be learned online
here; you want to know which parameter *would have been* best, exactly, how much it would have gained over
the one in use, and how far that can be trusted for instances to come. And the log is large, so the work
should be done by many processes. Needs ``pip install 'semibandit[dask,plot]'``.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from distributed import Client, SubprocessCluster

import semibandit as sb

# %%
# A log
# -----
#
# The instances are knapsacks, one in a file: the number of items and the capacity, then a value and a
# size a line. (This page makes them up; the format ``.kp`` is a usual one for knapsacks.)

folder = Path(tempfile.mkdtemp(prefix="log-"))
for t, problem in enumerate(sb.streams.knapsack("mixed", rounds=2000, n=50, seed=0)):
    items = zip(problem.values.tolist(), problem.sizes.tolist(), strict=True)
    lines = [f"{problem.values.size} {problem.capacity!r}", *(f"{value!r} {size!r}" for value, size in items)]
    (folder / f"{t:05}.kp").write_text("\n".join(lines) + "\n")

# %%
# With ``on_demand`` the reader opens no file in advance and keeps nothing. What travels to a worker is a
# list of paths; he reads the files himself, so they must be where he is, too.

log = sb.streams.read_knapsacks(folder, on_demand=True)
print(len(log), "instances; the first is", log[0])

# %%
# A cluster
# ---------
#
# Two worker processes on this machine. Anything else that has a ``dask.distributed.Client`` will do:
# machines over SSH, Kubernetes, a batch system. Workers need semibandit installed.
#
# (``distributed.LocalCluster`` is better known, and works as well. But it starts its workers by importing
# your script once more, so in a script it has to stand below ``if __name__ == "__main__":``. In a
# notebook this does not matter.)

cluster = SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
client = Client(cluster)
client.wait_for_workers(2)
print(len(client.nthreads()), "workers")

# %%
# Fitting
# -------
#
# Workers add up the loss functions of their files, the sums meet in a tree, and the total is minimised
# over the whole knob. ``default`` is the value in use. Every fifth instance is *held out*: it has no say
# in the choice, and serves to check it.

result = sb.fit(log, client=client, default=1.0, holdout=0.2)
print(f"best ρ               {result.rho:.5f}, as is all of", [round(end, 5) for end in result.interval])
print(f"mean loss            {result.mean_loss:.4f} on {result.count} instances")
print(f"to be expected       {result.confidence.loss} ({result.confidence.level:.0%})")
print(f"how much worse ρ = 1 {result.confidence.gap}")

# %%
# The picture has the mean loss at *every* ρ, not only where somebody has looked. The band is for all of
# them at once, and much wider than what the instances held out say of the one that was chosen.

fig, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
sb.plots.fit(result, ax, default=1.0)

# %%
# The same, to the bit
# --------------------
#
# Floating-point sums depend on their order, and on a cluster nobody knows the order. So sums are kept as
# integers of as many digits as it takes, and rounded once in the end. The result on the cluster is that
# of a single process: not nearly, but in every bit of every number.

alone = sb.fit(log, default=1.0, holdout=0.2)
print(alone.to_dict() == result.to_dict())

# %%
# When the sum is too large
# -------------------------
#
# The sum of these losses breaks in many places:

print(f"{result.breaks:,} breaks")

# %%
# A log a million times as long would have a sum that no machine can hold. Beyond ``max_pieces`` it is not
# held: the log is read several times, and each time parts of the knob are ruled out that cannot have the
# minimum. Let us pretend that 500 pieces are all that fits. What is left of the mean loss is a small
# stretch around its minimum, and the answer is the same.

narrow = sb.fit(log, client=client, default=1.0, holdout=0.2, max_pieces=500)
print(narrow.passes, "passes instead of", result.passes)
print(narrow.interval == result.interval, narrow.mean_loss == result.mean_loss)
print("left of the knob:", [(round(lo, 3), round(hi, 3)) for lo, hi in narrow.function.domain])

client.close()
cluster.close()

# %%
# Try next
# --------
#
# - Without Dask: ``sb.fit(log, n_jobs=-1)`` takes the cores of this machine.
# - On the command line: ``semibandit fit knapsack --files 'log/*.kp' --scheduler tcp://head:8786
#   --holdout 0.2 --png fit.png``.
# - A log with files that cannot be read: ``sb.fit(..., unreadable="skip")``, and ``result.unreadable``
#   says which and why.
# - Start learning from a log instead of from nothing: ``sb.Exp3Set(space, prior=density)``, where the
#   density is high where the fit is good.
# - What is exact, what it costs, and a billion instances on paper: :doc:`/scale`.

plt.show()
