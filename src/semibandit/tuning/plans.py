"""Plans: which run a worker claims next, in a transaction of the study."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from semibandit.learners import Trial
from semibandit.studies.log import events
from semibandit.studies.log.events import Asked, Failed, Forgotten, Told
from semibandit.studies.log.operations import Ask, Extend, Forget, tidy
from semibandit.studies.log.replica import Replica
from semibandit.studies.log.stores import Turn
from semibandit.studies.study import Study
from semibandit.tuning.record import printable

__all__ = ["LEASE", "Plan", "online_plan", "race_plan", "release_dead"]

LEASE = 60.0  # seconds; renewed while the command runs, so that only a dead worker loses its trial

# A trial and its instance; False while other workers make all runs that are left; None at the end.
Claim = tuple[Trial, str] | bool | None
Plan = Callable[[Replica, Turn], Claim]


def online_plan(
    study: Study, todo: Sequence[str], probes: int, contexts: Mapping[str, dict[str, Any]]
) -> Plan:
    """Claim each instance as often as it is listed, in the order of its first place, with its context."""
    order = {printable(name): name for name in todo}
    log = _InstanceLog(study)
    log.update()
    wanted = Counter(map(printable, todo)) + log.done

    def claim(replica: Replica, turn: Turn) -> Claim:
        tidy(replica, turn)
        log.update()
        running = Counter(log.running.values())
        left = [name for name in order if log.done[name] < wanted[name]]
        for name in left:
            if log.done[name] + running[name] < wanted[name]:
                return _ask(study, replica, turn, name, probes, contexts.get(order[name])), order[name]
        return False if left else None

    return claim


class _InstanceLog:
    """Number of runs of each instance, and the instances that are running; reads new events only."""

    def __init__(self, study: Study) -> None:
        self._study, self._next_event = study, 1
        self.done: Counter[str] = Counter()
        self.running: dict[int, str] = {}  # by trial

    def update(self) -> None:
        for number, line in self._study.events(self._next_event):
            self._next_event = number + 1
            match events.decode(line):
                case Asked(trial=trial, info=info):
                    self.running[trial] = str((info or {}).get("instance"))
                case Told(trial=trial) | Failed(trial=trial):
                    self.done[self.running.pop(trial)] += 1
                case Forgotten(trial=trial):
                    del self.running[trial]


def race_plan(study: Study, instances: Sequence[str], runs: int, retry_failed: bool) -> Plan:
    """Claim the runs that the race asks for, once new instances and runs have entered it."""

    def extend(replica: Replica, turn: Turn) -> None:
        race = replica.race
        known = set(race.instances)
        new = [name for name in dict.fromkeys(instances) if name not in known]
        total, retry = max(runs, race.runs), retry_failed and bool(race.failed)
        if new or retry or total > race.runs:
            Extend(new, total, retry)(replica, turn)

    def claim(replica: Replica, turn: Turn) -> Claim:
        tidy(replica, turn)
        run = replica.race.upcoming
        if run is None:
            return False if replica.leases else None
        return _ask(study, replica, turn, printable(run[1])), run[1]

    study.do(extend)
    return claim


def release_dead(replica: Replica, turn: Turn) -> None:
    """Give up the trials of dead processes of this machine, before their leases end."""
    for lease in list(replica.leases.values()):
        host, _, pid = lease.worker.rpartition(":")
        if host == socket.gethostname() and pid.isdigit() and not _is_alive(int(pid)):
            Forget(lease.trial)(replica, turn)


def _ask(
    study: Study, replica: Replica, turn: Turn, instance: str, probes: int = 0, context: Any = None
) -> Trial:
    ask = Ask(study.worker, LEASE, info={"instance": instance}, probes=probes, context=context)
    trial: Trial = ask(replica, turn)
    return trial


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # a process of another user
    return True
