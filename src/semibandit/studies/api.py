"""Requests and answers of the service, from which the OpenAPI document is generated.

The requests that change a study are the operations of `semibandit.studies.log.operations`.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec

from semibandit.learners import Evidence, Recommendation
from semibandit.learners.contexts import ContextCell
from semibandit.studies.log.events import Asked
from semibandit.studies.log.summary import StudySummary
from semibandit.studies.settings import StudySettings

__all__ = [
    "BYTES",
    "MAX_ROWS",
    "Archive",
    "Begin",
    "ContextInfo",
    "Delete",
    "Endpoint",
    "Fold",
    "Recommended",
    "Rename",
    "RequestError",
    "StudyInfo",
    "document",
]

BYTES = "application/octet-stream"
_TEXTS = ("search", "archived", "context")  # in a query; the others are numbers
MAX_ROWS = 10_000  # rounds or events in one answer
_STUDY = {
    "name": "id", "in": "path", "required": True, "schema": {"type": "string"},
    "description": "Number of the study; or its name, if that is not a number and has no slash.",
}  # fmt: skip


class Begin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Create a study with these settings, or join it; joining needs no settings."""

    name: str
    settings: StudySettings | None = None


class Rename(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Give a study another name."""

    name: str


class Archive(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Leave a study out of the list, or show it again."""

    archived: bool = True


class Delete(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Delete a study with all its rounds; its name confirms which."""

    name: str


class Fold(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replace all events but the last ones by a snapshot; the answer is the number that is left."""

    keep: int = 0


class StudyInfo(msgspec.Struct, frozen=True, kw_only=True):
    """State of a study; times are in seconds since 1970.

    `leases` are at most 200 pending trials, `names` those of the knobs, `alphas` those of the rows.
    `certificate` is the bound on the expected regret in words, or the guarantee if the learner gives none.
    """

    id: int
    name: str
    now: float
    settings: StudySettings
    summary: StudySummary
    pending: int
    forgotten: int
    per_minute: float
    leases: list[Asked]
    names: list[str]
    alphas: list[Any]
    certificate: str


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


class ContextInfo(msgspec.Struct, frozen=True):
    """A cell of contexts, see `learners.contexts.ContextCell`."""

    where: dict[str, Any]
    recommended: Recommended
    rounds: int
    share: float

    @classmethod
    def of(cls, cell: ContextCell) -> ContextInfo:
        """Convert a cell."""
        return cls(cell.where, Recommended.of(cell.recommendation), cell.rounds, cell.share)

    def cell(self) -> ContextCell:
        """Undo `of`."""
        where = {name: tuple(x) if isinstance(x, list) else x for name, x in self.where.items()}
        return ContextCell(where, self.recommended.recommendation(), self.rounds, self.share)


class RequestError(msgspec.Struct, frozen=True):
    """Reason why a request was refused, in one sentence."""

    error: str


class Endpoint(NamedTuple):
    """A path of the service. `takes` and `gives` are types of JSON; an answer without a type is bytes."""

    method: str
    path: str
    summary: str
    gives: Any = None
    takes: Any = None
    query: tuple[str, ...] = ()


def document(endpoints: list[Endpoint], version: str) -> dict[str, Any]:
    """Return the OpenAPI document of a service."""
    types = [RequestError, *(point.gives for point in endpoints), *(point.takes for point in endpoints)]
    schemas, components = msgspec.json.schema_components(types, ref_template="#/components/schemas/{name}")
    contents = [{"application/json": {"schema": schema}} for schema in schemas]
    answers, requests = contents[1 : len(endpoints) + 1], contents[len(endpoints) + 1 :]
    paths: dict[str, Any] = {}
    for point, answer, request in zip(endpoints, answers, requests, strict=True):
        parameters = [_STUDY] if "{id}" in point.path else []
        operation: dict[str, Any] = {
            "summary": point.summary,
            "parameters": parameters + [_parameter(name) for name in point.query],
            "responses": {
                "200": {"description": "done", "content": answer if point.gives else {BYTES: {}}},
                "4XX": {"description": "refused", "content": contents[0]},
            },
        }
        if point.takes is not None:
            operation["requestBody"] = {"required": True, "content": request}
        paths.setdefault(point.path, {})[point.method.lower()] = operation
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


def _parameter(name: str) -> dict[str, Any]:
    schema = {"type": "string"} if name in _TEXTS else {"type": "integer", "minimum": 1}
    return {"name": name, "in": "query", "required": False, "schema": schema}
