"""A command with ``semibandit tune``
==================================

You have a program, in any language, with an option that is hard to set, and files that it works on.
``semibandit tune`` runs the program, reads a number from its output, and says which value to deploy, and
whether that value is better than the one in use. This needs no Python.

This page writes a small awk program and some files into a temporary folder, and runs commands there. It
needs a Unix system.
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
# A shop forecasts tomorrow's sales by *exponential smoothing*: each day the forecast moves towards the
# sales by a share α of the difference. A large α follows the level quickly, but also the noise; a small α
# is late. The value in use is α = 1: tomorrow's sales equal today's.
#
# The program reads a file with one line per day. Its last line of output is the mean error of the forecasts,
# relative to the mean sales. ``semibandit tune`` needs just this: the last line is a number from 0 to 1, the
# *loss*.

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
# The files are the sales of 100 shops on sixty days: noise around a level that changes slowly.

(folder / "sales").mkdir()
for shop in range(100):
    chance = random.Random(shop)
    level, lines = chance.uniform(20, 200), []
    for _ in range(60):
        level *= chance.lognormvariate(0, 0.03)
        lines.append(f"{level * chance.lognormvariate(0, 0.5):.1f}\n")
    (folder / "sales" / f"shop-{shop:02}.txt").write_text("".join(lines))

# %%
# A run by hand, on the first shop:


def run(*words: str) -> None:
    """Run a command in the folder, and print its output."""
    typed = (f'"{word}"'.replace(" ", "\0") if " " in word else word for word in words)
    lines = textwrap.wrap(" ".join(typed), 72, break_on_hyphens=False)
    print("$", " \\\n      ".join(lines).replace("\0", " "))
    if words[0] == "semibandit":
        words = (sys.executable, "-m", *words)  # of the Python that runs this page
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    print("\n".join(line.rstrip() for line in done.stdout.splitlines()))


run("awk", "-v", "alpha=1", "-f", "forecast.awk", "sales/shop-00.txt")

# %%
# Tuning it
# ---------
#
# In the command, ``{rho}`` stands for the value of the option and ``{instance}`` for a file. ``--space``
# is the range of values, ``--default`` the value in use, and ``--state`` a file that keeps all runs.

FORECAST = "awk -v alpha={rho} -f forecast.awk {instance}"
KNOB = ("--space", "0:1", "--default", "1")

run("semibandit", "tune", *KNOB, "--state", "knob.db", FORECAST, "sales")

# %%
# With a fixed set of files this is a *race*. Ten values run on the same files, so that the difficulty of a
# file cancels; then new values are tried where a model expects better ones, and the best run on further
# files. The last files are kept for the winner and the default. The output:
#
# - *answer*: the value to deploy, or the default.
# - *mean loss* and *difference*: the recommended value and the default on the files that were run with both.
# - *95 % interval*, twice. The first is a paired t-test on files that no decision of the race has used. It
#   decides at the end of a race: while it contains 0, the answer is to keep the default. The second is valid
#   at any time, so a race may be stopped because of it; it is wider.
# - *The table*: for each value its mean loss, its difference to the best one on common files with the
#   standard error, and its number of runs.
#
# A longer race
# -------------
#
# More runs find a better value, and make both intervals narrower. The program is quick, so the next race has
# a thousand runs, two at a time, and a picture.

LONG = ("--runs", "1000", "--jobs", "2", "--state", "long.db", "--png", "long.png")
run("semibandit", "tune", *KNOB, *LONG, FORECAST, "sales")

# %%
# In the picture each dot is a value with its mean loss; its bar is two standard errors of the difference to
# the best value, to either side. ``--high`` sets the largest loss, if it is known.

fig, ax = plt.subplots(figsize=(9, 6.5), layout="constrained")
ax.imshow(plt.imread(folder / "long.png"))
ax.set_axis_off()

# %%
# (Runs can also be added later. But a race spends them on further values beside the leader, which have few
# runs at first. For a decision, give it all runs from the start.)
#
# The state file
# --------------
#
# The state file is a study in an SQLite database. The same command again finds nothing left to do, and
# prints the tables. After an interrupt, or a crash, it continues where it stopped. ``semibandit study`` reads
# the file as well:

run("semibandit", "study", "show", "tune", "--storage", "sqlite:///long.db")

# %%
# Try next
# --------
#
# - Other options on the same files, which are in ``folder`` (``print(folder)`` shows the path).
# - Your own command: ``semibandit tune --space 0:1 --state my.db "solver --alpha {rho} {instance}"
#   inst/*``.
# - ``--loss-from time`` uses the seconds of a run as its loss. With ``--maximize`` higher values are
#   better. ``--timeout`` kills long runs.
# - ``semibandit tune online`` is for files that arrive while the program is in use. Each is run once, and
#   the losses of all runs count.
# - ``--knob alpha=1e-4:1:log --knob mode=fast,good`` tunes several options at once.
# - All options are in :doc:`/tune`.

plt.show()
