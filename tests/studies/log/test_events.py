"""JSON restores events exactly."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semibandit as sb
from semibandit import PiecewiseConstant, PiecewiseLinear
from semibandit.studies.log import events
from semibandit.studies.log.events import Asked, Created, Failed, Forgotten, Function, Renewed, Told

numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(numbers, min_size=2, max_size=6, unique=True), st.data())
def test_functions_are_restored_to_the_bit(edges, data):
    edges = sorted(edges)
    if not math.isfinite(edges[-1] - edges[0]):
        return
    values = data.draw(
        st.lists(numbers | st.just(math.nan), min_size=len(edges) - 1, max_size=len(edges) - 1)
    )
    function = PiecewiseConstant(edges, values)
    line = events.encode(Told(0.0, 0, events.pack(function), 0.5, 0.25))
    back = events.unpack(events.decode(line).seen)
    assert back.edges.tobytes() == function.edges.tobytes()
    assert back == function
    linear = PiecewiseLinear.of(function)
    assert events.unpack(events.decode(events.encode(Told(0.0, 0, events.pack(linear), 0, 1))).seen) == linear


@given(numbers, numbers)
def test_numbers_are_restored_to_the_bit(position, loss):
    asked = events.decode(events.encode(Asked(1.5, 3, position, position, "w")))
    assert math.copysign(1.0, asked.position) == math.copysign(1.0, position)
    assert asked.position == position
    assert (
        events.unpack(events.decode(events.encode(Told(0.0, 0, events.pack(loss), loss, 1.0))).seen) == loss
    )


@pytest.mark.parametrize(
    "event",
    [
        Created(1.0, {"space": {"lo": 0.0}}, b"\x00\xff"),
        Asked(1.0, 0, 0.5, 0.5, "w", 3.5, [0.1, 0.2], [0.3], "key", {"instance": "a"}),
        Told(1.0, 0, [0.5, Function([0.0, 1.0], [0.5])], 0.5, [0.5, 0.25], 1.0, {"seconds": 0.5}),
        Failed(1.0, 0, "timeout"),
        Forgotten(1.0, 0, "lease"),
        Renewed(1.0, 0, 2.0),
    ],
)
def test_each_kind_of_event_is_restored(event):
    assert events.decode(events.encode(event)) == event


def test_feedback_of_probes_is_a_list():
    parts = [PiecewiseConstant([0, 1], [0.5]), 0.25]
    assert events.unpack(events.pack(parts)) == parts
    with pytest.raises(TypeError, match="a number or a function"):
        events.pack([[0.5]])


@pytest.mark.parametrize(
    "function", [Function([0.0, 1.0]), Function([0.0, 1.0], [1.0], [1.0]), Function([0.0, 1.0], left=[1.0])]
)
def test_an_incomplete_function_is_refused(function):
    with pytest.raises(ValueError, match="must have edges and values, edges, left and right, or boxes"):
        events.unpack(function)


def test_json_restores_trials_and_boxes():
    trial = sb.Exp3Set(sb.Knobs(n=sb.Integer(1, 9), mode=sb.Choice("a", None)), seed=0).ask(probes=1)
    again = msgspec.json.decode(msgspec.json.encode(trial), type=sb.Trial)
    assert again == trial
    assert type(again.values["n"]) is int
    boxes = sb.Boxes([(PiecewiseConstant([1, 3], [0.5]), {"mode": [None]})])
    line = events.encode(events.Told(1.0, 0, events.pack([boxes, 0.5]), 0.5, 0.25))
    told = events.decode(line)
    assert events.unpack(told.seen) == [boxes, 0.5]
