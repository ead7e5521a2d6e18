"""How spread out the discontinuities of a stream of loss functions are: measured, and bounded.

`measure` looks at a stream; `bounds` holds the theorems with explicit constants, `densities` the rules that
bound the density of critical parameters.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
