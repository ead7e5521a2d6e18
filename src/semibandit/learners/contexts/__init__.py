"""Learning in contexts: cells over the features of instances, which split where it pays."""

from semibandit.learners.contexts.cell import Cell
from semibandit.learners.contexts.context_cells import ContextAtAsk, ContextCells
from semibandit.learners.contexts.saving import SavedContexts, restored, saved
from semibandit.learners.contexts.tree import ContextCell, Place

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
