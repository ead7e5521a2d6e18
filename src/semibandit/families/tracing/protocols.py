"""numpy's protocols: tables of rules, and the options of numpy's functions that go with any rule."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from semibandit.families.tracing.errors import TracingError

__all__ = ["FUNCTIONS", "HELP", "UFUNCS", "call", "call_ufunc", "refuse", "require_float"]

UFUNCS: dict[Any, Callable[..., Any]] = {}
"""Rules of universal functions on traced values, from `arithmetic` and `decisions`."""
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""Rules of numpy's other functions, from `functions`."""
HELP = "take logarithms, multiply out, or use sb.BlackBox"
_REDUCTIONS: dict[Any, Any] = {np.add: np.sum, np.minimum: np.min, np.maximum: np.max}


def call_ufunc(ufunc: Any, method: str, inputs: Any, out: Any, options: dict[str, Any]) -> Any:
    """Call the rule of a universal function, or of one of its methods."""
    rule = UFUNCS.get(ufunc)
    if method == "__call__" and rule is not None and not options:
        result = rule(*inputs)
    elif method == "reduce" and ufunc in _REDUCTIONS:
        result = call(_REDUCTIONS[ufunc], *inputs, **{"axis": 0} | options)
    elif method == "outer" and rule is not None and not options:
        x, y = inputs
        result = rule(np.reshape(x, np.shape(x) + (1,) * np.ndim(y)), y)
    else:
        name = ufunc.__name__ + ("" if method == "__call__" else f".{method}")
        refuse(f"{name} of a value that depends on rho", options)
        raise TracingError(f"np.{name} of a value that depends on rho is not traced: {HELP}")
    return result if out is None else _stored(out[0], result)


def call(function: Any, /, *args: Any, **options: Any) -> Any:
    """Call the rule of a function of numpy; store the result where `out` says."""
    rule = FUNCTIONS.get(function)
    if rule is None:
        raise TracingError(f"np.{function.__name__} of a value that depends on rho is not traced: {HELP}")
    if len(args) > 2 or options:
        args, options = _named(function, args, options)
        if options.get("dtype") is not None:
            require_float(options.pop("dtype"))
        if (out := options.pop("out", None)) is not None:
            return _stored(out, rule(*args, **options))
    return rule(*args, **options)


@cache
def _parameters(function: Any) -> list[str]:
    """Return the names of the parameters that can be passed by position."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return []
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in itertools.takewhile(lambda each: each.kind in by_position, parameters)]


def _named(function: Any, args: Any, options: Any) -> tuple[Any, dict[str, Any]]:
    """Pass the options `dtype` and `out` by name."""
    names = _parameters(function)[: len(args)]
    at = min((names.index(name) for name in ("dtype", "out") if name in names), default=len(args))
    return args[:at], dict(zip(names[at:], args[at:], strict=False)) | options


def _stored(out: Any, result: Any) -> Any:
    if isinstance(out, np.ndarray):
        raise TracingError(
            "a plain array cannot be changed in place to depend on rho: write x = x + y for x += y"
        )
    return out.assign(result)


def require_float(dtype: Any) -> None:
    """Raise unless values may become values of the type: float."""
    if np.dtype(dtype) != np.float64:
        raise TracingError(
            f"a value that depends on rho is a float of 64 bits and cannot become {np.dtype(dtype)}: use "
            f"np.floor, np.round, or a comparison"
        )


def refuse(name: str, options: Any) -> None:
    """Raise if there are options that are not traced."""
    if options:
        raise TracingError(f"np.{name} is not traced with the option {', '.join(options)}")
