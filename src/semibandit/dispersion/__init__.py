"""Dispersion of the discontinuities of a stream of loss functions: measured, and bounded by theorems.

`measure` counts on a stream, `bounds` holds the theorems with explicit constants, and `densities` the rules
that bound the density of critical parameters.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
