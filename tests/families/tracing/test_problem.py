"""Problems of traced functions: the contract, options, and the ways to call them."""

import functools
import pickle
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from families.tracing.family_module import Machine, greedy
from semibandit.families.tracing import TracingError

RNG = np.random.default_rng(0)
ITEMS = (*RNG.random((2, 12)), 2.0)
UNIT = sb.Interval(0, 1)


@sb.traced(UNIT, high=2.0)
def price(rho, values):
    """A revenue that is linear between its jumps."""
    return 1 - rho * np.count_nonzero(values > rho) / len(values)


@sb.traced(sb.Knobs(weight=sb.Real(0, 1), power=sb.Integer(1, 3), mode=sb.Choice("min", "max")))
def pick(a, b, losses, *, weight, power, mode):
    scores = (1 - weight) * a**power + weight * b
    return losses[np.argmin(scores) if mode == "min" else np.argmax(scores)]


@sb.traced(sb.Knobs(scale=sb.Real(0.01, 100, log=True)))
def log_knob(costs, *, scale):
    return 0.1 * int(np.argmin(costs[0] + scale * costs[1]))


@sb.traced(UNIT, partition="output")
def chosen(rho, a, b):
    order = np.argsort(a + rho * b, kind="stable")
    return 0.5, order[:2].tolist()


@sb.traced(UNIT)
def shuffled(rho, values, random_state):
    return float(np.argmax(values * rho + random_state.random(values.size)) / values.size)


def draws(seed, n=9):
    return np.random.default_rng(seed).random((3, n))


PROBLEMS = {
    "knapsack": lambda seed: greedy(*draws(seed)[:2], 1.5),
    "tied knapsack": lambda seed: greedy(*np.floor(1 + 4 * draws(seed)[:2]), 9.0),
    "method": lambda seed: Machine(2.0).above(draws(seed)[0]),
    "linear loss": lambda seed: price(draws(seed)[0]),
    "several knobs": lambda seed: pick(*draws(seed)),
    "log scale": lambda seed: log_knob(draws(seed)[:2] - [[0.0], [0.5]]),
    "output": lambda seed: chosen(*draws(seed)[:2]),
    "random state": lambda seed: shuffled(draws(seed)[0], np.random.default_rng(seed)),
    "iterator": lambda seed: Machine(1.0).above(iter(draws(seed)[0].tolist())),
    "keywords": lambda seed: greedy(capacity=1.0, sizes=draws(seed)[0], values=draws(seed)[1]),
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(3))
def test_traced_problems_keep_the_contract(name, seed):
    sb.testing.check_problem(PROBLEMS[name](seed), n_points=20, seed=seed)


@given(
    items=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=8),
    scale=st.sampled_from([1.0, 0.1, 1 / 3]),
)
@settings(max_examples=60)
def test_intervals_are_those_of_the_exact_family_and_meet_at_every_edge(items, scale):
    values, sizes = np.array(items, dtype=float).T * scale
    problem = greedy(values, sizes, sizes.sum() / 2)
    exact = sb.Knapsack(values, sizes, sizes.sum() / 2, partition="order")
    whole = problem.losses()
    np.testing.assert_array_equal(whole.edges, exact.losses("order").edges)
    for edge in whole.edges[1:-1].tolist():
        before, at, after = (problem.reveal(x).domain[0] for x in
                             (np.nextafter(edge, 0), edge, np.nextafter(edge, 9)))  # fmt: skip
        assert before[1] == edge == at[0]
        assert at == after
        assert whole(edge) == problem.reveal(edge)(edge)


def test_loss_calls_the_function_with_a_plain_float():
    kinds = []

    @sb.traced(UNIT)
    def run(rho):
        kinds.append(type(rho))
        return 0.5

    run().loss(0.3)
    assert kinds == [float]
    run().reveal(0.3)
    assert len(kinds) == 2


def test_one_run_reveals_and_losses_takes_one_run_for_each_piece():
    calls = []

    @sb.traced(UNIT)
    def run(rho, thresholds):
        calls.append(rho)
        return 0.1 * np.searchsorted(thresholds, rho, side="right")

    problem = run(np.array([0.25, 0.5, 0.75]))
    assert problem.reveal(0.6) == sb.PiecewiseConstant([0.5, 0.75], [0.2])
    assert len(calls) == 1
    assert len(problem.losses()) == 4
    assert len(calls) == 5


def test_line_is_returned_as_a_linear_function():
    f = price(np.array([0.25, 0.75])).losses()
    assert f == sb.PiecewiseLinear([0, 0.25, 0.75, 1], [1, 0.875, 1], [0.75, 0.625, 1])


def test_output_joins_neighbouring_intervals():
    a, b = np.random.default_rng(1).random((2, 20))
    joined = chosen(a, b)
    apart = sb.traced(UNIT)(chosen.function)(a, b)
    assert len(joined.losses()) < len(apart.losses())
    assert set(joined.losses().edges) <= set(apart.losses().edges)
    for rho in (0.1, 0.5, 0.9):
        assert joined.reveal(rho).domain == joined.losses().piece(rho).domain


def test_knobs_reveal_along_one_of_them():
    problem = pick(*draws(3))
    seen = problem.reveal(weight=0.4, power=2, mode="max")
    lo, hi = seen.domain[0]
    for weight in np.linspace(lo, hi, 7)[1:-1].tolist():
        assert problem.loss(weight=weight, power=2, mode="max") == seen(weight)


