"""The game of the paper: rounds, their history, and the best parameters in hindsight."""

from semibandit.games.blocks import BestBlocks, ParameterBlock, best_blocks
from semibandit.games.hindsight import Hindsight, best_in_hindsight, mean_loss
from semibandit.games.history import GameRound, History
from semibandit.games.many import Games, play_many
from semibandit.games.rounds import FEEDBACK, play, rounds
from semibandit.games.stored import StoredLosses

__all__ = [
    "FEEDBACK", "BestBlocks", "GameRound", "Games", "Hindsight", "History", "ParameterBlock", "StoredLosses",
    "best_blocks", "best_in_hindsight", "mean_loss", "play", "play_many", "rounds",
]  # fmt: skip
