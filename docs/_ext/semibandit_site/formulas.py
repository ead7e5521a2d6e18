"""Formulas as MathML, which browsers draw by themselves: the site needs nothing from elsewhere."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def setup(app: Any) -> dict[str, Any]:
    """Offer the renderer, and choose it."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: nodes.math) -> None:
    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.math_block) -> None:
    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>')
    raise nodes.SkipNode


def mathml(tex: str, display: str) -> str:
    """A formula; a command that is not known would be left in it as text."""
    drawn = convert(tex.strip(), display=display)
    if "\\" in drawn or "&#x0005C;" in drawn:
        raise ValueError(f"a formula holds what cannot be drawn: {tex}")
    return str(drawn)
