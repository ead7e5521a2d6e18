"""Learning in contexts: cells over the features of instances, which split where it pays."""

from semibandit.learners.contexts.cells import Cell, ContextAtAsk, ContextCells, Place
from semibandit.learners.contexts.described import ContextCell
from semibandit.learners.contexts.saving import SavedContexts, restored, saved

__all__ = [
    "Cell",
    "ContextAtAsk",
    "ContextCell",
    "ContextCells",
    "Place",
    "SavedContexts",
    "restored",
    "saved",
]
