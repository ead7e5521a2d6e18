"""Features of instances for contexts: measured by commands, or read from a CSV file."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from semibandit.spaces import Choice, Context, Label, Real
from semibandit.spaces.context import Feature
from semibandit.spaces.kinds import Number
from semibandit.tuning.command import Command, StoppedError

__all__ = ["features_of", "infer_context", "measure", "read_csv"]

_FEW = 8  # words; more are labels
_DECADES = 100.0  # ratio of the largest to the smallest number; above it the scale is logarithmic

Row = Mapping[str, Any]  # the values of features by name; None or "" if unknown


def measure(commands: Iterable[str], instances: Iterable[str], shell: bool = False) -> dict[str, Row]:
    """Run each command NAME=COMMAND on each instance; return the last lines of the outputs by instance.

    >>> measure(["length=expr length {instance}"], ["a.txt", "longer.txt"])
    {'a.txt': {'length': '5'}, 'longer.txt': {'length': '10'}}
    """
    parsed: dict[str, Command] = {}
    for text in commands:
        name, _, template = text.partition("=")
        if not (name.isidentifier() and template):
            raise ValueError(
                f"--feature must be NAME=COMMAND, such as size='stat -c %s {{instance}}', got {text!r}"
            )
        if name in parsed:
            raise ValueError(f"two features are called {name!r}")
        try:
            parsed[name] = Command(template, names=(), shell=shell)
        except ValueError as error:
            raise ValueError(f"--feature {name}: {error}") from None
    rows: dict[str, Row] = {}
    for instance in dict.fromkeys(instances):
        row = {}
        for name, command in parsed.items():
            try:
                row[name] = command.last_line(instance)
            except StoppedError as error:
                raise ValueError(f"--feature {name}, on {instance!r}: {error}") from None
        rows[instance] = row
    return rows


def read_csv(path: str | PathLike[str], instances: Iterable[str]) -> dict[str, Row]:
    """Read the features of instances from a CSV file with a column `instance`; empty cells are unknown."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        names = [name for name in reader.fieldnames or () if name != "instance"]
        if len(names) != len(reader.fieldnames or ()) - 1 or not names or len(set(names)) < len(names):
            raise ValueError(
                f"{path} must have a column `instance` and one for each feature, got {reader.fieldnames}"
            )
        found: dict[str, Row] = {}
        for row in reader:
            if None in row or None in row.values():
                raise ValueError(f"{path}, line {reader.line_num}: expected {len(names) + 1} cells")
            instance = row.pop("instance")
            if found.setdefault(instance, row) != row:
                raise ValueError(f"{path} has two different rows of {instance!r}")
    missing = [name for name in dict.fromkeys(instances) if name not in found]
    if missing:
        more = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
        raise ValueError(f"{path} must have a row for each instance, got none of {missing[0]!r}{more}")
    return {name: found[name] for name in dict.fromkeys(instances)}


def infer_context(rows: Mapping[str, Row]) -> Context:
    """Return the features with kinds and ranges that fit all rows.

    Numbers are `Real`, on a logarithmic scale if they are positive and span more than two decades. Up to
    eight words are a `Choice`, more are a `Label`.

    >>> infer_context({"a": {"size": "10", "kind": "x"}, "b": {"size": 2e4, "kind": "y"}})
    Context(size=Real(lo=10.0, hi=20000.0, log=True, step=None), kind=Choice('x', 'y'))
    """
    names = dict.fromkeys(name for row in rows.values() for name in row)
    columns = {
        name: {text for instance, row in rows.items() if (text := _text(name, instance, row)) is not None}
        for name in names
    }
    return Context(**{name: _kind(name, texts) for name, texts in columns.items()})


def features_of(context: Context, instance: str, row: Row) -> dict[str, Any]:
    """Return the features of an instance as a learner with this context takes them.

    A number outside its range counts as the nearest end, and a word that is no choice as unknown.
    """
    found: dict[str, Any] = {}
    for name, kind in context.features.items():
        text = _text(name, instance, row)
        if text is None:
            continue
        if isinstance(kind, Number):
            x = _number(text)
            if x is None:
                raise ValueError(f"feature {name!r} of {instance!r} must be a number, got {text!r}")
            found[name] = min(max(x, kind.lo), kind.hi)
        elif isinstance(kind, Label) or text in kind.values:
            found[name] = kind.check(f"feature {name!r} of {instance!r}", text)
    return found


def _text(name: str, instance: str, row: Row) -> str | None:
    """Return the value of a feature as text, None if it is unknown; numbers must be finite."""
    value = row.get(name)
    text = "" if value is None else str(value).strip()
    x = _number(text)
    if x is not None and not math.isfinite(x):
        raise ValueError(f"feature {name!r} of {instance!r} must be a finite number or a word, got {text!r}")
    return text or None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _kind(name: str, texts: set[str]) -> Feature:
    known = [x for text in texts if (x := _number(text)) is not None]
    numeric = len(known) == len(texts)
    if len(set(known) if numeric else texts) < 2:
        shown = ", ".join(map(repr, sorted(texts))) or "no value"
        raise ValueError(f"feature {name!r} must differ between instances, got {shown} for all")
    if numeric:
        lo, hi = min(known), max(known)
        return Real(lo, hi, log=lo > 0.0 and hi / lo > _DECADES)
    return Choice(*sorted(texts)) if len(texts) <= _FEW else Label()
