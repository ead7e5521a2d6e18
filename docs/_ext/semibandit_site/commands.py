"""The pages of the command line: every command with its arguments and options, as `--help` has them."""

from collections.abc import Iterator
from typing import Any

import typer

from semibandit.cli import app


def commands() -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Every command in its order: its words, itself and its context, groups before what is in them."""
    root = typer.main.get_command(app)
    yield from _below(root, ("semibandit",), None)


def _below(command: Any, words: tuple[str, ...], parent: Any) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    context = command.make_context(words[-1], [], parent=parent, resilient_parsing=True)
    yield words, command, context
    for name, inner in getattr(command, "commands", {}).items():
        yield from _below(inner, (*words, name), context)


def pages() -> dict[str, str]:
    """A page for each command of the first level."""
    texts: dict[str, list[str]] = {}
    for words, command, context in commands():
        if len(words) == 1:
            continue
        lines = texts.setdefault(f"{words[1]}.rst", [])
        lines += [f".. _command-{'-'.join(words[1:])}:", "", *_section(words, command, context)]
    return {name: "\n".join(lines) + "\n" for name, lines in texts.items()}


def _section(words: tuple[str, ...], command: Any, context: Any) -> list[str]:
    title = " ".join(words)
    lines = [title, ("=" if len(words) == 2 else "-") * len(title), "", *_prose(command.help), ""]
    usage = " ".join(command.collect_usage_pieces(context)).replace("{", "").replace("}", "")
    lines += [".. code-block:: text", "", f"   {title} {usage}", ""]
    records = [record for p in command.get_params(context) if (record := p.get_help_record(context))]
    if not records:
        return lines
    lines += [".. list-table::", "   :widths: 34 66", "   :class: options", ""]
    for left, right in records:
        lines += [f"   * - ``{left}``", f"     - {_plain(right)}"]
    return [*lines, ""]


def _prose(text: str | None) -> list[str]:
    """What a command says of itself; examples in it are indented, and so literal."""
    lines: list[str] = []
    for paragraph in (text or "").replace("\b", "").strip().split("\n\n"):
        if paragraph.startswith("  "):
            lines += ["::", "", paragraph, ""]
        else:
            lines += [_plain(paragraph), ""]
    return lines


def _plain(text: str) -> str:
    """A line of help as reStructuredText, with `code` as code."""
    parts = " ".join(text.split()).split("`")
    escaped = [part if i % 2 else _escape(part) for i, part in enumerate(parts)]
    return "".join(f"``{part}``" if i % 2 else part for i, part in enumerate(escaped))


def _escape(text: str) -> str:
    for mark in "\\*_|":
        text = text.replace(mark, "\\" + mark)
    return text.replace("--", r"\--")
