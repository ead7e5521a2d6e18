"""What the fuzzer needs to know: nasty values, an example of each parameter, and how to make objects."""

import inspect
import itertools
import math
import tempfile
import threading
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import semibandit as sb
from semibandit.dispersion import bounds

UNIT = sb.Interval(0, 1)
STEPS = sb.PiecewiseConstant([0, 0.5, 1], [0.9, 0.1])
PROBLEM = sb.Explicit(STEPS)
D = np.array([[0, 1, 3, 6], [1, 0, 2, 5], [3, 2, 0, 2.5], [6, 5, 2.5, 0]])
Z = np.array([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 1.0, 4]])
POINTS = np.array([[0.0, 1.0], [1.0, 1.0], [7.0, 2.0], [7.5, 2.0], [7.5, 3.0], [0.5, 1.5]])

KNOBS = sb.Knobs(alpha=sb.Real(0, 1), depth=sb.Integer(1, 4))
BOXES = sb.Boxes([(STEPS, {"depth": (1, 3)})])

NASTY: list[Any] = [
    None, True, 0, -1, 1.5, 10**400, -(10**400), 2**63, math.nan, math.inf, -math.inf, 1e308, 5e-324, 1j,
    "", "no", b"x", [], [1.0], [math.nan], [[1.0, 2.0]], ["a", "b"], {}, {"a": 1}, set(), object(), len,
    np.array(3.0), np.zeros(0), np.zeros((2, 2)), np.full((4, 4), np.nan), np.matrix([[1.0, 2.0]]),
    np.ma.masked_array([1.0, 2.0], mask=[True, False]), np.array(["a"]), np.array([1, None], dtype=object),
    np.array([10**400], dtype=object), np.zeros(3, dtype="M8[s]"), STEPS, UNIT, iter([]),
]  # fmt: skip

# By parameter, or by callable and parameter: what a call needs, or gets so that it stays small.
EXAMPLES: dict[Any, Any] = {
    # functions and spaces
    "lo": 0.0, "hi": 1.0, "n_rows": 2, "interval": UNIT, "edges": [0, 0.5, 1], "values": [1.0, 2.0],
    "value": 0.5, "x": 0.5, "left": [0.0, 0.5], "right": [1.0, 0.5], "function": STEPS,
    "functions": [STEPS, STEPS], "row": 0, "rho": 0.3, "alpha": 0.0,
    ("PiecewiseConstant.from_dict", "data"): STEPS.to_dict(),
    ("PiecewiseLinear.from_dict", "data"): sb.PiecewiseLinear.of(STEPS).to_dict(),
    ("Strips.from_dict", "data"): sb.Strips(2, UNIT).to_dict(),
    "parts": [(STEPS, {"depth": (1, 3)})], ("Boxes.from_dict", "data"): BOXES.to_dict(),
    ("Knobs.from_dict", "data"): KNOBS.to_dict(),
    ("PiecewiseLinear.line", "left"): 0.0, ("PiecewiseLinear.line", "right"): 1.0,
    # learners and games
    "space": UNIT, "n_arms": 3, "seen": 0.5, "rounds": 3, "gap_sum": 1.0, "current": 0.5,
    "problems": [PROBLEM], "feedback": "semi-bandit", "id": 1, "positions": (0.5,),
    ("Trial", "learner"): "x", ("History.regret", "alpha"): None,
    "learners": {"x": lambda seed: sb.Exp3Set(UNIT, seed=seed)},
    "make": lambda t, random: PROBLEM, ("Stream", "seed"): 0,
    # families
    "sizes": [5, 4], "capacity": 7, "distances": D, "d0": D, "d1": D, "cost": sb.clustering.DasguptaCost(),
    "weights": [1.0, 2.0, 3.0], ("IndependentSet", "edges"): [[0, 1]], "bids": [0.2, 0.7], "points": POINTS,
    "n_clusters": 2, "run": lambda x, rho: rho > x, "instance": 0.3, "loss": float,
    # clustering
    "labels": [0, 0, 1, 1], "Z": Z, "tree": sb.clustering.layout(Z), "costs": np.ones(7), "clusters": [4, 5],
    "children": np.zeros((3, 2), int), "leaves": np.arange(4), "start": np.arange(4), "end": np.arange(4),
    "n": 4, "X": POINTS,
    # dispersion
    "T": 10, "M": 2.0, "R": 0.5, "r": 0.1, "f": bounds.Beta(0.5), "beta": 0.5, "w": 0.1, "k": 3, "eps": 0.1,
    "counts": [1, 2], ("Table", "eps"): [0.1, 0.2], "C": 1.0, "kappa": 2.0, "B": 1.0, "degree": 2, "c": 2.0,
    "kappa_x": 2.0, "kappa_y": 2.0, "kappa_z": 2.0, "mean": 1.0, "K": 3, "curves": 2, "A": [[1.0]],
    "b": [1.0], "y": [0.1, 0.5], ("Samples", "x"): [0.0, 1.0], "lipschitz": 1.0, "rate": 0.1,
    "learning": 1.0,
    "dispersion": 1.0, "slope": 0.0, "pieces": 2.0, "high": 1.0, "prefixes": [2], "table": [[1]],
    ("dispersion.measure", "functions"): [[0.3], [0.5]],
    ("dispersion.measure_rows", "rows"): [[[0.3], [0.5]]],
    ("Dispersion", "rows"): (), "H": 1.0, "vacuous": False,
    # studies
    "storage": "sqlite:///study.db", "event": 1,
    # plots
    ("plane.loss", "space"): sb.Strips(2, UNIT),
    ("plane.loss", "function"): sb.PiecewiseConstant([0, 2], [0.5]),
    ("plots.dendrogram", "problem"): sb.Linkage(D, sb.clustering.DasguptaCost()),
}  # fmt: skip

