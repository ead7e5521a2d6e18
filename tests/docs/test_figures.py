"""Figures of the documentation come from commands that are there, and can be made again."""

import argparse
import datetime
import importlib.util
import re
import runpy
import shlex
import sys

import pytest

from code_blocks import ROOT, check_command, pages

SPEC = importlib.util.spec_from_file_location("figures", ROOT / "tools" / "figures.py")
figures = importlib.util.module_from_spec(SPEC)
sys.modules["figures"] = figures  # dataclasses look for their module
SPEC.loader.exec_module(figures)

ALL = [figure for page in pages() for figure in figures.figures(page)]
COMMANDS = sorted({figure.command for figure in ALL})
NUMBER = re.compile(r"(?<![\w^(])[-−]?\d[\d.,]*(?![\w(])")
EACH = pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())


class ParsedError(Exception):
    """The words of a script were understood."""


def parse_words(script, words, monkeypatch):
    """Run a script up to the point where it has parsed its words."""
    parse = argparse.ArgumentParser.parse_args

    def stop(parser, *given):
        parse(parser, *given)
        raise ParsedError

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", stop)
    monkeypatch.setattr(sys, "argv", [str(script), *words])
    monkeypatch.setattr(sys, "path", [str(script.parent), *sys.path])
    with pytest.raises(ParsedError):
        runpy.run_path(str(script), run_name="__main__")


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_can_be_run(command, monkeypatch):
    check_command(command)
    words = shlex.split(command)
    if words[0] != "python" or "&&" in words:
        return
    script = ROOT / words[1]
    if "argparse" in script.read_text() or "run_parts" in script.read_text():
        try:
            parse_words(script, words[2:], monkeypatch)
        except ImportError as error:
            pytest.skip(f"the extra bench is not installed: {error}")
    else:
        assert words[2:] == [], "a script that takes no words"


@EACH
def test_markers_are_whole(page):
    text = page.read_text()
    opened = len(re.findall(r"^<!-- (?:figures|picture) ", text, re.M))
    closed = len(re.findall(r"^<!-- end -->", text, re.M))
    assert opened == closed == len(figures.figures(page))


@EACH
def test_figures_name_their_command_and_date(page):
    for figure in figures.figures(page):
        assert re.search(rf"^\*`{re.escape(figure.command)}`, \d+ \w+ \d{{4}}\*$", figure.body, re.M), (
            figure.name
        )
        what = r"^!\[" if figure.kind == "picture" else r"^(\||```text)"
        assert re.search(what, figure.body, re.M), (
            f"{figure.name} has no figures: make figures ONLY={figure.name}"
        )


@EACH
def test_tables_of_numbers_are_figures(page):
    """A number in a table is measured by a command, or said not to be measured."""
    text = figures.BLOCK.sub("", page.read_text())
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if re.match(r"\|(\s*:?-+:?\s*\|)+$", line):
            rows = lines[
                i + 1 : next((j for j in range(i, len(lines)) if not lines[j].startswith("|")), None)
            ]
            plain = [re.sub(r"`[^`]*`|\]\([^)]*\)|Theorem \d+|Lemma \d+|Exp3", "", row) for row in rows]
            marked = lines[i - 2].startswith("<!-- not measured: ")
            assert marked or not any(NUMBER.search(row) for row in plain), f"{page.name}: {lines[i - 1]}"


def test_pictures_are_drawn_and_shown():
    shown = "\n".join(page.read_text() for page in pages())
    for picture in (ROOT / "docs").glob("*.png"):
        assert picture.name in shown, f"no page shows {picture.name}"
        drawn = [f for f in ALL if f.kind == "picture" and f"docs/{picture.name}" in f.command.split()]
        assert drawn, f"no command draws {picture.name}"
    for figure in ALL:
        if figure.kind == "picture":
            for name in re.findall(r"!\[.*?\]\((.+?)\)", figure.body):
                assert (figure.page.parent / name).exists(), name


def test_a_figure_is_replaced_by_what_its_command_prints(tmp_path, monkeypatch):
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(
        "text\n\n<!-- figures one: python benchmarks/x.py -->\nold\n<!-- end -->\n\nmore\n\n"
        "<!-- figures two: echo 7 && echo 8 -->\n<!-- end -->\n\n"
        "<!-- picture three: echo 7 && echo 8 -->\n![a](b.png)\nold\n<!-- end -->\n"
    )
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    one, two, three = figures.figures(page)
    assert two.names == {"page", "two", "page/two"}
    figures.replace(one, "<!-- zero -->\n\n| 0 |\n\n<!-- one -->\n\n| 1 |\n\n")
    for figure in (two, three):
        figures.replace(figure, figures.run(figure.command))
    today = datetime.date.today()
    date = f"{today.day} {today:%B %Y}"
    one, two, three = (figure.body for figure in figures.figures(page))
    assert one == f"*`python benchmarks/x.py`, {date}*\n\n| 1 |\n"
    assert two == f"*`echo 7 && echo 8`, {date}*\n\n```text\n7\n8\n```\n"
    assert three == f"![a](b.png)\n\n*`echo 7 && echo 8`, {date}*\n"
    assert re.findall(r"^\w.*", page.read_text(), re.M) == ["text", "more", "7", "8"]
    one, *_ = figures.figures(page)
    with pytest.raises(ValueError, match="prints no 'one', but zero"):
        figures.replace(one, "<!-- zero -->\n\n| 0 |\n")
    with pytest.raises(ValueError, match="status 3"):
        figures.run("exit 3")