def test_generators_return_their_last_yield():
    @sb.traced(UNIT)
    def steps(rho, thresholds):
        for done, threshold in enumerate(thresholds, 1):
            yield 0.1 * done * (rho > threshold)

    assert steps([0.2, 0.5]).loss(0.7) == 0.2
    assert steps([0.2, 0.5]).reveal(0.7).domain == ((0.5, 1.0),)


def test_stream_makes_problems_on_demand(tmp_path):
    for seed in range(4):
        np.savez(tmp_path / f"{seed}.npz", values=draws(seed)[0], sizes=draws(seed)[1], capacity=1.5)

    def read(path):
        with np.load(path) as file:
            return {**file}

    stream = greedy.stream(sorted(tmp_path.glob("*.npz")), read)
    assert len(stream) == 4
    assert stream[2].losses() == greedy(*draws(2)[:2], 1.5).losses()
    assert len(stream[1:]) == 3
    assert len(sb.play(sb.Exp3Set(greedy.options.space, seed=0), stream)) == 4
    assert greedy.stream([ITEMS])[0].loss(1.0) == greedy(*ITEMS).loss(1.0)
    with pytest.raises(TypeError, match="a tuple or a dict"):
        greedy.stream([3.0])[0]


def reveal(problem):
    return problem.reveal(0.7)


PICKLED = {
    "function": greedy(*ITEMS),
    "method": Machine(2.0).above([0.3, 0.9]),
    "partial": sb.traced(UNIT)(functools.partial(Machine.above.function, Machine(2.0)))([0.3, 0.9]),
}


@pytest.mark.parametrize("problem", PICKLED.values(), ids=PICKLED)
def test_problems_are_pickled(problem):
    expected = problem.reveal(0.7)
    assert pickle.loads(pickle.dumps(problem)).reveal(0.7) == expected
    with ProcessPoolExecutor(1) as pool:
        assert pool.submit(reveal, problem).result() == expected
    cloudpickle = pytest.importorskip("cloudpickle")
    assert pickle.loads(cloudpickle.dumps(problem)).reveal(0.7) == expected
    family = pickle.loads(pickle.dumps(problem.family))
    assert family.options == problem.family.options


def test_local_functions_are_pickled_by_value():
    cloudpickle = pytest.importorskip("cloudpickle")

    @sb.traced(UNIT)
    def local(rho, threshold):
        return float(rho > threshold)

    problem = pickle.loads(cloudpickle.dumps(local(0.25)))
    assert problem.reveal(0.5) == sb.PiecewiseConstant([0.25, 1], [1])


def test_fit_in_processes_is_that_of_one_process():
    stream = greedy.stream([(*draws(seed)[:2], 1.5) for seed in range(6)])
    assert sb.fit(stream, n_jobs=2).interval == sb.fit(list(stream), n_jobs=1).interval


def test_predicted_is_known_before_the_run():
    family = sb.traced(UNIT, predicted=lambda thresholds: 0.1 * len(thresholds))(Machine.above.function)
    assert family.__get__(Machine(1.0))([0.1, 0.2]).predicted == 0.2
    assert greedy(*ITEMS).predicted is None


def test_traced_problem_is_played():
    history = sb.play(sb.Exp3Set(UNIT, seed=0), [price(draws(seed)[0]) for seed in range(20)])
    assert np.isfinite(history.regret()[-1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"space": (0, 1)}, "space must be an Interval or Knobs"),
        ({"space": len}, r"write @sb.traced\(sb.Interval\(lo, hi\)\) above the function"),
        ({"space": sb.Knobs(n=sb.Integer(1, 5))}, "Real without a step"),
        ({"space": UNIT, "partition": "runs"}, "partition must be one of"),
        ({"space": UNIT, "high": 0}, "high must be"),
        ({"space": UNIT, "maximize": 1}, "maximize must be True or False"),
        ({"space": UNIT, "predicted": 0.5}, "predicted must be a callable"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        sb.traced(**options)


def test_bad_parameters_and_losses_are_named():
    with pytest.raises(TypeError, match="function must be a callable"):
        sb.traced(UNIT)(3)
    with pytest.raises(ValueError, match=r"rho must be in \[0, 10\]"):
        greedy(*ITEMS).reveal(11)
    nothing = sb.traced(UNIT)(lambda rho: None)()
    for method in (nothing.loss, nothing.reveal):
        with pytest.raises(TypeError, match=r"the loss returned by .* must be a number, got None"):
            method(0.5)


def test_function_that_remembers_is_caught():
    seen = []

    @sb.traced(UNIT)
    def run(rho):
        seen.append(0)
        return float(rho > 0.9 / len(seen))

    with pytest.raises(ValueError, match="must depend on rho and the instance only"):
        run().losses()


def test_errors_name_the_line():
    @sb.traced(UNIT)
    def run(rho):
        return float(rho * rho > 0.5)

    line = r"test_problem.py, line \d+ \(return float\(rho \* rho > 0.5\)\): a product"
    with pytest.raises(TracingError, match=line):
        run().reveal(0.5)


def test_error_in_the_returned_value_names_the_function():
    @sb.traced(UNIT)
    def power(rho):
        return np.exp(rho)

    with pytest.raises(
        TracingError, match=r"test_problem.py, line \d+ \(power\): a traced function must return"
    ):
        power().reveal(0.5)
