"""Algorithm families: instances whose loss is exactly known around a parameter.

Names are loaded on first use, with their kernels.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
