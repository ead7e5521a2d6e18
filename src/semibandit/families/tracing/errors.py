"""Errors that name the line of the user's code."""

from __future__ import annotations

import linecache
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

__all__ = ["TracingError", "not_swallowed"]

_OURS = (str(Path(__file__).parents[2]), str(Path(np.__file__).parent))
_STANDARD = (sysconfig.get_path("stdlib"), "<frozen")
_RAISED: ContextVar[list[TracingError] | None] = ContextVar("raised", default=None)


class TracingError(TypeError):
    """Raised where a traced function computes something that is neither affine in ρ nor a power.

    The message names the line of the function and what to write instead, or the first line of `function` if
    the error is in the value that it returned.
    """

    def __init__(self, message: str, function: Callable[..., Any] | None = None) -> None:
        super().__init__((_place() if function is None else _place_of(function)) + message)
        raised = _RAISED.get()
        if raised is not None:
            raised.append(self)


@contextmanager
def not_swallowed() -> Iterator[None]:
    """Raise the first error at the end of the run, also where the function or numpy caught it."""
    raised: list[TracingError] = []
    token = _RAISED.set(raised)
    try:
        yield
    except Exception:
        if raised:
            raise raised[0] from None
        raise
    finally:
        _RAISED.reset(token)
    if raised:
        raise raised[0]


def _place() -> str:
    """Return file, line and code of the innermost frame that is not of this package, numpy or Python."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and _is_foreign(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return ""
    code = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
    return _described(frame.f_code.co_filename, frame.f_lineno, code)


def _is_foreign(name: str) -> bool:
    return name.startswith(_OURS) or (name.startswith(_STANDARD) and "-packages" not in name)


def _place_of(function: Callable[..., Any]) -> str:
    """Return file, line and name of a function."""
    code = getattr(function, "__code__", None)
    return "" if code is None else _described(code.co_filename, code.co_firstlineno, code.co_name)


def _described(name: str, line: int, code: str) -> str:
    return f"{Path(name).name}, line {line}" + (f" ({code})" if code else "") + ": "
