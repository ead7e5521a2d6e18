"""A study that workers share
==========================

A learner lives in one process. In production there are many: workers that come and go, crash, and know
nothing of each other, but turn the same knob. A *study* is a learner that they share, and that outlives
them. This page starts one in an SQLite file, puts four processes to work on it, loses one of them, and
looks at it through the service, as the page in a browser does. Needs ``pip install
'semibandit[serve,plot]'``.
"""

import atexit
import json
import subprocess
import sys
import tempfile
import textwrap
import time
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# Beginning it
# ------------
#
# A study has an address and a name. Whoever comes first says where the knob lives; all others just join.

folder = Path(tempfile.mkdtemp(prefix="study-"))
storage = f"sqlite:///{folder}/tuning.db"

study = sb.Study(storage, "packing", space=sb.Interval(0, 10), seed=0)
print(study)

# %%
# What a worker does
# ------------------
#
# A worker asks the study for a trial, which is then his for a while: the *lease*. He runs the algorithm,
# and tells what he has seen. Here he also tells what the value in use before, ρ = 1, would have cost on
# the same instance, so that the page can compare. It is an ordinary program:

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
# The service
# -----------
#
# ``semibandit serve --storage sqlite:///tuning.db`` offers the studies of a store over HTTP, to workers
# on machines that cannot open the file, and to people: the address that it prints is a page to watch.
# (``--port 0`` takes any free port.)

service = subprocess.Popen(
    [sys.executable, "-m", "semibandit", "serve", "--storage", storage, "--port", "0"],
    stdout=subprocess.PIPE, text=True,
)  # fmt: skip
atexit.register(service.kill)  # whatever happens below
greeting = service.stdout.readline()
url = greeting.split()[-1]
print(greeting.replace(str(folder), "..."))

# %%
# A worker that dies
# ------------------
#
# Workers crash. This one asks for a trial and is gone before it can tell; its lease is one second.

CRASH = f"""\
import os, semibandit as sb
sb.Study({storage!r}, "packing", worker="unlucky").ask(lease=1)
os._exit(1)
"""
subprocess.run([sys.executable, "-c", CRASH])
print([(lease.worker, f"ρ = {lease.rho:.3f}") for lease in study.pending])

# %%
# Four at work
# ------------
#
# Two workers open the file, two go through the service. They share nothing but the study.

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
# What the study knows
# --------------------
#
# Our own ``study`` has not moved, but it reads what is new whenever it is looked at. All rounds are in
# its history, with who played them. The trial of the unlucky worker was forgotten when somebody asked
# after its lease had run out; nothing else was lost.

rounds = study.history()
print(Counter(each.worker for each in rounds))
print([(each.worker, each.failure) for each in rounds if each.forgotten])
print(f"to deploy: ρ = {study.recommend().rho:.3f}")

# %%
# The page
# --------
#
# Open the service's address in a browser and you see the list of studies; behind each is a page that
# follows it live. What the page draws it gets from ``/api/studies/1/view``, and so can we:

with urlopen(f"{url}/api/studies/{study.id}/view") as answer:
    view = json.load(answer)
print(view["told"], "rounds told,", view["forgotten"], "forgotten,", view["pending"], "pending")
print(textwrap.fill(view["certificate"], 88))

# %%
# Its columns are portraits of the study on the way. Above: the mean loss of late, of all rounds, and of ρ
# = 1 on the same instances. Below: the density, and on it the value that was recommended at the time.

columns = view["columns"]
told = [column["told"] for column in columns]
masses = np.array([column["masses"] for column in columns])
line = np.linspace(*view["line"], masses.shape[1] + 1)

fig, (above, below) = plt.subplots(2, 1, figsize=(9, 7), sharex=True, layout="constrained")
for name, label, style in (
    ("moving", "of late", {"color": "tab:blue", "alpha": 0.4}),
    ("mean", "all rounds", {"color": "tab:blue"}),
    ("default", "ρ = 1", {"color": "0.4", "ls": "--"}),
):
    above.plot(told, [column[name] for column in columns], label=label, **style)
above.set(ylabel="mean loss", title=f"The study {view['name']!r}")
above.legend(frameon=False)
edges = np.append(told, told[-1] + 1)
below.pcolormesh(edges, line, np.sqrt(masses * masses.shape[1]).T, cmap="Blues")
below.plot(told, [column["rho"] for column in columns], color="tab:orange", label="recommended")
below.set(xlabel="rounds", ylabel="ρ")
below.legend(frameon=False)

# %%
# Back in time
# ------------
#
# A study *is* its log of events, and the learner a replay of it. So one can go back to any event, ask
# what was believed then, and ask what another learner would believe today. (The page has a slider for
# it.)

fig, ax = plt.subplots(figsize=(9, 3.6), layout="constrained")
for event in (100, 300, study.n_events):
    density = study.at(event).density()
    ax.stairs(density.values, density.edges, label=f"after event {event}")
ax.set(xlim=(1.5, 4), xlabel="ρ", ylabel="density", title="What the study believed")
ax.legend(frameon=False)

# sphinx_gallery_thumbnail_number = 1

# %%
# The process that reads this page has a learner of its own, as has each worker and the service, and they
# agree to the bit:

with urlopen(f"{url}/api/studies/{study.id}/recommend") as answer:
    print(json.load(answer)["rho"] == study.recommend().rho)
service.terminate()
service.wait()

# %%
# Try next
# --------
#
# - Machines instead of processes: ``postgresql://...`` in the place of ``sqlite:///...``, or a service
#   with ``--token-file``.
# - ``semibandit study show packing --storage ...`` prints where a study stands, ``export`` its rounds as
#   a table.
# - ``semibandit tune --storage ... --study ...`` does the work of WORKER for any command.
# - Kill the service in the middle: clients try again until it is back.
# - What is promised when what dies is in :doc:`/studies`.

plt.show()
