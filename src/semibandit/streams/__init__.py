"""Seeded streams of instances: sequences that make their instances on demand."""

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Stream": "stream",
    "clustering": "clustering_instances",
    "concentrated": "adversarial",
    "digits_two_metrics": "two_metrics",
    "halving": "adversarial",
    "synthetic": "step_functions",
    "knapsack": "knapsack_instances",
    "independent_set": "graphs",
    "posted_price": "auctions",
    "second_price": "auctions",
    "seeding": "point_sets",
    "read_knapsacks": "knapsack_files",
}

__all__ = list(_HOME)

if TYPE_CHECKING:
    from semibandit.streams.adversarial import concentrated as concentrated
    from semibandit.streams.adversarial import halving as halving
    from semibandit.streams.auctions import posted_price as posted_price
    from semibandit.streams.auctions import second_price as second_price
    from semibandit.streams.clustering_instances import clustering as clustering
    from semibandit.streams.graphs import independent_set as independent_set
    from semibandit.streams.knapsack_files import read_knapsacks as read_knapsacks
    from semibandit.streams.knapsack_instances import knapsack as knapsack
    from semibandit.streams.point_sets import seeding as seeding
    from semibandit.streams.step_functions import synthetic as synthetic
    from semibandit.streams.stream import Stream as Stream
    from semibandit.streams.two_metrics import digits_two_metrics as digits_two_metrics


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'semibandit.streams' has no attribute {name!r}")
    return getattr(importlib.import_module(f"semibandit.streams.{_HOME[name]}"), name)
