"""The service as an ASGI application: endpoints, streams, and answers to errors."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec

from semibandit import __version__
from semibandit._extras import needed
from semibandit.functions import PiecewiseConstant
from semibandit.studies import api
from semibandit.studies.api import Endpoint
from semibandit.studies.log.history import StudyRound
from semibandit.studies.log.operations import Ask, Change, Forget, ForgottenError, Operation, Renew, Tell
from semibandit.studies.log.stores import DamagedStudyError, UnknownStudyError
from semibandit.studies.log.summary import StudySummary, cell_masses
from semibandit.studies.service import auth, page
from semibandit.studies.service.view import StudyView
from semibandit.studies.service.worker import StudyRegistry, StudyWorker

with needed("the service", "serve"):
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

__all__ = ["ENDPOINTS", "make_app"]

_MAX_OPENED = 20  # studies that a service opens at its start
_MAX_PIECES = 4096  # of a density in an answer
_POLL = 1.0  # seconds between two searches for events of other processes
_KEEP_ALIVE = 15.0  # seconds of silence on a stream
_LIVE = 0.5  # seconds between two messages to a page

JSON = "application/json"
STREAM = "text/event-stream"
BYTES = "application/octet-stream"

Handler = Callable[[Request], Awaitable[Response]]


# -- studies ---------------------------------------------------------------------------------------


async def list_studies(request: Request) -> Response:
    registry = _registry(request)
    numbers = await asyncio.to_thread(registry.numbers)
    infos = [await _info(await _worker_of(registry, number)) for number in numbers]
    return _json(api.Studies(infos))


async def begin(request: Request) -> Response:
    wanted = _decode(await auth.read_body(request), api.Begin)
    registry = _registry(request)
    number = await asyncio.to_thread(registry.begin, wanted)
    return _json(await _info(await _worker_of(registry, number)))


async def show(request: Request) -> Response:
    return _json(await _info(await _worker(request)))


async def _info(worker: StudyWorker) -> api.StudyInfo:
    return await worker.view(worker.timeline.info)  # type: ignore[no-any-return]


# -- operations ------------------------------------------------------------------------------------


def operate(kind: type[Operation]) -> Handler:
    """Return the handler of an operation."""

    async def handler(request: Request) -> Response:
        operation = _decode(await auth.read_body(request), kind)
        outcome = await (await _worker(request)).do(operation)
        return _json(api.Done(outcome) if kind.answer is bool else outcome)

    return handler


async def prune(request: Request) -> Response:
    _decode(await auth.read_body(request), api.Prune)
    worker = await _worker(request)
    return _json(api.Pruned(await worker.run(worker.study.prune)))


# -- reading ---------------------------------------------------------------------------------------


async def recommend(request: Request) -> Response:
    worker = await _worker(request)
    return _json(api.Recommended.of(await worker.run(worker.study.recommend)))


async def certificate(request: Request) -> Response:
    worker = await _worker(request)
    return _json({"certificate": str(await worker.run(worker.study.certificate))})


async def rounds(request: Request) -> Response:
    reader = (await _worker(request)).timeline.reader
    since, limit = _number(request, "since", 1), min(_number(request, "limit", 1000), api.MAX_ROWS)
    found: list[StudyRound] = await asyncio.to_thread(reader.history, since, limit)
    return _json(api.Rounds(found, found[-1].event + 1 if found else since))


async def log(request: Request) -> Response:
    reader = (await _worker(request)).timeline.reader
    since, limit = _number(request, "since", 1), min(_number(request, "limit", 1000), api.MAX_ROWS)
    return _json(api.LogRows(await asyncio.to_thread(reader.events, since, limit)))


async def pending(request: Request) -> Response:
    worker = await _worker(request)
    return _json(await worker.run(lambda: worker.study.pending))


async def density(request: Request) -> Response:
    worker = await _worker(request)
    event = _number(request, "event", 0)
    if event == 0:
        event, shown = await worker.run(lambda: (worker.study.n_events, _steps(worker.study.learner)))
    else:
        shown = await asyncio.to_thread(lambda: _steps(worker.timeline.reader.at(event)))
    return _json(api.Density(event, *shown))


async def learner(request: Request) -> Response:
    worker = await _worker(request)
    study, reader, event = worker.study, worker.timeline.reader, _number(request, "event", 0)
    if event == 0:
        saved = await worker.run(lambda: study.settings.kind.dumps(study.learner))
    else:
        saved = await asyncio.to_thread(lambda: reader.settings.kind.dumps(reader.at(event)))
    return Response(saved, media_type=BYTES)


async def summary(request: Request) -> Response:
    reader = (await _worker(request)).timeline.reader
    return _json(await asyncio.to_thread(reader.summary, _number(request, "event", 0) or None))


async def summaries(request: Request) -> Response:
    reader = (await _worker(request)).timeline.reader
    return _json(await asyncio.to_thread(reader.summaries, _number(request, "since", 1)))


async def view(request: Request) -> Response:
    worker = await _worker(request)
    return _json(await worker.view(worker.timeline.view))


async def moment(request: Request) -> Response:
    worker = await _worker(request)
    return _json(await worker.view(worker.timeline.moment, _number(request, "event", 1)))


def _steps(learner: Any) -> tuple[list[float], list[float]]:
    shape = learner.density()
    if isinstance(shape, PiecewiseConstant) and len(shape) <= _MAX_PIECES:
        return shape.edges.tolist(), shape.values.tolist()
    masses = cell_masses(shape)
    lo, hi = float(shape.edges[0]), float(shape.edges[-1])
    width = (hi - lo) / len(masses)
    return [lo + i * width for i in range(len(masses))] + [hi], (masses / width).tolist()


# -- streams ---------------------------------------------------------------------------------------


async def stream(request: Request) -> Response:
    worker = await _worker(request)
    last = request.headers.get("last-event-id")
    since = _number(request, "since", 1) if last is None else _positive("Last-Event-ID", last) + 1
    return _streamed(_events(worker, since))


async def _events(worker: StudyWorker, since: int) -> AsyncIterator[str]:
    silent = 0.0
    while True:
        rows = await asyncio.to_thread(worker.timeline.reader.events, since, 500)
        for number, line in rows:
            yield f"id: {number}\ndata: {line}\n\n"
        if rows:
            since, silent = rows[-1][0] + 1, 0.0
            continue
        await worker.changed(_POLL)
        silent += _POLL
        if silent >= _KEEP_ALIVE:
            yield ": keep-alive\n\n"
            silent = 0.0


async def live(request: Request) -> Response:
    return _streamed(_counts(await _worker(request)))


async def _counts(worker: StudyWorker) -> AsyncIterator[str]:
    """Yield the number of events whenever it has changed; the page requests the rest."""
    shown, silent = -1, 0.0
    while True:
        n_events = await worker.run(lambda: worker.study.n_events)
        if n_events != shown:
            yield f'data: {{"events": {n_events}}}\n\n'
            shown, silent = n_events, 0.0
            await asyncio.sleep(_LIVE)
        elif silent >= _KEEP_ALIVE:
            yield ": keep-alive\n\n"
            silent = 0.0
        await worker.changed(_POLL)
        silent += _POLL


def _streamed(messages: AsyncIterator[str]) -> Response:
    return StreamingResponse(
        _until_cancelled(messages),
        media_type=STREAM,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _until_cancelled(messages: AsyncIterator[str]) -> AsyncIterator[str]:
    """End a stream without an error when the service stops."""
    try:
        async for message in messages:
            yield message
    except asyncio.CancelledError:
        return


# -- the application -------------------------------------------------------------------------------

_STUDY = "/api/studies/{id}"


def _operation(summary: str, kind: type[Operation]) -> tuple[Endpoint, Handler]:
    gives = api.Done if kind.answer is bool else kind.answer
    return Endpoint("POST", f"{_STUDY}/{kind.path}", summary, gives, kind), operate(kind)


def _reading(path: str, summary: str, gives: Any, handler: Handler, *query: str) -> tuple[Endpoint, Handler]:
    return Endpoint("GET", _STUDY + path, summary, gives, query=query), handler


# The most frequent ones come first: paths are compared in this order.
ENDPOINTS: list[tuple[Endpoint, Handler]] = [
    _operation("Ask for a trial.", Ask),
    _operation("Tell the feedback of a trial.", Tell),
    (Endpoint("GET", "/api/studies", "Return all studies.", api.Studies), list_studies),
    (Endpoint("POST", "/api/studies", "Create a study, or join it.", api.StudyInfo, api.Begin), begin),
    _reading("", "Return the state of a study.", api.StudyInfo, show),
    _operation("Give up a trial.", Forget),
    _operation("Renew the lease of a trial.", Renew),
    _operation("Change the default lease or the note.", Change),
    (
        Endpoint("POST", _STUDY + "/prune", "Forget overdue trials, drop snapshots.", api.Pruned, api.Prune),
        prune,
    ),
    _reading("/recommend", "Return the value to deploy.", api.Recommended, recommend),
    _reading("/certificate", "Return the bound on the expected regret.", JSON, certificate),
    _reading("/pending", "Return the pending trials.", JSON, pending),
    _reading("/rounds", "Return finished rounds.", api.Rounds, rounds, "since", "limit"),
    _reading("/log", "Return events.", api.LogRows, log, "since", "limit"),
    _reading("/density", "Return the density, now or at an event.", api.Density, density, "event"),
    _reading("/learner", "Return the learner, in the form of `semibandit.load`.", BYTES, learner, "event"),
    _reading("/summary", "Return the summary, now or at an event.", StudySummary, summary, "event"),
    _reading("/summaries", "Return the saved summaries.", JSON, summaries, "since"),
    _reading("/events", "Stream the events.", STREAM, stream, "since"),
    _reading("/live", "Stream the number of events.", STREAM, live),
    _reading("/view", "Return the data of the page.", StudyView, view),
    _reading("/moment", "Return the column of the page at an event.", JSON, moment, "event"),
]


def make_app(storage: str, token: str | None = None) -> Any:
    """Return the service as an ASGI application. Without a token it serves only this machine."""
    document = msgspec.json.encode(api.document([point for point, _ in ENDPOINTS], __version__))

    async def openapi(request: Request) -> Response:
        return Response(document, media_type=JSON)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.registry = await asyncio.to_thread(StudyRegistry, storage)
        opening = asyncio.create_task(_open_all(app.state.registry))
        yield
        opening.cancel()
        await asyncio.to_thread(app.state.registry.close)

    routes = [Route(point.path, _answering(handler), methods=[point.method]) for point, handler in ENDPOINTS]
    routes.append(Route("/api/openapi.json", openapi))
    app = Starlette(routes=[*routes, *page.routes()], lifespan=lifespan)
    app.add_exception_handler(404, _not_found)
    app.add_exception_handler(405, _not_found)
    return auth.Auth(app, token)


async def _open_all(registry: StudyRegistry) -> None:
    """Replay the logs before the first request."""
    for number in (await asyncio.to_thread(registry.numbers))[:_MAX_OPENED]:
        with suppress(Exception):  # the first request gets the error
            worker = await _worker_of(registry, number)
            await worker.run(worker.study.recommend)


def _answering(handler: Handler) -> Handler:
    """Turn errors into answers: a status, and one sentence."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except auth.RefusedError as error:
            return _problem(error.status, str(error))
        except UnknownStudyError as error:
            await _drop(request)
            return _problem(404, str(error))
        except ForgottenError as error:
            return _problem(409, str(error))
        except DamagedStudyError as error:
            return _problem(500, str(error))
        except (ValueError, TypeError) as error:
            return _problem(400, str(error))
        except OSError as error:
            return _problem(503, f"the store cannot be used right now: {error}")
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return _problem(500, "internal error; the log of the service has the traceback")

    return answer


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return _problem(status, f"there is no {request.method} {request.url.path} here")


def _registry(request: Request) -> StudyRegistry:
    registry: StudyRegistry = request.app.state.registry
    return registry


async def _worker(request: Request) -> StudyWorker:
    text = request.path_params["id"]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UnknownStudyError(f"there is no study with the number {text}")
    return await _worker_of(_registry(request), int(text))


async def _worker_of(registry: StudyRegistry, number: int) -> StudyWorker:
    worker = registry.opened(number)
    return worker if worker is not None else await asyncio.to_thread(registry.worker, number)


async def _drop(request: Request) -> None:
    """Close a study that is no longer in the store."""
    text = request.path_params.get("id", "")
    if text.isascii() and text.isdigit():
        await asyncio.to_thread(_registry(request).drop, int(text))


def _decode(body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ValueError(f"the request cannot be read: {error}") from None


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    return default if text is None else _positive(name, text)


def _positive(name: str, text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text) > 0):
        raise ValueError(f"{name} must be a positive integer, got {text!r}")
    return int(text)


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type=JSON)


def _problem(status: int, sentence: str) -> Response:
    headers = {"Retry-After": "1"} if status == 503 else None
    one_line = " ".join(sentence.split())
    return Response(msgspec.json.encode(api.Problem(one_line)), status, headers, media_type=JSON)
