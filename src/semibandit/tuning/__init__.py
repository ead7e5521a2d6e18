"""Tune a command: run it on instances, read its loss, learn, and continue where it stopped.

| module | |
|---|---|
| `command`, `process`, `reaper` | fill in a command template, run it, and kill its remaining processes |
| `rules` | turn outcomes into losses |
| `player`, `record` | play one round, and its record |
| `plans`, `jobs` | claim runs from a study, and play several at once |
| `tuner` | tune a command on a study, online or as a race |
| `verdict` | results: the values tried, and the verdict on the default |
| `knob_syntax` | knobs on the command line |
| `features` | features of instances, from commands or a CSV file |
"""

from semibandit.learners.race import Race, Standing
from semibandit.tuning.command import Command, Outcome, StoppedError
from semibandit.tuning.record import RunRecord
from semibandit.tuning.rules import Rules
from semibandit.tuning.tuner import Tuner
from semibandit.tuning.verdict import Summary, Verdict

__all__ = [
    "Command", "Outcome", "Race", "Rules", "RunRecord", "Standing", "StoppedError", "Summary",
    "Tuner", "Verdict",
]  # fmt: skip
