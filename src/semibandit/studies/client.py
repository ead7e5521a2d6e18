"""A study of a service: the methods of `Study` over HTTP."""

from __future__ import annotations

import http.client
import os
import random
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlencode, urlsplit

import msgspec

from semibandit import _validate
from semibandit.learners import Recommendation, Trial
from semibandit.learners.contexts import ContextCell
from semibandit.spaces import Space
from semibandit.studies import api
from semibandit.studies.listing import StudyEntry
from semibandit.studies.log.operations import ForgottenError, Operation, PausedError, check_text
from semibandit.studies.log.replica import Replica
from semibandit.studies.log.stores import UnknownStudyError, public
from semibandit.studies.log.summary import StudySummary
from semibandit.studies.settings import StudySettings, check_name
from semibandit.studies.study import Study

__all__ = ["Client"]

T = TypeVar("T")

_MAX_PATIENCE = 1e8  # seconds that sockets can wait
_PAGE = 1000  # studies in one answer
_ERRORS = {
    400: ValueError,
    401: PermissionError,
    403: PermissionError,
    404: UnknownStudyError,
    409: ForgottenError,
    423: PausedError,
}


class Client(Study):
    """A `Study` of a service that `semibandit serve` runs; it has the same methods.

    A request without an answer is sent again. That is safe: a trial told twice counts once, and an ask
    carries a key by which the service finds the trial that it drew already. Threads may share a client.

    Parameters
    ----------
    url
        Address of the service, such as `http://127.0.0.1:8080`, or of the page of a study.
    token
        Token of the service, if it needs one.
    study
        Name of the study, which is created if it does not exist and a space is given. Not needed if the
        service has a single study.
    space, seed, learner, worker, settings
        As for `Study`.
    patience
        Seconds for which requests without an answer are repeated.

    Examples
    --------
    >>> Client("ftp://example.org")
    Traceback (most recent call last):
    ...
    ValueError: url must be that of a service, such as http://127.0.0.1:8080, got 'ftp://...'
    """

    _backend: HttpBackend

    def __init__(
        self,
        url: str,
        token: str | None = None,
        study: str | None = None,
        *,
        space: Space | None = None,
        seed: int | None = None,
        learner: str = "Exp3Set",
        worker: str | None = None,
        patience: float = 30.0,
        **settings: Any,
    ) -> None:
        self._set_worker(worker)
        connection = Connection(url, token, patience)
        given = StudySettings.given(space, learner, seed, settings)
        if study is None and given is not None:
            raise ValueError("a space needs the name of a study")
        self.url = self.storage = url
        self._opening = url, token
        self._backend = HttpBackend(connection, study, given)

    def studies(self, search: str = "") -> list[StudyEntry]:
        """Return the studies of the service whose names contain a text."""
        return self._backend.connection.studies(search)

    # Without the learner, which takes longer to load than these answers.

    @property
    def n_events(self) -> int:
        """Number of events in the log."""
        return self._backend.get("", api.StudyInfo).summary.event

    def recommend(self, *, context: dict[str, Any] | None = None) -> Recommendation:
        """Return the value to deploy: for a context if one is given, else for all."""
        text = None if context is None else msgspec.json.encode(context).decode()
        return self._backend.get("/recommend", api.Recommended, context=text).recommendation()

    def contexts(self) -> list[ContextCell]:
        """Return the cells of contexts, that with the most rounds first; a single one if none differ."""
        infos = self._backend.get("/contexts", list[api.ContextInfo], limit=api.MAX_ROWS)
        return [info.cell() for info in infos]

    def __reduce__(self) -> tuple[Any, ...]:
        return Client, (*self._opening, self.name)

    def __repr__(self) -> str:
        return f"Client({public(self.url)!r}, study={self.name!r})"


