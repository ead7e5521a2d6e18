"""Race configurations on a fixed set of instances.

Instances differ more than configurations do, so configurations are compared on the same instances (paired
differences). A race spends a given number of runs in stages:

1. Design: configurations that fill the space, on the first instances.
2. Search: if the best configurations can be told apart, new ones with a large expected improvement are tried
   on the same instances; if not, the best ones run on further instances.
3. Finals: the best ones run on further instances.
4. Check: the winner and the default run on instances that no decision has used.
"""

from semibandit.learners.race.proposals import check_default
from semibandit.learners.race.race import Race, RaceTrial
from semibandit.learners.race.stages import CHECK
from semibandit.learners.race.state import Pairs, Standing

__all__ = ["CHECK", "Pairs", "Race", "RaceTrial", "Standing", "check_default"]
