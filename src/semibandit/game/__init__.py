"""The game of the paper: rounds, their history, and the best fixed parameter in hindsight."""

from semibandit.game.hindsight import best_in_hindsight, mean_loss
from semibandit.game.rounds import FEEDBACK, History, Round, play, rounds

__all__ = ["FEEDBACK", "History", "Round", "best_in_hindsight", "mean_loss", "play", "rounds"]
