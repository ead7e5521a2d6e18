"""Contexts: reading of features, and errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semibandit as sb


def full():
    return sb.Context(
        size=sb.Real(10, 1e5, log=True),
        n=sb.Integer(1, 9),
        kind=sb.Choice("a", "b"),
        customer=sb.Label(),
    )


def test_values_are_read_in_their_own_types():
    point = full().read({"size": np.float32(400), "n": 3.0, "kind": "a", "customer": 7})
    assert point == (400.0, 3, "a", "7")
    assert [type(value) for value in point] == [float, int, str, str]


def test_missing_and_none_are_unknown():
    assert full().read({}) == full().read({"size": None, "kind": None}) == full().read(None) == (None,) * 4


def test_unknown_number_is_a_coordinate_of_its_own():
    context = full()
    assert context.coordinates(context.read({})).tolist() == [-1.0, -1.0, 0.0, 0.0]
    assert context.coordinates(context.read({"size": 10, "n": 9, "kind": "b"})).tolist()[2:] == [0.0, 1.0]
    assert context.coordinates(context.read({"size": 1000}))[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"size": float("nan")}, ValueError, "size.*finite"),
        ({"size": "big"}, TypeError, "size.*number"),
        ({"size": True}, TypeError, "size.*number"),
        ({"n": 2.5}, TypeError, "n.*whole number"),
        ({"kind": "c"}, ValueError, "kind.*one of 'a', 'b'"),
        ({"customer": 1.5}, TypeError, "customer.*text"),
        ({"customer": "x" * 300}, ValueError, "256 characters"),
        ({"colour": 1}, ValueError, "no other keys than size.*colour"),
        ([400], TypeError, "dict"),
        ("400", TypeError, "dict"),
    ],
)
def test_wrong_values_are_errors(given, error, text):
    with pytest.raises(error, match=text):
        full().read(given)


def test_number_outside_counts_as_the_end_with_one_warning():
    context = full()
    with pytest.warns(RuntimeWarning, match=r"context\['size'\] = 3 is outside \[10, 100000\]"):
        assert context.read({"size": 3})[0] == 10.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert context.read({"size": 1e9})[0] == 1e5
        with pytest.raises(RuntimeWarning):
            context.read({"n": 100})


def test_infinite_number_counts_as_the_end():
    with pytest.warns(RuntimeWarning):
        assert full().read({"size": float("inf")})[0] == 1e5


@pytest.mark.parametrize("features", [{}, {"x": 1}, {"x": sb.Interval(0, 1)}])
def test_features_are_checked(features):
    with pytest.raises((TypeError, ValueError), match="feature"):
        sb.Context(**features)


def test_true_and_one_are_different_choices_of_columns():
    context = sb.Context(kind=sb.Choice(True, "x"))
    assert context.coordinates(context.read({"kind": True})).tolist() == [1.0, 0.0]


@given(st.floats(0, 1), st.integers(-5, 20), st.sampled_from(["a", "b", None]), st.text(max_size=20))
def test_description_restores_the_context(x, n, kind, customer):
    context = sb.Context(x=sb.Real(0, 1), n=sb.Integer(-5, 20), kind=sb.Choice("a", "b"), customer=sb.Label())
    again = sb.Context.from_dict(context.to_dict())
    point = {"x": x, "n": n, "kind": kind, "customer": customer}
    assert again == context
    assert again.read(point) == context.read(point)
    assert context.read(context.named(context.read(point))) == context.read(point)
