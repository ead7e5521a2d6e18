r"""Saved learners.

A file holds the 8 bytes `SBLEARN\n`, one MessagePack map (the `Saved` record; an array is a map of dtype,
shape and little-endian bytes), and the CRC-32 of all preceding bytes in 4 bytes, little-endian. Loading
executes nothing. Files are written under a temporary name and renamed, so that a reader or a crash finds the
old file or the new one.
"""

from __future__ import annotations

import json
import os
import re
import stat
import uuid
import zlib
from collections import OrderedDict
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from semibandit import _validate, spaces, weights
from semibandit.functions import PiecewiseConstant
from semibandit.learners.contexts import SavedContexts, restored
from semibandit.learners.contexts import saved as saved_contexts
from semibandit.learners.packing import Array, pack, unpack
from semibandit.learners.rates import Rate
from semibandit.learners.trials import Epoch

if TYPE_CHECKING:
    from semibandit.learners.exp3_set import Exp3Set

__all__ = ["dumps", "load", "loads", "save"]

MAGIC = b"SBLEARN\n"
VERSION = 1

# Numbers of a learner that are neither configuration nor weights.
_COUNTERS = (
    "n_asked", "n_told", "n_failed", "n_late", "n_partial", "n_logged", "n_unused", "gap_sum", "regret_sum",
    "join_error", "clip_most", "explore_sum", "current_rate", "head_start", "_loss_mean", "_loss_squares",
    "_handicap", "n_own", "n_mixed", "n_averaged",
)  # fmt: skip


class SavedEpoch(msgspec.Struct):
    """An `Epoch`: its weights, by kind, and the updates since the pending trials were asked."""

    kind: str
    weights: dict[str, Array]
    updates: list[tuple[Array, Array]]
    offset: int
    asked_at: dict[int, int]


class Saved(msgspec.Struct):
    """Complete state of a learner; the last epoch is the current one."""

    version: int
    kind: str
    space: dict[str, Any]
    rate: Rate
    config: dict[str, int | float | bool | str | None]
    prior: dict[str, Any] | None
    counters: dict[str, int | float]
    last_probabilities: list[float]
    name: str
    random: str
    pending: list[tuple[int, list[float], int]]  # id, positions, epoch
    epochs: list[SavedEpoch]
    stats: list[list[float]]
    losses: list[float]  # state of `LossRange`, and the origin of the losses
    drift: list[float] | None  # state of `Drift`
    own: list[tuple[Any, Any, float, float, float]] = []  # rho, alpha and sums of the user's own values
    own_pending: list[tuple[int, Any, Any]] = []  # id, rho, alpha
    forecast: list[float] | None = None  # state of `Forecast`, if there were predictions
    homes: dict[int, tuple[float, float]] = {}  # pending trial -> `explore` and `home`
    context: dict[str, Any] | None = None
    contexts: SavedContexts | None = None


def save(learner: Any, path: str | PathLike[str]) -> None:
    """Write a learner to `path`, atomically."""
    write_atomically(Path(_checked_path(path)), dumps(learner))


def dumps(learner: Any) -> bytes:
    """Return the bytes that `save` writes."""
    with learner._lock:
        payload = MAGIC + msgspec.msgpack.encode(_describe(learner))
    return payload + zlib.crc32(payload).to_bytes(4, "little")


def load(path: str | PathLike[str]) -> Exp3Set:
    """Load the learner that was saved to `path`, with its pending trials and the same future draws.

    >>> import semibandit as sb, tempfile, os
    >>> learner = sb.Exp3Set(sb.Interval(0, 1), seed=0)
    >>> path = os.path.join(tempfile.mkdtemp(), "knob.sb")
    >>> learner.save(path)
    >>> sb.load(path).ask().rho == learner.ask().rho
    True
    """
    path = _checked_path(path)
    return loads(Path(path).read_bytes(), path)


