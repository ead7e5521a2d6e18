"""The game of the paper: rounds, their history, and the best fixed parameters in hindsight."""

from semibandit.game.blocks import BestBlocks, Block, best_blocks
from semibandit.game.checking import Confidence, Estimate
from semibandit.game.fitting import Fit, fit
from semibandit.game.hindsight import Hindsight, best_in_hindsight, mean_loss
from semibandit.game.history import History, Round
from semibandit.game.kept import Kept
from semibandit.game.many import Games, play_many
from semibandit.game.rounds import FEEDBACK, play, rounds

__all__ = [
    "FEEDBACK", "BestBlocks", "Block", "Confidence", "Estimate", "Fit", "Games", "Hindsight", "History",
    "Kept", "Round", "best_blocks", "best_in_hindsight", "fit", "mean_loss", "play", "play_many", "rounds",
]  # fmt: skip
