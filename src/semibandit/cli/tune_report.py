"""The tables that `semibandit tune` ends with."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from semibandit.cli.terminal import console, plain, table

if TYPE_CHECKING:
    from rich.table import Table

    from semibandit.tuning import RunRecord, Summary, Tuner
    from semibandit.tuning.verdict import Tried

__all__ = ["played", "report"]


def report(tuner: Tuner, ended: str | None) -> None:
    """Print the result, the values tried, and remarks on failures; `ended` says why tuning was stopped."""
    out = console(highlight=False)
    summary = tuner.summary()
    out.print(table(_result_rows(tuner, summary)))
    if tuner.learner.n_told and not tuner.space.names:
        out.print(_standings(tuner) if tuner.race else _values(tuner))
    for line in _remarks(tuner, summary):
        out.print(plain(line), markup=False, soft_wrap=True)
    if ended:
        out.print(
            f"{ended}. {summary.n_rounds} rounds are in {tuner.where}; the same command continues there.",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def played(record: RunRecord) -> str:
    """Return the parameters of a round, for the progress bar."""
    if record.values is None:
        return f"ρ = {record.rho:.4g}"
    return ", ".join(f"{name} = {_shown(value)}" for name, value in record.values.items())


def _result_rows(tuner: Tuner, summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield the recommended value, its loss, and the comparison with the default."""
    word = _word(tuner)
    runs = f"a race, {summary.n_runs} runs" if tuner.race else _rounds_and_runs(summary)
    yield "done", runs + (f", {summary.n_failed} rounds failed" if summary.n_failed else "")
    best = tuner.learner.recommend()
    knobs = best.values if best.names else {"ρ": tuner.command.value(best.rho)}
    if tuner.learner.n_told == 0:
        yield f"{', '.join(knobs)} to deploy", "nothing was learned yet"
        return
    yield f"mean {word}", f"{summary.mean_loss:.6g}"
    for name, value in knobs.items():
        yield f"{name} to deploy", f"[bold]{plain(_shown(value))}[/bold]"
    if best.along:
        yield "which stands for", "{:.6g} to {:.6g}".format(*_ends(tuner, *best.interval))
    yield f"mean {word} there", str(best.evidence)
    if (pair := summary.comparison) is not None:
        difference = f"{pair.learner - pair.default:+.3g} ± {pair.error:.2g}"
        yield "learning minus default", f"{difference} in {pair.n} rounds"
    if not tuner.space.names:
        yield from _verdict_rows(tuner)


def _rounds_and_runs(summary: Summary) -> str:
    return f"{summary.n_rounds} rounds, {summary.n_runs} runs"


def _verdict_rows(tuner: Tuner) -> Iterator[tuple[str, str]]:
    """Yield the verdict on the default, and the confidence interval of the difference."""
    if tuner.default is None:
        yield "against a default", "give --default ρ, or --default middle, to compare"
        return
    name = f"against ρ = {tuner.default:.6g}"
    found = tuner.verdict()
    if found is None:
        yield name, "cannot tell: no instance was run with both"
        return
    error = "" if math.isnan(found.error) else f" ± {found.error:.2g}"
    lo, hi = _ends(tuner, found.lo, found.hi)
    values = "" if lo == hi else f" (ρ from {lo:.4g} to {hi:.4g})"
    pairs = _count(found.pairs, "instance")
    yield name, f"[bold]{found.answer}[/bold]"
    yield "difference", f"{found.recommended - found.default:+.3g}{error} on {pairs} run with both{values}"
    low, high = found.bounds
    yield "95 % confidence interval", f"{low:+.3g} to {high:+.3g} (valid at any time)"
    if found.answer != "better":
        yield "advice", f"keep the default {tuner.default:.6g}"
    if found.answer == "cannot tell" and found.needed is not None:
        yield "", f"about {found.needed} paired instances needed for a decision"


def _values(tuner: Tuner) -> Table:
    """Return the values tried online: mean loss, standard error, runs; the default last."""
    rows = []
    for row in tuner.values_tried():
        lo, hi = _ends(tuner, row.lo, row.hi)
        name = f"{lo:.6g}" if lo == hi else f"{lo:.4g} to {hi:.4g}"
        rows.append((name, *_figures(row)))
    if (other := tuner.default_row()) is not None:
        rows.append((f"default {other.lo:.6g}", *_figures(other)))
    return _columns(("ρ", f"mean {_word(tuner)}", "± error", "runs", "failed"), rows)


def _ends(tuner: Tuner, lo: float, hi: float) -> tuple[float, float]:
    """Return the ends of an interval of ρ; with --integer the first and the last integer in it."""
    if not tuner.command.integer or lo == hi:
        return lo, hi
    first, last = math.ceil(lo), math.ceil(hi) - 1
    return (first, last) if first <= last else (round(lo), round(lo))


def _figures(row: Tried) -> tuple[str, ...]:
    return _or_blank(row.mean, 6), _or_blank(row.error), str(row.runs), str(row.failed or "")


def _standings(tuner: Tuner) -> Table:
    """Return the values of a race, with their paired differences to the recommended one."""
    best = tuner.learner.recommend().rho
    rows = []
    for row in tuner.learner.standings():
        notes = ["recommended"] if row.rho == best else ["to the end"] if row.racing else []
        notes += ["default"] if row.rho == tuner.learner.default else []
        leads = row.rho == best
        difference = "" if leads or not math.isfinite(row.difference) else f"{row.difference:+.4g}"
        error = "" if leads else _or_blank(row.error)
        figures = (f"{row.rho:.6g}", f"{row.mean:.6g}", difference, error, str(row.runs))
        rows.append((*figures, str(row.failed or ""), ", ".join(notes)))
    return _columns(("ρ", f"mean {_word(tuner)}", "minus best", "± error", "runs", "failed", ""), rows)


def _columns(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Table:
    """Return a table of figures, without columns that are empty in all rows."""
    used = [i for i, name in enumerate(names) if name != "failed" or any(row[i] for row in rows)]
    found = table()
    for i in used:
        found.add_column(names[i], justify="right", no_wrap=True)
    for row in rows:
        found.add_row(*(row[i] for i in used))
    return found


def _remarks(tuner: Tuner, summary: Summary) -> Iterator[str]:
    """Yield remarks on the range of losses, on limits and on failures."""
    if tuner.default is not None and tuner.rules.high is None and not tuner.space.names:
        yield (
            f"The comparison assumes differences of at most {tuner.largest_difference:.4g}, the range of the "
            "losses so far; --high sets a known bound."
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
            yield f"{skipped} did not count as a loss; if ρ is the reason, --failed high counts them."


def _count(n: int, what: str) -> str:
    return f"{n} {what}" + ("" if n == 1 else "s")


def _or_blank(x: float, digits: int = 2) -> str:
    return "" if math.isnan(x) else f"{x:.{digits}g}"


def _word(tuner: Tuner) -> str:
    return "value" if tuner.maximize else "loss"


def _shown(value: Any) -> str:
    """Return the value of a knob as text."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
