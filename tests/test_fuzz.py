"""Public callables give a result, or an error that names an argument, for any value of any argument.

Functions and constructors are found by walking the public modules; `OBJECTS` lists the methods.
SEMIBANDIT_FUZZ=n draws n values for each callable.
"""

import inspect
import itertools
import os
import re
import tempfile
import warnings
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import semibandit as sb
from semibandit.dispersion import bounds, densities

UNIT = sb.Interval(0, 1)
STEPS = sb.PiecewiseConstant([0, 0.5, 1], [0.9, 0.1])
LINES = sb.PiecewiseLinear([0, 0.5, 1], [0.9, 0.1], [0.8, 0.2])
PROBLEM = sb.Explicit(STEPS)
KNOBS = sb.Knobs(alpha=sb.Real(0, 1), depth=sb.Integer(1, 4))
D = np.array([[0, 1, 3, 6], [1, 0, 2, 5], [3, 2, 0, 2.5], [6, 5, 2.5, 0]])
Z = np.array([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 1.0, 4]])
POINTS = np.array([[0.0, 1.0], [1.0, 1.0], [7.0, 2.0], [7.5, 2.0], [7.5, 3.0], [0.5, 1.5]])
COST = sb.clustering.DasguptaCost()
PLANE = sb.MetricLinkage(D, D, COST, space=sb.Strips(2, UNIT))

NASTY = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 40), st.floats(), st.complex_numbers(), st.text(), st.binary(),
    st.lists(st.floats(), max_size=4), st.lists(st.lists(st.floats(), max_size=3), max_size=3),
    st.lists(st.text(max_size=2), max_size=3), st.dictionaries(st.text(max_size=3), st.floats(), max_size=2),
    st.sampled_from([
        10**400, -(10**400), 2**63, 5e-324, 1e308, object(), len, set(), np.array(3.0), np.zeros(0),
        np.full((4, 4), np.nan), np.matrix([[1.0, 2.0]]), np.ma.masked_array([1.0, 2.0], mask=[True, False]),
        np.array(["a"]), np.array([1, None], dtype=object), np.array([10**400], dtype=object),
        np.zeros(3, dtype="M8[s]"), STEPS, UNIT,
    ]),
)  # fmt: skip

# Values with which a call works, by parameter or by callable and parameter.
EXAMPLES = {
    "lo": 0.0, "hi": 1.0, "n_rows": 2, "interval": UNIT, "edges": [0, 0.5, 1], "values": [1.0, 2.0],
    "value": 0.5, "x": 0.5, "left": [0.0, 0.5], "right": [1.0, 0.5], "function": STEPS, "row": 0, "rho": 0.3,
    "functions": [STEPS, STEPS], "alpha": 0.0, "parts": [(STEPS, {"depth": (1, 3)})], "space": UNIT,
    "n_arms": 3, "seen": 0.5, "rounds": 3, "gap_sum": 1.0, "current": 0.5, "problems": [PROBLEM],
    "learners": {"x": lambda seed: sb.Exp3Set(UNIT, seed=seed)}, "make": lambda t, random: PROBLEM,
    "sizes": [5, 4], "capacity": 7, "distances": D, "d0": D, "d1": D, "cost": COST,
    "weights": [1.0, 2.0, 3.0], "bids": [0.2, 0.7], "points": POINTS, "n_clusters": 2, "problem": PROBLEM,
    "run": lambda x, rho: rho > x, "instance": 0.3, "loss": float, "labels": [0, 0, 1, 1], "Z": Z,
    "tree": sb.clustering.layout(Z), "costs": np.ones(7), "clusters": [4, 5], "n": 4, "X": POINTS, "seed": 0,
    "children": np.zeros((3, 2), int), "leaves": np.arange(4), "start": np.arange(4), "end": np.arange(4),
    "T": 10, "M": 2.0, "R": 0.5, "r": 0.1, "f": bounds.Beta(0.5), "beta": 0.5, "w": 0.1, "k": 3, "eps": 0.1,
    "counts": [1, 2], "C": 1.0, "kappa": 2.0, "B": 1.0, "degree": 2, "c": 2.0, "kappa_x": 2.0, "mean": 1.0,
    "kappa_y": 2.0, "kappa_z": 2.0, "K": 3, "curves": 2, "A": [[1.0]], "b": [1.0], "y": [0.1, 0.5],
    "lipschitz": 1.0, "rate": 0.1, "learning": 1.0, "dispersion": 1.0, "slope": 0.0, "H": 1.0, "pieces": 2.0,
    "vacuous": False, "high": 1.0, "event": 1, "path": "file.png", "where": "one.kp", "files": "log.jsonl",
    "feature": "x", ("plots.recommended", "learner"): sb.Exp3Set(UNIT, context=sb.Context(x=sb.Real(0, 1))),
    ("PiecewiseLinear.line", "left"): 0.0, ("PiecewiseLinear.line", "right"): 1.0,
    ("PiecewiseConstant.from_dict", "data"): STEPS.to_dict(), ("Knobs.from_dict", "data"): KNOBS.to_dict(),
    ("PiecewiseLinear.from_dict", "data"): LINES.to_dict(),
    ("Strips.from_dict", "data"): PLANE.space.to_dict(),
    ("History.regret", "alpha"): None, ("IndependentSet", "edges"): [[0, 1]],
    ("Table", "eps"): [0.1, 0.2], ("Samples", "x"): [0.0, 1.0],
    ("measure", "functions"): [[0.3], [0.5]],
    ("dendrogram", "problem"): sb.Linkage(D, COST),
    ("read_clusterings", "where"): "one.csv", ("plane.loss", "space"): PLANE.space,
    ("plane.loss", "function"): sb.PiecewiseConstant([0, 2], [0.5]), ("plane.instance", "problem"): PLANE,
    ("plots.fit", "result"): sb.fit([PROBLEM], n_jobs=1), "relevance": [0.0, 1.0, 3.0], "score": [0.2, 0.7],
    "if_flagged": [0.0, 1.0], "if_not": 0.5, "processing": [4, 2, 3], "due": [5, 9, 6],
    ("RankMix", "a"): [0.9, 0.5, 0.1], ("RankMix", "b"): [0.0, 0.5, 0.3],
    ("MaxCut", "weights"): [[0, 1, 2], [1, 0, 1], [2, 1, 0]], ("Branching", "model"): "one.lp",
}  # fmt: skip

