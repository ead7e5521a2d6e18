"""Seeded streams of instances: sequences that make their instances on demand."""

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {
    "Stream": "stream",
    "concentrated": "adversarial",
    "halving": "adversarial",
    "synthetic": "step_functions",
    "knapsack": "knapsack_instances",
    "read_knapsacks": "knapsack_files",
}

__all__ = list(_HOME)

if TYPE_CHECKING:
    from semibandit.streams.adversarial import concentrated as concentrated
    from semibandit.streams.adversarial import halving as halving
    from semibandit.streams.knapsack_files import read_knapsacks as read_knapsacks
    from semibandit.streams.knapsack_instances import knapsack as knapsack
    from semibandit.streams.step_functions import synthetic as synthetic
    from semibandit.streams.stream import Stream as Stream


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'semibandit.streams' has no attribute {name!r}")
    return getattr(importlib.import_module(f"semibandit.streams.{_HOME[name]}"), name)
