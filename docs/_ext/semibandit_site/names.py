"""The pages of the reference: every public name of every public module, once, from its docstring.

The lists are the modules' own `__all__`, so that a new name is on its page without anybody putting it there.
"""

import importlib
import inspect
import types
from typing import Any, NamedTuple

ROOMS = {
    "learners": "Learners",
    "spaces": "Spaces",
    "functions": "Functions",
    "families": "Families",
    "games": "The game",
    "streams": "Streams",
    "dispersion": "Dispersion",
    "dispersion.bounds": "Theorems as functions",
    "dispersion.densities": "Densities",
    "clustering": "Clustering",
    "tuning": "Tuning a command",
    "studies": "Studies",
    "plots": "Plots",
    "plots.plane": "Plots of two parameters",
    "plots.rows": "Plots of knobs",
    "plots.dispersion": "Plots of dispersion",
    "plots.tuning": "Plots of tuning",
    "confidence": "Confidence",
    "games.guarantees": "What a log promises",
    "learners.certificates": "Certificates",
    "testing": "Testing a family",
    "sklearn": "scikit-learn",
}

# What a class has from elsewhere is documented there.
_FOREIGN = "object, tuple, dict, Struct, Protocol, Sequence, Generic, Exception, BaseEstimator, ClusterMixin"


class Name(NamedTuple):
    """A public name: the module to get it from, and what it is."""

    module: str
    name: str
    value: Any

    @property
    def full(self) -> str:
        """The name to import."""
        return f"{self.module}.{self.name}"


def public() -> dict[str, list[Name]]:
    """The public names by room, each where it is first found; by its short name where the package has one."""
    package = importlib.import_module("semibandit")
    short = {id(getattr(package, name)): name for name in package.__all__}
    seen: set[int] = set()
    rooms: dict[str, list[Name]] = {}
    for room in ROOMS:
        module = importlib.import_module(f"semibandit.{room}")
        rooms[room] = []
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, types.ModuleType) or id(value) in seen:
                continue
            seen.add(id(value))
            known = id(value) in short
            rooms[room].append(Name("semibandit" if known else module.__name__, name, value))
    return rooms


def pages() -> dict[str, str]:
    """The pages by their names."""
    return {f"{room}.rst": _page(room, names) for room, names in public().items()}


def _page(room: str, names: list[Name]) -> str:
    module = f"semibandit.{room}"
    title = ROOMS[room]
    lines = [title, "=" * len(title), "", f".. automodule:: {module}", "   :no-members:", ""]
    lines += [".. py:currentmodule:: None", ""]
    ordered = sorted(names, key=lambda name: (name.module != "semibandit", name.name.lower()))
    lines += [".. autosummary::", "   :nosignatures:", ""]
    lines += [f"   ~{name.full}" for name in ordered]
    for name in ordered:
        lines += ["", *_entry(name), "", f".. minigallery:: {name.full}"]
    return "\n".join(lines) + "\n"


def _entry(name: Name) -> list[str]:
    if inspect.isclass(name.value):
        return [
            f".. autoclass:: {name.full}",
            "   :members:",
            f"   :inherited-members: {_FOREIGN}",
            "   :exclude-members: get_metadata_routing",
            "   :show-inheritance:",
        ]
    if inspect.isroutine(name.value):
        return [f".. autofunction:: {name.full}"]
    return [f".. autodata:: {name.full}", *(["   :no-value:"] if "<" in repr(name.value) else [])]
