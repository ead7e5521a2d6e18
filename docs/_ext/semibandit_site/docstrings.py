"""Docstrings as they are written in this package, made into reStructuredText.

They are to be read in the source first: formulas stand indented, without the marks of a literal block, and
hold bars, as in ln(|C|/2r). What stands in single backticks is code, and a link where it is a public name.
"""

import re
from functools import cache
from typing import Any

from docutils import nodes
from sphinx import addnodes

from semibandit_site import names

_INDENT = re.compile(r" *")
_MARKS = re.compile(r"\||\*\*")
_CODE = re.compile(r"(`[^`]*`)")
# numpy's aliases, as they are written in the source.
_ALIASES = (
    (re.compile(r"[~\w.]*_Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]"), "ArrayLike"),
    (re.compile(r"[~\w.]*ndarray\[tuple\[[^]]*\], [~\w.]*dtype\[[~\w.]*?(\w+)\]\]"), r"NDArray[\1]"),
)


def setup(app: Any) -> dict[str, Any]:
    """Change docstrings before napoleon reads their sections; the role is for single backticks."""
    app.connect("autodoc-process-docstring", _process, priority=400)
    app.connect("autodoc-process-signature", _shorten)
    app.add_role("name", _name)
    return {"parallel_read_safe": True}


@cache
def _links() -> dict[str, str]:
    """The full name for each text that means a public name: `Study`, `Study.ask`, `sb.Study`.

    A name of the package itself comes before those of its modules, and one that two of these have is no link.
    """
    every = [name for room in names.public().values() for name in room]
    found: dict[str, set[str]] = {}
    for name in sorted(every, key=lambda name: name.module.count(".")):
        texts = {name.full: name.full, name.full.replace("semibandit", "sb", 1): name.full}
        if found.get(name.name) != {f"semibandit.{name.name}"}:
            texts[name.name] = name.full
        if isinstance(name.value, type):
            texts |= {f"{name.name}.{member}": f"{name.full}.{member}" for member in vars(name.value)}
        for text, full in texts.items():
            found.setdefault(text, set()).add(full)
    return {text: full.pop() for text, full in found.items() if len(full) == 1}


def _name(role: str, rawtext: str, text: str, *rest: Any) -> tuple[list[nodes.Node], list[nodes.Node]]:
    code = nodes.literal(rawtext, text, classes=["py"])
    full = _links().get(text)
    if full is None:
        return [code], []
    link = addnodes.pending_xref(
        rawtext, code, refdomain="py", reftype="obj", reftarget=full, refexplicit=True, refwarn=False
    )
    return [link], []


def _process(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = [] if lines and lines[0].startswith("Alias for field number") else marked(lines)
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # or napoleon takes what is before a colon for a type


def _shorten(
    app: Any, what: str, name: str, obj: Any, options: Any, arguments: str | None, gives: str | None
) -> tuple[str | None, str | None]:
    return _in_short(arguments), _in_short(gives)


def _in_short(annotations: str | None) -> str | None:
    for long, short in _ALIASES:
        annotations = annotations and long.sub(short, annotations)
    return annotations


def marked(lines: list[str]) -> list[str]:
    """Mark as literal what is indented by four or more after an empty line, and escape the other lines."""
    result: list[str] = []
    above = 0  # the indent of the text that a block would belong to
    blank = True
    literal: int | None = None
    for line in lines:
        indent = len(_INDENT.match(line)[0])  # type: ignore[index]
        if line.strip():
            if literal is not None and indent <= literal:
                literal = None
            if literal is None and blank and result and indent >= above + 4:
                result += [" " * above + "::", ""]
                literal = above
            if literal is None:
                above = indent
        blank = not line.strip()
        doctest = line.lstrip().startswith((">>>", "..."))
        result.append(line if doctest or literal is not None else _escape(line))
    return result


def _escape(line: str) -> str:
    """Bars and powers outside of code are themselves, not marks of a substitution or of emphasis."""
    return "".join(
        part if part.startswith("`") else _MARKS.sub(lambda mark: "".join(f"\\{c}" for c in mark[0]), part)
        for part in _CODE.split(line)
    )
