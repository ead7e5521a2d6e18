"""Algorithm families: instances of an algorithm whose loss is exactly known around a parameter.

Names load on first use: who packs knapsacks need not compile clusterings.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
