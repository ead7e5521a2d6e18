"""Terminal output, and checks of output files before the work starts."""

from __future__ import annotations

import codecs
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from semibandit._extras import needed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

__all__ = ["adapt_output", "console", "drawable", "plain", "progress_bar", "table", "writable"]

_NARROWEST = 80
_NAMES = {
    "ρ": "rho",
    "α": "alpha",
    "β": "beta",
    "ε": "eps",
    "λ": "lambda",
    "µ": "u",
    "±": "+-",
    "·": "*",
    "√": "sqrt",
}
# Control sequences of terminals, and all other control characters.
_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\].*?(?:\x07|\x1b\\)|\x1b.|[\x00-\x1f\x7f-\x9f]", re.DOTALL
)


def console(**options: Any) -> Console:
    """Return a console at least 80 columns wide; on narrower ones rich would cut numbers."""
    from rich.console import Console

    narrow = Console(**options)
    return narrow if narrow.width >= _NARROWEST else Console(width=_NARROWEST, **options)


def table(rows: Iterable[tuple[str, ...]] = (), *, title: str | None = None, **options: Any) -> Table:
    """Return a table; without columns added, the rows are names and facts."""
    from rich import box
    from rich.table import Table

    found = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, **options)
    rows = list(rows)
    if rows:
        found.show_header = False
        found.add_column(no_wrap=True)
        found.add_column()
    for row in rows:
        found.add_row(*row)
    return found


def progress_bar(to: Console) -> Progress:
    """Return progress bars that vanish at the end; each task has a description and a `note`."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    return Progress(
        TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"), console=to, transient=True,
    )  # fmt: skip


def plain(text: str) -> str:
    """Return text without control sequences."""
    return _CONTROL.sub("", text)


def adapt_output() -> None:
    """Write the name of a letter, or a question mark, if the encoding of the output lacks it."""
    codecs.register_error("semibandit", _spell_out)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="semibandit")


def _spell_out(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_NAMES.get(letter, "?") for letter in lost), error.end


def writable(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written."""
    if path is None:
        return None
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder")
    if not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"there is no folder {path.parent}")
    if path.exists() and not path.is_file():
        raise typer.BadParameter(f"{path} is not a file")
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise typer.BadParameter(f"{path} cannot be written")
    return path


def drawable(path: Path | None) -> Path | None:
    """Refuse a file that cannot be written, or whose ending is no format of pictures."""
    if writable(path) is None:
        return None
    assert path is not None
    with needed("drawing", "plot"):
        from matplotlib.backend_bases import FigureCanvasBase
    endings = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in endings:
        raise typer.BadParameter(f"{path} must end in .png, or in one of {', '.join(sorted(endings))}")
    return path
