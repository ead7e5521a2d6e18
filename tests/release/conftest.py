"""Fixtures: the built archives, and the wheel installed without extras into a fresh environment."""

import fcntl
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from study_workers import missing

ROOT = Path(__file__).parents[2]


def run(*words, **options):
    """Run a command that must succeed; return its output."""
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """Folder that all workers of the session share."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "release"
    folder.mkdir(exist_ok=True)
    return folder


@contextmanager
def locked(folder):
    """Let one worker build; the others wait and use the result."""
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def dist(shared):
    """Folder with the sdist, and the wheel built from it."""
    folder = shared / "dist"
    with locked(shared):
        if not folder.exists():
            run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="session")
def wheel(dist):
    (path,) = dist.glob("*.whl")
    return path


class Installed:
    """A fresh environment with the wheel and its dependencies, used from an empty folder."""

    def __init__(self, prefix, folder):
        self.python = prefix / "bin" / "python"
        self.command = prefix / "bin" / "semibandit"
        self.folder = folder
        self.environment = {"PATH": os.defpath, "HOME": str(folder), "PYTHONIOENCODING": "utf-8"}
        self.environment["NUMBA_DISABLE_JIT"] = "1"  # to save minutes; tests/test_imports.py compiles

    def run(self, *words):
        return run(*words, cwd=self.folder, env=self.environment)

    def semibandit(self, *words):
        return self.run(self.command, *words)


@pytest.fixture(scope="session")
def prefix(shared, wheel):
    """Virtual environment with the wheel, made once."""
    prefix = shared / "venv"
    with locked(shared):
        if not (prefix / "bin" / "semibandit").exists():
            run(sys.executable, "-m", "venv", "--without-pip", prefix)
            pip = [sys.executable, "-m", "pip", "--python", prefix / "bin" / "python", "install"]
            try:
                run(*pip, "--quiet", "--no-compile", "--disable-pip-version-check", wheel)
            except AssertionError as error:
                missing(f"the wheel and its dependencies cannot be installed: {error}")
    return prefix


@pytest.fixture
def installed(prefix, tmp_path):
    return Installed(prefix, tmp_path)