# Arguments that keep a call small, in the place of defaults.
GIVEN: dict[str, dict[str, Any]] = {
    "Exp3Set": {"horizon": 10},
    "BlackBox": {"tolerance": 0.1},
    "Exp3Grid": {"n_arms": 3},
    "Integer": {"lo": 1, "hi": 4},
    "Knobs": {"a": sb.Real(0, 1)},
    "semibandit.play_many": {"seeds": 1, "n_jobs": 1},
    "semibandit.fit": {"n_jobs": 1},
    "Study": {"space": UNIT},
    "Client": {"study": "given below", "space": UNIT, "patience": 60.0},
    "streams.knapsack": {"rounds": 3, "n": 5},
    "streams.clustering": {"rounds": 2, "per_class": 3},
    "streams.independent_set": {"rounds": 3, "vertices": 6},
    "streams.seeding": {"rounds": 3, "points": 9, "clusters": 2},
    "streams.digits_two_metrics": {"rounds": 2, "n_rows": 2},
}

# Records that the package makes, classes without objects, and methods called with checked arrays.
RECORDS = (sb.Fit, sb.Trial, sb.Recommendation, sb.dispersion.Dispersion)
ABSTRACT = (sb.Problem, sb.clustering.TreeCost)
INTERNAL = {
    # functions
    "trusted", "of_ends", "between", "spread", "around", "total", "continued", "PiecewiseConstant.at",
    "PiecewiseLinear.at",
    # spaces and their lines
    "lay_pieces", "lay_rows", "place", "row", "check", "parameters", "within", "rows_in", "coordinate",
    "coordinates", "from_rows", "part",
    # the rest
    "after", "loss_of", "Trial.named", "History.append", "History.remember", "MetricLinkage.curve",
    "Study.do", "Study.do_all", "Study.of_settings", "Study.replay", "Samples.breaks",
}  # fmt: skip

# Starts as many processes as are asked for.
COSTLY = {("semibandit.fit", "n_jobs"), ("semibandit.play_many", "n_jobs")}

# Of what may not be there: an OSError is the right answer.
PATHS = ("path", "where", "storage", "url", "patience")

# Whatever a user's own function raises is passed on as it is.
CALLED = ("f", "make", "cost", "order", "run", "loss", "equal", "bound", "problems")

# What messages call an argument, where that is not its name.
ALIASES: dict[Any, tuple[str, ...]] = {
    "seen": ("the loss told",),
    "X": ("array", "float", "np.matrix"),  # scikit-learn's own checks
    "y": ("labels",),
    # Lengths, or ranges, that do not fit each other: the message may name the other argument.
    ("Knapsack", "values"): ("sizes",),
    ("IndependentSet", "weights"): ("edges",),
    ("Samples", "x"): ("y",),
    ("Table", "eps"): ("counts",),
    ("PiecewiseLinear.line", "lo"): ("edges",),
    ("PiecewiseLinear.line", "hi"): ("edges",),
    "parts": ("box",),
    ("semibandit.fit", "default"): ("rho",),
    ("semibandit.fit", "high"): ("losses",),
    # `measure_rows` hands its lines to `measure`, and a reader names the file.
    ("dispersion.measure_rows", "rows"): ("functions",),
    "where": ("suffix", "no usable"),
    ("semibandit.load", "path"): ("not a saved learner",),
    ("densities.share", "kappa_x"): ("kappa",),
    ("densities.share", "kappa_y"): ("kappa",),
    ("densities.shifted_ratio", "kappa_x"): ("kappa",),
    ("densities.shifted_ratio", "kappa_z"): ("kappa",),
    ("History.regret", "values"): ("rho",),
    ("FixedRate", "value"): ("rate",),
    ("Exp3Grid.learn_from", "weight"): ("functions",),
    "study": ("the name of a study",),
    "name": ("the name of a study",),
}


