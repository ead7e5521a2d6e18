"""The game of the paper: rounds, their history, and the best fixed parameter in hindsight."""

from semibandit.game.hindsight import Hindsight, best_in_hindsight, mean_loss
from semibandit.game.history import History, Round
from semibandit.game.kept import Kept
from semibandit.game.rounds import FEEDBACK, play, rounds

__all__ = [
    "FEEDBACK", "Hindsight", "History", "Kept", "Round", "best_in_hindsight", "mean_loss", "play", "rounds",
]  # fmt: skip
