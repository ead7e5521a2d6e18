import subprocess
import sys
from pathlib import Path


def test_every_public_callable_with_nasty_values():
    """A result, a TypeError or a ValueError: no other exception, no endless loop, no crash."""
    words = [sys.executable, str(Path(__file__).with_name("fuzzing.py"))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    assert [line for line in lines if line.startswith("WRONG")] == []
    assert int(lines[-1].split()[0]) > 3000
