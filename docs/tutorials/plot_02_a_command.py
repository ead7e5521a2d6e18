"""A command with ``semibandit tune``
==================================

You have a program, in any language, with an option that you never know how to set, and files that it
works on. You need no Python to tune it: ``semibandit tune`` runs the program, reads a number from what it
prints, and says which value to deploy, and whether that is better than the one you use now.

This page writes a small program and some files into a temporary folder, and then types commands there.
The program stands for your own. (It is in awk, which every Unix has; ``semibandit tune`` itself wants a
Unix, too.)
"""

import random
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt

folder = Path(tempfile.mkdtemp(prefix="semibandit-"))

# %%
# The program
# -----------
#
# A shop forecasts tomorrow's sales by *exponential smoothing*: the forecast moves towards each day's
# sales by a share α of the difference. A large α follows quickly, and follows the noise as well; a small
# one is calm, and late. So far everybody has used α = 1: tomorrow will be as today.
#
# The program reads sales from a file, a line for each day. It ends by printing the mean error of its
# forecasts, relative to the mean sales. That is all that ``semibandit tune`` asks of a program: the last
# line of its output is a number from 0 to 1, the *loss*.

PROGRAM = """\
NR == 1 { forecast = $1; next }
{
    error += $1 > forecast ? $1 - forecast : forecast - $1
    total += $1
    forecast += alpha * ($1 - forecast)
}
END {
    print "forecast for tomorrow: " forecast
    print error / total
}
"""
(folder / "forecast.awk").write_text(PROGRAM)

# %%
# The files are the sales of 100 shops, sixty days each. They scatter widely around a level that wanders
# slowly.

(folder / "sales").mkdir()
for shop in range(100):
    chance = random.Random(shop)
    level, lines = chance.uniform(20, 200), []
    for _ in range(60):
        level *= chance.lognormvariate(0, 0.03)
        lines.append(f"{level * chance.lognormvariate(0, 0.5):.1f}\n")
    (folder / "sales" / f"shop-{shop:02}.txt").write_text("".join(lines))

# %%
# Let us run it by hand, on the first shop:


def run(*words: str) -> None:
    """Type a command in the folder, and print what it says."""
    typed = (f'"{word}"'.replace(" ", "\0") if " " in word else word for word in words)
    lines = textwrap.wrap(" ".join(typed), 72, break_on_hyphens=False)
    print("$", " \\\n      ".join(lines).replace("\0", " "))
    if words[0] == "semibandit":
        words = (sys.executable, "-m", *words)  # that of the Python which runs this page
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    print("\n".join(line.rstrip() for line in done.stdout.splitlines()))


run("awk", "-v", "alpha=1", "-f", "forecast.awk", "sales/shop-00.txt")

# %%
# Tuning it
# ---------
#
# In the command, ``{rho}`` stands for the value of the knob and ``{instance}`` for a file. ``--space``
# says where the knob lives, ``--default`` is the value in use, and ``--state`` names a file that keeps
# all runs.

FORECAST = "awk -v alpha={rho} -f forecast.awk {instance}"
KNOB = ("--space", "0:1", "--default", "1")

run("semibandit", "tune", *KNOB, "--state", "knob.json", FORECAST, "sales")

# %%
# With a fixed set of files this is a *race*. Ten values run on the same few files, so that what makes a
# file hard cancels; the worse half drops out; new values come in beside the leader; and again. What is
# printed in the end has three parts:
#
# - *The value to deploy*, the stretch of values that it stands for, and the mean loss there.
# - *Against the default*. The difference is that on files which were run with both values, with its
#   standard error. "surely within" is more careful: it holds at the 95 % level however often you look,
#   whichever value is chosen in the end, and for losses that may be anything from 0 to 1. As long as it
#   contains 0, the advice is to keep what you have.
# - *The standings*: each value with its mean loss, the standard error of its difference to the leader,
#   and its runs. The leader need not have the lowest mean: where runs are few, what its neighbours have
#   shown counts as well.
#
# Enough runs to tell
# -------------------
#
# Two hundred runs were enough to see where the valley is, but not to be *sure* that it is better than the
# default. The program is quick, so let us give a race a thousand, two at a time, and have it drawn.

LONG = ("--runs", "1000", "--jobs", "2", "--state", "long.json", "--png", "long.png")
run("semibandit", "tune", *KNOB, *LONG, FORECAST, "sales")

# %%
# Now the verdict is in. (Two runs had a loss above 1, which counts as 1; ``--high`` would say what the
# largest loss is.) In the picture each dot is a run; the band is two standard errors of the mean
# wide, to either side. Below is where the runs were made.

fig, ax = plt.subplots(figsize=(9, 6.5), layout="constrained")
ax.imshow(plt.imread(folder / "long.png"))
ax.set_axis_off()

# %%
# (Runs can be added to a race afterwards as well. But it spends them on further values beside the leader,
# each of which then has to prove itself anew. Where a verdict is what you want, give it all its runs from
# the start.)
#
# Nothing is lost
# ---------------
#
# The state file has a line for each run, below two that say what it is of. The same command again finds
# that there is nothing left to do, and says what it knows. Had it been interrupted, or the machine
# switched off, it would have gone on where it stopped.

lines = (folder / "long.json").read_text().splitlines()
print(f"{len(lines)} lines, such as\n{lines[-1]}")

# %%
# Try next
# --------
#
# - The same files with other options: they are in ``folder``, which stays when this page has ended
#   (``print(folder)`` says where it is).
# - Your own command: ``semibandit tune --space 0:1 --state my.json "solver --alpha {rho} {instance}"
#   inst/*``.
# - ``--loss-from time`` takes the seconds of a run for its loss, ``--maximize`` a number that should be
#   large, and ``--timeout`` kills what takes too long.
# - ``--online`` is for files that arrive while the program is in use: each is run once, and what the runs
#   cost counts.
# - ``--knob alpha=1e-4:1:log --knob mode=fast,good`` tunes several options at once.
# - All of it is in :doc:`/tune`.

plt.show()
