"""Renew the measured figures of the documentation: run their commands and insert the output into the pages.

Run: python tools/figures.py [--list] [TEXT ...]

A figure stands between `<!-- figures NAME: COMMAND -->` and `<!-- end -->`. A benchmark prints Markdown
tables, and the figure takes the table below `<!-- NAME -->`; the output of another command is shown as text.
Between `<!-- picture NAME: COMMAND -->` and `<!-- end -->` is an image that the command draws. A TEXT selects
the figures whose "page/name: command" contains it. Each command runs once, in a temporary folder with links
to the repository. A benchmark may exit with status 1: a target was missed, and its table says which.
"""

import argparse
import datetime
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("benchmarks", "docs", "examples", "src", "tools")
BLOCK = re.compile(
    r"^<!-- (?P<kind>figures|picture) (?P<name>[\w-]+): (?P<command>.+?) -->\n(?P<body>.*?)^<!-- end -->$",
    re.M | re.S,
)


def run(command: str) -> str:
    """Return the standard output of a command; raise ValueError if it fails."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = os.environ | {"PATH": path, "COLUMNS": "100", "MPLBACKEND": "agg"}
    with tempfile.TemporaryDirectory() as folder:
        for name in FOLDERS:
            (Path(folder) / name).symlink_to(ROOT / name)
        done = subprocess.run(
            command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
        )
    if done.returncode > command.startswith("python benchmarks/"):
        raise ValueError(f"{command} ends with status {done.returncode}")
    return done.stdout


def renew(text: str, command: str, printed: str) -> str:
    """Return the text of a page with the figures of a command renewed."""
    today = datetime.date.today()
    source = f"*`{command}`, {today.day} {today:%B %Y}*\n"

    def replace(match: re.Match[str]) -> str:
        if match["command"] != command:
            return match[0]
        start = match[0].partition("\n")[0]
        if match["kind"] == "picture":
            images = re.findall(r"^!\[.*$", match["body"], re.M)
            return "\n".join([start, *images, "", source]) + "<!-- end -->"
        return f"{start}\n{source}\n{select(match['name'], command, printed)}\n<!-- end -->"

    return BLOCK.sub(replace, text)


def select(name: str, command: str, printed: str) -> str:
    """Return the table of this name if the command is a benchmark, else the whole output as text."""
    if not command.startswith("python benchmarks/"):
        return "```text\n" + "\n".join(line.rstrip() for line in printed.strip("\n").splitlines()) + "\n```"
    tables = re.split(r"^<!-- ([\w-]+) -->\n", printed, flags=re.M)
    if name not in tables[1::2]:
        raise ValueError(f"{command} must print a table {name!r}, got {', '.join(tables[1::2]) or 'none'}")
    return tables[tables.index(name, 1) + 1].strip("\n")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="part of a page, name or command")
    parser.add_argument("--list", action="store_true", help="print the commands without running them")
    options = parser.parse_args()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    commands: dict[str, None] = {}  # in order, each once
    for page in pages:
        for match in BLOCK.finditer(page.read_text()):
            label = f"{page.relative_to(ROOT).with_suffix('')}/{match['name']}: {match['command']}"
            if not options.texts or any(text in label for text in options.texts):
                commands[match["command"]] = None
    if not commands:
        sys.exit(f"no figure matches {', '.join(options.texts)}")
    failures = []
    for command in commands:
        print(command, flush=True)
        if not options.list:
            try:
                printed = run(command)
                for page in pages:
                    page.write_text(renew(page.read_text(), command, printed))
            except ValueError as error:
                failures.append(str(error))
    sys.exit("\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
