"""Makes the figures of the documentation again: runs their commands and puts what they print into the pages.

Run: python tools/figures.py [--list] [PAGE | NAME | PAGE/NAME | SCRIPT ...]

What was measured stands between `<!-- figures NAME: COMMAND -->` and `<!-- end -->`. The command is run by a
shell, in a folder of its own that has links to those of the repository, and all that is between is replaced
by the command, the date, and what it printed: of `python benchmarks/...`, which prints Markdown, the part
under `<!-- NAME -->`; of any other command all of it, as text. Between `<!-- picture NAME: COMMAND -->` and
`<!-- end -->` stands a picture that the command draws. A command is run once, however many places name it;
status 1 is that of a benchmark that misses a target, which its table says.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmarks", "docs", "examples", "src", "tools")
BLOCK = re.compile(
    r"^<!-- (?P<kind>figures|picture) (?P<name>[\w-]+): (?P<command>.+?) -->\n(?P<body>.*?)^<!-- end -->$",
    re.M | re.S,
)
SECTION = re.compile(r"^<!-- ([\w-]+) -->\n", re.M)


@dataclass(frozen=True)
class Figure:
    """A place in a page for what a command prints or draws."""

    page: Path
    kind: str
    name: str
    command: str
    body: str

    @property
    def names(self) -> set[str]:
        """What it can be called by: its page, its name, both, or the scripts that it runs."""
        scripts = {word for word in self.command.split() if word.endswith(".py")}
        page = self.page.relative_to(ROOT).with_suffix("").as_posix().removeprefix("docs/")
        return {page, page.rsplit("/", 1)[-1], self.name, f"{page}/{self.name}"} | scripts

    def renewed(self, printed: str, date: datetime.date) -> str:
        """What is to stand between its markers."""
        source = f"*`{self.command}`, {date.day} {date:%B %Y}*\n"
        if self.kind == "picture":
            pictures = [line for line in self.body.splitlines() if line.startswith("![")]
            return "\n".join([*pictures, "", source])
        return f"{source}\n{self.chosen(printed)}\n"

    def chosen(self, printed: str) -> str:
        """The part of the output that is named like the figure, or all of it as text."""
        if not is_benchmark(self.command):
            lines = "\n".join(line.rstrip() for line in printed.splitlines())
            return "```text\n" + lines.strip("\n") + "\n```"
        parts = SECTION.split(printed)[1:]
        sections = dict(zip(parts[::2], parts[1::2], strict=True))
        if self.name not in sections:
            raise ValueError(
                f"{self.command} prints no {self.name!r}, but {', '.join(sections) or 'nothing'}"
            )
        return sections[self.name].strip("\n")


def is_benchmark(command: str) -> bool:
    """Whether it prints Markdown, in named parts."""
    return command.startswith("python benchmarks/")


def pages() -> list[Path]:
    """The pages that may have figures."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def figures(page: Path) -> list[Figure]:
    """The figures of a page, in order."""
    return [
        Figure(page, *match.group("kind", "name", "command", "body"))
        for match in BLOCK.finditer(page.read_text())
    ]


def run(command: str) -> str:
    """What a command prints. What it says while it works is seen, and its failure is an error."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": "100", "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        for name in FOLDERS:
            (Path(folder) / name).symlink_to(ROOT / name)
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
    if done.returncode not in (0, 1 if is_benchmark(command) else 0):
        raise ValueError(f"{command} ends with status {done.returncode}")
    return done.stdout


def replace(figure: Figure, printed: str) -> None:
    """Write a figure into its page, which may have changed since."""
    body = figure.renewed(printed, datetime.date.today())

    def renew(match: re.Match[str]) -> str:
        same = match.group("kind", "name", "command") == (figure.kind, figure.name, figure.command)
        if not same:
            return match[0]
        return f"<!-- {figure.kind} {figure.name}: {figure.command} -->\n{body}<!-- end -->"

    figure.page.write_text(BLOCK.sub(renew, figure.page.read_text()))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("only", nargs="*", help="pages, names, both with a slash between, or scripts")
    parser.add_argument("--list", action="store_true", help="what there is, without running it")
    options = parser.parse_args()
    everything = [figure for page in pages() for figure in figures(page)]
    if unknown := set(options.only) - set().union(*(figure.names for figure in everything)):
        sys.exit(f"no page and no figure is called {', '.join(sorted(unknown))}")
    wanted = [figure for figure in everything if not options.only or figure.names & set(options.only)]
    failures = []
    for command in dict.fromkeys(figure.command for figure in wanted):
        places = [figure for figure in everything if figure.command == command]
        where = ", ".join(f"{figure.page.relative_to(ROOT)} ({figure.name})" for figure in places)
        print(f"{command}\n    {where}", flush=True)
        if options.list:
            continue
        try:
            printed = run(command)
            for figure in places:
                replace(figure, printed)
        except (ValueError, OSError) as error:
            failures.append(str(error))
    sys.exit("\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
