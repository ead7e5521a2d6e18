"""Call every public callable with nasty values in the place of each argument.

The callables are found by walking the package: its public names, those of its public modules, and the
public methods of their classes. Run as a program, in a process of its own: what hangs or crashes the
interpreter ends with it. Allowed are a result, and a TypeError or a ValueError whose message names the
argument; everything else is printed, a line each that begins with WRONG.

    python tests/fuzzing.py            # a few values in the place of each argument, the same in every run
    python tests/fuzzing.py --all      # all of them
    python tests/fuzzing.py Knapsack   # all of them, for the callables with this in their name
"""

import contextlib
import faulthandler
import inspect
import itertools
import os
import random
import re
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import fuzzing_table as table
import semibandit as sb
from semibandit.dispersion import bounds, densities

LIMIT = 200.0  # seconds for a call, some of which compile
SAMPLED = 3  # values in the place of an argument
MODULES = (
    sb, sb.clustering, sb.dispersion, bounds, densities, sb.streams, sb.testing, sb.plots,
    sb.plots.plane, sb.plots.dispersion, sb.sklearn,
)  # fmt: skip


class Subject(NamedTuple):
    """A public callable: its name, how to get at it, and its parameters."""

    name: str
    get: Callable[[], Any]
    parameters: tuple[str, ...]
    required: tuple[str, ...]


def subjects() -> Iterator[Subject]:
    """Every public callable once, methods on fresh objects."""
    seen: set[int] = set()
    for module in MODULES:
        for name in module.__all__:
            value = getattr(module, name)
            if isinstance(value, types.ModuleType) or not callable(value) or id(value) in seen:
                continue
            seen.add(id(value))
            if inspect.isclass(value):
                yield from of_class(value)
            elif inspect.isfunction(value):
                yield subject(f"{module.__name__.rpartition('.')[2]}.{name}", value, lambda f=value: f)


def of_class(kind: type) -> Iterator[Subject]:
    """The constructor, and the methods that the package defines."""
    if kind not in (*table.ABSTRACT, *table.RECORDS):
        yield subject(kind.__name__, kind, lambda: kind)
    for name, static in inspect.getmembers_static(kind):
        if (name.startswith("_") and name != "__call__") or f"{kind.__name__}.{name}" in table.INTERNAL:
            continue
        if name in table.INTERNAL or kind in table.ABSTRACT:
            continue
        function = static.__func__ if isinstance(static, classmethod | staticmethod) else static
        if inspect.isfunction(function) and function.__module__.startswith("semibandit"):
            bound = getattr(kind, name)
            if function is static:
                get = lambda name=name: getattr(table.instance(kind), name)  # noqa: E731
                yield subject(f"{kind.__name__}.{name}", bound, get, skip=1)
            else:
                yield subject(f"{kind.__name__}.{name}", bound, lambda f=bound: f)


def subject(name: str, function: Any, get: Callable[[], Any], skip: int = 0) -> Subject:
    """Take a signature apart; parameters without a name of their own are left out."""
    signature = table.maker(function) if inspect.isclass(function) else inspect.signature(function)
    parameters = list(signature.parameters.values())[skip:]
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    required = tuple(p.name for p in named if p.default is p.empty)
    return Subject(name, get, tuple(p.name for p in named), required)


def calls(wanted: str, everything: bool) -> Iterator[tuple[Subject, str, Any]]:
    """Each callable, the parameter to spoil, and the value to put there."""
    for it in subjects():
        if wanted not in it.name:
            continue
        for parameter in it.parameters:
            if (it.name, parameter) in table.COSTLY:
                continue
            values = table.NASTY
            if not everything:
                values = random.Random(f"{it.name} {parameter}").sample(values, SAMPLED)
            yield from ((it, parameter, value) for value in values)


def attempt(it: Subject, parameter: str, value: Any) -> str:
    """Call, and say what is wrong with the outcome; nothing, if nothing is."""
    try:
        function = it.get()
    except Exception as error:
        return f"cannot be made, is it in the table of tests/fuzzing_table.py? {error!r}"
    arguments = {name: table.example(it.name, name) for name in it.required}
    arguments |= table.given(it.name)
    try:
        consume(function(**arguments | {parameter: value}))
    except (TypeError, ValueError) as error:
        passed_on = parameter in table.CALLED and callable(value)
        if not passed_on and not names(str(error), it.name, parameter):
            return f"does not name the argument: {error}"
    except AssertionError as error:
        if not it.name.startswith("testing.check"):  # whose way of saying no this is
            return repr(error)
    except OSError as error:
        if parameter not in table.PATHS:
            return repr(error)
    except Exception as error:
        return repr(error)
    return ""


def names(message: str, name: str, parameter: str) -> bool:
    """Whether a message speaks of the argument: its name, in singular or plural, or what is known for it."""
    words = {parameter, parameter.removesuffix("s"), *table.ALIASES.get((name, parameter), ())}
    words |= set(table.ALIASES.get(parameter, ()))
    return any(re.search(rf"\b{re.escape(word)}s?\b", message) for word in words)


def consume(result: Any) -> None:
    """Look into what was made: streams make their instances on demand."""
    if isinstance(result, sb.streams.Stream):
        result[0].losses()
    elif inspect.isgenerator(result):
        list(itertools.islice(result, 1000))


def shown(value: Any) -> str:
    return "a huge integer" if isinstance(value, int) and abs(value) > 2**200 else repr(value)[:60]


def main(words: list[str]) -> None:
    everything = bool(words)
    wanted = next((word for word in words if not word.startswith("-")), "")
    count = 0
    for it, parameter, value in calls(wanted, everything):
        count += 1
        text = f"{it.name}({parameter}={shown(value)})"
        print(f"now {text}", file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        if problem := attempt(it, parameter, value):
            print(f"WRONG {text}: {problem:.200}".replace("\n", " "), flush=True)
    faulthandler.cancel_dump_traceback_later()
    print(f"{count} calls of {len({it.name for it, _, _ in calls(wanted, everything)})} callables")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["MPLBACKEND"] = "agg"
        main(sys.argv[1:])
        sys.stdout.flush()
        os._exit(0)  # servers, figures: nothing of this has to be taken down in order