# Arguments that keep a call small.
SMALL = {
    "Exp3Set": {"horizon": 10}, "BlackBox": {"tolerance": 0.1}, "Exp3Grid": {"n_arms": 3},
    "Integer": {"lo": 1, "hi": 4}, "Knobs": {"a": sb.Real(0, 1)}, "fit": {"n_jobs": 1},
    "Context": {"a": sb.Real(0, 1)},
    "play_many": {"seeds": 1, "n_jobs": 1}, "knapsack": {"rounds": 3, "n": 5},
    "clustering": {"rounds": 2, "per_class": 3}, "independent_set": {"rounds": 3, "vertices": 6},
    "rank_mix": {"rounds": 3, "documents": 9}, "dispatch": {"rounds": 3, "jobs": 5},
    "branching": {"rounds": 2, "size": 4}, "threshold": {"rounds": 3},
    "path_tasks": {"rounds": 2, "size": 20},
    "max_cut": {"rounds": 3, "vertices": 5},
    "seeding": {"rounds": 3, "points": 9, "clusters": 2}, "digits_two_metrics": {"rounds": 2, "n_rows": 2},
}  # fmt: skip
PROCESSES = ("n_jobs", "client")  # would start as many processes as asked for
FILES = ("path", "where", "files", "storage", "model")  # may raise OSError
CALLED = ("f", "make", "cost", "order", "run", "loss", "equal", "bound", "problems")  # raise what they like
# Messages may use these words for an argument.
OTHER_WORDS = (
    "loss", "array", "kappa", "suffix", "no usable", "saved learner", "box", "rate", "function", "edge",
    "Choice",
)  # fmt: skip
# Records that the package makes, protocols, and classes of `OBJECTS` that need a store.
NOT_CALLED = (
    "Fit", "Trial", "Recommendation", "Dispersion", "DispersionFunction", "History", "Problem", "TreeCost",
    "Client", "Study", *(() if find_spec("pyscipopt") else ("branching",)),
)  # fmt: skip


def learner():
    return sb.Exp3Set(UNIT, horizon=9, seed=0)


def history():
    return sb.play(learner(), [PROBLEM] * 3)


def study():
    return sb.Study(f"sqlite:///{tempfile.mkdtemp()}/study.db", "study", space=UNIT, seed=0)


FRESH = {"learner": learner, "history": history, "histories": lambda: {"a": history()},
         "result": lambda: sb.dispersion.measure([[0.3], [0.5]], UNIT)}  # fmt: skip
