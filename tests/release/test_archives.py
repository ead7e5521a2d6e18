"""The sdist and the wheel have the right files and metadata, and one version is named everywhere."""

import email
import re
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

import semibandit

ROOT = Path(__file__).parents[2]
GENERATED = {".pyc", ".nbi", ".nbc", ".db", ".npz", ".html"}


def sources(folder):
    """Return the files below a folder of the repository, without compiled ones."""
    paths = (path.relative_to(ROOT) for path in (ROOT / folder).rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if "__pycache__" not in path.parts}


@pytest.fixture(scope="module")
def in_sdist(dist):
    (path,) = dist.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_sdist_has_all_sources_and_nothing_generated(in_sdist):
    assert sources("src") | sources("tests") <= in_sdist
    assert {"pyproject.toml", "Makefile", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"} <= in_sdist
    assert {"docs/families.md", "examples/schedule.py", "benchmarks/suite.py"} <= in_sdist  # tests need them
    for name in map(PurePosixPath, in_sdist):
        assert not {"__pycache__", "build", "dist"} & {*name.parts}
        assert "static" in name.parts or name.suffix not in GENERATED


def test_wheel_has_the_package_alone(wheel):
    with zipfile.ZipFile(wheel) as archive:
        sizes = {entry.filename: entry.compress_size for entry in archive.infolist()}
    package = {name for name in sizes if ".dist-info/" not in name}
    assert package == {name.removeprefix("src/") for name in sources("src")}
    assert {"semibandit/py.typed", "semibandit/__init__.pyi", "semibandit/streams/__init__.pyi"} <= package
    code = {name for name in package if "/static/" not in name}
    assert {PurePosixPath(name).suffix for name in code} == {".py", ".pyi", ".typed"}
    assert sum(sizes[name] for name in code) < 1_000_000


def test_wheel_has_licence_and_metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (licence,) = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
        (metadata,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
        fields = email.message_from_bytes(archive.read(metadata))
    assert fields["Version"] == semibandit.__version__
    assert fields["License-Expression"] == "MIT"
    assert fields["Requires-Python"] == ">=3.11"
    assert fields.get_payload(decode=True) == (ROOT / "README.md").read_bytes()


def test_version_is_the_same_everywhere():
    version = re.escape(semibandit.__version__)
    citation = (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## .*", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    released = re.search(r"^date-released: (.*)", citation, re.MULTILINE)[1]
    assert re.search(rf"^version: {version}$", citation, re.MULTILINE)
    assert re.fullmatch(rf"## {version} \({released}\)", newest)


def test_links_of_the_readme_are_in_the_sdist(in_sdist):
    links = set(re.findall(r"\]\(([^)#]+)", (ROOT / "README.md").read_text(encoding="utf-8")))
    folders = {parent.as_posix() for name in in_sdist for parent in PurePosixPath(name).parents}
    assert len(links) > 10
    assert {link.rstrip("/") for link in links} <= in_sdist | folders
