"""The site builds without a warning and documents every public name. Tutorials do not run here."""

import ast
import inspect
import re
import shutil
import subprocess
import sys

import pytest
from sphinx.util.inventory import InventoryFile

from pages import ROOT

sys.path.append(str(ROOT / "docs" / "_ext"))
import site_pages

GENERATED = shutil.ignore_patterns("gallery", "reading", "api", "commands.md", "http.md", "__pycache__")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site from a copy of its sources; a warning is an error, as in `make docs`."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(ROOT / "docs", folder / "docs", ignore=GENERATED)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, folder)
    for name in ("examples", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    command = ["-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-D", "plot_gallery=0", "docs", "build"]
    done = subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    return folder / "build"


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site):
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    documented = set().union(*(items for kind, items in inventory.data.items() if kind.startswith("py:")))
    for module in site_pages.public_modules():
        values = {name: getattr(module, name) for name in module.__all__}
        names = [name for name, value in values.items() if inspect.isclass(value) or inspect.isroutine(value)]
        assert {f"{module.__name__}.{name}" for name in names} <= documented


@pytest.mark.slow
def test_every_page_is_reached_from_the_start(site):
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    found, queue = set(), ["index.html"]
    while queue:
        page = queue.pop()
        if page in found or page not in pages:
            continue
        found.add(page)
        for link in re.findall(r'href="([^"#:?]+\.html)', (site / page).read_text("utf-8")):
            queue.append((site / page).parent.joinpath(link).resolve().relative_to(site.resolve()).as_posix())
    assert pages - found <= {"genindex.html", "search.html", "py-modindex.html"}


def messages():
    """Return the string literals of the package, with \0 for the parts that vary."""
    texts = []
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


def test_troubleshooting_quotes_messages_of_the_package():
    text = (ROOT / "docs" / "guides" / "troubleshooting.md").read_text("utf-8")
    quoted = re.findall(r"^`([^`]+)`[^\n]*\n: ", text, re.M)
    assert len(quoted) > 10
    known = messages()
    for message in quoted:
        pattern = re.compile(".*".join(re.escape(part.strip()) for part in message.split("...")), re.S)
        assert any(pattern.search(text) for text in known), message
