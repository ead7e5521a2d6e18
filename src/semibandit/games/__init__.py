"""The game of the paper: rounds, their history, and the best fixed parameters in hindsight."""

from semibandit.games.blocks import BestBlocks, Block, best_blocks
from semibandit.games.checking import Confidence, Estimate
from semibandit.games.fitting import Fit, fit
from semibandit.games.hindsight import Hindsight, best_in_hindsight, mean_loss
from semibandit.games.history import History, Round
from semibandit.games.kept import Kept
from semibandit.games.many import Games, play_many
from semibandit.games.rounds import FEEDBACK, play, rounds

__all__ = [
    "FEEDBACK", "BestBlocks", "Block", "Confidence", "Estimate", "Fit", "Games", "Hindsight", "History",
    "Kept", "Round", "best_blocks", "best_in_hindsight", "fit", "mean_loss", "play", "play_many", "rounds",
]  # fmt: skip
