"""A study that lives in a service, with the methods of `Study`."""

from __future__ import annotations

import http.client
import math
import os
import random
import socket
import ssl
import threading
import time
import uuid
from types import TracebackType
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from semibandit import _validate
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Evidence, Learner, Recommendation, Trial
from semibandit.learners import storage as saving
from semibandit.learners.certificates import Certificate
from semibandit.spaces import Space
from semibandit.studies import api, events
from semibandit.studies.events import Info
from semibandit.studies.history import Round
from semibandit.studies.operations import ForgottenError, check_info, check_lease, check_text
from semibandit.studies.replica import Lease
from semibandit.studies.settings import LEARNERS, Settings, check_name
from semibandit.studies.stores import UnknownStudyError

__all__ = ["Client"]

_FOR_EVER = 1e15  # JSON has no infinity
_LONGEST = 1e8  # seconds that sockets can wait
_ERRORS = {
    400: ValueError,
    401: PermissionError,
    403: PermissionError,
    404: UnknownStudyError,
    409: ForgottenError,
}


class Client:
    """Ask and tell over HTTP, as `semibandit serve` understands it.

    A request whose answer was lost is sent again: that is safe, as a trial told twice is told once, and an
    ask carries a key by which the service finds the trial that it gave already. Several threads may use it.

    Parameters
    ----------
    url
        Of the service, such as `http://127.0.0.1:8080`, or of a study's page.
    token
        What the service asks for, if it does.
    study
        The name of the study, which is begun if it does not exist and a space is given. Where the service has
        one study only, it need not be named.
    space, seed, learner, settings
        As for `Study`.
    worker
        How this process is called in the log.
    patience
        Seconds for which a service that does not answer is tried again.

    Examples
    --------
    >>> Client("ftp://example.org")
    Traceback (most recent call last):
    ...
    ValueError: url must be that of a service, such as http://127.0.0.1:8080, got 'ftp://example.org'
    """

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
        if not isinstance(url, str):
            raise TypeError(f"url must be a string, got {url!r}")
        self.url, self._parts = url, urlsplit(url)
        if self._parts.scheme not in ("http", "https") or not self._parts.hostname:
            raise ValueError(f"url must be that of a service, such as http://127.0.0.1:8080, got {url!r}")
        self.worker = (
            check_text("worker", worker) if worker is not None else f"{socket.gethostname()}:{os.getpid()}"
        )
        self._headers = {} if token is None else {"Authorization": f"Bearer {check_text('token', token)}"}
        self._patience = _validate.number("patience", patience, low=0.0, high=_LONGEST)
        self._local = threading.local()
        base, _, number = self._parts.path.rstrip("/").rpartition("/studies/")
        self._base = base if number.isdigit() else self._parts.path.rstrip("/")
        if study is None and space is not None:
            raise ValueError("a space needs the name of a study")
        if study is not None:
            info = self._begin(study, space, seed, learner, settings)
        else:
            info = self._join(int(number) if number.isdigit() else None)
        self.id, self.name = info.id, info.name
        self._study = f"/api/studies/{self.id}"

    def _begin(
        self, name: str, space: Space | None, seed: int | None, learner: str, settings: dict[str, Any]
    ) -> api.StudyInfo:
        begin = api.Begin(check_name(name))
        if space is not None:
            _validate.choice("learner", learner, tuple(LEARNERS))
            if seed is not None:
                seed = _validate.seed("seed", seed)
            given = Settings.of(space, learner, seed, settings)
            begin = api.Begin(name, given.space, seed, learner, given.options)
        elif settings or seed is not None:
            raise ValueError(f"settings of a learner need a space, got {', '.join(settings) or 'seed'} alone")
        info: api.StudyInfo = self._post("/api/studies", begin, api.StudyInfo)
        return info

    def _join(self, number: int | None) -> api.StudyInfo:
        if number is not None:
            info: api.StudyInfo = self._get(f"/api/studies/{number}", api.StudyInfo)
            return info
        studies = self.studies()
        if len(studies) != 1:
            names = ", ".join(repr(study.name) for study in studies) or "none"
            raise ValueError(f"give the name of a study; the service has {names}")
        return studies[0]

    def studies(self) -> list[api.StudyInfo]:
        """All studies of the service."""
        answer: api.Studies = self._get("/api/studies", api.Studies)
        return answer.studies

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close this thread's connection."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
        self._local.connection = None

    def __repr__(self) -> str:
        return f"Client({self.url!r}, study={self.name!r})"

    # -- rounds ------------------------------------------------------------------------------------

    def ask(
        self,
        *,
        lease: float | None = None,
        info: Info | None = None,
        key: str | None = None,
        worker: str | None = None,
        probes: int = 0,
    ) -> Trial:
        """As `Study.ask`."""
        worker = self.worker if worker is None else check_text("worker", worker)
        key = uuid.uuid4().hex if key is None else check_text("key", key)
        check_info(info)
        probes = _validate.integer("probes", probes, low=0)
        wanted = api.Ask(worker, _finite(lease), key, info, probes)
        trial: Trial = self._post(self._study + "/ask", wanted, Trial)
        return trial

    def tell(
        self, trial: Trial | int, seen: Any, *, failure: str | None = None, info: Info | None = None
    ) -> bool:
        """As `Study.tell`."""
        check_info(info)
        if failure is not None:
            check_text("failure", failure)
        packed = None if seen is None else events.pack(seen)
        told = api.Tell(_number(trial), packed, failure, info)
        done: api.Done = self._post(self._study + "/tell", told, api.Done)
        return done.done

    def forget(self, trial: Trial | int) -> bool:
        """As `Study.forget`."""
        done: api.Done = self._post(self._study + "/forget", api.TrialNumber(_number(trial)), api.Done)
        return done.done

    def renew(self, trial: Trial | int, *, lease: float | None = None) -> None:
        """As `Study.renew`."""
        self._post(self._study + "/renew", api.Renew(_number(trial), _finite(lease)), api.Done)

    def change(self, *, lease: float | None = None, note: str | None = None) -> None:
        """As `Study.change`."""
        check_lease(lease)
        lease = None if lease is None else float(lease)
        if note is not None:
            check_text("note", note)
        self._post(self._study + "/change", api.Change(lease, note), api.Done)

    # -- where it stands ---------------------------------------------------------------------------

    @property
    def n_events(self) -> int:
        """The number of events in the log."""
        info: api.StudyInfo = self._get(self._study, api.StudyInfo)
        return info.events

    @property
    def settings(self) -> Settings:
        """What the study was begun with."""
        info: api.StudyInfo = self._get(self._study, api.StudyInfo)
        return msgspec.convert(info.settings, Settings)

    @property
    def pending(self) -> list[Lease]:
        """The trials that workers have, oldest first."""
        leases: list[Lease] = self._get(self._study + "/pending", list[Lease])
        return leases

    @property
    def learner(self) -> Learner:
        """A copy of the learner."""
        return saving.loads(self._send("GET", self._study + "/learner"), "the service's learner")

    def at(self, event: int) -> Learner:
        """The learner as it was after an event."""
        path = f"{self._study}/learner?{urlencode({'event': _validate.integer('event', event)})}"
        return saving.loads(self._send("GET", path), "the service's learner")

    def density(self) -> PiecewiseConstant:
        """The density that the next parameter is drawn from."""
        density: PiecewiseConstant = self.learner.density()
        return density

    def recommend(self) -> Recommendation:
        """The value to deploy."""
        best: api.Recommended = self._get(self._study + "/recommend", api.Recommended)
        alpha = tuple(best.alpha) if isinstance(best.alpha, list) else best.alpha
        mean, error = (math.nan if x is None else x for x in (best.mean, best.error))
        evidence = Evidence(mean, error, best.rounds)
        return Recommendation(best.rho, best.interval, alpha, tuple(best.names), evidence=evidence)

    def certificate(self) -> Certificate:
        """What the learner can vouch for."""
        return self.learner.certificate()

    def history(self, since: int = 1, limit: int | None = None) -> list[Round]:
        """As `Study.history`."""
        since = _validate.integer("since", since, low=0)
        if limit is not None:
            limit = _validate.integer("limit", limit, low=0)
        found: list[Round] = []
        while limit is None or len(found) < limit:
            query = urlencode({"since": since, "limit": 10_000 if limit is None else limit - len(found)})
            answer: api.Rounds = self._get(f"{self._study}/rounds?{query}", api.Rounds)
            if not answer.rounds:
                break
            found += answer.rounds
            since = answer.next
        return found

    # -- requests ----------------------------------------------------------------------------------

    def _get(self, path: str, kind: Any) -> Any:
        return msgspec.json.decode(self._send("GET", path), type=kind)

    def _post(self, path: str, body: msgspec.Struct, kind: Any) -> Any:
        return msgspec.json.decode(self._send("POST", path, msgspec.json.encode(body)), type=kind)

    def _send(self, method: str, path: str, body: bytes | None = None) -> bytes:
        """The body of the answer. What did not come through is sent again, at growing intervals."""
        give_up = time.monotonic() + self._patience
        pause = 0.05
        while True:
            try:
                status, answer = self._once(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                problem: Exception = ConnectionError(f"{self.url} does not answer: {error!r}")
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

    def _once(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        connection = self._connection()
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, self._base + path, body, headers)
        response = connection.getresponse()
        return response.status, response.read()

    def _connection(self) -> http.client.HTTPConnection:
        """The connection of this thread, which stays open; one that came through a fork is the parent's."""
        connection: http.client.HTTPConnection | None = getattr(self._local, "connection", None)
        if connection is None or self._local.process != os.getpid():
            host, port = self._parts.hostname or "", self._parts.port
            timeout = max(self._patience, 1.0)
            if self._parts.scheme == "https":
                connection = http.client.HTTPSConnection(
                    host, port, timeout=timeout, context=ssl.create_default_context()
                )
            else:
                connection = http.client.HTTPConnection(host, port, timeout=timeout)
            self._local.connection, self._local.process = connection, os.getpid()
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection


def _number(trial: Trial | int) -> int:
    return trial.id if isinstance(trial, Trial) else _validate.integer("trial", trial)


def _finite(lease: float | None) -> float | None:
    check_lease(lease)
    return _FOR_EVER if lease == math.inf else lease if lease is None else float(lease)


def _sentence(status: int, answer: bytes) -> str:
    try:
        return msgspec.json.decode(answer, type=api.Problem).error
    except msgspec.DecodeError:
        return f"the service answered with status {status}"


def _error(status: int, answer: bytes) -> Exception:
    return _ERRORS.get(status, ValueError if status < 500 else RuntimeError)(_sentence(status, answer))
