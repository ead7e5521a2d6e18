"""Code in Markdown pages: where it stands, and how the tests run it. CONTRIBUTING.md has the conventions."""

from __future__ import annotations

import doctest
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from typer.testing import CliRunner

from semibandit.cli import app

ROOT = Path(__file__).parents[1]
RUN = ("python", "sh", "console")
SHOWN = ("text", "json", "nginx", "toml", "yaml", "bibtex")
LIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
_HIDDEN = re.compile(r"docs/(.*/)?(_|auto_|gallery|sg_)")
_COMMENT = re.compile(r"<!--\s*(.*?)\s*-->", re.S)
_MARKS = ("setup", "not run:", "quick:")


@dataclass(frozen=True)
class Block:
    """A block of code, or a comment that the runner obeys.

    Attributes
    ----------
    line
        The line of its first line of code, counted from 1.
    language
        That of the fence; "setup" for a comment with code, "indented" for a block without a fence.
    code
        Its lines.
    mark
        The comment just above the fence that says how to run it, or an empty text.
    """

    line: int
    language: str
    code: str
    mark: str = ""


def pages() -> list[Path]:
    """README and all pages of the documentation that are written by hand."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if not _HIDDEN.match(page.relative_to(ROOT).as_posix())]


def blocks(text: str) -> Iterator[Block]:
    """All blocks of a page, in order."""
    lines = text.split("\n")
    mark, at, in_list = "", 0, False
    while at < len(lines):
        line = lines[at]
        if line.startswith("<!--"):
            comment = _COMMENT.match("\n".join(lines[at:]))
            if comment is None:
                raise ValueError(f"line {at + 1}: a comment without an end")
            words = comment[1]
            if words.startswith("setup"):
                yield Block(at + 2, "setup", words.removeprefix("setup").strip("\n"))
            mark = words if words.startswith(_MARKS[1:]) else ""
            at += comment[0].count("\n") + 1
            continue
        if fence := re.match(r"(\s*)(`{3,}|~{3,})\s*(\S*)", line):
            end = _end_of_fence(lines, at, fence[2])
            indent = len(fence[1])
            code = "\n".join(inner[indent:] for inner in lines[at + 1 : end])
            yield Block(at + 2, fence[3], code, mark)
            mark, at = "", end + 1
            continue
        if re.match(r"( {4}|\t)\s*\S", line) and not in_list and (at == 0 or not lines[at - 1].strip()):
            end = next((i for i in range(at, len(lines)) if re.match(r" {0,3}\S", lines[i])), len(lines))
            yield Block(at + 1, "indented", "\n".join(inner[4:] for inner in lines[at:end]).rstrip())
            at = end
            continue
        if line.strip():
            mark = ""
            in_list = bool(re.match(r"\s*([-*+]|\d+[.)])\s", line)) or (in_list and line.startswith(" "))
        at += 1


def _end_of_fence(lines: list[str], start: int, ticks: str) -> int:
    for end in range(start + 1, len(lines)):
        if lines[end].strip() == ticks:
            return end
    raise ValueError(f"line {start + 1}: a fence without an end")


@dataclass(frozen=True)
class Step:
    """A command, and what the page says that it prints."""

    line: int
    command: str
    output: str


def steps(block: Block) -> Iterator[Step]:
    """The commands of a block: each line, or in a console those after a $; a backslash goes on."""
    lines = block.code.split("\n")
    at = 0
    while at < len(lines):
        start = at
        command = lines[at]
        while command.endswith("\\"):
            at += 1
            command = command[:-1] + lines[at].removeprefix("> ").lstrip()
        at += 1
        if block.language == "sh":
            if command.strip() and not command.lstrip().startswith("#"):
                yield Step(block.line + start, command.strip(), "")
            continue
        if not command.startswith("$ "):
            raise ValueError(f"line {block.line + start}: a console begins with a command, `$ ...`")
        end = next((i for i in range(at, len(lines)) if lines[i].startswith("$ ")), len(lines))
        yield Step(block.line + start, command[2:].strip(), "\n".join(lines[at:end]).strip("\n"))
        at = end


def shortened(block: Block) -> str:
    """The code as the tests run it: with the replacements of its mark, `quick: a -> b; c -> d`."""
    code = block.code
    if block.mark.startswith("quick:"):
        for rule in block.mark.removeprefix("quick:").split(";"):
            old, arrow, new = (word.strip() for word in rule.partition("->"))
            if not arrow or old not in code:
                raise ValueError(f"line {block.line}: nothing to replace by {rule.strip()!r}")
            code = code.replace(old, new)
    return code


class Page:
    """Runs the blocks of a page, one after another, in one namespace and one folder."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        self.names: dict[str, Any] = {"__name__": "__page__"}
        for name in ("examples", "benchmarks"):
            (folder / name).symlink_to(ROOT / name)

    def run(self, block: Block) -> None:
        block = Block(block.line, block.language, shortened(block), block.mark)
        if block.language in ("python", "setup"):
            self._python(block)
        else:
            for step in steps(block):
                self._command(step)

    def check(self, block: Block) -> None:
        """What can be said of a block without running it: its syntax, names of files, targets, options."""
        if block.language == "python":
            self._compile(block)
        else:
            for step in steps(block):
                check_command(step.command)

    def _compile(self, block: Block) -> Any:
        return compile("\n" * (block.line - 1) + block.code, str(self.path), "exec")

    def _python(self, block: Block) -> None:
        if ">>>" not in block.code:
            exec(self._compile(block), self.names)
            return
        parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False, optionflags=LIKE)
        test = parser.get_doctest(
            block.code + "\n", self.names, self.path.name, str(self.path), block.line - 1
        )
        said: list[str] = []
        runner.run(test, out=said.append, clear_globs=False)
        self.names = test.globs
        if runner.failures:
            raise AssertionError("".join(said))

    def _command(self, step: Step) -> None:
        status, printed = self._here(step.command) or self._by_shell(step.command)
        where = f"{self.path.name}, line {step.line}: {step.command}"
        assert status == 0, f"{where}\nends with status {status}:\n{printed}"
        if step.output and not doctest.OutputChecker().check_output(
            step.output + "\n", printed.strip("\n") + "\n", LIKE
        ):
            raise AssertionError(f"{where}\nis said to print\n{step.output}\nbut prints\n{printed}")

    def _here(self, command: str) -> tuple[int, str] | None:
        """Run `semibandit` in this process, where its kernels are loaded; None for all other commands."""
        if not command.startswith("semibandit ") or re.search(r"[|<>;&]", command):
            return None
        words = subprocess.run(
            ["sh", "-c", f"printf '%s\\0' {command}"], cwd=self.folder, capture_output=True, check=True
        ).stdout
        result = CliRunner().invoke(app, words.decode().split("\0")[1:-1])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output

    def _by_shell(self, command: str) -> tuple[int, str]:
        result = subprocess.run(
            command, shell=True, cwd=self.folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=60,
        )  # fmt: skip
        return result.returncode, result.stdout


def check_command(command: str) -> None:
    """Whether a command that is not run could be: options of ours, scripts and targets that there are."""
    for part in re.sub(r"\$\(.*?\)", "words", command).split(" && "):
        _check_simple(shlex.split(part, comments=True), part)


def _check_simple(words: list[str], command: str) -> None:
    words = words[: next((i for i, word in enumerate(words) if word in ("|", ">", "<", ";")), None)]
    if words[0] == "semibandit":
        parse(words[1:])
    elif words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
        assert words[1] in targets, f"{command}: the Makefile has no such target"
    elif words[0] == "python" and words[1].endswith(".py"):
        assert (ROOT / words[1]).exists(), f"{command}: there is no such script"


def parse(words: list[str]) -> None:
    """Parse the words of a `semibandit` command; a mistake in them is an error that says which."""
    command: Any = typer.main.get_command(app)
    name = "semibandit"
    context = None
    while hasattr(command, "commands") and words:
        context = command.make_context(name, [], parent=context, resilient_parsing=True)
        name, found = words[0], command.get_command(context, words[0])
        assert found is not None, f"{command.name or 'semibandit'} has no command {name}"
        command, words = found, words[1:]
    command.make_context(name, list(words), parent=context)
