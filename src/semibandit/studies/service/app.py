"""The service as an ASGI application: endpoints, and answers to errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from semibandit import __version__
from semibandit._extras import needed
from semibandit.studies import api
from semibandit.studies.api import Endpoint
from semibandit.studies.listing import StudyEntry
from semibandit.studies.log import operations
from semibandit.studies.log.finished import StudyRound
from semibandit.studies.log.operations import ForgottenError, Operation, PausedError
from semibandit.studies.log.stores import DamagedStudyError, UnknownStudyError
from semibandit.studies.log.summary import StudySummary
from semibandit.studies.service import auth, page
from semibandit.studies.service.info import study_info
from semibandit.studies.service.monitor import MAX_STUDIES, PROMETHEUS, Monitor
from semibandit.studies.service.worker import StudyRegistry, StudyWorker
from semibandit.studies.study import Study

with needed("the service", "serve"):
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

__all__ = ["ENDPOINTS", "make_app"]

JSON = "application/json"

Handler = Callable[[Request], Awaitable[Response]]


# -- studies ---------------------------------------------------------------------------------------


async def list_studies(request: Request) -> Response:
    query = request.query_params
    page = query.get("search", ""), _number(request, "after") or 0, _limit(request, 100)
    return _json(await asyncio.to_thread(_registry(request).entries, *page, "archived" in query))


async def health(request: Request) -> Response:
    """Answer as long as the process runs."""
    return _json("ok")


async def ready(request: Request) -> Response:
    """Answer if the store can be read; a failure is status 503."""
    await asyncio.to_thread(_registry(request).store.find, "")
    return _json("ready")


async def metrics(request: Request) -> Response:
    """Return counters of requests and studies in the text form of Prometheus."""
    studies = await asyncio.to_thread(_registry(request).recent, MAX_STUDIES)
    return Response(request.app.state.monitor.text(studies), media_type=PROMETHEUS)


async def begin(request: Request) -> Response:
    wanted = _decode(await auth.read_body(request), api.Begin)
    registry = _registry(request)
    number = await asyncio.to_thread(registry.begin, wanted)
    worker = await _worker_of(registry, number)
    return _json(await asyncio.to_thread(study_info, worker.study))


def operating(kind: type[Operation]) -> Handler:
    """Return the handler of an operation."""

    async def handler(request: Request) -> Response:
        operation = _decode(await auth.read_body(request), kind)
        return _json(await (await _worker(request)).do(operation))

    return handler


def changing(kind: type[Any]) -> Handler:
    """Return the handler of a change of the list of studies."""

    async def handler(request: Request) -> Response:
        change = _decode(await auth.read_body(request), kind)
        return _json(await asyncio.to_thread(_registry(request).change, await _study_number(request), change))

    return handler


def reading(read: Callable[[Study, Request], Any]) -> Handler:
    """Return the handler of a request that changes nothing."""

    async def handler(request: Request) -> Response:
        answer = await asyncio.to_thread(read, (await _worker(request)).study, request)
        return Response(answer, media_type=api.BYTES) if isinstance(answer, bytes) else _json(answer)

    return handler


async def export(request: Request) -> Response:
    """Stream the log as lines of JSON, from which `semibandit study import` makes the study."""
    study = (await _worker(request)).study

    def lines() -> Iterator[str]:
        since = 1
        while rows := study.events(since, api.MAX_ROWS):
            yield "".join(f"{line}\n" for _, line in rows)
            since = rows[-1][0] + 1

    headers = {"Content-Disposition": f'attachment; filename="study-{study.id}.jsonl"'}
    return StreamingResponse(lines(), headers=headers, media_type="application/x-ndjson")


def _rows(request: Request) -> tuple[int, int]:
    """Return the first event and the number of rows of an answer."""
    return _number(request, "since") or 1, _limit(request, 1000)


def _limit(request: Request, default: int) -> int:
    return min(_number(request, "limit") or default, api.MAX_ROWS)


# -- the application -------------------------------------------------------------------------------

_STUDY = "/api/studies/{id}"
_STATUS: dict[type, int] = {
    UnknownStudyError: 404, ForgottenError: 409, PausedError: 423, DamagedStudyError: 500, ValueError: 400,
    TypeError: 400, OSError: 503,
}  # fmt: skip


def _operation(summary: str, kind: type[Operation]) -> tuple[Endpoint, Handler]:
    return Endpoint("POST", f"{_STUDY}/{kind.path}", summary, kind.answer, kind), operating(kind)


def _change(name: str, summary: str, kind: type[Any], gives: Any = bool) -> tuple[Endpoint, Handler]:
    return Endpoint("POST", f"{_STUDY}/{name}", summary, gives, kind), changing(kind)


def _reading(
    path: str, summary: str, gives: Any, read: Callable[[Study, Request], Any], *query: str
) -> tuple[Endpoint, Handler]:
    return Endpoint("GET", _STUDY + path, summary, gives, query=query), reading(read)


# The most frequent ones come first: paths are compared in this order.
ENDPOINTS: list[tuple[Endpoint, Handler]] = [
    _operation("Ask for a trial.", operations.Ask),
    _operation("Tell the feedback of a trial.", operations.Tell),
    (
        Endpoint(
            "GET", "/api/studies", "Return the studies whose names contain `search`, after a number.",
            list[StudyEntry], query=("after", "limit", "search", "archived"),
        ),
        list_studies,
    ),
    (Endpoint("POST", "/api/studies", "Create a study, or join it.", api.StudyInfo, api.Begin), begin),
    _reading("", "Return the state of a study.", api.StudyInfo, lambda study, _: study_info(study)),
    _operation("Let the next ask play these values.", operations.Enqueue),
    _operation("Give up a trial.", operations.Forget),
    _operation("Renew the lease of a trial.", operations.Renew),
    _operation("Change the default lease or the note; pause the study, or let it go on.", operations.Change),
    _operation("Forget overdue trials.", operations.Prune),
    _operation("Extend a race.", operations.Extend),
    _change("rename", "Give a study another name.", api.Rename),
    _change("archive", "Leave a study out of the list, or show it again.", api.Archive),
    _change("fold", "Replace the oldest events by a snapshot.", api.Fold, int),
    _change("delete", "Delete a study with all its rounds.", api.Delete),
    _reading(
        "/recommend", "Return the value to deploy; for a context, as JSON, if one is given.", api.Recommended,
        lambda study, request: api.Recommended.of(study.recommend(context=_context(request))), "context",
    ),
    _reading(
        "/contexts", "Return the cells of contexts with the most rounds.", list[api.ContextInfo],
        lambda study, request: [*map(api.ContextInfo.of, study.contexts()[: _limit(request, 100)])], "limit",
    ),
    _reading(
        "/rounds", "Return finished rounds.", list[StudyRound],
        lambda study, request: study.history(*_rows(request)).data, "since", "limit",
    ),
    _reading(
        "/log", "Return events.", list[tuple[int, str]],
        lambda study, request: study.events(*_rows(request)), "since", "limit",
    ),
    (Endpoint("GET", f"{_STUDY}/export", "Return all events, one on each line."), export),
    _reading(
        "/summary", "Return the summary, now or at an event.", StudySummary,
        lambda study, request: study.summary(_number(request, "event")), "event",
    ),
    _reading(
        "/summaries", "Return the saved summaries.", list[StudySummary],
        lambda study, request: study.summaries(_number(request, "since") or 1), "since",
    ),
    _reading(
        "/snapshot", "Return the saved replica, now or at an event.", None,
        lambda study, request: study.snapshot(_number(request, "event")), "event",
    ),
]  # fmt: skip


def make_app(storage: str, token: str | Path | None = None, log: str = "none", root_path: str = "") -> Any:
    """Return the service as an ASGI application.

    Parameters
    ----------
    storage
        Address of the store.
    token
        A token that may do everything, or the file with tokens and their roles (see `auth.Tokens`). Without
        it only this machine is served.
    log
        "text" or "json" writes a line for each request to the standard error, "none" does not.
    root_path
        Path under which a proxy shows the service, whether or not it removes it from requests.
    """
    prefix = auth.checked_prefix(root_path)
    document = msgspec.json.encode(api.document([point for point, _ in ENDPOINTS], __version__))

    async def openapi(request: Request) -> Response:
        return Response(document, media_type=JSON)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.registry = await asyncio.to_thread(StudyRegistry, storage)
        yield
        await asyncio.to_thread(app.state.registry.close)

    routes = [Route(point.path, handler, methods=[point.method]) for point, handler in ENDPOINTS]
    routes += [Route("/healthz", health), Route("/readyz", ready), Route("/metrics", metrics)]
    routes += [Route("/api/openapi.json", openapi), *page.routes()]
    handlers: dict[Any, Any] = dict.fromkeys([auth.RefusedError, *_STATUS], _refused)
    handlers |= {404: _not_found, 405: _not_found, Exception: _failed}
    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers)
    app.state.monitor = Monitor(log)
    tokens = None if token is None else auth.Tokens(token)
    return auth.Prefix(app.state.monitor.around(auth.Auth(app, tokens)), prefix)


async def _refused(request: Request, error: Exception) -> Response:
    """Answer an error with its status and one sentence."""
    if isinstance(error, auth.RefusedError):
        return _problem(error.status, str(error))
    status = next(_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS)
    if status == 503:
        return _problem(status, f"the store cannot be used right now: {error}")
    return _problem(status, str(error))


async def _failed(request: Request, error: Exception) -> Response:
    return _problem(500, "internal error; the log of the service has the traceback")


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return _problem(status, f"there is no {request.method} {request.url.path} here")


def _registry(request: Request) -> StudyRegistry:
    registry: StudyRegistry = request.app.state.registry
    return registry


async def _worker(request: Request) -> StudyWorker:
    return await _worker_of(_registry(request), await _study_number(request))


async def _study_number(request: Request) -> int:
    """Return the number of the study that a path names by its number or its name."""
    text: str = request.path_params["id"]
    if text.isascii() and text.isdigit() and len(text) < 10:
        return int(text)
    number = await asyncio.to_thread(_registry(request).store.find, text)
    if number is None:
        raise UnknownStudyError(f"there is no study {text!r}")
    return number


async def _worker_of(registry: StudyRegistry, number: int) -> StudyWorker:
    worker = registry.opened(number)
    return worker if worker is not None else await asyncio.to_thread(registry.worker, number)


def _decode(body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ValueError(f"the request cannot be read: {error}") from None


def _number(request: Request, name: str) -> int | None:
    """Return a number of the query; None if it is not given."""
    text = request.query_params.get(name, "1")
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text) > 0):
        raise ValueError(f"{name} must be a positive integer, got {text!r}")
    return int(text) if name in request.query_params else None


def _context(request: Request) -> dict[str, Any] | None:
    """Return the context of the query; None if it is not given."""
    text = request.query_params.get("context")
    return None if text is None else _decode(text.encode(), dict[str, Any])


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type=JSON)


def _problem(status: int, sentence: str) -> Response:
    headers = {"Retry-After": "1"} if status == 503 else None
    one_line = " ".join(sentence.split())
    return Response(msgspec.json.encode(api.RequestError(one_line)), status, headers, media_type=JSON)
