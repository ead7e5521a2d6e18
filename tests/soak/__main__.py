"""Attack the package for hours: threads, an adversary, kills, flipped bits, random sequences of calls.

Run: PYTHONPATH=tests python -m soak [--seconds 20] [--kills 300] [--flips 3000] [--rounds 100000] [PART ...]

Each part runs in a process of its own; the command that repeats it is printed with its findings.
"""

import argparse
import contextlib
import faulthandler
import io
import json
import shlex
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import hypothesis
from hypothesis.stateful import run_state_machine_as_test

from soak import kills
from soak.attack import Outcome, Sizes
from soak.flips import FILES, flips
from soak.learners import KINDS, adversary, threads
from soak.machines import MACHINES


def sequences(sizes, kind):
    """Run a state machine for ten times the seconds; hypothesis prints the shortest sequence that fails."""
    outcome, until, seed = Outcome(), time.monotonic() + 10 * sizes.seconds, sizes.seed
    settings = hypothesis.settings(
        max_examples=20, stateful_step_count=60, deadline=None, database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
    )  # fmt: skip
    while time.monotonic() < until and not outcome.findings:
        machine, printed = hypothesis.seed(seed)(MACHINES[kind]), io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                run_state_machine_as_test(machine, settings=settings)
        except Exception as error:
            steps = "\n".join([printed.getvalue(), *getattr(error, "__notes__", [])])
            outcome.found(f"seed {seed}: {error!r}\n{steps}")
        outcome.attempts, seed = outcome.attempts + 20, seed + 1
    return outcome


PARTS = (
    {f"sequences {kind}": partial(sequences, kind=kind) for kind in MACHINES}
    | {f"flips {kind}": partial(flips, kind=kind) for kind in FILES}
    | {f"kill {name}": attack for name, attack in kills.VICTIMS.items()}
    | {f"threads {kind}": partial(threads, kind=kind) for kind in KINDS}
    | {f"adversary {kind}": partial(adversary, kind=kind) for kind in KINDS}
)


def run_here(part, sizes):
    """Run one part in this process; the last line of the output is its outcome."""
    faulthandler.enable()
    faulthandler.dump_traceback_later(3600, exit=True)  # a hang is a finding
    outcome = PARTS[part](sizes)
    print(json.dumps([outcome.attempts, len(outcome.findings), outcome.notes]))


def run_apart(part, sizes):
    """Run one part in a process of its own; return its row of the table."""
    names = ("seconds", "kills", "flips", "rounds", "seed")
    options = [f"--{name}={getattr(sizes, name)}" for name in names]
    command = [sys.executable, "-m", "soak", *options, "--here", part]
    began = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    try:
        attempts, findings, notes = json.loads(done.stdout.rstrip().rpartition("\n")[2])
    except (ValueError, TypeError):
        attempts, findings, notes = 0, 1, {f"ended with status {done.returncode}": 1}
    if findings:
        print(f"== {part}\n$ PYTHONPATH=tests {shlex.join(command)}\n{done.stdout}", flush=True)
    text = ", ".join(f"{name} {count:,}" for name, count in sorted(notes.items()))
    row = f"{part:<24} {attempts:>10,} {findings:>9} {time.monotonic() - began:>8.0f}  {text}"
    print(row, file=sys.stderr, flush=True)
    return row, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="of each of the threads; tenfold for sequences"
    )
    parser.add_argument("--kills", type=int, default=300, help="of each kind of process")
    parser.add_argument("--flips", type=int, default=3000, help="of single bits in each kind of file")
    parser.add_argument("--rounds", type=int, default=100_000, help="against each of ten learners")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--here", action="store_true", help="run the part in this process")
    parser.add_argument("parts", nargs="*", help="the beginnings of: " + "; ".join(PARTS))
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    sizes = Sizes(given.seconds, given.kills, given.flips, given.rounds, given.seed, folder)
    chosen = [part for part in PARTS if not given.parts or part.startswith(tuple(given.parts))]
    if given.here:
        run_here(*given.parts, sizes)
        return
    rows = [run_apart(part, sizes) for part in chosen]
    print(f"{'part':<24} {'attempts':>10} {'findings':>9} {'seconds':>8}")
    print(*(row for row, _ in rows), sep="\n")
    sys.exit(any(findings for _, findings in rows))


if __name__ == "__main__":
    main()
