"""The first run on a machine: what a game needs is compiled by several processes at once.

Compilation holds a lock of its process, so that threads would not help; the machine code meets in the cache
on disk. Other processes play a few rounds of the game with each kind of feedback on a stream without kernels
of its own, while this one runs an instance of the family. Nothing depends on them: what they have not
compiled when they end, for whatever reason, is compiled when it is called.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from semibandit._jit import is_new
from semibandit.spaces import call

__all__ = ["compiled_beside", "exercise", "rehearse"]

_KINDS = ("full", "semi-bandit")  # with the kernels of the latter single losses are learned from, too
_PATIENCE = 60.0  # seconds, several times what helpers take: one that hangs must not hold up the game
_PROGRAM = "import sys; from semibandit.cli.first_run import rehearse; rehearse(sys.argv[1])"


@contextmanager
def compiled_beside(feedbacks: Sequence[str], **options: Any) -> Iterator[bool]:
    """Have the learners of a game compiled meanwhile, if that was never done; waits for it at the end.

    Takes the options of a `Board`, and says whether there was anything to do. Does not wait forever.
    """
    helpers = []
    if _is_first() and _idle_cores() >= 0.5:
        helpers = [_start(json.dumps([kind, options])) for kind in _KINDS if kind in feedbacks]
    try:
        yield bool(helpers)
        deadline = time.monotonic() + _PATIENCE
        with suppress(subprocess.TimeoutExpired):
            for helper in helpers:
                helper.wait(max(deadline - time.monotonic(), 0.0))
    finally:
        for helper in helpers:
            if helper.poll() is None:
                helper.kill()


def exercise(problem: Any) -> None:
    """Show a problem's feedback of every kind, once."""
    space = problem.space
    middle = space.parameters(0, 0.5 * space.interval.lo + 0.5 * space.interval.hi)
    for method in ("reveal", "loss"):
        call(getattr(problem, method), middle)
    problem.losses()


def rehearse(words: str) -> None:
    """Play a few rounds; what a helper does."""
    from semibandit import streams
    from semibandit.cli.board import Board
    from semibandit.cli.problems import Case

    feedback, options = json.loads(words)
    Board(Case(streams.synthetic(6), "rehearsal"), **options).rehearse(feedback)


def _is_first() -> bool:
    from semibandit.weights import _local_kernels, _step

    return is_new(_local_kernels.learn) or is_new(_step.learn)


def _idle_cores() -> float:
    """How many processors have nothing to do, beside the one for this process; 0 where nobody knows.

    Helpers import and compile some of the same, so that on a busy machine they would be in the way.
    """
    try:
        return (os.cpu_count() or 1) - 1.0 - max(os.getloadavg()[0] - 1.0, 0.0)
    except (AttributeError, OSError):
        return 0.0


def _start(word: str) -> subprocess.Popen[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-c", _PROGRAM, word], stdin=quiet, stdout=quiet, stderr=quiet)
