"""What the service takes and gives: types that check every request, and from which OpenAPI is generated."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from semibandit.studies.events import Info, Seen
from semibandit.studies.history import Round

__all__ = [
    "Ask",
    "Begin",
    "Change",
    "Density",
    "Done",
    "Endpoint",
    "Problem",
    "Recommended",
    "Renew",
    "Rounds",
    "Studies",
    "StudyInfo",
    "Tell",
    "TrialNumber",
    "document",
]


class _Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pass


class Begin(_Request, frozen=True):
    """Begin a study, or join it; the settings are those of `semibandit.Study`. Joining needs no space."""

    name: str
    space: dict[str, Any] | None = None
    seed: int | None = None
    learner: str = "Exp3Set"
    options: dict[str, Any] = {}


class Ask(_Request, frozen=True):
    """Ask for a trial. The same key gets the same trial while it is pending."""

    worker: str = "client"
    lease: float | None = None
    key: str | None = None
    info: Info | None = None
    probes: int = 0


class Tell(_Request, frozen=True):
    """Tell what a trial has shown: a loss, a function, or null where the run failed."""

    trial: int
    seen: Seen | None = None
    failure: str | None = None
    info: Info | None = None


class TrialNumber(_Request, frozen=True):
    """A pending trial, to be given up."""

    trial: int


class Renew(_Request, frozen=True):
    """A pending trial, and for how many seconds to keep it."""

    trial: int
    lease: float | None = None


class Change(_Request, frozen=True):
    """Other values for the settings that no learning depends on."""

    lease: float | None = None
    note: str | None = None


class StudyInfo(msgspec.Struct, frozen=True):
    """A study and where it stands; times are in seconds since 1970."""

    id: int
    name: str
    events: int
    told: int
    failed: int
    pending: int
    per_minute: float
    rho: int | float
    interval: tuple[float, float]
    began: float
    at: float
    settings: dict[str, Any]
    alpha: float | list[Any] | None = None
    mean_loss: float | None = None
    note: str = ""


class Studies(msgspec.Struct, frozen=True):
    """All studies."""

    studies: list[StudyInfo]


class Done(msgspec.Struct, frozen=True):
    """Whether anything changed: false where a trial was told, or ended, before."""

    done: bool


class Recommended(msgspec.Struct, frozen=True):
    """The value to deploy, the interval that it stands for, and what was paid there.

    `mean` and `error` (its standard error) are null where too few rounds were played there.
    """

    rho: int | float
    interval: tuple[int | float, int | float]
    alpha: float | list[Any] | None = None
    mean: float | None = None
    error: float | None = None
    rounds: float = 0.0
    names: list[str] = []


class Rounds(msgspec.Struct, frozen=True):
    """Rounds that are over, and the event from which to ask for more."""

    rounds: list[Round]
    next: int


class Density(msgspec.Struct, frozen=True):
    """The density after an event, as steps; large ones in equal cells."""

    event: int
    edges: list[float]
    values: list[float]


class Problem(msgspec.Struct, frozen=True):
    """What was wrong, in one sentence."""

    error: str


class Endpoint(NamedTuple):
    """A path of the service: what it takes and gives, a type or the media type of what is not JSON."""

    method: str
    path: str
    summary: str
    gives: Any
    takes: Any = None
    query: tuple[str, ...] = ()


def document(endpoints: list[Endpoint], version: str) -> dict[str, Any]:
    """The OpenAPI document of a service."""
    types = [kind for point in endpoints for kind in (point.takes, point.gives) if _is_type(kind)]
    schemas, components = msgspec.json.schema_components(
        [*types, Problem], ref_template="#/components/schemas/{name}"
    )
    schema = dict(zip([*types, Problem], schemas, strict=True))
    paths: dict[str, Any] = {}
    for point in endpoints:
        paths.setdefault(point.path, {})[point.method.lower()] = _operation(point, schema)
    return {
        "openapi": "3.1.0",
        "info": {"title": "semibandit studies", "version": version},
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def _operation(point: Endpoint, schema: dict[Any, Any]) -> dict[str, Any]:
    content = (
        {"application/json": {"schema": schema[point.gives]}} if _is_type(point.gives) else {point.gives: {}}
    )
    problem = {"application/json": {"schema": schema[Problem]}}
    parameters = [{"name": "id", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}]
    queries = [
        {"name": name, "in": "query", "required": False, "schema": {"type": "integer", "minimum": 1}}
        for name in point.query
    ]
    operation: dict[str, Any] = {
        "summary": point.summary,
        "parameters": (parameters if "{id}" in point.path else []) + queries,
        "responses": {
            "200": {"description": "done", "content": content},
            "4XX": {"description": "what was wrong", "content": problem},
        },
    }
    if point.takes is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schema[point.takes]}},
        }
    return operation


def _is_type(kind: Any) -> bool:
    return isinstance(kind, type)
