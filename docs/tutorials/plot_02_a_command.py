"""
A command with ``semibandit tune``
==================================

You have a program, in any language, with an option that you never know how to set, and files that it works on.
You need no Python to tune it: ``semibandit tune`` runs the program, reads a number from what it prints, and says
which value to deploy, and whether that is any better than the one you use now.

This page writes a small program and some files into a temporary folder, and then types commands there. The
program stands for your own.
"""

import random
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt

folder = Path(tempfile.mkdtemp(prefix="semibandit-"))

# %%
# The program
# -----------
#
# A shop forecasts tomorrow's sales from those of the days before, by *exponential smoothing*: the forecast moves
# towards each day's sales by a share α of the difference. A large α follows quickly, and follows the noise as
# well; a small one is calm, and late. So far everybody has used α = 0.5.
#
# The program reads the sales from a file, and prints one number in the end, the mean error of its forecasts
# relative to the mean sales. That is all that ``semibandit tune`` asks of a program: the last line of its output
# is the *loss*.

(folder / "forecast.py").write_text(
    '''\
import sys

alpha, path = float(sys.argv[1]), sys.argv[2]
sales = [float(line) for line in open(path)]
forecast, error = sales[0], 0.0
for day in sales[1:]:
    error += abs(day - forecast)
    forecast += alpha * (day - forecast)
print("forecast for tomorrow:", round(forecast, 1))
print(error / sum(sales[1:]))
'''
)

# %%
# The files: the sales of 80 shops. What a shop sells on a day scatters by a fifth around a level that wanders
# slowly.

(folder / "sales").mkdir()
for shop in range(80):
    chance = random.Random(shop)
    level, lines = chance.uniform(20, 200), []
    for _ in range(60):
        level *= chance.lognormvariate(0, 0.04)
        lines.append(f"{level * chance.lognormvariate(0, 0.2):.1f}\n")
    (folder / "sales" / f"shop-{shop:02}.txt").write_text("".join(lines))


def run(*words: str) -> None:
    """Type a command in the folder, and print what it says."""
    print("$", *(f'"{word}"' if " " in word else word for word in words))
    here = {"python": [sys.executable], "semibandit": [sys.executable, "-m", "semibandit"]}
    done = subprocess.run([*here[words[0]], *words[1:]], cwd=folder, capture_output=True, text=True)
    print(done.stdout or done.stderr)


run("python", "forecast.py", "0.5", "sales/shop-00.txt")

# %%
# Tuning it
# ---------
#
# ``{rho}`` stands for the knob and ``{instance}`` for a file. ``--space`` says where the knob lives, ``--default``
# is the value in use, and ``--state`` names the file that keeps all runs.

COMMAND = f"{sys.executable} -S forecast.py {{rho}} {{instance}}"  # -S: Python starts faster

run(
    "semibandit", "tune", "--space", "0:1", "--default", "0.5", "--state", "knob.json", "--png", "knob.png",
    COMMAND, "sales",
)  # fmt: skip

# %%
# What happened: with a fixed set of files ``tune`` holds a *race*. Some values of α run on the same few files,
# so that what makes a file hard cancels; the worse half drops out; new values come in beside the leader; and so
# on. The closing text has three parts.
#
# - *The value to deploy*, with the stretch of values that it stands for, and the mean loss there.
# - *Against the default*: the difference to α = 0.5 on the files that were run with both. "surely within" is an
#   interval that holds at the 95 % level however often you look. It is wide where runs are few; while it
#   contains 0 the advice is careful: keep what you have, or go on.
# - *The standings*: each value with its mean loss, the standard error of its difference to the leader, and its runs.
#
# ``--png`` has drawn the same:

fig, ax = plt.subplots(figsize=(9, 6.5), layout="constrained")
ax.imshow(plt.imread(folder / "knob.png"))
ax.set_axis_off()

# %%
# Going on
# --------
#
# The state file has all runs, a line each. The same command again does not begin anew: it goes on where it
# stopped, also after Ctrl-C, a crash, or a power cut. Here we allow it more runs, so that it can tell.

run(
    "semibandit", "tune", "--space", "0:1", "--default", "0.5", "--state", "knob.json", "--runs", "600",
    "--png", "more.png", COMMAND, "sales",
)  # fmt: skip
