"""Tune the real-valued knob of an algorithm online, with a regret guarantee.

    instance --reveal(rho)--> PiecewiseConstant --tell--> learner --ask--> rho

Names load on first use, so that importing the package costs next to nothing. They are listed once, in the
stub beside this file, which type checkers read as well.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__.remove("sklearn")  # which needs an extra, so that `import *` would
