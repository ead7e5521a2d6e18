"""Tune a command: run it once per instance, read its loss, learn, and go on where one stopped.

`command` fills in a command template and reads the loss, `process` runs it, `guard` sees to it that it does
not outlive us, `losses` says what a run counts as, `journal` keeps the rounds on disk, `tuner` learns from
them one instance after another, `race` and `racer` on a fixed set of them, `summary` says where that stands.
The command line `semibandit tune` is a thin layer above.
"""

from semibandit.tuning.command import Command, Outcome, StoppedError
from semibandit.tuning.journal import Change, Journal, Round, Settings
from semibandit.tuning.losses import Rules
from semibandit.tuning.race import Race, Run, Standing
from semibandit.tuning.racer import Racer
from semibandit.tuning.summary import Comparison, Summary
from semibandit.tuning.tuner import Tuner

__all__ = [
    "Change", "Command", "Comparison", "Journal", "Outcome", "Race", "Racer", "Round", "Rules", "Run",
    "Settings", "Standing", "StoppedError", "Summary", "Tuner",
]  # fmt: skip
