"""The best sequence of blocks, against all sequences in exact arithmetic."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from reference import blocks as reference
from reference.feedback import random_loss

STEPS, LINES = sb.PiecewiseConstant, sb.PiecewiseLinear


@st.composite
def games(draw, kinds):
    """Few places and few values, so that there are many ties; or arbitrary ones."""
    if draw(st.booleans()):
        places, values = st.sampled_from([0.2, 0.25, 0.5, 0.75]), st.sampled_from([0.0, 0.5, 1.0])
    else:
        places = st.integers(1, 9999).map(lambda i: i / 10_000)
        values = st.floats(-1.0, 1.0, allow_subnormal=False)
    game = []
    for _ in range(draw(st.integers(1, 7))):
        kind = draw(st.sampled_from(kinds))
        edges = [0.0, *sorted(draw(st.sets(places, max_size=4))), 1.0]
        column = st.lists(values, min_size=len(edges) - 1, max_size=len(edges) - 1)
        game.append(kind(edges, *(draw(column) for _ in kind.columns)))
    return game


def random_steps(rng, rounds, pieces=5, values=None):
    return [random_loss(rng, pieces, values) for _ in range(rounds)]


def check(functions, found, least, tolerance=1e-12):
    """Totals are the least there are; sequences cover the rounds, cost the totals, and hold no idle block."""
    totals, sequences = found
    assert totals == pytest.approx([float(total) for total in least], abs=tolerance)
    assert len(sequences) == len(totals)
    for k, (total, sequence) in enumerate(zip(totals, sequences, strict=True), 1):
        assert len(sequence) <= min(k, len(functions))
        assert [0, *(stop for _, stop, _ in sequence)] == [
            *(start for start, _, _ in sequence),
            len(functions),
        ]
        for start, stop, best in sequence:
            assert best == sb.best_in_hindsight(functions[start:stop])
        assert total == math.fsum((stop - start) * best.mean_loss for start, stop, best in sequence)
    for shorter, longer in itertools.pairwise(sequences):
        assert longer == shorter or len(longer) > len(shorter)


@settings(max_examples=60)
@given(st.one_of(games([STEPS]), games([STEPS, LINES, LINES])), st.integers(1, 9))
def test_sequences_are_the_best_of_all(functions, blocks):
    lines = [LINES.of(function) for function in functions]
    check(functions, sb.best_blocks(functions, blocks), reference.totals(lines, blocks))


@pytest.mark.parametrize("seed", range(3))
def test_one_block_is_the_best_fixed_parameter(seed):
    functions = random_steps(np.random.default_rng(seed), 60)
    lines = [LINES(f.edges, f.values, f.values[::-1]) for f in functions]
    for game, maximize in itertools.product((functions, lines), (False, True)):
        (total,), ((block,),) = sb.best_blocks(game, 1, maximize=maximize)
        assert block == (0, 60, sb.best_in_hindsight(game, maximize=maximize))
        assert total == 60 * block.best.mean_loss


def test_no_block_where_none_helps():
    """Losses that are no binary fractions: sums in another order would differ, and a block seem to help."""
    values = 0.1 * np.random.default_rng(5).integers(1, 8, 400)
    functions = [STEPS([0, 0.3, 1], [value, value]) for value in values]
    _, sequences = sb.best_blocks(functions, 4)
    assert [len(sequence) for sequence in sequences] == [1, 1, 1, 1]


def test_maximize_mirrors_the_loss():
    functions = random_steps(np.random.default_rng(2), 50)
    totals, sequences = sb.best_blocks(functions, 4)
    gains, mirrored = sb.best_blocks([f * -1.0 + 1.0 for f in functions], 4, maximize=True)
    assert gains == pytest.approx([50 - total for total in totals])
    for mine, theirs in zip(sequences, mirrored, strict=True):
        assert [(a, b, best.interval) for a, b, best in mine] == [
            (a, b, best.interval) for a, b, best in theirs
        ]
