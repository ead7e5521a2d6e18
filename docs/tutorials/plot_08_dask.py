"""Fitting a log on a Dask cluster
===============================

A log has many instances that were solved in the past. This page finds the parameter that would have been
best on the log, exactly, its gain over the parameter in use, and confidence bounds for future instances, on
a Dask cluster. Needs ``pip install 'semibandit[dask,plot]'``.
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
# The instances are knapsacks in the format ``.kp``, one per file: the number of items and the capacity,
# then a value and a size per line. This page generates them.

folder = Path(tempfile.mkdtemp(prefix="log-"))
for t, problem in enumerate(sb.streams.knapsack("mixed", rounds=2000, n=50, seed=0)):
    items = zip(problem.values.tolist(), problem.sizes.tolist(), strict=True)
    lines = [f"{problem.values.size} {problem.capacity!r}", *(f"{value!r} {size!r}" for value, size in items)]
    (folder / f"{t:05}.kp").write_text("\n".join(lines) + "\n")

# %%
# With ``on_demand`` files are read when they are needed. Workers get a list of paths and read the files
# themselves, so they need access to them.

log = sb.streams.read_knapsacks(folder, on_demand=True)
print(len(log), "instances; the first is", log[0])

# %%
# A cluster
# ---------
#
# Two worker processes on this machine. Any cluster with a ``dask.distributed.Client`` works: SSH,
# Kubernetes, a batch system. Workers need semibandit installed.
#
# ``distributed.LocalCluster`` works as well, but imports the script again in its workers: in a script, use
# it below ``if __name__ == "__main__":``.

cluster = SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
client = Client(cluster)
client.wait_for_workers(2)
print(len(client.nthreads()), "workers")

# %%
# Fitting
# -------
#
# Workers add the loss functions of their files, and the total is minimised over all ρ. ``default`` is the
# value in use. Every fifth instance is *held out*: it is used to check the parameter, not to choose it.

result = sb.fit(log, client=client, default=1.0, holdout=0.2)
print(f"best ρ               {result.rho:.5f}, and all of", [round(end, 5) for end in result.interval])
print(f"mean loss            {result.mean_loss:.4f} on {result.count} instances")
print(f"expected loss        {result.confidence.loss} ({result.confidence.level:.0%})")
print(f"how much worse ρ = 1 {result.confidence.gap}")

# %%
# The plot shows the mean loss at every ρ. The band holds for all ρ at once, and is much wider than the
# bound on the chosen parameter from the instances held out.

fig, ax = plt.subplots(figsize=(9, 4.5), layout="constrained")
sb.plots.fit(result, ax, default=1.0)

# %%
# The same, to the bit
# --------------------
#
# Floating-point sums depend on their order, which is random on a cluster. So sums are integers times a
# power of two, and are rounded once at the end. The result equals that of a single process in every bit.

alone = sb.fit(log, default=1.0, holdout=0.2)
print(alone.to_dict() == result.to_dict())

# %%
# Memory
# ------
#
# Each worker adds sums of its own, and only the total is sent to this process. It takes about 200 bytes
# per break of the loss functions:

print(f"{result.breaks:,} breaks")

client.close()
cluster.close()

# %%
# Try next
# --------
#
# - Without Dask: ``sb.fit(log, n_jobs=-1)`` uses the cores of this machine.
# - On the command line: ``semibandit fit knapsack --files 'log/*.kp' --scheduler tcp://head:8786
#   --holdout 0.2 --png fit.png``.
# - Add the results of two logs: ``sb.Fit.of(result.partial + other.partial)``.
# - Skip files that cannot be read: ``sb.fit(..., unreadable="skip")``; ``result.unreadable`` lists them.
# - Use a log as the prior of a learner: ``sb.Exp3Set(space, prior=density)``.
# - Exactness, bounds and cost: :doc:`/scale`.

plt.show()
