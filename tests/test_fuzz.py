import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_every_public_callable_with_nasty_values():
    """A result, or an error that names the argument: no other exception, no endless loop, no crash.

    With SEMIBANDIT_FUZZ=all every nasty value is tried in the place of every argument; a quarter of an hour.
    """
    words = [sys.executable, str(Path(__file__).with_name("fuzzing.py"))]
    if os.environ.get("SEMIBANDIT_FUZZ") == "all":
        words.append("--all")
    done = subprocess.run(words, capture_output=True, text=True, timeout=3600)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("WRONG")] == []
    calls, _, _, callables, _ = lines[-1].split()
    assert int(callables) > 200
    assert int(calls) > 1500
