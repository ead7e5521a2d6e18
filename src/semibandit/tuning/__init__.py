"""Tune a command: run it once an instance, read its loss, learn, and go on where one stopped.

`command` runs a command template and reads the loss, `journal` keeps the rounds on disk, `tuner` learns
from them. The command line `semibandit tune` is a thin layer above.
"""

from semibandit.tuning.command import Command, Outcome
from semibandit.tuning.journal import Journal, Round, Settings
from semibandit.tuning.tuner import Comparison, Summary, Tuner

__all__ = ["Command", "Comparison", "Journal", "Outcome", "Round", "Settings", "Summary", "Tuner"]
