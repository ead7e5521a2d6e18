"""The runner of code blocks finds mistakes."""

import pytest

from code_blocks import Page, blocks, check_command, parse


def run(text, folder):
    folder.mkdir(exist_ok=True)
    page = Page(folder / "page.md", folder)
    for block in blocks(text):
        page.run(block)
    return page


def test_blocks_share_names_and_setup_is_run(tmp_path):
    text = "<!-- setup\nx = 1\n-->\n\n```python\ny = x + 1\n```\n\n```python\n>>> y\n2\n```\n"
    assert run(text, tmp_path).names["y"] == 2


@pytest.mark.parametrize(
    "code",
    [
        "```python\nassert False\n```",
        "```python\n>>> 1 + 1\n3\n```",
        "```sh\nfalse\n```",
        "```sh\nsemibandit play no-such-family\n```",
        "```console\n$ echo one\ntwo\n```",
        "```python\nx = 1\n",
        "<!-- quick: 7 -> 8 -->\n```python\nx = 1\n```",
    ],
)
def test_mistakes_are_found(code, tmp_path):
    with pytest.raises((AssertionError, ValueError)):
        run(code, tmp_path)


def test_errors_have_the_line_of_the_page(tmp_path):
    with pytest.raises(ZeroDivisionError) as error:
        run("one\n\n```python\nx = 1\n1 / 0\n```\n", tmp_path)
    assert error.traceback[-1].lineno + 1 == 5


def test_output_may_be_shown_in_part(tmp_path):
    run("```console\n$ seq 3; \\\n> echo four\n1\n...\nfour\n$ pwd\n```\n", tmp_path)


def test_quick_replaces(tmp_path):
    text = "<!-- quick: 10**12 -> 10; total -> sums -->\n```python\ntotal = sum(range(10**12))\n```\n"
    assert run(text, tmp_path).names["sums"] == 45


def test_commands_have_files_to_work_on(tmp_path):
    (tmp_path / "a.txt").write_text("")
    run("```sh\ncat *.txt > all  # and a comment\ntest -e all -a -e examples/schedule.py\n```\n", tmp_path)


def test_indented_code_is_seen_and_lists_are_not():
    found = list(blocks("text\n\n    semibandit play\n\n- a list\n\n    goes on\n\n1. one\n    more\n"))
    assert [(block.language, block.code) for block in found] == [("indented", "semibandit play")]


@pytest.mark.parametrize(
    "command", ["semibandit play knapsack --no-such 1", "make no-such", "python benchmarks/no_such.py"]
)
def test_commands_that_are_not_run_are_looked_at(command):
    with pytest.raises(Exception, match=r"no.such"):
        check_command(command)


def test_commands_are_parsed():
    parse(["play", "knapsack", "--rounds", "10"])
    check_command("semibandit study export alpha --csv --storage sqlite:///tuning.db > rounds.csv")
    check_command("semibandit serve --storage postgresql://... --host 0.0.0.0 --token-file token")
    check_command("make demo     # sets everything up")
