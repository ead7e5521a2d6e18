"""The `random_state` of scikit-learn as the seed of a learner."""

from typing import Any

import numpy as np

__all__ = ["seed_of"]


def seed_of(random_state: Any) -> Any:
    """Return the seed: an integer, None, or a number drawn from a `RandomState`."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    return random_state
