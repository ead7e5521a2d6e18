"""The report that `semibandit tune` ends with: one answer, and a table of the values tried."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from semibandit.cli.terminal import console, plain, table

if TYPE_CHECKING:
    from semibandit.confidence import Bounds
    from semibandit.tuning import RunRecord, Summary, Tuner, Verdict

__all__ = ["played", "print_csv", "print_json", "report"]

_ROWS = 15  # of the table; --csv has all
_WORDS = 6  # of a condition; --json has all
_DIGITS = {"mean": 5, "difference": 3, "error": 2}

Row = dict[str, Any]


def report(tuner: Tuner, ended: str | None) -> None:
    """Print the answer, the values tried, and remarks on failures; `ended` says why tuning was stopped."""
    out = console(highlight=False)
    summary = tuner.summary()
    out.print(table(_result_rows(tuner, summary)))
    rows = list(_rows(tuner))
    if rows:
        shown = rows[:_ROWS] + [row for row in rows[_ROWS:] if "default" in row["note"]]
        out.print(_columns(shown, _word(tuner)))
    if cells := _cells(tuner):
        _print_cells(tuner, cells)
    if len(rows) > _ROWS:
        out.print(f"The best {_ROWS} of {len(rows)}; --csv prints all.", markup=False)
    for line in _remarks(tuner, summary):
        out.print(plain(line), markup=False, soft_wrap=True)
    if ended:
        out.print(
            f"{ended}. {summary.n_rounds} rounds are in {tuner.where}; the same command continues there.",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def print_json(tuner: Tuner, ended: str | None) -> None:
    """Print the answer and the table as one JSON object; a number that is unknown is null."""
    found, summary = tuner.verdict(), tuner.summary()
    data: dict[str, Any] = {
        "answer": None if tuner.learner.n_told == 0 else "deploy" if _deploys(tuner, found) else "keep",
        "values": _recommended(tuner),
        "default": _by_name(tuner, tuner.default),
        "runs": summary.n_runs,
        "failed": summary.n_failed,
        "stopped": ended,
    }
    if found is not None:
        data |= {
            "best": _converted(tuner, found.values),
            "difference": found.difference,
            "paired_t_interval": found.paired,
            "anytime_interval": found.anytime,
            "rests_on": "paired_t_interval" if found.ended else "anytime_interval",
            "pairs": found.n_paired,
            "pairs_needed": found.n_needed,
        }
    if cells := _cells(tuner):
        data["contexts"] = cells
    sys.stdout.write(json.dumps(_finite(data | {"table": list(_rows(tuner))}), indent=2) + "\n")


def print_csv(tuner: Tuner) -> None:
    """Print the table as CSV."""
    rows = list(_rows(tuner))
    if rows:
        writer = csv.DictWriter(sys.stdout, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def played(record: RunRecord) -> str:
    """Return the parameters of a round, for the progress bar."""
    return _named({"ρ": record.rho} if record.values is None else record.values)


# -- the answer ------------------------------------------------------------------------------------


def _deploys(tuner: Tuner, found: Verdict | None) -> bool:
    return tuner.default is None or (found is not None and found.better)


def _recommended(tuner: Tuner) -> Row | None:
    """Return the values that the answer names: the default if it is kept."""
    if tuner.learner.n_told == 0:
        return None
    found = tuner.verdict()
    if not _deploys(tuner, found):
        return _by_name(tuner, tuner.default)
    return _converted(tuner, tuner.learner.recommend().values if found is None else found.values)


def _result_rows(tuner: Tuner, summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the answer, and the comparison with the default that it rests on."""
    failed = f", {summary.n_failed} rounds failed" if summary.n_failed else ""
    if tuner.race:
        yield "done", f"a race, {summary.n_runs} runs of {tuner.learner.n_values} configurations{failed}"
    else:
        yield "done", f"{summary.n_rounds} rounds, {summary.n_runs} runs{failed}"
    values = _recommended(tuner)
    if values is None:
        yield "answer", "nothing was learned yet"
        return
    found, word = tuner.verdict(), _word(tuner)
    if _deploys(tuner, found):
        yield "answer", f"[bold]deploy {plain(_named(values))}[/bold]"
    else:
        yield "answer", f"[bold]keep the default {plain(_named(values))}[/bold]"
    best = tuner.learner.recommend()
    if tuner.default is None:
        yield f"mean {word}", str(best.evidence)
        yield "", "no --default to compare with"
    elif found is None:
        yield "", "no instance was run with both"
    else:
        yield from _comparison(tuner, found)
    if not tuner.race:
        yield f"mean {word} of all", f"{summary.mean_loss:.6g}"