_count = itertools.count()
_made: list[Any] = []  # the object whose method is called, for arguments that must come from it


def example(name: str, parameter: str) -> Any:
    """A value with which the callable works."""
    if parameter == "trial":
        return _made[-1].ask()
    if parameter in FRESH and (name, parameter) not in EXAMPLES:
        return FRESH[parameter](name)
    return EXAMPLES[name, parameter] if (name, parameter) in EXAMPLES else EXAMPLES[parameter]


def given(name: str) -> dict[str, Any]:
    """Arguments in the place of defaults."""
    it = GIVEN.get(name, {})
    return it | {"study": new_name()} if "study" in it else it


def instance(kind: type) -> Any:
    """A fresh object whose methods can be called."""
    _made[:] = [INSTANCES[kind]() if kind in INSTANCES else _from_examples(kind)]
    return _made[0]


def maker(kind: type) -> inspect.Signature:
    """The signature of a constructor: that of `__init__` where there is a `__new__` as well."""
    if "__new__" in vars(kind) and inspect.isfunction(vars(kind).get("__init__")):
        whole = inspect.signature(kind.__init__)
        return whole.replace(parameters=list(whole.parameters.values())[1:])
    return inspect.signature(kind)


def _from_examples(kind: type) -> Any:
    parameters = list(maker(kind).parameters.values())
    named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    needed = {p.name: example(kind.__name__, p.name) for p in named if p.default is p.empty}
    return kind(**needed | given(kind.__name__))


def new_name() -> str:
    """The name of a study that is not there yet."""
    return f"study {next(_count)}"


def learner() -> sb.Exp3Set:
    return sb.Exp3Set(UNIT, horizon=9, seed=0)


def history() -> sb.History:
    return sb.play(learner(), [PROBLEM] * 3)


@cache
def plane_history() -> sb.History:
    strips = sb.Strips(2, UNIT)
    return sb.play(sb.Exp3Set(strips, seed=0), [plane_problem()] * 2)


@cache
def plane_problem() -> sb.MetricLinkage:
    return sb.MetricLinkage(D, D, sb.clustering.DasguptaCost(), space=sb.Strips(2, UNIT))


def study() -> sb.Study:
    """A study with a trial told and one pending."""
    it = sb.Study(f"sqlite:///{tempfile.mkdtemp(dir='.')}/study.db", "study", space=UNIT, seed=0)
    it.tell(it.ask(), 0.5)
    it.ask()
    return it


@cache
def service() -> str:
    """The address of a service in a thread of this process."""
    import uvicorn

    from semibandit.studies.service import make_app

    config = uvicorn.Config(make_app("sqlite:///service.db"), port=0, log_level="critical", ws="none")
    socket = config.bind_socket()
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, args=([socket],), daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return f"http://127.0.0.1:{socket.getsockname()[1]}"


def online() -> Any:
    it = sb.sklearn.OnlineRhoLinkage(2, random_state=0)
    return it.partial_fit(POINTS)


def fitted() -> sb.Fit:
    return sb.fit([PROBLEM], n_jobs=1)


@cache
def instance_file(name: str) -> str:
    if name == "streams.read_clusterings":
        Path("one.csv").write_text("x,label\n0,a\n1,a\n7,b\n8,b\n")
        return "one.csv"
    Path("one.kp").write_text("2\n7\n\n6 5\n5 4\n")
    return "one.kp"


FRESH: dict[str, Callable[[str], Any]] = {
    "learner": lambda name: learner(),
    "history": lambda name: plane_history() if name.startswith("plane.") else history(),
    "histories": lambda name: {"a": history()},
    "path": lambda name: "no/such/file" if name.endswith("load") else "file.png",
    "result": lambda name: fitted() if name == "plots.fit" else sb.dispersion.measure([[0.3], [0.5]], UNIT),
    "url": lambda name: service(),
    "name": lambda name: new_name(),
    "where": lambda name: instance_file(name),
    "problem": lambda name: plane_problem() if name.startswith("plane.") else PROBLEM,
    "ax": lambda name: sb.plots.figures.new_figure().subplots(),
}
INSTANCES: dict[type, Callable[[], Any]] = {
    sb.History: history,
    sb.Study: study,
    sb.Client: lambda: sb.Client(service(), study=new_name(), space=UNIT, seed=0),
    sb.dispersion.Dispersion: lambda: sb.dispersion.measure([[0.3], [0.5]], UNIT),
    sb.sklearn.OnlineRhoLinkage: online,
    sb.sklearn.RhoLinkage: lambda: sb.sklearn.RhoLinkage().fit(POINTS),
    sb.MetricLinkage: plane_problem,
    sb.Knobs: lambda: KNOBS,
    sb.Choice: lambda: sb.Choice("a", "b"),
    sb.Trial: lambda: learner().ask(),
    sb.Fit: fitted,
}
