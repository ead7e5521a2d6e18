"""Studies over HTTP: JSON for workers in any language, a stream of events, and a page to look at."""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import msgspec

from semibandit import __version__
from semibandit._extras import needed
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Trial
from semibandit.learners import storage as saving
from semibandit.studies import api, events, guard, operations, page
from semibandit.studies.api import Endpoint
from semibandit.studies.desk import Desk, Office
from semibandit.studies.history import Round
from semibandit.studies.replica import cell_masses
from semibandit.studies.stores import UnknownStudyError
from semibandit.studies.timeline import View, view

with needed("the service", "serve"):
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

__all__ = ["ENDPOINTS", "make_app"]

_MOST_ROUNDS = 10_000  # in one answer
_MOST_JOINED = 20  # studies that a service joins at its start
_MOST_PIECES = 4096  # of a density in an answer
_MOST_PROBES = 1000
_POLL = 1.0  # seconds after which to look for what other processes have written
_KEEP_ALIVE = 15.0
_LIVE = 0.5  # seconds between two messages to a page

JSON = "application/json"
STREAM = "text/event-stream"
BYTES = "application/octet-stream"

Handler = Callable[[Request], Awaitable[Response]]


# -- studies ---------------------------------------------------------------------------------------


async def list_studies(request: Request) -> Response:
    office = _office(request)
    numbers = await asyncio.to_thread(office.numbers)
    infos = [await _info(await _desk_of(office, number)) for number in numbers]
    return _json(api.Studies(infos))


async def begin(request: Request) -> Response:
    wanted = _decode(await guard.read_body(request), api.Begin)
    office = _office(request)
    number = await asyncio.to_thread(
        office.begin, wanted.name, wanted.space, wanted.seed, wanted.learner, wanted.options
    )
    return _json(await _info(await _desk_of(office, number)))


async def show(request: Request) -> Response:
    return _json(await _info(await _desk(request)))


async def _info(desk: Desk) -> api.StudyInfo:
    return await desk.view(_describe, desk)  # type: ignore[no-any-return]


def _describe(desk: Desk) -> api.StudyInfo:
    shown = view(desk.timeline, columns=False)
    return api.StudyInfo(
        id=shown.id,
        name=shown.name,
        events=shown.events,
        told=shown.told,
        failed=shown.failed,
        pending=shown.pending,
        per_minute=shown.per_minute,
        rho=shown.rho,
        interval=shown.interval,
        began=shown.began,
        at=shown.at,
        settings=shown.settings,
        alpha=shown.alpha,
        mean_loss=shown.mean,
        note=shown.note,
    )


# -- rounds ----------------------------------------------------------------------------------------


async def ask(request: Request) -> Response:
    wanted = _decode(await guard.read_body(request), api.Ask)
    desk = await _desk(request)
    trial: Trial = await desk.do(
        lambda replica, turn: operations.ask(
            replica, turn, wanted.worker, wanted.lease, wanted.info, wanted.key, _few(wanted.probes)
        )
    )
    return _json(trial)


async def tell(request: Request) -> Response:
    told = _decode(await guard.read_body(request), api.Tell)
    seen = None if told.seen is None else events.unpack(told.seen)
    desk = await _desk(request)
    done = await desk.do(
        lambda replica, turn: operations.tell(replica, turn, told.trial, seen, told.failure, told.info)
    )
    return _json(api.Done(done))


async def forget(request: Request) -> Response:
    wanted = _decode(await guard.read_body(request), api.TrialNumber)
    desk = await _desk(request)
    return _json(api.Done(await desk.do(partial(operations.forget, trial=wanted.trial))))


async def renew(request: Request) -> Response:
    wanted = _decode(await guard.read_body(request), api.Renew)
    desk = await _desk(request)
    await desk.do(partial(operations.renew, trial=wanted.trial, lease=wanted.lease))
    return _json(api.Done(True))


async def change(request: Request) -> Response:
    wanted = _decode(await guard.read_body(request), api.Change)
    desk = await _desk(request)
    await desk.do(partial(operations.change, lease=wanted.lease, note=wanted.note))
    return _json(api.Done(True))


# -- looking ---------------------------------------------------------------------------------------


async def recommend(request: Request) -> Response:
    desk = await _desk(request)
    best = await desk.look(desk.study.recommend)
    alpha = list(best.alpha) if isinstance(best.alpha, tuple) else best.alpha
    # JSON has no nan: msgspec writes null.
    mean, error, rounds = best.evidence
    return _json(api.Recommended(best.rho, best.interval, alpha, mean, error, rounds, list(best.names)))


async def certificate(request: Request) -> Response:
    desk = await _desk(request)
    return _json({"certificate": str(await desk.look(desk.study.certificate))})


