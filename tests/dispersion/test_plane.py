"""Two parameters: the worst segment among rows and columns."""

import numpy as np
import pytest

import semibandit as sb
from reference.dispersion import worst_count
from semibandit.dispersion import measure_plane

UNIT = sb.Interval(0, 1)


@pytest.mark.parametrize("seed", range(3))
def test_equals_brute_force(seed):
    rng = np.random.default_rng(seed)

    def lines(n):
        return [[rng.random(rng.integers(0, 4)) for _ in range(25)] for _ in range(n)]

    rows, columns = lines(5), lines(3)
    plane = measure_plane(rows, columns, UNIT)
    for eps in (0.0, 0.02, 0.3):
        along = [max(worst_count(line, eps) for line in group) for group in (rows, columns)]
        assert plane.D(eps) == max(along)
        assert plane.between(eps) == sum(along)
        worst = plane.worst(eps)
        functions = (rows if worst.axis == "row" else columns)[worst.line]
        inside = sum(any(worst.lo <= x <= worst.hi for x in function) for function in functions)
        assert inside == worst.functions == plane.D(eps)
    assert plane.counts.tolist() == [plane.D(e) for e in plane.eps]


def test_one_bad_row_is_found():
    rng = np.random.default_rng(9)
    rows = [rng.random((200, 2)) for _ in range(4)]
    rows[2] = 0.5 + 1e-7 * rng.random((200, 1))
    plane = measure_plane(rows, space=UNIT)
    assert plane.worst(0.01)[:2] == ("row", 2)
    assert plane.verdict().startswith("worst along row 2: not dispersed")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "at least one line, got none"),
        (([[[0.1]], [[0.1], [0.2]]], [], UNIT), r"same number of functions, got \[1, 2\]"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        measure_plane(*arguments)


def test_columns_may_have_another_range():
    lines = [[[0.1], [4.2]]]
    plane = measure_plane([[[0.1], [0.2]]], lines, UNIT, column_space=sb.Interval(0, 5), eps=[0.1, 1.0, 5.0])
    assert plane.counts.tolist() == [2, 2, 2]
    assert [plane.columns[0].D(e) for e in plane.eps] == [1, 1, 2]
    assert plane.between(1.0) == 3
