"""Counters and logs of the service: requests, latencies, and the state of the studies in use."""

from __future__ import annotations

import json
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from semibandit import _validate
from semibandit.studies.log.replica import Replica

__all__ = ["MAX_STUDIES", "PROMETHEUS", "Monitor"]

PROMETHEUS = "text/plain; version=0.0.4"
MAX_STUDIES = 100  # with counters of their own: those used last
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)  # limits of latencies
_QUIET = ("/healthz", "/readyz", "/metrics")

App = Callable[[Any, Any, Any], Awaitable[None]]


class Monitor:
    """Counts requests by kind and status, and writes a line for each if there is a log.

    Parameters
    ----------
    log
        "none", "text" or "json". Probes are not logged; wrong tokens and slow requests are warnings.
    """

    def __init__(self, log: str = "none") -> None:
        self._log = _validate.choice("log", log, ("none", "text", "json"))
        self._requests: Counter[tuple[str, int]] = Counter()
        self._times: dict[str, list[int]] = {}
        self._seconds: Counter[str] = Counter()

    def around(self, app: App) -> App:
        """Return an application whose requests are counted."""

        async def counted(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            start, status = time.perf_counter(), [500]

            async def note_status(message: Any) -> None:
                if message["type"] == "http.response.start":
                    status[0] = message["status"]
                await send(message)

            try:
                await app(scope, receive, note_status)
            finally:
                self._count(scope, status[0], time.perf_counter() - start)

        return counted

    def _count(self, scope: Any, status: int, seconds: float) -> None:
        kind = _kind(scope["method"], scope["path"])
        self._requests[kind, status] += 1
        self._times.setdefault(kind, [0] * (len(_SECONDS) + 1))[bisect_left(_SECONDS, seconds)] += 1
        self._seconds[kind] += seconds  # type: ignore[assignment]
        if self._log != "none" and scope["path"] not in _QUIET:
            self._write(scope, status, seconds)

    def _write(self, scope: Any, status: int, seconds: float) -> None:
        level = "warning" if status in (401, 403, 429) or status >= 500 or seconds > 1.0 else "info"
        record = {
            "time": round(time.time(), 3),
            "level": level,
            "client": (scope.get("client") or ("",))[0],
            "method": scope["method"],
            "path": scope["path"][:200],
            "status": status,
            "ms": round(1000.0 * seconds, 2),
        }
        shown = json.dumps(record) if self._log == "json" else " ".join(map(str, record.values()))
        print(shown.encode("ascii", "backslashreplace").decode(), file=sys.stderr, flush=True)

    def text(self, studies: list[tuple[str, Replica]]) -> str:
        """Return all counters in the text form of Prometheus."""
        return "\n".join([*self._of_requests(), *_of_studies(studies)]) + "\n"

    def _of_requests(self) -> Iterator[str]:
        yield "# TYPE semibandit_requests_total counter"
        for (kind, status), n in sorted(self._requests.items()):
            yield f'semibandit_requests_total{{kind="{kind}",status="{status}"}} {n}'
        yield "# TYPE semibandit_request_seconds histogram"
        for kind, counts in sorted(self._times.items()):
            total = 0
            for limit, n in zip((*map(str, _SECONDS), "+Inf"), counts, strict=True):
                total += n
                yield f'semibandit_request_seconds_bucket{{kind="{kind}",le="{limit}"}} {total}'
            yield f'semibandit_request_seconds_sum{{kind="{kind}"}} {self._seconds[kind]:.6f}'
            yield f'semibandit_request_seconds_count{{kind="{kind}"}} {total}'


def _kind(method: str, path: str) -> str:
    """Return the kind of a request: one of few, whatever clients send."""
    parts = path.split("/")
    if path.startswith("/api/studies") and len(parts) in (3, 4, 5):
        last = parts[4] if len(parts) == 5 else "study" if len(parts) == 4 else "studies"
        return last if last.isalpha() and last.islower() and len(last) < 12 and method != "HEAD" else "other"
    return "page"


def _of_studies(studies: list[tuple[str, Replica]]) -> Iterator[str]:
    """Yield the counters of each study, one kind after the other."""
    kinds: tuple[tuple[str, str, Callable[[Replica], float | None]], ...] = (
        ("asked_total", "counter", lambda replica: replica.learner.n_asked),
        ("told_total", "counter", lambda replica: replica.counts.told),
        ("failed_total", "counter", lambda replica: replica.counts.failed),
        ("forgotten_total", "counter", lambda replica: len(replica.counts.forgotten)),
        ("expired_total", "counter", lambda replica: replica.counts.expired),
        ("drift_alarms_total", "counter", lambda replica: replica.counts.alarms),
        ("pending", "gauge", lambda replica: len(replica.leases)),
        ("mean_loss", "gauge", lambda replica: _mean(replica.counts.loss, replica.counts.n_losses)),
        ("learning_rate", "gauge", lambda replica: getattr(replica.learner, "current_rate", None)),
        ("mean_default_loss", "gauge", lambda r: _mean(r.counts.defaults, r.counts.n_defaults)),
        (
            "mean_minus_default",
            "gauge",
            lambda r: _mean(r.counts.paired - r.counts.defaults, r.counts.n_defaults),
        ),
    )
    for kind, form, measure in kinds:
        yield f"# TYPE semibandit_study_{kind} {form}"
        for name, replica in studies:
            value = measure(replica)
            if value is not None:
                label = name.replace("\\", "\\\\").replace('"', '\\"')
                yield f'semibandit_study_{kind}{{study="{label}"}} {value:.10g}'


def _mean(total: float, n: int) -> float | None:
    return total / n if n else None
