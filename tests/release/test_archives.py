"""Contents of the sdist and the wheel, and their version."""

import email
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import semibandit

ROOT = Path(__file__).parents[2]
GENERATED = {".pyc", ".nbi", ".nbc", ".db", ".npz", ".html"}
MEGABYTE = 1_000_000


def sources(folder):
    """Return the files below a folder of the checkout, without compiled ones."""
    paths = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def in_sdist(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.fixture(scope="module")
def in_wheel(wheel):
    """Compressed sizes of the files."""
    with zipfile.ZipFile(wheel) as archive:
        return {entry.filename: entry.compress_size for entry in archive.infolist()}


def test_the_sdist_has_the_sources_and_nothing_generated(in_sdist):
    assert sources("src") | sources("tests") <= in_sdist
    assert {"pyproject.toml", "Makefile", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"} <= in_sdist
    # Tests read these.
    assert {"docs/families.md", "examples/schedule.py", "benchmarks/suite.py"} <= in_sdist
    written = {name for name in in_sdist if not name.startswith("src/semibandit/studies/static/")}
    assert not [name for name in written if PurePosixPath(name).suffix in GENERATED]
    assert not [name for name in in_sdist if {"__pycache__", "build", "dist"} & {*PurePosixPath(name).parts}]


def test_the_wheel_has_the_package_and_nothing_else(in_wheel):
    package = {name for name in in_wheel if ".dist-info/" not in name}
    assert package == {name.removeprefix("src/") for name in sources("src")}
    assert {"semibandit/py.typed", "semibandit/__init__.pyi", "semibandit/streams/__init__.pyi"} <= package
    sizes = {name: size for name, size in in_wheel.items() if "/static/" not in name}
    assert {PurePosixPath(name).suffix for name in package & sizes.keys()} == {".py", ".pyi", ".typed"}
    assert sum(sizes.values()) < MEGABYTE


def test_the_metadata_of_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
        (metadata,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
        said = email.message_from_bytes(archive.read(metadata))
    assert said["Version"] == semibandit.__version__
    assert said["License-Expression"] == "MIT"
    assert said["Requires-Python"] == ">=3.11"
    assert said["Description-Content-Type"] == "text/markdown"
    assert said.get_payload(decode=True) == (ROOT / "README.md").read_bytes()


def test_one_version_everywhere():
    version = re.escape(semibandit.__version__)
    citation = (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## .*", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    released = re.search(r"^date-released: (.*)", citation, re.MULTILINE)[1]
    assert re.search(rf"^version: {version}$", citation, re.MULTILINE)
    assert re.fullmatch(rf"## {version} \({released}\)", newest)
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]


def test_the_links_of_the_readme_lead_somewhere(in_sdist):
    links = set(re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []
    folders = {parent.as_posix() for name in in_sdist for parent in PurePosixPath(name).parents}
    assert {link.rstrip("/") for link in links} <= in_sdist | folders