def _comparison(tuner: Tuner, found: Verdict) -> Iterator[tuple[str, str]]:
    """Yield the reason of the answer, the difference to the default, and its two intervals."""
    best = _named(_converted(tuner, found.values))
    if found.default_leads:
        yield "", "the default is the best found"
    elif not found.better:
        yield "", f"{best} looks better, but the interval that counts contains 0"
    ours, theirs = found.means
    other = _named(_by_name(tuner, tuner.default) or {})
    if found.stretch is not None:
        best += " (from {:.4g} to {:.4g})".format(*_ends(tuner, *found.stretch))
    means = f"{ours:.4g} at {best}, {theirs:.4g} at {other}"
    yield f"mean {_word(tuner)}", plain(f"{means}, on {_count(found.n_pairs, 'instance')} run with both")
    checked = " that no decision has used" if found.ended else ""
    yield "difference", f"{found.difference:+.3g} on {_count(found.n_paired, 'instance')}{checked}"
    counts = "; this counts"
    paired = f"{_interval(found.paired)} (paired t, skewness corrected{counts * found.ended})"
    anytime = f"{_interval(found.anytime)} (valid at any time{counts * (not found.ended)})"
    yield "95 % interval", paired
    yield "95 % interval", anytime
    if tuner.race and not tuner.learner.is_over:
        yield "to decide", "let the race end"
    elif tuner.race and found.n_needed is not None:
        runs, instances = tuner.size_for(found.n_needed)
        yield "to decide", f"about {runs} runs on {instances} instances or more, in a new --state"


def _interval(bounds: Bounds) -> str:
    return f"{bounds.low:+.3g} to {bounds.high:+.3g}" if math.isfinite(bounds.low) else "unknown"


def _ends(tuner: Tuner, lo: float, hi: float) -> tuple[float, float]:
    """Return the ends of an interval of ρ; with --integer the first and the last integer in it."""
    if not tuner.command.integer or lo == hi:
        return lo, hi
    first, last = math.ceil(lo), math.ceil(hi) - 1
    return (first, last) if first <= last else (round(lo), round(lo))


# -- the table -------------------------------------------------------------------------------------


def _rows(tuner: Tuner) -> Iterator[Row]:
    """Yield the configurations, the best first; the default always."""
    if tuner.learner.n_told == 0:
        return
    for row in tuner.standings():
        values = _converted(tuner, row.values)
        if row.stretch is not None:
            lo, hi = row.stretch
            values = values | {next(iter(values)): lo if lo == hi else f"{lo:.4g} to {hi:.4g}"}
        notes = (("best", row.best), ("default", row.default))
        yield {
            **values, "mean": row.mean, **({"difference": row.difference} if tuner.race else {}),
            "error": row.error, "runs": row.runs, "failed": row.failed,
            "note": ", ".join(note for note, holds in notes if holds),
        }  # fmt: skip


def _columns(rows: Sequence[Row], word: str) -> Any:
    """Return a table of rows, without columns that are empty in all of them."""
    used = [name for name in rows[0] if name not in ("failed", "note") or any(row[name] for row in rows)]
    heads = {"mean": f"mean {word}", "difference": "- best", "error": "± error", "note": ""}
    found = table()
    for name in used:
        found.add_column(heads.get(name, name), justify="right", no_wrap=True)
    for row in rows:
        found.add_row(*(plain(_shown(row[name], _DIGITS.get(name, 6))) for name in used))
    return found


def _converted(tuner: Tuner, values: Row) -> Row:
    """Return values by name; that of a single parameter is called ρ, an integer with --integer."""
    if tuner.space.names:
        return values
    rho = tuner.command.value(values["rho"])
    return {"ρ": int(rho) if tuner.command.integer else rho}


