"""Real programs with a knob, and what they cost on generated instances: tables that methods are compared on.

A table holds the loss of every instance at every value of a fine grid. It is made once, kept in `build/`, and
any number of methods and seeds can then be replayed from it, each run of the program being a look into it.
"""

from programs.programs import PROGRAMS, Program
from programs.table import Table

__all__ = ["PROGRAMS", "Program", "Table"]
