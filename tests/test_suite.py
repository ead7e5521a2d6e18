"""The benchmark suite plays all kinds of players on the streams that it keeps."""

import subprocess
import sys
from pathlib import Path

SUITE = Path(__file__).parent.parent / "benchmarks" / "suite.py"
WORDS = ["--quick", "--streams", "synthetic", "--learners", "default,Exp3Grid,1 probe,UCB1"]


def run(*words):
    result = subprocess.run([sys.executable, SUITE, *map(str, words)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_quick_suite_is_repeatable(tmp_path):
    out = run(*WORDS, "--kept", tmp_path)
    rows = {line.split("|")[1].strip() for line in out.splitlines() if line.startswith("| ")}
    assert {"default", "Exp3Grid", "1 probe", "UCB1"} <= rows
    assert (tmp_path / "synthetic-200.npz").exists()
    assert run(*WORDS, "--kept", tmp_path) == out
