"""The best fixed parameter of a log of problems, computed exactly and in parallel, with confidence bounds."""

from semibandit.fitting.checking import Confidence, Estimate
from semibandit.fitting.fits import Fit, fit
from semibandit.fitting.groups import FitCell, FitGroup, fit_groups
from semibandit.fitting.log import Unreadable
from semibandit.fitting.partial import Partial

__all__ = [
    "Confidence",
    "Estimate",
    "Fit",
    "FitCell",
    "FitGroup",
    "Partial",
    "Unreadable",
    "fit",
    "fit_groups",
]
