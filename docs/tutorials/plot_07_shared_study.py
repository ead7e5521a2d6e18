"""Share a study between workers
=============================

A learner lives in one process. A *study* is a learner that many workers share and that survives them. This
tutorial creates a study in an SQLite file, lets four processes work on it, loses one of them, and reads it
through the service. It needs ``pip install 'semibandit[serve,plot]'``.
"""

import atexit
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# Create the study
# ----------------
#
# A study has an address and a name. The first process gives the space; the others join.

folder = Path(tempfile.mkdtemp(prefix="study-"))
storage = f"sqlite:///{folder}/tuning.db"

study = sb.Study(storage, "packing", space=sb.Interval(0, 10), seed=0)
print(study)

# %%
# Write a worker
# --------------
#
# A worker asks for a trial, which is reserved for it for a number of seconds, the *lease*. It runs the
# algorithm and tells the feedback. Here it also tells the loss of the previously used value, ρ = 1, on the
# same instance, for comparison:

WORKER = """\
import sys

import semibandit as sb

where, name, seed = sys.argv[1:]
if where.startswith("http"):
    study = sb.Client(where, study="packing", worker=name)
else:
    study = sb.Study(where, "packing", worker=name)

for problem in sb.streams.knapsack("mixed", rounds=150, n=50, seed=int(seed)):
    trial = study.ask(lease=600)
    seen = problem.reveal(trial.rho)
    study.tell(trial, seen, info={"default_loss": problem.loss(1.0)})
"""
(folder / "worker.py").write_text(WORKER)

# %%
# Start the service
# -----------------
#
# ``semibandit serve --storage sqlite:///tuning.db`` serves the studies of a store over HTTP, to workers on
# other machines and, as a page, to browsers. (``--port 0`` takes any free port.)

service = subprocess.Popen(
    [sys.executable, "-m", "semibandit", "serve", "--storage", storage, "--port", "0"],
    stdout=subprocess.PIPE, text=True,
)  # fmt: skip
atexit.register(service.kill)  # also after an error below
greeting = service.stdout.readline()
url = greeting.split()[-1]
print(greeting.replace(str(folder), "..."))

# %%
# Lose a worker
# -------------
#
# This worker asks for a trial with a lease of one second and crashes before it tells.

CRASH = f"""\
import os, semibandit as sb
sb.Study({storage!r}, "packing", worker="unlucky").ask(lease=1)
os._exit(1)
"""
subprocess.run([sys.executable, "-c", CRASH])
print([(lease.worker, f"ρ = {lease.rho:.3f}") for lease in study.pending])

# %%
# Run four workers
# ----------------
#
# Two workers open the file, two use the service.

start = time.perf_counter()
workers = [
    subprocess.Popen([sys.executable, folder / "worker.py", where, name, str(seed)])
    for seed, (where, name) in enumerate(
        [(storage, "file 1"), (storage, "file 2"), (url, "web 1"), (url, "web 2")], start=1
    )
]
print("exit codes", [worker.wait() for worker in workers])
print(f"{time.perf_counter() - start:.0f} seconds")

# %%
# Read the history
# ----------------
#
# Our own ``study`` reads new events whenever it is used. Its history has all rounds with their workers. The
# trial of the crashed worker was forgotten at the first ask after its lease had expired; nothing else was
# lost.

rounds = study.history()
print(Counter(each.worker for each in rounds))
print([(each.worker, each.failure) for each in rounds if each.forgotten])
print(f"to deploy: ρ = {study.recommend().rho:.3f}")

# %%
# Read the page
# -------------
#
# The address of the service shows the list of studies in a browser, each with a live page. The data of a page
# come from ``/api/studies/1/summary``; in Python, from ``study.summary()``:

with urlopen(f"{url}/api/studies/{study.id}/summary") as answer:
    counts = json.load(answer)["counts"]
print(counts["told"], "rounds told, mean loss", round(counts["loss"] / counts["n_losses"], 4))

# %%
# There is a summary for each past event. Above: the mean loss of all rounds, and of ρ = 1 on the same
# instances. Below: the density and the recommended value.

summaries = [study.summary(int(event)) for event in np.linspace(50, study.n_events, 40)]
told = np.array([each.counts.told for each in summaries])
masses = np.array([each.masses() for each in summaries])
line = np.linspace(*summaries[0].line, masses.shape[1] + 1)

fig, (above, below) = plt.subplots(2, 1, figsize=(9, 7), sharex=True, layout="constrained")
above.plot(told, [each.counts.loss / each.counts.n_losses for each in summaries], label="all rounds")
defaults = [each.counts.defaults / each.counts.n_defaults for each in summaries]
above.plot(told, defaults, color="0.4", ls="--", label="ρ = 1")
above.set(ylabel="mean loss", title=f"The study {study.name!r}")
above.legend(frameon=False)
below.pcolormesh(np.append(told, told[-1] + 1), line, np.sqrt(masses * masses.shape[1]).T, cmap="Blues")
below.plot(told, [each.rho for each in summaries], color="tab:orange", label="recommended")
below.set(xlabel="rounds", ylabel="ρ")
below.legend(frameon=False)

# %%
# Go back in time
# ---------------
#
# A study is its log of events, and the learner is a replay of it. So the learner at any past event can be
# restored. (The page has a slider for it.)

fig, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
for event in (100, 300, study.n_events):
    density = study.at(event).density()
    ax.stairs(density.values, density.edges, label=f"after event {event}")
ax.set(xlim=(1.5, 4), xlabel="ρ", ylabel="density", title="Density after three events")
ax.legend(frameon=False)

# sphinx_gallery_thumbnail_number = 1

# %%
# This process, each worker and the service have learners of their own, which agree to the bit:

with urlopen(f"{url}/api/studies/{study.id}/recommend") as answer:
    print(json.load(answer)["rho"] == study.recommend().rho)
service.terminate()
service.wait()

# %%
# Try next
# --------
#
# - For several machines use ``postgresql://...``, or a service with ``--token-file``.
# - ``semibandit study show packing --storage ...`` prints the state of a study, ``export`` its rounds.
# - ``semibandit tune --storage ... --study ...`` replaces WORKER for any command.
# - Kill the service while workers run: clients retry until it is back.
# - :doc:`/studies` lists what a crash can lose.

plt.show()
