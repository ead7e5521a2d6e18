"""The site builds without a warning and documents every public name. Tutorials do not run here."""

import ast
import inspect
import pickle
import re
import shutil
import subprocess
import sys

import pytest

from pages import ROOT

sys.path.append(str(ROOT / "docs" / "_ext"))
import site_pages

GENERATED = shutil.ignore_patterns("gallery", "reading", "api", "commands.md", "http.md", "__pycache__")


@pytest.mark.slow
def test_pages_have_no_warning_and_every_public_name_is_in_the_reference(tmp_path):
    """Read and link a copy of the pages without writing them; a warning is an error, as in `make docs`."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs", ignore=GENERATED)
    for page in ROOT.glob("*.md"):
        shutil.copy(page, tmp_path)
    for name in ("examples", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    options = ["-b", "dummy", "-d", "read", "-q", "-W", "--keep-going", "-n", "-D", "plot_gallery=0"]
    command = [sys.executable, "-m", "sphinx", *options, "docs", "build"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-5000:]
    with open(tmp_path / "read" / "environment.pickle", "rb") as file:
        documented = pickle.load(file).domaindata["py"]["objects"].keys()
    for module in site_pages.public_modules():
        values = {name: getattr(module, name) for name in module.__all__}
        names = [name for name, value in values.items() if inspect.isclass(value) or inspect.isroutine(value)]
        assert {f"{module.__name__}.{name}" for name in names} <= documented


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
