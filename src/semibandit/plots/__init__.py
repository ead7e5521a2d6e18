"""Pictures of games (two parameters: `plots.plane`, knobs: `plots.rows`), of fits, of dispersion.

Each function draws into the axes given, or into new ones, and returns them; `overview` writes a page. New
axes are in a figure of pyplot's where `matplotlib.pyplot` is imported, so that `plt.show()` shows them;
otherwise in one that belongs to no window, as servers want it. `ax.figure.savefig("picture.png")` writes
either. Needs the `plot` extra.
"""

from semibandit.plots import dispersion, plane, rows
from semibandit.plots.fits import fit
from semibandit.plots.games import dendrogram, density, loss_function, regret, widths
from semibandit.plots.pages import overview

__all__ = [
    "dendrogram",
    "density",
    "dispersion",
    "fit",
    "loss_function",
    "overview",
    "plane",
    "regret",
    "rows",
    "widths",
]
