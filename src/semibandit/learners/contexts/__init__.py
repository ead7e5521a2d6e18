"""Learning in contexts: cells over the features of instances, which split where it pays."""

from semibandit.learners.contexts.cells import Asked, Cell, ContextCells
from semibandit.learners.contexts.described import ContextCell

__all__ = ["Asked", "Cell", "ContextCell", "ContextCells"]
