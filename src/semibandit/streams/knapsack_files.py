"""Knapsack instances from files: `.kp`, and the participatory budgets of Pabulib (`.pb`)."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from semibandit import _validate
from semibandit.families.greedy.knapsack import Knapsack
from semibandit.spaces.interval import Interval
from semibandit.streams.files import InstanceFiles, LineError, Where, finite_number, instance_files, opened

__all__ = ["read_knapsacks"]

_SECTIONS = ("META", "PROJECTS", "VOTES")


class _Content(NamedTuple):
    """Numbers of an instance, and for Pabulib the date of the vote (year, month, day)."""

    values: list[float]
    sizes: list[float]
    capacity: float
    date: tuple[int, int, int] | None


def read_knapsacks(
    where: Where,
    *,
    order: str | Callable[[Path], Any] = "name",
    skip_bad: bool = False,
    on_demand: bool = False,
    value: str = "votes",
    space: Interval | None = None,
    loss: str = "normalised",
    partition: str = "output",
) -> InstanceFiles[Knapsack]:
    """Return a stream of the knapsack instances in files, each read whenever it is needed.

    Parameters
    ----------
    where
        A folder (its `.kp` and `.pb` files), a glob pattern, a file, or several of these.
        A `.kp` file holds n and the capacity, then n lines "value size". A `.pb` file holds a participatory
        budget: projects are items, the budget is the capacity.
    order
        "name": by file name. "date": by the date of the vote, then by name (Pabulib only). Or a key function
        of the path.
    skip_bad
        Leave out the files that cannot be used; their errors are in `.skipped`. Otherwise the first such file
        raises an error that names the file and the line.
    on_demand
        Do not read the files in advance. A file that cannot be used raises its error when it is needed.
    value
        Column of PROJECTS with the value of a project: "votes" or "score".
    space, loss, partition
        Arguments of each `Knapsack`.
    """
    _validate.choice("value", value, ("votes", "score"))
    if not callable(order):
        _validate.choice("order", order, ("name", "date"))
    options = {"space": space, "loss": loss, "partition": partition}
    if _validate.boolean("on_demand", on_demand) and (order == "date" or skip_bad):
        raise ValueError("on_demand=True reads no file in advance, but order='date' and skip_bad=True do")
    dates: dict[Path, Any] = {}

    def check(path: Path) -> None:
        with opened(path, _READERS) as file:
            dates[path] = _READERS[path.suffix.lower()](file, value).date
            if order == "date" and dates[path] is None:
                raise LineError(None, "has no date to order by")

    def by_date(path: Path) -> Any:
        return dates[path], path.name

    keys = {"name": lambda path: path.name, "date": by_date}
    return instance_files(
        where,
        _READERS,
        partial(_problem, value=value, options=options),
        check=None if on_demand else check,
        skip_bad=skip_bad,
        order=order if callable(order) else keys[order],
    )


def _problem(path: Path, value: str, options: dict[str, Any]) -> Knapsack:
    with opened(path, _READERS) as file:
        content = _READERS[path.suffix.lower()](file, value)
        return Knapsack(content.values, content.sizes, content.capacity, **options)


# -- .kp -------------------------------------------------------------------------------------------------


def _read_kp(file: Iterable[str], _: str) -> _Content:
    rows = [
        (line, text.split()) for line, text in enumerate(file, 1) if text.strip() and text.lstrip()[0] != "#"
    ]
    if not rows:
        raise LineError(None, "is empty")
    head = rows.pop(0)
    if len(head[1]) == 1 and rows and len(rows[0][1]) == 1:  # n and the capacity on separate lines
        head = (rows[0][0], head[1] + rows.pop(0)[1])
    if len(head[1]) != 2:
        raise LineError(head[0], f"expected the number of items and the capacity, got {_shown(head[1])}")
    n = _number(head[0], "number of items", head[1][0], above=0.0)
    capacity = _number(head[0], "capacity", head[1][1], above=0.0)
    if n != int(n):
        raise LineError(head[0], f"number of items must be an integer, got {head[1][0]}")
    items = []
    for line, row in rows[: int(n)]:
        if len(row) != 2:
            raise LineError(line, f"expected a value and a size, got {_shown(row)}")
        items.append((_number(line, "value", row[0]), _number(line, "size", row[1], above=0.0)))
    if len(items) < n:
        raise LineError((rows or [head])[-1][0], f"cut short: {int(n)} items announced, {len(items)} found")
    extra = rows[int(n) :]
    # Some collections end with an optimal solution, one 0 or 1 for each item.
    if extra and not (len(extra) == 1 and len(extra[0][1]) == n and set(extra[0][1]) <= {"0", "1"}):
        raise LineError(extra[0][0], f"{int(n)} items announced, more found: {_shown(extra[0][1])}")
    values, sizes = zip(*items, strict=True)
    return _Content(list(values), list(sizes), capacity, None)


# -- Pabulib ---------------------------------------------------------------------------------------------


def _read_pb(file: Iterable[str], value: str) -> _Content:
    meta: dict[str, tuple[int, str]] = {}
    header: list[str] | None = None
    items: list[tuple[float, float]] = []
    section, last = "", 0
    reader = csv.reader(file, delimiter=";")
    for row in reader:
        if not any(cell.strip() for cell in row):
            continue
        last = line = reader.line_num
        if len(row) == 1 and row[0].strip().upper() in _SECTIONS:
            section = row[0].strip().upper()
            if section == "VOTES":
                break
        elif section == "META" and len(row) >= 2:
            meta[row[0].strip().lower()] = line, row[1].strip()
        elif section == "PROJECTS" and header is None:
            header = [name.strip().lower() for name in row]
            for column in ("cost", value):
                if column not in header:
                    raise LineError(line, f"PROJECTS has no column {column!r}, only {', '.join(header)}")
        elif section == "PROJECTS" and header is not None:
            items.append(_project(line, header, row, value))
    if section != "VOTES":
        raise LineError(last or None, f"cut short: it ends in section {section or 'none'}, before VOTES")
    capacity = _budget(meta, len(items), last)
    return _Content([v for v, _ in items], [s for _, s in items], capacity, _date(meta))


def _project(line: int, header: list[str], row: list[str], value: str) -> tuple[float, float]:
    if len(row) < len(header):
        raise LineError(line, f"{len(header)} columns expected ({';'.join(header)}), got {len(row)}")
    cells = dict(zip(header, row, strict=False))
    return _number(line, value, cells[value]), _number(line, "cost", cells["cost"], above=0.0)


def _budget(meta: dict[str, tuple[int, str]], n_projects: int, last: int) -> float:
    if "budget" not in meta:
        raise LineError(None, "META has no budget")
    line, text = meta["budget"]
    budget = _number(line, "budget", text, above=0.0)
    if n_projects == 0:
        raise LineError(last, "PROJECTS is empty")
    announced = meta.get("num_projects", (0, ""))[1]
    if announced.isdigit() and int(announced) != n_projects:
        raise LineError(last, f"num_projects is {announced}, but {n_projects} were found")
    return budget


def _date(meta: dict[str, tuple[int, str]]) -> tuple[int, int, int] | None:
    """Return the date of the vote: of the end, of the begin, or of the instance if it names a year."""
    for key in ("date_end", "date_begin", "instance"):
        text = meta.get(key, (0, ""))[1]
        if found := re.fullmatch(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})", text):
            return int(found[3]), int(found[2]), int(found[1])
        if found := re.fullmatch(r"(\d{4})(?:[./-](\d{1,2})[./-](\d{1,2}))?", text):
            return int(found[1]), int(found[2] or 0), int(found[3] or 0)
    return None


def _number(line: int, name: str, text: str, above: float | None = None) -> float:
    x = finite_number(line, name, text)
    if x <= above if above is not None else x < 0.0:
        expected = f"> {above:g}" if above is not None else ">= 0"
        raise LineError(line, f"{name} must be {expected}, got {text.strip()}")
    return x


def _shown(row: list[str]) -> str:
    text = " ".join(row)
    return repr(text if len(text) <= 40 else text[:37] + "...")


_READERS: dict[str, Callable[[Iterable[str], str], _Content]] = {".kp": _read_kp, ".pb": _read_pb}