class HttpBackend:
    """A study of a service: see `semibandit.studies.study.Backend`."""

    def __init__(self, connection: Connection, name: str | None, given: StudySettings | None) -> None:
        self.connection = connection
        if name is not None:
            info = connection.post("/api/studies", api.Begin(check_name(name), given), api.StudyInfo)
        else:
            info = self._find()
        self.id, self.name = info.id, info.name
        self.settings = info.settings
        self._path = f"/api/studies/{self.id}"

    def _find(self) -> api.StudyInfo:
        """Return the study whose page the address names, or the only study."""
        if self.connection.study is not None:
            return self.connection.get(f"/api/studies/{self.connection.study}", api.StudyInfo)
        studies = self.connection.studies()
        if len(studies) != 1:
            names = ", ".join(repr(study.name) for study in studies[:20]) or "none"
            more = f" and {len(studies) - 20} others" if len(studies) > 20 else ""
            raise ValueError(f"give the name of a study; the service has {names}{more}")
        return self.connection.get(f"/api/studies/{studies[0].id}", api.StudyInfo)

    def get(self, path: str, kind: type[T], **query: int | str | None) -> T:
        """Return the answer to a GET request about this study, as an object of a type."""
        return self.connection.get(self._path + path + _query(query), kind)

    def do_all(self, operations: Sequence[Operation]) -> list[Any]:
        """Send operations one after the other."""
        return [self._attempt(operation) for operation in operations]

    def _attempt(self, operation: Operation) -> Any:
        if not isinstance(operation, Operation):
            raise TypeError(f"a service runs only operations of studies, got {operation!r}")
        answer = self.settings.kind.trial if operation.answer is Trial else operation.answer
        try:
            operation.check()
            return self.connection.post(f"{self._path}/{operation.path}", operation.repeatable(), answer)
        except (ValueError, TypeError) as error:
            return error

    def read(self, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        """Return at most 10,000 events."""
        limit = limit or api.MAX_ROWS
        return self.get("/log", list[tuple[int, str]], since=max(since, 1), limit=limit)

    def inspect(self, function: Callable[[Replica], T], event: int | None = None) -> T:
        """Download the replica, and call a function with it."""
        saved = self.connection.send("GET", self._path + "/snapshot" + _query({"event": event}))
        return function(Replica.loads(saved))

    def summaries(self, since: int) -> list[StudySummary]:
        """Return the saved summaries."""
        return self.get("/summaries", list[StudySummary], since=max(since, 1))

    def fold(self, keep: int) -> int:
        """Replace all events but the last ones by a snapshot; return how many are left."""
        left: int = self.connection.post(f"{self._path}/fold", api.Fold(keep), int)
        return left

    def close(self) -> None:
        """Close the connection of this thread."""
        self.connection.close()


class Connection:
    """HTTP connections to a service, one for each thread; requests without an answer are repeated."""

    def __init__(self, url: str, token: str | None, patience: float) -> None:
        if not isinstance(url, str):
            raise TypeError(f"url must be a string, got {url!r}")
        self.url, self._parts = url, _parsed(url)
        self._headers = {} if token is None else {"Authorization": f"Bearer {check_text('token', token)}"}
        self._patience = _validate.number("patience", patience, low=0.0, high=_MAX_PATIENCE)
        self._local = threading.local()
        path = self._parts.path.rstrip("/")
        base, _, number = path.rpartition("/studies/")
        self.study = int(number) if number.isdigit() else None
        self._base = path if self.study is None else base

    def get(self, path: str, kind: type[T]) -> T:
        """Return the answer to a GET request, as an object of a type."""
        return msgspec.json.decode(self.send("GET", path), type=kind)

    def studies(self, search: str = "") -> list[StudyEntry]:
        """Return the list of studies, in as many requests as it needs."""
        found: list[StudyEntry] = []
        while True:
            query = urlencode({"search": search, "limit": _PAGE} | ({"after": found[-1].id} if found else {}))
            page = self.get(f"/api/studies?{query}", list[StudyEntry])
            found += page
            if len(page) < _PAGE:
                return found

    def post(self, path: str, body: msgspec.Struct, kind: Any) -> Any:
        """Return the answer to a POST request, as an object of a type."""
        return msgspec.json.decode(self.send("POST", path, msgspec.json.encode(body)), type=kind)

    def send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """Return the body of the answer; repeat at growing intervals until there is one."""
        give_up = time.monotonic() + self._patience
        pause = 0.05
        while True:
            try:
                status, answer = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem: Exception = ConnectionError(f"{public(self.url)} does not answer: {error!r}")
            else:
                if status < 400:
                    return answer
                if status != 503:
                    raise _error(status, answer)
                problem = ConnectionError(_sentence(status, answer))
            if time.monotonic() + pause > give_up:
                raise problem
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2.0 * pause, 2.0)

    def close(self) -> None:
        """Close the connection of this thread."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
        self._local.connection = None

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        connection = self._connected()
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, self._base + path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()

    def _connected(self) -> http.client.HTTPConnection:
        """Return the open connection of this thread and process."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.process != os.getpid():
            secure = self._parts.scheme == "https"
            kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
            timeout = max(self._patience, 1.0)
            connection = kind(self._parts.hostname or "", self._parts.port, timeout=timeout)
            self._local.connection, self._local.process = connection, os.getpid()
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def _parsed(url: str) -> SplitResult:
    """Return the parts of an address; messages of an error must not quote a password."""
    with suppress(ValueError):  # a wrong port raises when it is read
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0):
            return parts
    raise ValueError(f"url must be that of a service, such as http://127.0.0.1:8080, got {public(url)!r}")


def _query(values: Mapping[str, int | str | None]) -> str:
    given = {name: value for name, value in values.items() if value is not None}
    return f"?{urlencode(given)}" if given else ""


def _sentence(status: int, answer: bytes) -> str:
    try:
        return msgspec.json.decode(answer, type=api.RequestError).error
    except msgspec.DecodeError:
        return f"the service answered with status {status}"


def _error(status: int, answer: bytes) -> Exception:
    return _ERRORS.get(status, ValueError if status < 500 else RuntimeError)(_sentence(status, answer))
