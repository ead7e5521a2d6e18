"""Parameters of a problem: positional (rho, alpha), or the values of its knobs by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Parameters", "call", "name_along", "parameters_of", "values_of"]

# Arguments of a problem's methods: (rho,), (rho, alpha), or the values by name.
Parameters = tuple[Any, ...] | dict[str, Any]


def call(method: Callable[..., Any], parameters: Parameters) -> Any:
    """Call a method with parameters, positional or by name.

    >>> call(max, (1, 2)), call(dict, {"depth": 3})
    (2, {'depth': 3})
    """
    return method(**parameters) if isinstance(parameters, dict) else method(*parameters)


def parameters_of(names: tuple[str, ...], rho: Any, alpha: Any) -> Parameters:
    """Return the arguments of a problem's methods; `names` are those of `Knobs`, () for other spaces."""
    if names:  # without rho if nothing runs along the rows of the knobs
        return dict(zip(names, (rho, *(alpha or ()))[-len(names) :], strict=True))
    return (rho,) if alpha is None else (rho, alpha)


def values_of(names: tuple[str, ...], rho: Any, alpha: Any) -> dict[str, Any]:
    """Return the parameters by name, for every space.

    >>> values_of((), 0.3, None), values_of(("alpha", "depth"), 0.3, (2,)), values_of(("mode",), 0, ("fast",))
    ({'rho': 0.3}, {'alpha': 0.3, 'depth': 2}, {'mode': 'fast'})
    """
    parameters = parameters_of(names, rho, alpha)
    if isinstance(parameters, dict):
        return parameters
    return dict(zip(("rho", "alpha"), parameters, strict=False))


def name_along(names: tuple[str, ...], alpha: Any) -> str | None:
    """Return the name of rho; None if all knobs are choices, which are in alpha.

    >>> name_along((), None), name_along(("alpha", "depth"), (2,)), name_along(("mode",), ("fast",))
    ('rho', 'alpha', None)
    """
    if not names:
        return "rho"
    return names[0] if len(names) > len(alpha or ()) else None
