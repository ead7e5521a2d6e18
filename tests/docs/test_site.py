"""The site builds without a warning, and nothing public is missing on it. Tutorials do not run here."""

import ast
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

import semibandit
from code_blocks import ROOT

sys.path.append(str(ROOT / "docs" / "_ext"))
from semibandit_site import commands, docstrings, figures, formulas, names, service

GENERATED = shutil.ignore_patterns("gallery", "reading", "api", "commands", "service", "__pycache__")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built from a copy of its sources; a warning is an error, as in `make docs`."""
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


@pytest.fixture(scope="module")
def entries(site):
    """What can be linked to, by kind."""
    inventory = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    return {kind: set(items) for kind, items in inventory.data.items()}


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(entries):
    python = set().union(*(items for kind, items in entries.items() if kind.startswith("py:")))
    missing = [name.full for room in names.public().values() for name in room if name.full not in python]
    assert not missing


def test_every_public_module_is_a_room():
    listed = {name.full for room in names.public().values() for name in room}
    modules = [semibandit]
    for module in modules:
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, types.ModuleType):
                assert value.__name__.removeprefix("semibandit.") in names.ROOMS
                modules.append(value)
            elif module is semibandit:
                assert f"semibandit.{name}" in listed


@pytest.mark.slow
def test_every_command_is_in_the_reference(site, entries):
    for words, command, context in commands.commands():
        if len(words) == 1:
            continue
        assert f"command-{'-'.join(words[1:])}" in entries["std:label"]
        page = (site / "reference" / "commands" / f"{words[1]}.html").read_text("utf-8")
        for option in command.get_params(context):
            assert all(f">{name}" in page or f" {name}" in page for name in option.opts[:1])


@pytest.mark.slow
def test_every_path_of_the_service_is_in_the_reference(site):
    page = (site / "reference" / "service" / "http.html").read_text("utf-8")
    document = service.openapi()
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"{method.upper()} {path}" in re.sub(r"<[^>]+>", "", page)
    assert all(f'id="type-{name.lower()}"' in page for name in document["components"]["schemas"])


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


def said() -> list[str]:
    """What the package can say, with \0 for what differs."""
    texts = []
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = (part.value if isinstance(part, ast.Constant) else "\0" for part in node.values)
                texts.append("".join(parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


def test_troubleshooting_quotes_what_is_said():
    text = (ROOT / "docs" / "guides" / "troubleshooting.md").read_text("utf-8")
    quoted = re.findall(r"^`([^`]+)`[^\n]*\n: ", text, re.M)
    assert len(quoted) > 30
    messages = said()
    for message in quoted:
        fragments = [part.strip() for part in message.split("...") if part.strip()]
        pattern = re.compile(".*".join(map(re.escape, fragments)), re.S)
        assert any(pattern.search(known) for known in messages), message


def test_docstrings_become_restructured_text():
    lines = ["A bound.", "", "    ln(|C|/2r)", "", "For |x|, `a | b`.", "", ">>> 1 | 2", "3"]
    expected = ["A bound.", "", "::", "", "    ln(|C|/2r)", "", r"For \|x\|, `a | b`.", "", ">>> 1 | 2", "3"]
    assert docstrings.marked(lines) == expected


def test_figures_are_found_by_name():
    text = "<!-- table: a b -->\none\n<!-- end -->\n<!-- figures c: python x 'z: 1' -->\ntwo\n<!-- end -->\n"
    assert figures.blocks(text) == {"a b": "one\n", "c": "two\n"}


def test_formulas_hold_nothing_that_is_not_drawn():
    assert formulas.mathml(r"\frac{1}{2}", "inline").startswith("<math")
    with pytest.raises(ValueError, match="cannot be drawn"):
        formulas.mathml(r"\nosuchcommand{x}", "inline")


def test_pictures_of_the_pages_exist():
    for page in (ROOT / "docs").glob("*.md"):
        for picture in re.findall(r"!\[[^\]]*\]\(([^)]+\.png)\)", page.read_text("utf-8")):
            assert Path(page.parent, picture).is_file(), f"{page.name}: {picture}"