async def rounds(request: Request) -> Response:
    desk = await _desk(request)
    since, limit = _number(request, "since", 1), min(_number(request, "limit", 1000), _MOST_ROUNDS)
    found: list[Round] = await asyncio.to_thread(desk.timeline.study.history, since, limit)
    return _json(api.Rounds(found, found[-1].event + 1 if found else since))


async def pending(request: Request) -> Response:
    desk = await _desk(request)
    return _json(await desk.look(lambda: desk.study.pending))


async def density(request: Request) -> Response:
    desk = await _desk(request)
    event = _number(request, "event", 0)
    if event == 0:
        event, learner = await desk.look(lambda: (desk.study.n_events, desk.study.learner))
        shown = await desk.look(_steps, learner)
    else:
        learner = await asyncio.to_thread(desk.timeline.study.at, event)
        shown = await asyncio.to_thread(_steps, learner)
    return _json(api.Density(event, *shown))


async def learner(request: Request) -> Response:
    desk = await _desk(request)
    event = _number(request, "event", 0)
    if event == 0:
        saved = await desk.look(lambda: saving.dumps(desk.study.learner))
    else:
        saved = await asyncio.to_thread(lambda: saving.dumps(desk.timeline.study.at(event)))
    return Response(saved, media_type=BYTES)


async def whole_view(request: Request) -> Response:
    desk = await _desk(request)
    return _json(await desk.view(view, desk.timeline))


async def portrait(request: Request) -> Response:
    desk = await _desk(request)
    event = _number(request, "event", 1)
    return _json(await desk.view(desk.timeline.moment, event))


def _steps(learner: Any) -> tuple[list[float], list[float]]:
    shape = learner.density()
    if isinstance(shape, PiecewiseConstant) and len(shape) <= _MOST_PIECES:
        return shape.edges.tolist(), shape.values.tolist()
    masses = cell_masses(shape)
    lo, hi = float(shape.edges[0]), float(shape.edges[-1])
    width = (hi - lo) / len(masses)
    return [lo + i * width for i in range(len(masses))] + [hi], (masses / width).tolist()


# -- streams ---------------------------------------------------------------------------------------


async def stream(request: Request) -> Response:
    desk = await _desk(request)
    last = request.headers.get("last-event-id", "")
    since = int(last) + 1 if last.isascii() and last.isdigit() else _number(request, "since", 1)
    return _streamed(_events(desk, since))


async def _events(desk: Desk, since: int) -> AsyncIterator[str]:
    silent = 0.0
    while True:
        rows = await asyncio.to_thread(desk.timeline.study.events, since, 500)
        for number, line in rows:
            yield f"id: {number}\ndata: {line}\n\n"
        if rows:
            since, silent = rows[-1][0] + 1, 0.0
            continue
        await desk.changed(_POLL)
        silent += _POLL
        if silent >= _KEEP_ALIVE:
            yield ": still here\n\n"
            silent = 0.0


async def live(request: Request) -> Response:
    return _streamed(_counts(await _desk(request)))


async def _counts(desk: Desk) -> AsyncIterator[str]:
    """The number of events, whenever it has changed; the page asks for the rest."""
    shown, silent = -1, 0.0
    while True:
        n_events = await desk.look(lambda: desk.study.n_events)
        if n_events != shown:
            yield f'data: {{"events": {n_events}}}\n\n'
            shown, silent = n_events, 0.0
            await asyncio.sleep(_LIVE)
        elif silent >= _KEEP_ALIVE:
            yield ": still here\n\n"
            silent = 0.0
        await desk.changed(_POLL)
        silent += _POLL