def _by_name(tuner: Tuner, default: Any) -> Row | None:
    if default is None or isinstance(default, dict):
        return default
    return _converted(tuner, {"rho": default})


def _named(values: Row) -> str:
    return ", ".join(f"{name} = {_shown(value)}" for name, value in values.items())


# -- contexts --------------------------------------------------------------------------------------


def _cells(tuner: Tuner) -> list[Row]:
    """Return the cells of contexts, with their conditions and recommended values; none without features."""
    if tuner.context is None or tuner.learner.n_told == 0:
        return []
    return [
        {
            "where": cell.where,
            "values": _converted(tuner, cell.recommendation.values),
            "rounds": cell.rounds,
        }
        for cell in tuner.learner.contexts()
    ]


def _print_cells(tuner: Tuner, cells: list[Row]) -> None:
    """Print a table with a line for each cell, or that the features make no difference."""
    out = console(highlight=False)
    assert tuner.context is not None
    if len(cells) == 1:
        names = ", ".join(tuner.context.names)
        text = f"So far the features ({names}) make no difference that pays: one value for all instances."
        out.print(plain(text), markup=False, soft_wrap=True)
        return
    found = table()
    found.add_column("instances with", overflow="fold")
    found.add_column("best")
    found.add_column("rounds", justify="right")
    for cell in cells[:_ROWS]:
        where = "; ".join(
            _condition(name, tuner.context.features[name], x) for name, x in cell["where"].items()
        )
        found.add_row(plain(where), plain(_named(cell["values"])), str(cell["rounds"]))
    out.print(found)
    if len(cells) > _ROWS:
        out.print(f"The largest {_ROWS} of {len(cells)} groups; --json prints all.", markup=False)


def _condition(name: str, kind: Any, where: Any) -> str:
    """Return the condition of a cell on a feature as text."""
    if where is None:
        return f"{name} unknown"
    if hasattr(kind, "lo"):
        lo, hi = where
        below = "" if hi >= kind.hi else f" < {_shown(hi, 4)}"
        above = "" if lo <= kind.lo else f"{_shown(lo, 4)} ≤ "
        return f"{above}{name}{below}"
    words = [str(word) for word in where if word is not None] or ["unknown"]
    more = f" and {len(words) - _WORDS} more" if len(words) > _WORDS else ""
    return f"{name} {', '.join(words[:_WORDS])}{more}"


# -- remarks ---------------------------------------------------------------------------------------


def _remarks(tuner: Tuner, summary: Summary) -> Iterator[str]:
    """Yield remarks on the range of losses, on limits and on failures."""
    if tuner.default is not None and tuner.rules.high is None and tuner.learner.n_told:
        yield (
            "The interval that is valid at any time assumes differences of at most "
            f"{tuner.largest_difference:.4g}, the range of the losses so far; --high sets a known bound."
        )
    for reason, count in summary.clipped.items():
        what = f"over {tuner.rules.high:g}" if reason == "over" else "killed at the timeout"
        yield f"{_count(count, 'round')} {what}: counted as the worst loss."
    for failure, count in summary.failures.most_common(3):
        yield f"failed {_count(count, 'time')}: {failure}"
    if learned := summary.n_failed - summary.n_skipped:
        yield f"{_count(learned, 'failed round')} counted as a loss."
    if summary.n_skipped:
        skipped = _count(summary.n_skipped, "failed round")
        if all("--ok-status" in failure for failure in summary.failures):
            yield f"{skipped} did not count as a loss; with --ok-status and --retry-failed they do."
        else:
            knob = "a knob" if tuner.space.names else "ρ"
            yield f"{skipped} did not count as a loss; if {knob} is the reason, --failed high counts them."


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _word(tuner: Tuner) -> str:
    return "value" if tuner.maximize else "loss"


def _shown(value: Any, digits: int = 6) -> str:
    """Return a value as text; nothing for a number that is unknown, or no failures."""
    if isinstance(value, float):
        return f"{value:.{digits}g}" if math.isfinite(value) else ""
    return str(value)


def _finite(data: Any) -> Any:
    """Return data for JSON, with null for numbers that are not finite."""
    if isinstance(data, dict):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
