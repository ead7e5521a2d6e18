from . import bounds as bounds
from . import densities as densities
from .measuring import Dispersion as Dispersion
from .measuring import Samples as Samples
from .measuring import measure as measure
