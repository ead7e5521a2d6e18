"""Commands with several knobs: their syntax, runs and rounds."""

import sys

import pytest
from typer.testing import CliRunner

import semibandit as sb
from semibandit.cli import app
from semibandit.tuning import Command, Tuner
from semibandit.tuning.knob_syntax import parse_knob, parse_knobs, parse_values

KNOBS = ["alpha=1e-4:1:log", "depth=1..12", "mode=fast,good"]
SOLVER = """
import math, sys
alpha, depth, mode = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
steps = 0.1 * abs(math.log10(alpha) + 2) // 0.02 * 0.02
print(min(steps + 0.03 * abs(depth - 9) + 0.3 * (mode == "fast"), 1))
"""


@pytest.fixture
def template(tmp_path):
    (tmp_path / "solver.py").write_text(SOLVER)
    return f"{sys.executable} {tmp_path}/solver.py {{alpha}} {{depth}} {{mode}} {{instance}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alpha=1e-4:1:log", sb.Real(1e-4, 1, log=True)),
        ("x=-1:2.5", sb.Real(-1, 2.5)),
        ("x=0:1:0.25", sb.Real(0, 1, step=0.25)),
        ("n=-3..12", sb.Integer(-3, 12)),
        ("n=1..1000:log", sb.Integer(1, 1000, log=True)),
        ("mode=fast,good,1", sb.Choice("fast", "good", "1")),
    ],
)
def test_knobs_are_read(text, expected):
    assert parse_knob(text)[1] == expected


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["alpha"], "--knob must be NAME=LO:HI"),
        (["2x=1:2"], "--knob must be NAME=LO:HI"),
        (["x="], "--knob must be"),
        (["x=1"], "--knob x=.*: expected LO:HI"),
        (["x=1:2:3:4"], "--knob x=.*: expected LO:HI"),
        (["n=1..2.5"], "--knob n=.*: expected LO:HI"),
        (["n=1..9:lin"], "--knob n=.*: expected LO:HI"),
        (["x=0:1:log"], "above 0 on a log scale"),
        (["n=9..1"], "--knob n=9..1: lo must be below hi"),
        (["m=a,a"], "must differ"),
        (["x=0:1", "x=1..3"], "two knobs are called 'x'"),
        (["instance=0:1"], "cannot be called 'instance'"),
    ],
)
def test_bad_knobs_are_refused(texts, message):
    with pytest.raises(ValueError, match=message):
        parse_knobs(texts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("alpha=0.1,depth=3", "a value is missing for mode"),
        ("alpha=x,depth=3,mode=fast", "alpha must be a number"),
        ("alpha", "one for each knob"),
        ("alpha=5,depth=3,mode=fast", "alpha must be in"),
    ],
)
def test_bad_defaults_are_refused(text, message):
    with pytest.raises(ValueError, match=message):
        parse_values(text, parse_knobs(KNOBS))


def test_rounds_are_kept_with_all_values(template, tmp_path):
    knobs, names = parse_knobs(KNOBS), [f"{i}.txt" for i in range(6)]
    command = Command(template, names=knobs.names)
    default = {"alpha": 0.5, "depth": 2, "mode": "fast"}
    options = {"default": default, "default_share": 1.0, "probes": 1}
    with Tuner(command, knobs, tmp_path / "state", **options) as tuner:
        rounds = list(tuner.rounds(names))
        density = tuner.learner.density()
    assert all(record.values["mode"] in ("fast", "good") for record in rounds)
    assert all(record.rho == record.values["alpha"] for record in rounds)
    assert all(record.default_loss == pytest.approx(0.67, abs=0.02) for record in rounds)
    with Tuner(command, knobs, tmp_path / "state", **options) as again:
        assert again.finished == rounds
        assert again.learner.density() == density
        assert again.learner.recommend().values.keys() == default.keys()
    with pytest.raises(ValueError, match=r"state was begun with other settings: space = "):
        Tuner(command, sb.Knobs(**knobs.knobs, along="depth"), tmp_path / "state", **options)


def test_choices_alone_are_tuned(tmp_path):
    knobs = parse_knobs(["mode=fast,good,best", "flag=on,off"])
    template = "test {mode} = good && echo 0.1 || echo 0.9 # {flag} {instance}"
    command = Command(template, names=knobs.names, shell=True)
    default = {"mode": "fast", "flag": "on"}
    for feedback in ("bandit", "black-box"):
        with Tuner(command, knobs, tmp_path / feedback, default=default, feedback=feedback) as tuner:
            rounds = list(tuner.rounds([f"{i}.txt" for i in range(40)]))
            assert tuner.learner.recommend().values["mode"] == "good"
        assert all(record.loss == (0.1 if record.values["mode"] == "good" else 0.9) for record in rounds)


def test_enqueued_values_are_run_next(template, tmp_path):
    knobs, own = parse_knobs(KNOBS), {"alpha": 0.5, "depth": 11, "mode": "good"}
    command = Command(template, names=knobs.names)
    with Tuner(command, knobs, tmp_path / "state", probes=1) as tuner:
        tuner.study.enqueue(own)
        first, second = tuner.rounds(["a.txt", "b.txt"])
    assert first.values == own
    assert second.values != own


def test_black_box_feedback_finds_the_interval_along_the_row(template, tmp_path):
    knobs = parse_knobs(KNOBS)
    command = Command(template, names=knobs.names)
    with Tuner(command, knobs, tmp_path / "state", feedback="black-box") as tuner:
        (record,) = tuner.rounds(["a.txt"])
        (row,) = tuner.study.history()
    assert record.values["alpha"] == row.rho
    assert row.width > 0
    assert record.runs > 5


def test_values_are_quoted_for_a_shell(tmp_path):
    knobs = sb.Knobs(n=sb.Integer(1, 2), text=sb.Choice("a b; echo 7", "$HOME"))
    command = Command("echo {n} {text} # {instance}", shell=True, names=knobs.names)
    failure = command.run("x", {"n": 1, "text": "a b; echo 7"}).failure
    assert failure == "the last line of the output is no number: '1 a b; echo 7'"
    with pytest.raises(ValueError, match=r"the command must contain .text."):
        Command("echo {n} {instance}", names=knobs.names)


def test_knobs_are_tuned_from_the_command_line(template, tmp_path):
    options = [part for knob in KNOBS for part in ("--knob", knob)]
    common = ["tune", template, "a.txt", "b.txt", "--state", f"{tmp_path}/state"]
    result = CliRunner().invoke(app, [*common, *options, "--default", "alpha=0.1,depth=3,mode=fast"])
    assert result.exit_code == 0, result.output
    for name in ("alpha", "depth", "mode"):
        assert f"{name} = " in result.output
    for more, message in (
        (["--space", "0:1"], "either --space"),
        (["--integer"], "--integer goes with --space"),
    ):
        result = CliRunner().invoke(app, [*common, *options, *more])
        assert message in str(result.exception)


def test_conditions_are_read():
    knobs = parse_knobs(["mode=fast,good,best", "q=1:9 if mode=good,best", "n=1..3 if mode=fast"])
    assert knobs.conditions["q"].values == ("good", "best")
    assert parse_values("mode=fast,q=5,n=2", knobs) == {"mode": "fast", "q": 1.0, "n": 2}
    for text, message in (
        ("q=1:9 if mode", "after `if`"),
        ("q=1:9 if speed=good", "must depend on a Choice"),
    ):
        with pytest.raises(ValueError, match=message):
            parse_knobs(["mode=fast,good", text])
