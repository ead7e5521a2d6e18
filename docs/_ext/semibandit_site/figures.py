"""Show what was measured for another page: a figure is written in one place, by its command."""

import re
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

_BLOCK = re.compile(
    r"^<!-- (?:figures|table:) (?P<name>[\w -]+?)(?::[^\n]*)? -->\n(?P<body>.*?)^<!-- end -->$", re.M | re.S
)


def setup(app: Any) -> dict[str, Any]:
    """`{figures} page.md name` shows the block of this name."""
    app.add_directive("figures", Figures)
    return {"parallel_read_safe": True}


class Figures(SphinxDirective):
    """The block of figures of a page, named by the page (beside this one) and its name there."""

    required_arguments = 1
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """What stands between the markers."""
        page, name = self.arguments
        path = Path(self.env.doc2path(self.env.docname)).parent / page
        self.env.note_dependency(str(path))
        body = blocks(path.read_text("utf-8")).get(name)
        if body is None:
            raise self.error(f"{page} has no figures called {name}")
        inside = nodes.container()
        self.state.nested_parse(StringList(body.splitlines(), str(path)), self.content_offset, inside)
        return inside.children


def blocks(text: str) -> dict[str, str]:
    """The blocks of a page by their names."""
    return {block["name"]: block["body"] for block in _BLOCK.finditer(text)}
