"""What is released: the archives, and the wheel installed as a stranger would, without any extra."""

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from study_workers import missing

ROOT = Path(__file__).parents[2]


def run(*words, **options):
    """Run a command, which must succeed; its output."""
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """A folder for all workers of the session."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    folder = folder / "release"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def one_at_a_time(folder):
    """Other workers wait, and find what this one has made."""
    fcntl = pytest.importorskip("fcntl")
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def dist(shared):
    """A folder with the sdist, and the wheel that was built from it."""
    folder = shared / "dist"
    with one_at_a_time(shared):
        if not folder.exists():
            run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="session")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


class Installed:
    """An environment with the wheel and what it depends on, used from an empty folder."""

    def __init__(self, prefix, folder):
        self.python = prefix / "bin" / "python"
        self.command = prefix / "bin" / "semibandit"
        self.folder = folder
        # Nothing of the environment of the tests gets in.
        self.options = {
            "cwd": folder,
            "env": {"PATH": os.defpath, "HOME": str(folder), "PYTHONIOENCODING": "utf-8"},
        }

    def run(self, *words):
        return run(*words, **self.options)

    def semibandit(self, *words):
        return self.run(self.command, *words)

    def program(self, code):
        return self.run(self.python, "-c", code)

    def refusal(self, *words):
        """What the command says on its last line where it cannot go on."""
        done = subprocess.run(
            [self.command, *words], capture_output=True, text=True, check=False, **self.options
        )
        assert done.returncode == 2, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr.splitlines()[-1]


@pytest.fixture(scope="session")
def environment(shared, wheel):
    """A fresh virtual environment with the wheel in it, made once."""
    prefix = shared / "venv"
    with one_at_a_time(shared):
        if not (prefix / "bin" / "semibandit").exists():
            run(sys.executable, "-m", "venv", "--without-pip", prefix)
            pip = [sys.executable, "-m", "pip", "--python", prefix / "bin" / "python", "install"]
            try:
                run(*pip, "--quiet", "--no-compile", "--disable-pip-version-check", wheel)
            except AssertionError as error:
                missing(f"the wheel and its dependencies cannot be installed: {error}")
    return prefix


@pytest.fixture
def installed(environment, tmp_path):
    return Installed(environment, tmp_path)
