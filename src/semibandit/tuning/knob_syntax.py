"""Syntax of knobs on the command line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from semibandit.spaces import Choice, Integer, Knobs, Real, When

__all__ = ["parse_knob", "parse_knobs", "parse_values"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INTEGER = re.compile(r"([+-]?\d+)\.\.([+-]?\d+)(:log)?")
_REAL = re.compile(r"(?!.*\.\.)([^:]+):([^:]+)(?::([^:]+))?")


def parse_knobs(texts: Iterable[str]) -> Knobs:
    """Return the knobs of "alpha=1e-4:1:log", "depth=1..12", "mode=fast,good".

    >>> parse_knobs(["alpha=1e-4:1:log", "depth=1..12", "mode=fast,good"]).along
    'alpha'
    """
    knobs: dict[str, Any] = {}
    for text in texts:
        name, kind = parse_knob(text)
        if name in knobs:
            raise ValueError(f"two knobs are called {name!r}")
        if name in ("instance", "along"):
            raise ValueError(f"a knob cannot be called {name!r}, a reserved name")
        knobs[name] = kind
    return Knobs(**knobs)


def parse_knob(text: str) -> tuple[str, Any]:
    """Return the name and the kind of a knob.

    Real numbers are LO:HI, LO:HI:log (log scale) or LO:HI:STEP; integers LO..HI or LO..HI:log; choices A,B.
    "if NAME=A" or "if NAME=A,B" after it is a condition on a choice.

    >>> parse_knob("x=0:1:0.25"), parse_knob("n=1..100:log")
    (('x', Real(lo=0.0, hi=1.0, log=False, step=0.25)), ('n', Integer(lo=1, hi=100, log=True)))
    >>> parse_knob("mode=fast,good"), parse_knob("q=1..9 if mode=good")
    (('mode', Choice('fast', 'good')), ('q', When(Integer(lo=1, hi=9, log=False), mode=('good',))))
    """
    name, equals, rest = text.partition("=")
    if not (equals and rest and _NAME.fullmatch(name)):
        raise ValueError(f"--knob must be NAME=LO:HI, NAME=LO..HI or NAME=A,B, got {text!r}")
    rest, condition, values = rest.partition(" if ")
    if condition:
        other, equals, value = values.strip().partition("=")
        if not (equals and value and _NAME.fullmatch(other)):
            raise ValueError(f"--knob {text}: expected NAME=VALUE or NAME=A,B after `if`, got {values!r}")
        return name, When(parse_knob(f"{name}={rest.strip()}")[1], **{other: tuple(value.split(","))})
    if "," in rest:
        return name, Choice(*rest.split(","))
    found = _INTEGER.fullmatch(rest) or _REAL.fullmatch(rest)
    try:
        if found is None:
            raise ValueError(
                "expected LO:HI, LO:HI:log, LO:HI:STEP, LO..HI, LO..HI:log or A,B, with numbers LO and HI"
            )
        lo, hi, scale = found.groups()
        if found.re is _INTEGER:
            return name, Integer(int(lo), int(hi), log=scale is not None)
        step = None if scale in (None, "log") else float(scale)
        return name, Real(float(lo), float(hi), log=scale == "log", step=step)
    except ValueError as error:
        raise ValueError(f"--knob {text}: {error}") from None


def parse_values(text: str, knobs: Knobs) -> dict[str, Any]:
    """Return the values of all knobs, from "alpha=0.1,depth=3,mode=fast".

    >>> parse_values("depth=3,mode=good", parse_knobs(["depth=1..12", "mode=fast,good"]))
    {'depth': 3, 'mode': 'good'}
    """
    values: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or name in values:
            raise ValueError(f"--default must be NAME=VALUE,..., one for each knob, got {text!r}")
        values[name] = value
        if name in knobs.knobs and knobs.knobs[name].ordered:
            try:
                values[name] = float(value)
            except ValueError:
                raise ValueError(f"--default: {name} must be a number, got {value!r}") from None
    return knobs.check(**values)
