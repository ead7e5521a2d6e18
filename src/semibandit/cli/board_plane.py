"""What `play` shows where there are two parameters."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.progress import Progress

from semibandit.cli.board import Game
from semibandit.functions.constant import PiecewiseConstant
from semibandit.game.hindsight import Hindsight, RowHindsight, mean_loss

__all__ = ["PlaneGame"]


class PlaneGame(Game):
    """Games in (ρ, α), next to the best that each end of either parameter can do in hindsight."""

    knobs = "ρ, α"

    def __init__(self, problems: Sequence[Any], *, seed: int, baseline: str | None = "low") -> None:
        super().__init__(problems, default=0.5, seed=seed, baseline=baseline)

    def _hindsight(self, progress: Progress) -> Hindsight | RowHindsight:
        mean, best = mean_loss(self._watched(progress))
        assert isinstance(mean, PiecewiseConstant)
        self.mean = mean
        return best

    def _others(self) -> list[tuple[str, float]]:
        rows = [self.space.row(self.mean, i) for i in range(len(self.space))]
        lo, hi = self.space.interval.span
        first, last = self.space.alphas[0], self.space.alphas[-1]
        others = [
            (f"α = {first:g}, best ρ", rows[0].min()),
            (f"α = {last:g}, best ρ", rows[-1].min()),
            (f"ρ = {lo:g}, best α", min(row(lo) for row in rows)),
            (f"ρ = {hi:g}, best α", min(row(hi) for row in rows)),
        ]
        return [(name, len(self.problems) * mean) for name, mean in others]

    def _shown(self, point: Any) -> str:
        return f"{point.rho:.2f}, {point.alpha:.2f}"

    def draw(self, png: Path, title: str, trees: bool) -> None:
        """The picture: heat maps over the square."""
        from semibandit.plots import plane

        learner = self.learners.get("semi-bandit") or next(iter(self.learners.values()))
        plane.overview(self.histories, png, title, mean=self.mean, chosen=learner.recommend())
