"""Sizes of an attack, and its outcome."""

import os
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Sizes:
    seconds: float
    kills: int
    flips: int
    rounds: int
    seed: int
    folder: Path


@dataclass
class Outcome:
    """Number of attempts, findings with what reproduces each, and further counts."""

    attempts: int = 0
    findings: list[str] = field(default_factory=list)
    notes: dict[str, int] = field(default_factory=dict)

    def found(self, text):
        self.findings.append(text)
        print(f"FINDING {text}", flush=True)


def forked(work):
    """Run work() in a child process without output; return its process id."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            work()
            status = 0
        finally:
            os._exit(status)
    return pid
