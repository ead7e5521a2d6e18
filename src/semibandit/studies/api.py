"""Requests and answers of the service, from which the OpenAPI document is generated.

The requests that change a study are the operations of `semibandit.studies.log.operations`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec

from semibandit.learners import Evidence, Recommendation
from semibandit.studies.log.history import StudyRound

__all__ = [
    "MAX_ROWS",
    "Begin",
    "Density",
    "Done",
    "Endpoint",
    "LogRows",
    "Problem",
    "Prune",
    "Pruned",
    "Recommended",
    "Rounds",
    "Studies",
    "StudyInfo",
    "document",
]

MAX_ROWS = 10_000  # rounds or events in one answer


class Begin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Create a study, or join it; the settings are those of `semibandit.Study`. Joining needs no space."""

    name: str
    space: dict[str, Any] | None = None
    seed: int | None = None
    learner: str = "Exp3Set"
    options: dict[str, Any] = {}


class Prune(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Forget the overdue trials of a study and drop its old snapshots."""


class Pruned(msgspec.Struct, frozen=True):
    """Number of overdue trials."""

    forgotten: int


class StudyInfo(msgspec.Struct, frozen=True, kw_only=True):
    """State of a study; times are in seconds since 1970."""

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
    """Whether anything changed: false if the trial was told, or finished, before."""

    done: bool


class Recommended(msgspec.Struct, frozen=True):
    """The value to deploy, its interval, and the losses observed there.

    `mean` and `error` (its standard error) are null after too few rounds in the interval.
    """

    rho: int | float
    interval: tuple[int | float, int | float]
    alpha: float | list[Any] | None = None
    mean: float | None = None
    error: float | None = None
    rounds: float = 0.0
    names: list[str] = []

    @classmethod
    def of(cls, best: Recommendation) -> Recommended:
        """Convert a recommendation; msgspec writes nan as null."""
        alpha = list(best.alpha) if isinstance(best.alpha, tuple) else best.alpha
        return cls(best.rho, best.interval, alpha, *best.evidence, list(best.names))

    def recommendation(self) -> Recommendation:
        """Undo `of`."""
        alpha = tuple(self.alpha) if isinstance(self.alpha, list) else self.alpha
        mean, error = (math.nan if x is None else x for x in (self.mean, self.error))
        evidence = Evidence(mean, error, self.rounds)
        return Recommendation(self.rho, self.interval, alpha, tuple(self.names), evidence=evidence)


class Rounds(msgspec.Struct, frozen=True):
    """Finished rounds, and the event from which to ask for more."""

    rounds: list[StudyRound]
    next: int


class LogRows(msgspec.Struct, frozen=True):
    """Events: pairs of number and JSON."""

    rows: list[tuple[int, str]]


class Density(msgspec.Struct, frozen=True):
    """The density after an event, as steps; more than 4,096 steps are reduced to 128 equal cells."""

    event: int
    edges: list[float]
    values: list[float]


class Problem(msgspec.Struct, frozen=True):
    """Reason why a request was refused, in one sentence."""

    error: str


class Endpoint(NamedTuple):
    """A path of the service. `takes` and `gives` are types of JSON, or the media type of other content."""

    method: str
    path: str
    summary: str
    gives: Any
    takes: Any = None
    query: tuple[str, ...] = ()


def document(endpoints: list[Endpoint], version: str) -> dict[str, Any]:
    """Return the OpenAPI document of a service."""
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
            "4XX": {"description": "refused", "content": problem},
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