OBJECTS = {
    "PiecewiseConstant": (lambda: STEPS, "__call__ restrict piece constant sum from_dict"),
    "PiecewiseLinear": (lambda: LINES, "__call__ restrict piece line of sum from_dict"),
    "Strips": (lambda: PLANE.space, "from_dict"),
    "Knobs": (lambda: KNOBS, "from_dict"),
    "Exp3Set": (learner, "ask tell recommend certificate learn_from forget save"),
    "Exp3Grid": (lambda: sb.Exp3Grid(UNIT, 3, seed=0), "ask tell recommend forget save"),
    "History": (history, "regret"),
    "Study": (study, "ask tell forget renew at recommend change"),
    "Knapsack": (lambda: sb.Knapsack([6, 5], [5, 4], 7), "loss reveal solve losses"),
    "Linkage": (lambda: sb.Linkage(D, COST), "loss reveal tree"),
    "MetricLinkage": (lambda: PLANE, "loss reveal tree"),
    "PostedPrice": (lambda: sb.PostedPrice([0.2, 0.7]), "loss reveal"),
    "RankMix": (lambda: sb.RankMix([0.9, 0.5], [0.1, 0.6], [0, 1]), "loss reveal ranking"),
    "Threshold": (lambda: sb.Threshold(0.7, 0.0, 0.5), "loss reveal flagged"),
    "Dispatch": (lambda: sb.Dispatch([4, 2, 3], [1, 1, 2], [5, 9, 6]), "loss reveal order tardiness"),
    "MaxCut": (lambda: sb.MaxCut([[0, 1], [1, 0]]), "loss reveal sides cut expected_cut"),
    "Dispersion": (FRESH["result"], "D regret"),
}


def functions():
    """Yield the names of public functions, constructors and methods, and how to get the callable."""
    seen = set()
    for module in (
        sb,
        sb.clustering,
        sb.dispersion,
        bounds,
        densities,
        sb.streams,
        sb.plots,
        sb.plots.plane,
        sb.sklearn,
    ):
        for name in module.__all__:
            value = getattr(module, name)
            if name in NOT_CALLED or not callable(value) or id(value) in seen:
                continue
            seen.add(id(value))
            room = module.__name__.rpartition(".")[2]
            yield (f"{room}.{name}" if room in ("plots", "plane") else name), lambda value=value: value
    for name, (make, methods) in OBJECTS.items():
        for method in methods.split():
            yield f"{name}.{method}", lambda make=make, method=method: getattr(make(), method)


CALLABLES = dict(functions())


def parameters(function):
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]


def example(function, name, parameter):
    if parameter == "trial":
        return function.__self__.ask()
    if parameter == "ax":
        return sb.plots.figures.new_figure().subplots()
    if parameter in ("history", "learner") and name.startswith("plane."):
        return sb.play(sb.Exp3Set(PLANE.space, seed=0), [PLANE] * 2)
    if parameter in FRESH and (name, parameter) not in EXAMPLES:
        return FRESH[parameter]()
    return EXAMPLES[name, parameter] if (name, parameter) in EXAMPLES else EXAMPLES[parameter]


def consume(result):
    """Use a result that is computed on demand."""
    if isinstance(result, sb.streams.Stream):
        result[0].losses()
    elif inspect.isgenerator(result):
        list(itertools.islice(result, 100))


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLABLES)
@settings(
    max_examples=int(os.environ.get("SEMIBANDIT_FUZZ", 10)),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(data=st.data())
def test_any_argument_gives_a_result_or_a_clear_error(name, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one.csv").write_text("x,label\n0,a\n1,a\n7,b\n8,b\n")
    (tmp_path / "one.lp").write_text("minimize\n o: x\nsubject to\n c: x >= 1\nend\n")
    (tmp_path / "one.kp").write_text("2\n7\n\n6 5\n5 4\n")
    function = CALLABLES[name]()
    known = parameters(function)
    spoilt = [p.name for p in known if p.name not in PROCESSES]
    arguments = {p.name: example(function, name, p.name) for p in known if p.default is p.empty}
    arguments |= SMALL.get(name, {})
    wrong = data.draw(st.sampled_from(spoilt)) if spoilt else None
    if wrong:
        arguments[wrong] = data.draw(NASTY, label=wrong)
    words = "|".join(re.escape(word) for word in [*(p.name.removesuffix("s") for p in known), *OTHER_WORDS])
    clear = re.compile("" if wrong in CALLED else rf"\b({words})(s|es)?\b")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            consume(function(**arguments))
    except (TypeError, ValueError) as error:
        if not clear.search(str(error)):
            pytest.fail(f"{name}({wrong}={arguments.get(wrong)!r}) names no argument: {error}")
    except OSError:
        assert wrong in FILES
