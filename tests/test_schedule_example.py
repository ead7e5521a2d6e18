"""The examples of a black box and of tuning a command run."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(*words, folder):
    result = subprocess.run([sys.executable, *map(str, words)], cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_black_box_example_finds_a_better_value(tmp_path):
    out = run(EXAMPLES / "black_box.py", folder=tmp_path)
    losses = [float(line.split()[-1]) for line in out.splitlines()[-2:]]
    assert losses[1] < 0.95 * losses[0]


def test_schedule_example_is_tuned(tmp_path):
    script = EXAMPLES / "schedule.py"
    run("-S", script, "--make", "jobs", 3, folder=tmp_path)
    out = run("-S", script, "--power", 0.5, "jobs/002.txt", folder=tmp_path)
    assert sorted(map(int, out.splitlines()[0].split())) == list(range(12))
    command = f"{sys.executable} -S {script} --power {{rho}} {{instance}}"
    words = ["tune", "--space", "0:3", "--state", "knob.json", "--default", "1", "--runs", "20", command]
    out = run("-m", "semibandit", *words, "jobs", folder=tmp_path)
    assert "a race, 20 runs" in out
