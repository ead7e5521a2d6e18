"""Figures of the documentation come from commands that exist and can be run again."""

import datetime
import re
import sys

import pytest

from pages import ROOT, check_command, pages

sys.path.append(str(ROOT / "tools"))
import figures

EACH = pytest.mark.parametrize("page", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
NUMBER = re.compile(r"(?<![\w^(])[-−]?\d[\d.,]*(?![\w(])")
NOT_MEASURED = re.compile(r"`[^`]*`|\]\([^)]*\)|Theorem \d+|Lemma \d+|Exp3")


@EACH
def test_figures_name_their_command_and_date(page):
    text = page.read_text()
    found = list(figures.BLOCK.finditer(text))
    opened = re.findall(r"^<!-- (?:figures|picture) ", text, re.M)
    assert len(found) == len(opened) == len(re.findall(r"^<!-- end -->", text, re.M))
    for figure in found:
        check_command(figure["command"])
        assert re.search(rf"^\*`{re.escape(figure['command'])}`, \d+ \w+ \d{{4}}\*$", figure["body"], re.M)
        shows = r"^!\[" if figure["kind"] == "picture" else r"^(\||```text)"
        assert re.search(shows, figure["body"], re.M), f"make figures ONLY={figure['name']}"


@EACH
def test_numbers_in_tables_are_figures(page):
    text = figures.BLOCK.sub("", page.read_text())
    for table in re.finditer(
        r"(?:^<!-- not measured: .+ -->\n)?^\|.*\n\|[-:| ]+\|\n((?:^\|.*\n?)+)", text, re.M
    ):
        measured = not table[0].startswith("<!--") and NUMBER.search(NOT_MEASURED.sub("", table[1]))
        assert not measured, f"{page.name}: {table[0].splitlines()[0]}"


def test_pictures_are_drawn_and_shown():
    texts = {page: page.read_text() for page in pages()}
    shown = {
        (p.parent / name).resolve() for p in texts for name in re.findall(r"!\[.*?\]\((.+?)\)", texts[p])
    }
    drawn = {
        (ROOT / word).resolve()
        for text in texts.values()
        for figure in figures.BLOCK.finditer(text)
        for word in figure["command"].split()
        if figure["kind"] == "picture" and word.endswith(".png")
    }
    assert shown == drawn == {path.resolve() for path in (ROOT / "docs").glob("*.png")}


def test_figures_are_renewed():
    page = (
        "text\n<!-- figures one: python benchmarks/x.py -->\nold\n<!-- end -->\n"
        "<!-- figures two: echo 7 -->\n<!-- end -->\n"
        "<!-- picture three: echo 7 -->\n![a](b.png)\nold\n<!-- end -->\n"
    )
    page = figures.renew(
        page, "python benchmarks/x.py", "<!-- zero -->\n\n| 0 |\n\n<!-- one -->\n\n| 1 |\n\n"
    )
    one, two, three = (
        match["body"] for match in figures.BLOCK.finditer(figures.renew(page, "echo 7", "7\n"))
    )
    today = datetime.date.today()
    date = f"{today.day} {today:%B %Y}"
    assert one == f"*`python benchmarks/x.py`, {date}*\n\n| 1 |\n"
    assert two == f"*`echo 7`, {date}*\n\n```text\n7\n```\n"
    assert three == f"![a](b.png)\n\n*`echo 7`, {date}*\n"
    with pytest.raises(ValueError, match="must print a table 'one', got zero"):
        figures.renew(page, "python benchmarks/x.py", "<!-- zero -->\n\n| 0 |\n")
