"""Every block of code on the pages runs. CONTRIBUTING.md explains the comments that change how."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sybil.document import Document
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from command_line import main
from pages import ROOT, check_command, pages

LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
RUN = ("python", "sh", "console")
SHOWN = ("text", "json", "nginx", "toml", "yaml", "bibtex")
SETUP = re.compile(r"^<!-- setup\n(.*?)^-->$", re.M | re.S)
MARKED = re.compile(r"^<!-- (quick|not run): (.+?) -->\n(```(\w+)\n(.*?)^```$)", re.M | re.S)


def prepare(text):
    """Return a page with its comments applied; no line changes its number."""
    return MARKED.sub(apply_comment, SETUP.sub(r"```python\n\1```", text))


def apply_comment(match):
    kind, rules, fence, language, code = match.groups()
    if kind == "quick":
        for rule in rules.split("; "):
            old, _, new = rule.partition(" -> ")
            assert old in fence, f"nothing to replace by {rule!r}"
            fence = fence.replace(old, new)
        return "\n" + fence
    if language == "python":
        compile(code, "page", "exec")
    else:
        for command, _ in steps(language, code):
            check_command(command)
    return "\n" + fence.replace(f"```{language}", "```text", 1)


def steps(language, code):
    """Yield the commands of a block, each with the output that the page shows."""
    code = re.sub(r"\\\n(> )?\s*", "", code)
    if language == "console":
        for step in re.split(r"^\$ ", code, flags=re.M)[1:]:
            command, _, output = step.partition("\n")
            yield command, output
    else:
        yield from ((line, "") for line in code.splitlines() if line.strip() and not line.startswith("#"))


def run_commands(language):
    def evaluate(example):
        for command, expected in steps(language, example.parsed):
            status, printed = run(command)
            assert status == 0, f"line {example.line}: {command}\nends with status {status}:\n{printed}"
            if expected and not doctest.OutputChecker().check_output(
                expected.strip("\n"), printed.strip("\n"), LIKE
            ):
                return f"{command}\nshould print\n{expected}\nand prints\n{printed}"
        return None

    return evaluate


def run(command):
    """Run a command by the shell; `semibandit` in this process, where kernels are loaded."""
    if command.startswith("semibandit ") and not re.search(r"[|<>;&]", command):
        words = subprocess.run(
            ["sh", "-c", f"printf '%s\\0' {command}"], capture_output=True, check=True
        ).stdout
        done = main(*words.decode().split("\0")[1:-1])
        return done.returncode, done.stdout + done.stderr
    done = subprocess.run(
        command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
    )
    return done.returncode, done.stdout


PARSERS = (PythonCodeBlockParser(doctest_optionflags=LIKE),
           *(CodeBlockParser(language, run_commands(language)) for language in RUN[1:]))  # fmt: skip


def run_page(text, path="page.md"):
    """Run the blocks of a page in one namespace, which is returned."""
    document = Document(prepare(text), str(path))
    for parser in PARSERS:
        for region in parser(document):
            document.add(region)
    document.namespace["__name__"] = "__page__"
    for example in document.examples():
        example.evaluate()
    return document.namespace


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name in ("examples", "benchmarks"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    paths = tmp_path / "bin", Path(sys.executable).parent, os.environ["PATH"]
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, paths)))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.mark.parametrize("name", [page.relative_to(ROOT).as_posix() for page in pages()])
def test_page(name, folder):
    text = (ROOT / name).read_text()
    fences = re.findall(r"^ *(`{3,})(\S*)", text, re.M)
    for _, language in fences[::2]:
        assert language in (*RUN, *SHOWN) or re.fullmatch(r"\{(?!code).*", language), (
            "a fence needs a language"
        )
    assert not any(language for _, language in fences[1::2]), "a fence has no end"
    run_page(text, ROOT / name)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nassert False\n```\n",
        "```python\n>>> 1 + 1\n3\n```\n",
        "```sh\nfalse\n```\n",
        "```sh\nsemibandit play no-such-family\n```\n",
        "```console\n$ echo one\ntwo\n```\n",
        "<!-- quick: 7 -> 8 -->\n```python\nx = 1\n```\n",
        "<!-- not run: why -->\n```python\nx =\n```\n",
        "<!-- not run: why -->\n```sh\nsemibandit play knapsack --no-such 1\n```\n",
        "<!-- not run: why -->\n```sh\nmake no-such\n```\n",
        "<!-- not run: why -->\n```sh\npython benchmarks/no_such.py\n```\n",
    ],
)
def test_mistakes_are_found(text, folder):
    with pytest.raises((AssertionError, SyntaxError, FileNotFoundError)):
        run_page(text)


def test_blocks_share_names_and_files(folder):
    text = (
        "<!-- setup\nx = 1\n-->\n\n<!-- quick: 10**12 -> 10 -->\n```python\ny = x + sum(range(10**12))\n```\n"
        "```python\n>>> y\n46\n```\n```sh\nseq 3 > \\\n  all\n```\n"
        "```console\n$ cat all\n1\n...\n3\n$ pwd\n```\n"
    )
    assert run_page(text)["y"] == 46
