"""Tables in the documentation that scripts write, so that no figure is typed by hand."""

from __future__ import annotations

import datetime
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def number(x: float) -> str:
    return f"{x:.0f}" if abs(x) >= 100 else f"{x:.1f}"


def write(page: str, tables: dict[str, str]) -> None:
    """Put each table between its markers, with the command that is running and the date."""
    script = Path(sys.argv[0]).resolve().relative_to(ROOT)
    command = shlex.join(["python", str(script), *sys.argv[1:]])
    path = ROOT / "docs" / page
    text = path.read_text()
    for name, table in tables.items():
        body = f"`{command}`, {datetime.date.today():%d %B %Y}:\n\n{table}\n"
        pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end -->)", re.S)
        text, found = pattern.subn(lambda match, body=body: match[1] + body + match[2], text)
        if not found:
            raise ValueError(f"{path} has no place for the table {name!r}")
    path.write_text(text)
