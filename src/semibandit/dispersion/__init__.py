"""How spread out the discontinuities of a stream of loss functions are: measured, and bounded.

`measure` looks at a stream; `bounds` holds the theorems with explicit constants, `densities` the rules that
bound the density of critical parameters.
"""

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {"Dispersion": "measuring", "Samples": "measuring", "measure": "measuring", "measure_plane": "plane"}
_MODULES = frozenset({"bounds", "densities"})

__all__ = [*_HOME, *_MODULES]

if TYPE_CHECKING:
    from semibandit.dispersion import bounds as bounds
    from semibandit.dispersion import densities as densities
    from semibandit.dispersion.measuring import Dispersion as Dispersion
    from semibandit.dispersion.measuring import Samples as Samples
    from semibandit.dispersion.measuring import measure as measure
    from semibandit.dispersion.plane import measure_plane as measure_plane


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = importlib.import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
