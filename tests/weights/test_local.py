"""Weights with a local baseline, against the slow version and what is promised of them."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import semibandit as sb
from reference.local_pieces import FlatLocal
from semibandit.weights import Feedback, IntervalTree, LocalPieces, Rule, dyadic_cells
from semibandit.weights import _local_state as rules
from semibandit.weights import _pieces as k
from semibandit.weights._looks import look_factors

LOG_TERM = 3.0
RULE = Rule(0.0, 0.0, -np.inf, 0.0, LOG_TERM)  # losses in [0, 1]
SPACES = [sb.Interval(0, 1), sb.Strips(3, sb.Interval(0, 2)), sb.Interval(-1, 1, margin=0.25)]


def fresh(space, budget=4096):
    return LocalPieces(dyadic_cells(space), budget)


def flat(weights):
    edges, leaf, rows = weights._cells
    paths = []
    for node in leaf.tolist():
        path = [node]
        while path[0] > 1:
            path.insert(0, path[0] >> 1)
        paths.append(path)
    return FlatLocal(list(zip(itertools.pairwise(edges.tolist()), paths, strict=True)), LOG_TERM, rows)


def random_partition(rng, weights, pieces=8):
    """A function on the whole line, as edges and losses."""
    lo, hi = weights.ends
    cuts = rng.choice([*rng.uniform(lo, hi, pieces), *weights._cells.edges[1:-1].tolist()], pieces - 1, False)
    edges = np.concatenate(([lo], np.unique(cuts), [hi]))
    return edges, rng.choice([0.0, 0.3, 1.0, rng.random()], edges.size - 1)


def drawn_piece(rng, weights, edges):
    return int(np.searchsorted(edges, weights.draw(rng.random()), side="right")) - 1


def partial(edges, losses, sets, paid, looks=(1,), single=False):
    """Feedback that observes some sets, lists of pieces, of a function."""
    shown = np.full(losses.size, -1)
    for i, members in enumerate(sets):
        shown[members] = i
    values = np.where(shown >= 0, losses, np.nan)
    return Feedback(edges, values, shown, paid, 0.0, single=single, looks=np.array(looks))


def whole(edges, losses):
    return Feedback(edges, losses, np.zeros(losses.size, np.int64), 0.5, 0.0, True)


def assert_equal(weights, slow):
    """Compare densities, sums, statistics, rates and gaps."""
    assert len(weights) == len(slow.pieces)
    pieces, sums = weights._pieces[:, :-1], weights._sums
    for row, expected in zip((k.MASS, k.OF_FAST, k.OF_SAFE), slow.shares(), strict=True):
        np.testing.assert_allclose(pieces[row] / pieces[row].sum(), expected, rtol=1e-8, atol=1e-300)
    for row, name in ((k.SAFE, "safe"), (k.COUNT, "count"), (k.LOSS, "losses")):
        np.testing.assert_allclose(pieces[row], [getattr(p, name) for p in slow.pieces], rtol=1e-8, atol=1e-9)
    assert sums[[rules.FAST_GAPS, rules.SAFE_GAPS]] == pytest.approx(slow.gaps, rel=1e-8, abs=1e-12)
    assert sums[[rules.FAST_RATE, rules.SAFE_RATE]] == pytest.approx(slow.rates, rel=1e-8)
    assert sums[rules.SECOND] == pytest.approx(sum(slow.second), rel=1e-8, abs=1e-10)
    weights._check()


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize(("draws", "single"), [(1, False), (3, False), (1, True)])
def test_rounds_against_the_flat_version(space, draws, single):
    rng = np.random.default_rng(1)
    weights = fresh(space)
    slow = flat(weights)
    rule = RULE._replace(low=0.1, high=0.9)
    for _ in range(40):
        edges, losses = random_partition(rng, weights)
        sets = np.arange(losses.size) % 4
        drawn = [sets[drawn_piece(rng, weights, edges)] for _ in range(draws)]
        counts = Counter(drawn)
        groups, times = [np.flatnonzero(sets == i) for i in counts], list(counts.values())
        paid = float(losses[groups[0][0]])
        update = weights.learn(partial(edges, losses, groups, paid, times, single), rule)
        told = [[(edges[i], edges[i + 1], losses[i]) for i in group] for group in groups]
        chances = slow.tell(told, paid, times, single=single, low=0.1, high=0.9)
        assert list(update.p) == pytest.approx(chances, rel=1e-9)
        weights = update.weights
        assert_equal(weights, slow)


@pytest.mark.parametrize(
    ("first", "then", "is_right", "rounds"),
    [(0.7, 0.2, lambda t: t % 3 == 0, 42), (0.2, 1.0, lambda t: t % 10 > 0, 60)],
    ids=["better", "worse"],
)
def test_places_that_change_against_the_flat_version(first, then, is_right, rounds):
    """The right half costs `first` for 30 rounds and `then` afterwards; the left one about 0.5."""
    rng = np.random.default_rng(9)
    weights = fresh(SPACES[0])
    slow = flat(weights)
    for t in range(rounds):
        lo = 0.5 * is_right(t)
        loss = (first if t < 30 else then) if lo else float(rng.uniform(0.4, 0.6))
        weights.learn(Feedback.step(lo, lo + 0.5, loss, lo), RULE)
        slow.tell([[(lo, lo + 0.5, loss)]], loss)
        assert_equal(weights, slow)
    assert slow.alarms > 0


def test_a_long_game_of_single_losses_against_the_flat_version():
    """After a thousand rounds the baseline of single losses uses confidence bounds."""
    rng = np.random.default_rng(6)
    weights = fresh(SPACES[0])
    slow = flat(weights)
    slow.paid = rng.random(5000).tolist()
    weights._sums[:3] = len(slow.paid), np.mean(slow.paid), len(slow.paid) * np.var(slow.paid)
    weights._weigh()
    for _ in range(10):
        edges, losses = random_partition(rng, weights)
        drawn = drawn_piece(rng, weights, edges)
        loss = float(losses[drawn])
        weights.learn(partial(edges, losses, [np.array([drawn])], loss, single=True), RULE)
        slow.tell([[(edges[drawn], edges[drawn + 1], loss)]], loss, single=True)
        assert_equal(weights, slow)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_finer_cells_where_much_is_played_against_the_flat_version(space):
    """Late in a game, with most of the mass in a corner of one cell."""
    rng = np.random.default_rng(8)
    weights = fresh(space)
    slow = flat(weights)
    slow.paid = [0.25, 0.5] * 30_000
    weights._sums[:3] = len(slow.paid), np.mean(slow.paid), len(slow.paid) * np.var(slow.paid)
    lo, hi = weights.ends
    edges = lo + (hi - lo) * np.array([0.3, 0.301, 0.302, 0.31])
    behind = np.abs(weights._pieces[k.EDGE, :-1] - edges[0]) > 0.02 * (hi - lo)
    weights._pieces[k.FAST, :-1] += 8.0 * behind
    for piece, late in zip(slow.pieces, behind.tolist(), strict=True):
        piece.fast += 8.0 * late
    for _ in range(6):
        losses, drawn = 0.5 + 0.1 * rng.random(3), int(rng.integers(3))
        weights.learn(partial(edges, losses, [np.array([drawn])], losses[drawn]), RULE)
        slow.tell([[(edges[drawn], edges[drawn + 1], losses[drawn])]], float(losses[drawn]))
        assert_equal(weights, slow)


@pytest.mark.parametrize("space", SPACES, ids=repr)
@pytest.mark.parametrize("looks", [1, 3])
def test_estimates_of_the_safe_learner_are_unbiased(space, looks):
    """Over all sets that may be observed, its sums move by the loss, up to one constant."""
    rng = np.random.default_rng(2)
    weights = fresh(space)
    for _ in range(25):
        edges, losses = random_partition(rng, weights)
        sets = np.arange(losses.size) % 4
        grid = np.union1d(edges, weights._pieces[k.EDGE])

        def sums(weights, grid=grid):
            pieces = weights._pieces
            return sb.PiecewiseConstant(pieces[k.EDGE], pieces[k.SAFE, :-1]).spread(grid)[0]

        mean = np.zeros(grid.size - 1)
        shares = np.bincount(sets, np.exp(weights.log_shares(edges)))
        for drawn in itertools.product(range(int(sets.max()) + 1), repeat=looks):
            counts = Counter(drawn)
            groups = [np.flatnonzero(sets == i) for i in counts]
            seen = partial(edges, losses, groups, 0.5, list(counts.values()))
            update = weights.detached().learn(seen, RULE)
            mean += shares[list(drawn)].prod() * (sums(update.weights) - sums(weights))
        loss = sb.PiecewiseConstant(edges, losses).spread(grid)[0]
        np.testing.assert_allclose(mean - loss, (mean - loss)[0], atol=1e-9)
        drawn = sets[drawn_piece(rng, weights, edges)]
        weights = weights.learn(
            partial(edges, losses, [np.flatnonzero(sets == drawn)], float(losses[drawn])), RULE
        ).weights


def test_no_loss_is_learned_before_the_range_is_known():
    weights = fresh(SPACES[0])
    update = weights.learn(Feedback.step(0.0, 0.25, 5.0, 0.1), RULE._replace(low=5.0, high=5.0))
    assert update.p == pytest.approx((0.25,))
    assert update.rate == 0.0
    assert np.exp(weights.log_shares(np.array([0.0, 0.25, 1.0]))) == pytest.approx([0.25, 0.75])


def test_rounds_are_those_of_scaled_losses():
    rng = np.random.default_rng(3)
    weights, scaled = fresh(SPACES[0]), fresh(SPACES[0])
    for _ in range(60):
        edges, losses = random_partition(rng, weights)
        drawn = drawn_piece(rng, weights, edges)
        weights.learn(partial(edges, losses, [np.array([drawn])], losses[drawn]), RULE)
        seen = partial(edges, 100.0 * losses - 7.0, [np.array([drawn])], 100.0 * losses[drawn] - 7.0)
        scaled.learn(seen, RULE._replace(low=-7.0, high=93.0))
    np.testing.assert_allclose(scaled._pieces[k.MASS], weights._pieces[k.MASS], rtol=1e-6)


def test_a_place_that_has_become_better_is_soon_played_again():
    weights = fresh(SPACES[0])
    rng = np.random.default_rng(0)
    found = []
    for t in range(400):
        x = weights.draw(rng.random())
        loss = 0.5 if x < 0.5 else float(t < 100)
        weights.learn(Feedback.step(0.0, 0.5, loss, x) if x < 0.5 else Feedback.step(0.5, 1.0, loss, x), RULE)
        found.append(x >= 0.5)
    assert np.mean(found[20:100]) < 0.2
    assert np.mean(found[200:]) > 0.9


def test_joins_keep_masses_cells_and_what_is_unbiased():
    rng = np.random.default_rng(3)
    wide, narrow = fresh(SPACES[0]), fresh(SPACES[0], budget=130)
    for _ in range(300):
        lo, hi = np.sort(rng.random(2))
        seen = Feedback.step(lo, hi, lo, lo)
        wide = wide.learn(seen, RULE).weights
        update = narrow.learn(seen, RULE)
        narrow = update.weights
        assert len(narrow) <= 130
        narrow._check()
    assert len(wide) > 300
    cells = narrow._cells.edges
    shares = [np.exp(weights.log_shares(cells)) for weights in (wide, narrow)]
    np.testing.assert_allclose(shares[0], shares[1], atol=0.05)
    a, _ = narrow.joined(64)
    assert len(a) == 64
    total = narrow._pieces[k.MASS, -1]
    np.testing.assert_allclose(np.exp(narrow.log_shares(cells)), np.exp(a.log_shares(cells)), rtol=1e-9)
    assert a._pieces[k.MASS, :-1].sum() == pytest.approx(total)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_draws_and_shares_agree_with_the_density(space):
    rng = np.random.default_rng(4)
    weights = fresh(space)
    for _ in range(10):
        edges, losses = random_partition(rng, weights)
        weights = weights.learn(partial(edges, losses, [np.array([0])], 0.5), RULE).weights
    density = weights.density()
    assert density.integral() == pytest.approx(1)
    grid = np.sort(np.concatenate((rng.uniform(*weights.ends, 20), weights.ends)))
    np.testing.assert_allclose(np.exp(weights.log_shares(grid)), density.between(grid), atol=1e-12)
    for u in (0.0, 1e-300, 0.3, 0.999999, 1 - 2**-53):
        x = weights.draw(u)
        assert weights.ends[0] <= x < weights.ends[1]
        assert density.between(np.array([weights.ends[0], x]))[0] == pytest.approx(u, abs=1e-9)
    log = weights.log()
    relative = density.values / density.values.max()
    np.testing.assert_allclose(np.exp(log.values), relative, rtol=1e-9, atol=1e-300)


def test_powers_follow_the_rate():
    weights = fresh(SPACES[0])
    weights.learn(partial(np.array([0.0, 0.4, 1.0]), np.array([0.9, 0.1]), [np.array([0])], 0.9), RULE)
    half = weights.raised_to(0.5)
    whole, root = (w._pieces[[k.OF_FAST, k.OF_SAFE], :-1] / w._pieces[k.PRIOR, :-1] for w in (weights, half))
    np.testing.assert_allclose(root, np.sqrt(whole), rtol=1e-12)


def test_masses_are_exponentials_to_the_last_bits():
    sums = np.concatenate(([0.0], np.geomspace(1e-18, 750.0, 300), np.linspace(0.0, 750.0, 1001)))
    a = np.zeros((k.ROWS, sums.size + 1))
    a[k.PRIOR], a[k.FAST, :-1] = 1.0, sums
    k.weigh(a, sums.size, (1.0, 1.0), 0.0)
    normal = sums <= 708.0
    np.testing.assert_allclose(a[k.OF_FAST, :-1][normal], np.exp(-sums[normal]), rtol=4e-16)
    assert not a[k.OF_FAST, :-1][~normal].any()
    assert a[k.OF_FAST, -1] == pytest.approx(np.exp(-sums).sum())
    assert a[k.MASS, -1] == pytest.approx(1.0)


def state_bytes(weights):
    return {name: array.tobytes() for name, array in weights.state().items()}


def test_a_step_on_detached_weights_leaves_the_original_unchanged():
    rng = np.random.default_rng(7)
    weights = fresh(SPACES[0])
    seen = partial(*random_partition(rng, weights), [np.array([1])], 0.5)
    before, other = state_bytes(weights), weights.detached()
    assert other.learn(seen, RULE).weights is other
    assert state_bytes(weights) == before
    assert state_bytes(weights.learn(seen, RULE).weights) == state_bytes(other) != before


def test_nothing_is_lost_far_behind():
    """A piece e^-2000 behind comes back when the others have paid as much."""
    weights = fresh(SPACES[0])
    edges = np.array([0.0, 0.5, 1.0])
    for losses in (np.array([1.0, 0.0]), np.array([0.0, 1.0])):
        for _ in range(2000):
            weights = weights.learn(whole(edges, losses), Rule(0.0, 0.0, -np.inf, 1.0)).weights
    np.testing.assert_allclose(np.exp(weights.log_shares(edges)), 0.5, rtol=1e-6)


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_pieces_of_a_tree_have_its_weights(space):
    rng = np.random.default_rng(5)
    tree = IntervalTree(*space.line.ends)
    for _ in range(200):
        tree.learn(whole(*random_partition(rng, fresh(space))), RULE._replace(rate=0.7))
    pieces = LocalPieces.of(tree, dyadic_cells(space), 0.7, 512)
    cells = dyadic_cells(space).edges
    np.testing.assert_allclose(pieces.log_shares(cells), tree.log_shares(cells), atol=0.5)
    assert len(pieces) <= 512 + cells.size


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_states_restore_to_the_bit_and_damage_is_refused(space):
    rng = np.random.default_rng(6)
    weights, cells = fresh(space), dyadic_cells(space)
    weights.learn(partial(*random_partition(rng, weights), [np.array([1])], 0.5), RULE)
    state = weights.state()
    again = LocalPieces.from_state(state, cells)
    assert state_bytes(again) == state_bytes(weights)
    assert again.draw(0.37) == weights.draw(0.37)
    for damaged in (
        {name: array for name, array in state.items() if name != "sums"},
        state | {"pieces": state["pieces"][:, :-1]},
        state | {"tree": state["tree"][:, 1:]},
        state | {"sums": state["sums"] * np.nan},
        state | {"numbers": np.array([1.0])},
        state | {"pieces": state["pieces"][:, ::-1]},
    ):
        with pytest.raises(ValueError, match="local weights are broken"):
            LocalPieces.from_state(damaged, cells)


def test_the_kth_smallest_is_that_of_a_sorted_array():
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 10, 100):
        for values in (rng.random(n), rng.integers(3, size=n).astype(float), np.full(n, np.inf)):
            for at in range(n):
                assert k.kth_smallest(values.copy(), at) == np.sort(values)[at]


@pytest.mark.parametrize(("level", "noise", "least", "most"), [(0.25, 0.02, 0.5, 1.0), (0.0, 0.2, -0.3, 0.3)])
def test_the_slope_tells_whether_instances_differ(level, noise, least, most):
    rng = np.random.default_rng(4)
    weights = fresh(SPACES[0])
    edges = np.linspace(*weights.ends, 9)
    for _ in range(300):
        losses = np.clip(0.5 + level * rng.uniform(-1, 1) + noise * rng.normal(size=8), 0, 1)
        first, second = rng.permutation(8)[:2]
        seen = partial(edges, losses, [np.array([first]), np.array([second])], losses[first], (1, 1))
        weights = weights.learn(seen, RULE).weights
    products, squares, _, rounds = weights._sums[3:7]
    assert rounds == 300
    assert least <= products / squares <= most


@pytest.mark.parametrize("looks", [*range(2, 61), 200])
@pytest.mark.parametrize("share", [0.5, 0.03, 1e-6])
def test_means_over_many_looks_are_unbiased(looks, share):
    """Sum over the outcomes of two sets: the difference of the expected estimates is that of the losses."""
    surprise, p = np.array([0.2, 0.7]), np.array([share, 1.0 - share])
    expected = np.zeros(2)
    for first in range(looks + 1):
        times = np.array([first, looks - first])
        chance = math.comb(looks, first) * share**first * (1.0 - share) ** (looks - first)
        seen = times > 0
        factors = look_factors(surprise[seen], times[seen], p[seen], 0.0, 0.3, np.zeros(rules.SUMS))
        expected[seen] += chance * (surprise[seen] * factors[0] - factors[1])
    assert expected[1] - expected[0] == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize("looks", [*range(2, 61), 200])
@pytest.mark.parametrize("share", [0.5, 0.03])
def test_estimates_of_a_tree_are_unbiased_with_many_looks(looks, share):
    expected, losses = np.zeros(2), np.array([0.2, 0.7])
    edges = np.array([0.0, share, 1.0])
    for first in range(looks + 1):
        times = np.array([first, looks - first])
        seen = np.flatnonzero(times)
        chance = math.comb(looks, first) * share**first * (1.0 - share) ** (looks - first)
        feedback = partial(edges, losses, [seen[[i]] for i in range(seen.size)], 0.2, times[seen])
        logs = IntervalTree(0.0, 1.0).learn(feedback, Rule(0.0, 0.0, -np.inf, 1e-3)).weights.log_shares(edges)
        weights = np.exp(logs) / [share, 1.0 - share]
        expected += chance * -1e3 * np.log(weights / weights[0])
    # The sum over outcomes of differences of estimates, which do not depend on the normalisation.
    assert expected[1] == pytest.approx(0.5, rel=1e-6)
