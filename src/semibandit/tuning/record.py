"""One finished round of `semibandit tune`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from semibandit.spaces import values_of
from semibandit.studies.log.finished import StudyRound

__all__ = ["MAX_TEXT", "RunRecord", "printable"]

# Fields that a study keeps in the `info` of a round.
_INFO = ("seconds", "runs", "clipped", "default_loss", "default_failure")
MAX_TEXT = 500  # characters that an info keeps


@dataclass(frozen=True)
class RunRecord:
    """One run of a command on an instance, with further runs for its probes, search or default.

    `loss` is the loss that the learner was told, None if there was none. `failure` is the reason why the run
    failed, `clipped` the reason why the loss is the limit. `default_loss` is the loss of the default on the
    same instance, if it was run too. `values` holds the values of named knobs.
    """

    instance: str
    rho: float
    loss: float | None
    seconds: float = 0.0
    runs: int = 1
    failure: str | None = None
    clipped: str | None = None
    default_loss: float | None = None
    default_failure: str | None = None
    values: dict[str, Any] | None = None

    @classmethod
    def of(cls, row: StudyRound, names: tuple[str, ...], value: Callable[[float], float]) -> RunRecord:
        """Read a round of a study; `value` maps its rho to the value that the command was run with."""
        info: dict[str, Any] = {"seconds": row.seconds, **(row.info or {})}
        return cls(
            instance=str(info.get("instance", "")),
            rho=row.rho if names else value(row.rho),
            loss=row.loss,
            failure=row.failure or info.get("failure"),
            values=values_of(names, row.rho, row.alpha) if names else None,
            **{name: info[name] for name in _INFO if name in info},
        )

    def info(self, told: bool) -> dict[str, Any]:
        """Return the `info` of a round for the study; with a loss, it includes the failure."""
        names = (*_INFO, "failure") if told else _INFO
        kept = {name: getattr(self, name) for name in names}
        return {
            name: printable(x)[:MAX_TEXT] if isinstance(x, str) else x
            for name, x in kept.items()
            if x is not None
        }


def printable(text: str) -> str:
    r"""Return text as a study keeps it, with escapes for characters that are not printable.

    >>> printable("a\tb")
    'a\\tb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
