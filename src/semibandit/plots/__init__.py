"""Plots of games (`plots.plane` for two parameters), of fits and of dispersion.

Each function draws into the given axes, or into new ones, and returns them; `overview` writes a page. New
axes belong to a pyplot figure if `matplotlib.pyplot` is imported, so that `plt.show()` shows them; otherwise
to a figure without a window. `ax.figure.savefig("picture.png")` writes either. Needs the `plot` extra.
"""

from semibandit.plots import dispersion, plane
from semibandit.plots.contexts import recommended
from semibandit.plots.fits import fit
from semibandit.plots.games import across, dendrogram, density, loss_function, regret, widths
from semibandit.plots.pages import overview

__all__ = [
    "across",
    "dendrogram",
    "density",
    "dispersion",
    "fit",
    "loss_function",
    "overview",
    "plane",
    "recommended",
    "regret",
    "widths",
]