def loads(data: bytes, path: str = "these bytes") -> Exp3Set:
    """Return the learner from the bytes of `dumps`; `path` names it in errors."""
    if not data.startswith(MAGIC):
        raise ValueError(f"{path}: not a saved learner (it does not begin with {MAGIC!r})")
    payload, checksum = data[:-4], data[-4:]
    if zlib.crc32(payload).to_bytes(4, "little") != checksum:
        raise ValueError(f"{path}: damaged or cut short (the checksum does not match)")
    body = payload[len(MAGIC) :]
    try:
        version = msgspec.msgpack.decode(body, type=dict[str, Any]).get("version")
    except ValueError as error:
        raise ValueError(f"{path}: not a saved learner ({error})") from error
    if version != VERSION:
        raise ValueError(f"{path}: written in format {version}, this program reads format {VERSION}")
    try:
        return _restore(msgspec.msgpack.decode(body, type=Saved))
    except (ValueError, TypeError, LookupError) as error:
        raise ValueError(f"{path}: not a saved learner ({error})") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the content of a file; at any moment it holds the old content or the new one.

    Follows symbolic links, keeps the mode of the file, and removes temporary files of crashed processes.
    """
    path = Path(os.path.realpath(path))
    _remove_leftovers(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "xb") as file:
            with suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(path.stat().st_mode))
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _remove_leftovers(path: Path) -> None:
    """Delete temporary files of processes that no longer exist."""
    pattern = re.compile(re.escape(f".{path.name}.") + r"(\d+)\.[0-9a-f]{32}")
    with suppress(OSError):
        for found in os.listdir(path.parent):
            if (match := pattern.fullmatch(found)) and not _is_alive(int(match[1])):
                path.with_name(found).unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # a process of another user
    return True


def _describe(learner: Exp3Set) -> Saved:
    epochs: list[Epoch] = []
    for _, epoch in learner._pending.values():
        if epoch is not learner._epoch and not any(epoch is known for known in epochs):
            epochs.append(epoch)
    epochs.append(learner._epoch)
    place = {id(epoch): i for i, epoch in enumerate(epochs)}
    config = learner._config()
    prior = config.pop("prior", None)
    context = config.pop("context", None)
    return Saved(
        version=VERSION,
        kind=type(learner).__name__,
        space=learner.space.to_dict(),
        rate=config.pop("rate"),
        config=config,
        prior=None if prior is None else prior.to_dict(),
        counters={name: getattr(learner, name) for name in _COUNTERS},
        last_probabilities=list(learner.last_probabilities),
        name=learner._name,
        random=json.dumps(learner._random.bit_generator.state),
        pending=[(t.id, list(t.positions), place[id(e)]) for t, e in learner._pending.values()],
        epochs=[_describe_epoch(epoch) for epoch in epochs],
        stats=learner._stats.sums,
        losses=[*learner._losses.state, learner._scale.origin],
        drift=None if learner._drift is None else learner._drift.state,
        own=[(*key, *sums) for key, sums in learner._stats.own.items()],
        own_pending=[(t.id, t.rho, t.alpha) for t, _ in learner._pending.values() if t.own],
        forecast=learner._forecast.state if learner._forecast.rounds else None,
        homes={t.id: (t.explore, t.home) for t, _ in learner._pending.values() if t.home is not None},
        context=None if context is None else context.to_dict(),
        contexts=None if learner._contexts is None else saved_contexts(learner._contexts),
    )


def _describe_epoch(epoch: Epoch) -> SavedEpoch:
    return SavedEpoch(
        kind=epoch.weights.kind,
        weights={name: pack(array) for name, array in epoch.weights.state().items()},
        updates=[(pack(update.edges), pack(update.values)) for update in epoch.updates],
        offset=epoch.offset,
        asked_at=dict(epoch.asked_at),
    )


def _restore(saved: Saved) -> Exp3Set:
    from semibandit.learners.exp3_grid import Exp3Grid
    from semibandit.learners.exp3_set import Exp3Set

    kinds: dict[str, type[Exp3Set]] = {"Exp3Set": Exp3Set, "Exp3Grid": Exp3Grid}
    if saved.kind not in kinds:
        raise ValueError(f"unknown kind of learner {saved.kind!r}")
    config: dict[str, Any] = dict(saved.config)
    if saved.context is not None:
        config["context"] = spaces.Context.from_dict(saved.context)
    learner = kinds[saved.kind](spaces.restore(saved.space), rate=saved.rate, **config)
    if saved.prior is not None:
        learner.prior = PiecewiseConstant.from_dict(saved.prior)
    for name in _COUNTERS:
        setattr(learner, name, saved.counters[name])
    learner._stats.restore(saved.stats)
    *learner._losses.state, origin = saved.losses
    learner._scale = learner._scale._replace(origin=origin)
    if learner._drift is not None:
        learner._drift.state = saved.drift or []
    if saved.forecast is not None:
        learner._forecast.state = saved.forecast
    learner.last_probabilities = tuple(saved.last_probabilities)
    learner._name = saved.name
    learner._random.bit_generator.state = json.loads(saved.random)
    epochs = []
    for saved_epoch in saved.epochs:
        state = {name: unpack(array) for name, array in saved_epoch.weights.items()}
        epoch = Epoch(weights.KINDS[saved_epoch.kind].from_state(state, learner._cells))
        epoch.updates = [
            PiecewiseConstant(unpack(edges), unpack(factors)) for edges, factors in saved_epoch.updates
        ]
        epoch.n_updates = saved_epoch.offset + len(epoch.updates)
        epoch.asked_at = OrderedDict(saved_epoch.asked_at)
        epochs.append(epoch)
    learner._epoch = epochs[-1]
    contexts = learner._contexts
    if contexts is not None and saved.contexts is not None:
        restored(contexts, saved.contexts, learner._cells)
    own = {trial_id: (rho, _alpha(alpha)) for trial_id, rho, alpha in saved.own_pending}
    learner._stats.own = {(rho, _alpha(alpha)): (n, s, q) for rho, alpha, n, s, q in saved.own}
    for trial_id, positions, place in saved.pending:
        if trial_id in own:
            trial = learner._own_trial(trial_id, spaces.values_of(learner.space.names, *own[trial_id]))
        else:
            trial = learner._trial(trial_id, tuple(positions), *saved.homes.get(trial_id, (1.0, None)))
        if contexts is not None:
            context = contexts.context.named(contexts.asked[trial_id].place.point)
            trial = msgspec.structs.replace(trial, context=context)
        learner._pending[trial_id] = trial, epochs[place]
    return learner


def _alpha(saved: Any) -> Any:
    return tuple(saved) if isinstance(saved, list) else saved


def _checked_path(path: Any) -> str:
    checked = _validate.path("path", path)
    if "\0" in checked:
        raise ValueError(f"path must not contain a null character, got {path!r}")
    return checked
