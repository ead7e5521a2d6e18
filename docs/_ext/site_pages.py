"""Sphinx extension: the pages of the reference, docstrings as reStructuredText, formulas as MathML.

The reference is generated from the package: one page per public module, one for the command line and one
for the HTTP interface.
"""

import importlib
import json
import pkgutil
import re
import types
from pathlib import Path
from typing import Any

import latex2mathml.converter
import typer.cli
from docutils import nodes
from sphinx.domains.python import PyXRefRole

import semibandit
from semibandit.cli import app as command_line
from semibandit.studies.api import document
from semibandit.studies.service import ENDPOINTS

INTERNAL = ("cli", "weights")
# Members that a class inherits from other packages are documented there.
FOREIGN = (
    "object, tuple, dict, Struct, Protocol, Sequence, Generic, Exception, BaseEstimator, ClusterMixin, "
    "ClassifierMixin"
)
ROUTING = ", ".join(f"set_{method}_request" for method in ("fit", "partial_fit", "predict", "score"))
OPTIONS = f"""\
   :inherited-members: {FOREIGN}
   :exclude-members: get_metadata_routing, {ROUTING}
   :show-inheritance:
"""
# numpy's aliases as they are written in the source.
ALIASES = {
    r"_Buffer \| .*?_NestedSequence\[complex \| bytes \| str\]": "ArrayLike",
    r"ndarray\[tuple\[[^]]*\], dtype\[(\w+)\]\]": r"NDArray[\1]",
}
HTTP = """\
# The HTTP interface

`semibandit serve` exchanges JSON over HTTP. The OpenAPI document of this interface is at `/api/openapi.json`.
If the service has a token, every request carries the header `Authorization: Bearer TOKEN`. A rejected request
changes nothing, and its response is a `Problem` with a message.

| request | purpose | body | response |
|---|---|---|---|
"""


def setup(app: Any) -> dict[str, Any]:
    """Register the generated pages, the docstring filter, the default role and the math renderer."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "reference"))
    app.connect("autodoc-process-docstring", _process_docstring, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", _shorten_annotations)
    app.add_role_to_domain("py", "name", NameRole())
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_block_formula, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


# -- generated pages ------------------------------------------------------------------------------------


def write(folder: Path) -> None:
    """Write the generated pages below a folder, leaving files that have not changed."""
    texts = {f"api/{module.__name__}.rst": _api_page(module.__name__) for module in public_modules()}
    root = typer.main.get_command(command_line)
    context = typer.Context(root, info_name="semibandit")
    texts["commands.md"] = typer.cli.get_docs_for_click(obj=root, ctx=context, name="semibandit")
    texts["http.md"] = _http_page()
    for old in {path.relative_to(folder).as_posix() for path in folder.glob("api/*.rst")} - texts.keys():
        (folder / old).unlink()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def public_modules() -> list[types.ModuleType]:
    """Return the modules of the package whose names users import, and the modules that those export."""
    names = [module.name for module in pkgutil.iter_modules(semibandit.__path__)]
    public = [name for name in names if not name.startswith("_") and name not in INTERNAL]
    modules = [importlib.import_module(f"semibandit.{name}") for name in public]
    for module in modules:
        exported = [getattr(module, name) for name in module.__all__]
        modules += [x for x in exported if isinstance(x, types.ModuleType) and x not in modules]
    return modules


def _api_page(module: str) -> str:
    return f"{module}\n{'=' * len(module)}\n\n.. automodule:: {module}\n   :members:\n{OPTIONS}"


def _http_page() -> str:
    openapi = document([point for point, _ in ENDPOINTS], semibandit.__version__)
    text = HTTP
    for path, operations in openapi["paths"].items():
        for method, operation in operations.items():
            body = _types(operation.get("requestBody", {"content": {}}))
            gives = _types(operation["responses"]["200"])
            text += f"| `{method.upper()} {path}` | {operation['summary']} | {body} | {gives} |\n"
    for name, schema in sorted(openapi["components"]["schemas"].items()):
        text += f"\n(type-{name.lower()})=\n## {name}\n\n```json\n{json.dumps(schema, indent=2)}\n```\n"
    return text


def _types(message: dict[str, Any]) -> str:
    """Return links to the types of a request or response, or its media types."""
    names = [c.get("schema", {}).get("$ref", media) for media, c in message["content"].items()]
    short = [name.rpartition("/")[2] if name.startswith("#") else name for name in names]
    return ", ".join(
        f"[`{x}`](#type-{x.lower()})" if n.startswith("#") else f"`{n}`"
        for n, x in zip(names, short, strict=True)
    )


# -- docstrings -----------------------------------------------------------------------------------------


class NameRole(PyXRefRole):
    """Code that links to the public name it mentions, if there is one: `Study`, `Study.ask`, `sb.Study`."""

    def process_link(
        self, env: Any, refnode: Any, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        """Look the name up in all modules."""
        refnode["refspecific"], refnode["reftype"] = True, "obj"
        return title, target.removeprefix("sb.")


def _process_docstring(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    if lines and lines[0].startswith("Alias for field number"):
        lines.clear()
    lines[:] = mark_formulas(lines)
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # otherwise napoleon takes the words before a colon for a type


def _shorten_annotations(app: Any, what: str, name: str, obj: Any, options: Any, *signature: Any) -> Any:
    return tuple(text and _aliased(text) for text in signature)


def _aliased(text: str) -> str:
    text = re.sub(r"~[\w.]+\.", "", text)
    for long, short in ALIASES.items():
        text = re.sub(long, short, text)
    return text


def mark_formulas(lines: list[str]) -> list[str]:
    """Make indented paragraphs literal, and escape bars and powers outside of code.

    Docstrings are written for the source: formulas are indented without a mark, as in ln(|C|/2r).
    """
    result: list[str] = []
    above, literal, blank = 0, False, True
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if line.strip() and literal and indent <= above:
            literal = False
        if line.strip() and not literal:
            if blank and result and indent >= above + 4:
                result += [" " * above + "::", ""]
                literal = True
            else:
                above = indent
        blank = not line.strip()
        verbatim = literal or line.lstrip().startswith((">>>", "..."))
        result.append(line if verbatim else re.sub(r"(`[^`]*`)|(\||\*)", _escape, line))
    return result


def _escape(match: re.Match[str]) -> str:
    return match[1] or "\\" + match[2]


# -- formulas: browsers draw MathML without scripts -----------------------------------------------------


def _inline_formula(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block_formula(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def mathml(tex: str, display: str) -> str:
    """Return a formula as MathML; raise ValueError if it has an unknown command."""
    drawn = str(latex2mathml.converter.convert(tex.strip(), display=display))
    if "\\" in drawn or "&#x0005C;" in drawn:
        raise ValueError(f"the formula must use known TeX commands, got {tex}")
    return drawn