def _streamed(messages: AsyncIterator[str]) -> Response:
    return StreamingResponse(
        _until_cancelled(messages),
        media_type=STREAM,
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _until_cancelled(messages: AsyncIterator[str]) -> AsyncIterator[str]:
    """A service that stops ends its streams, and that is no error."""
    try:
        async for message in messages:
            yield message
    except asyncio.CancelledError:
        return


# -- the application -------------------------------------------------------------------------------

_STUDY = "/api/studies/{id}"
# Those that are wanted most come first: paths are compared in this order.
ENDPOINTS: list[tuple[Endpoint, Handler]] = [
    (Endpoint("POST", _STUDY + "/ask", "Ask for a trial.", Trial, api.Ask), ask),
    (Endpoint("POST", _STUDY + "/tell", "Tell what a trial has shown.", api.Done, api.Tell), tell),
    (Endpoint("GET", "/api/studies", "All studies.", api.Studies), list_studies),
    (Endpoint("POST", "/api/studies", "Begin a study, or join it.", api.StudyInfo, api.Begin), begin),
    (Endpoint("GET", _STUDY, "Where a study stands.", api.StudyInfo), show),
    (Endpoint("POST", _STUDY + "/forget", "Give a trial up.", api.Done, api.TrialNumber), forget),
    (Endpoint("POST", _STUDY + "/renew", "Keep a trial for longer.", api.Done, api.Renew), renew),
    (Endpoint("POST", _STUDY + "/change", "Change lease and note.", api.Done, api.Change), change),
    (Endpoint("GET", _STUDY + "/recommend", "The value to deploy.", api.Recommended), recommend),
    (Endpoint("GET", _STUDY + "/certificate", "What the learner vouches for.", JSON), certificate),
    (Endpoint("GET", _STUDY + "/pending", "The trials that workers have.", JSON), pending),
    (
        Endpoint("GET", _STUDY + "/rounds", "Rounds that are over.", api.Rounds, query=("since", "limit")),
        rounds,
    ),
    (
        Endpoint(
            "GET", _STUDY + "/density", "The density, now or at an event.", api.Density, query=("event",)
        ),
        density,
    ),
    (
        Endpoint(
            "GET", _STUDY + "/learner", "The learner, as `semibandit.load` reads it.", BYTES, query=("event",)
        ),
        learner,
    ),
    (Endpoint("GET", _STUDY + "/events", "The log, as it grows.", STREAM, query=("since",)), stream),
    (Endpoint("GET", _STUDY + "/live", "The number of events, as it grows.", STREAM), live),
    (Endpoint("GET", _STUDY + "/view", "What the page shows.", View), whole_view),
    (Endpoint("GET", _STUDY + "/moment", "The page at an event.", JSON, query=("event",)), portrait),
]


def make_app(storage: str, token: str | None = None) -> Any:
    """The service as an ASGI application. Without a token it serves nobody but this machine."""
    document = msgspec.json.encode(api.document([point for point, _ in ENDPOINTS], __version__))

    async def openapi(request: Request) -> Response:
        return Response(document, media_type=JSON)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.office = await asyncio.to_thread(Office, storage)
        joining = asyncio.create_task(_join_all(app.state.office))
        yield
        joining.cancel()
        await asyncio.to_thread(app.state.office.close)

    routes = [Route(point.path, _answering(handler), methods=[point.method]) for point, handler in ENDPOINTS]
    routes.append(Route("/api/openapi.json", openapi))
    app = Starlette(routes=[*routes, *page.routes()], lifespan=lifespan)
    app.add_exception_handler(404, _not_found)
    app.add_exception_handler(405, _not_found)
    return guard.Guard(app, token)


async def _join_all(office: Office) -> None:
    """Live through the logs before anybody asks."""
    for number in (await asyncio.to_thread(office.numbers))[:_MOST_JOINED]:
        with suppress(Exception):  # whoever asks for it is told
            desk = await _desk_of(office, number)
            await desk.look(desk.study.recommend)


def _answering(handler: Handler) -> Handler:
    """What goes wrong becomes an answer: one sentence, and a number that says whose fault it is."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except guard.RefusedError as error:
            return _problem(error.status, str(error))
        except UnknownStudyError as error:
            await _drop(request)
            return _problem(404, str(error))
        except operations.ForgottenError as error:
            return _problem(409, str(error))
        except (ValueError, TypeError) as error:
            return _problem(400, str(error))
        except OSError as error:
            return _problem(503, f"the store cannot be used right now: {error}")
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return _problem(500, "something went wrong in the service; its log says what")

    return answer


async def _not_found(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    return _problem(status, f"there is no {request.method} {request.url.path} here")


def _office(request: Request) -> Office:
    office: Office = request.app.state.office
    return office


async def _desk(request: Request) -> Desk:
    text = request.path_params["id"]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UnknownStudyError(f"there is no study with the number {text}")
    return await _desk_of(_office(request), int(text))


async def _desk_of(office: Office, number: int) -> Desk:
    desk = office.open_desk(number)
    return desk if desk is not None else await asyncio.to_thread(office.desk, number)


async def _drop(request: Request) -> None:
    """Let go of a study that is no longer in the store."""
    text = request.path_params.get("id", "")
    if text.isascii() and text.isdigit():
        await asyncio.to_thread(_office(request).drop, int(text))


def _decode(body: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.DecodeError as error:
        raise ValueError(f"the request cannot be read: {error}") from None


def _number(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and 0 < len(text) < 16 and int(text) > 0):
        raise ValueError(f"{name} must be a positive integer, got {text!r}")
    return int(text)


def _few(probes: int) -> int:
    if probes > _MOST_PROBES:
        raise ValueError(f"probes must be at most {_MOST_PROBES}, got {probes}")
    return probes


def _json(answer: Any) -> Response:
    return Response(msgspec.json.encode(answer), media_type=JSON)


def _problem(status: int, sentence: str) -> Response:
    headers = {"Retry-After": "1"} if status == 503 else None
    one_line = " ".join(sentence.split())
    return Response(msgspec.json.encode(api.Problem(one_line)), status, headers, media_type=JSON)
