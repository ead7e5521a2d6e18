"""Every block of code in README and in the documentation runs, so that none is out of date."""

import os
import signal
import sys
from pathlib import Path

import pytest

from code_blocks import ROOT, RUN, SHOWN, Page, blocks, pages

EACH = pytest.mark.parametrize("name", [path.relative_to(ROOT).as_posix() for path in pages()])


@pytest.fixture(autouse=True)
def in_time():
    """A page that hangs fails, and the others go on."""

    def stop(*_):
        raise TimeoutError("the page takes longer than five minutes")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(300)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    paths = tmp_path / "bin", Path(sys.executable).parent, os.environ["PATH"]  # programs of the page's own
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, paths)))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@EACH
def test_page(name, here):
    page = Page(ROOT / name, here)
    for block in blocks(page.path.read_text()):
        if block.mark.startswith("not run:"):
            assert block.mark.removeprefix("not run:").strip(), f"line {block.line}: say why it is not run"
            page.check(block)
        elif block.language in (*RUN, "setup"):
            page.run(block)


@EACH
def test_every_block_says_its_language(name):
    for block in blocks((ROOT / name).read_text()):
        known = block.language in (*RUN, *SHOWN, "setup") or block.language.startswith("{")
        assert known, f"line {block.line}: a fence with a language, please: {', '.join((*RUN, *SHOWN))}"
        assert block.language not in ("{code-block}", "{code}"), f"line {block.line}: a plain fence is run"
