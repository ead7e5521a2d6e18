"""Parameter spaces: where the knob may stand, and the line that carries a learner's weights."""

from semibandit.spaces.interval import Interval
from semibandit.spaces.strips import Alpha, Space, Strips, space_from_dict

__all__ = ["Alpha", "Interval", "Space", "Strips", "space_from_dict"]
