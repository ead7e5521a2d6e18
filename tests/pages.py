"""Pages of the documentation, and a check of the commands that tests do not run."""

import re
import shlex
from pathlib import Path

from command_line import main

ROOT = Path(__file__).parents[1]
_GENERATED = re.compile(r"docs/(gallery|reading|reference/(commands|http))")


def pages():
    """Return README.md and the hand-written pages below docs/."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if not _GENERATED.match(page.relative_to(ROOT).as_posix())]


def check_command(command):
    """Check that the targets, scripts and options of a command line exist."""
    for part in re.split(r" (?:&&|\||>) ", re.sub(r"\$\(.*?\)", "words", command)):
        words = shlex.split(part, comments=True)
        if words[0] == "semibandit":
            done = main(*words[1:], "--help")
            assert done.returncode == 0, f"{part}: {done.stderr}"
        elif words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.M), (
                f"{part}: no such target"
            )
        elif words[0] == "python" and words[1].endswith(".py"):
            script = (ROOT / words[1]).read_text()
            for word in re.findall(r"--([\w-]+)", part):
                option = rf'"--{word}"|\b{word.replace("-", "_")}='
                assert re.search(option, script), f"{part}: no such option"
