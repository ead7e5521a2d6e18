"""Write the pages that are made from the package itself, below `reference/`."""

from pathlib import Path
from typing import Any

from semibandit_site import commands, names, service


def setup(app: Any) -> dict[str, Any]:
    """Write before sources are read."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "reference"))
    return {"parallel_read_safe": True}


def write(folder: Path) -> None:
    """Write what has changed, so that only that is read again, and delete what is no more."""
    for part, pages in (("api", names.pages()), ("commands", commands.pages()), ("service", service.pages())):
        target = folder / part
        target.mkdir(parents=True, exist_ok=True)
        for old in target.iterdir():
            if old.name not in pages:
                old.unlink()
        for name, text in pages.items():
            path = target / name
            if not path.exists() or path.read_text("utf-8") != text:
                path.write_text(text, "utf-8")
