"""Features of instances: measured by commands, read from CSV files, and their kinds."""

import pytest

import semibandit as sb
from commands import Fake
from semibandit.spaces import Choice, Context, Label, Real
from semibandit.studies.log.events import Asked, decode
from semibandit.tuning import Tuner
from semibandit.tuning.features import features_of, infer_context, measure, read_csv

SPACE = sb.Interval(0, 1)


def kind_of(*values):
    return infer_context({str(i): {"x": value} for i, value in enumerate(values)}).features["x"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (("1", "100"), Real(1, 100)),
        (("1", "100.5"), Real(1, 100.5, log=True)),
        (("0", "1e5"), Real(0, 1e5)),
        (("-3", 5, ""), Real(-3, 5)),
        (("b", "a", "b"), Choice("a", "b")),
        (("12", "x7"), Choice("12", "x7")),
        ([f"c{i}" for i in range(9)], Label()),
    ],
)
def test_kind_fits_the_values(values, kind):
    assert kind_of(*values) == kind


@pytest.mark.parametrize("value", ["nan", "inf", float("nan"), "-Infinity"])
def test_number_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match=r"feature 'x' of '1' must be a finite number or a word"):
        kind_of("1", value, "2")


@pytest.mark.parametrize("values", [("5", "5.0"), ("a", "a", None), ("", None)])
def test_feature_that_is_the_same_for_all_is_refused(values):
    with pytest.raises(ValueError, match="feature 'x' must differ between instances"):
        kind_of(*values)


def test_later_values_fit_the_kinds_of_the_first():
    context = Context(size=Real(1, 10), kind=Choice("a", "b"), user=Label())
    assert features_of(context, "i", {"size": "70", "kind": "c", "user": 5}) == {"size": 10.0, "user": "5"}
    assert features_of(context, "i", {"size": "", "kind": "b"}) == {"kind": "b"}
    with pytest.raises(ValueError, match="feature 'size' of 'i' must be a number, got 'big'"):
        features_of(context, "i", {"size": "big"})


@pytest.mark.parametrize(
    ("feature", "message"),
    [
        ("size", "--feature must be NAME=COMMAND"),
        ("size=stat -c %s", "size: the command must contain {instance}"),
        ("size=no-such-program {instance}", "size: the command 'no-such-program' cannot be found"),
        ("size=false {instance}", "size, on 'i.txt': exit status 1"),
        ("size=true {instance}", "size, on 'i.txt': the command printed nothing"),
    ],
)
def test_feature_command_that_fails_is_named(feature, message):
    with pytest.raises(ValueError, match=message):
        measure([feature], ["i.txt"])


def test_feature_command_may_need_a_shell():
    assert measure(["n=echo {instance} | wc -c"], ["ab c"], shell=True) == {"ab c": {"n": "5"}}
    with pytest.raises(ValueError, match="two features are called 'n'"):
        measure(["n=echo {instance}", "n=echo {instance}"], ["a"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,size\na,1\n", "must have a column `instance`"),
        ("instance\na\n", "must have a column `instance` and one for each feature"),
        ("", "must have a column `instance`"),
        ("instance,size\na,1\n", "must have a row for each instance, got none of 'b'"),
        ("instance,size\na,1\na,2\nb,1\n", "two different rows of 'a'"),
        ("instance,size\na,1,2\n", "line 2: expected 2 cells"),
        ("instance,size\na\n", "line 2: expected 2 cells"),
    ],
)
def test_bad_csv_is_refused(tmp_path, text, message):
    path = tmp_path / "features.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_csv(path, ["a", "b"])


def test_csv_has_a_row_for_each_instance(tmp_path):
    path = tmp_path / "features.csv"
    path.write_text("size,instance,kind\n1,a,\n2,b,x\n3,c,y\n")
    assert read_csv(path, ["b", "a"]) == {
        "b": {"size": "2", "kind": "x"},
        "a": {"size": "1", "kind": ""},
    }


# -- tuning ----------------------------------------------------------------------------------------


def differing(instance, rho):
    return 0.8 if (rho < 0.5) == (int(instance) % 2 == 0) else 0.2


def features(n):
    return {str(i): {"kind": "ab"[i % 2], "size": 10 + i} for i in range(n)}


def tuned(path, n, rows=None, **options):
    with Tuner(Fake(differing), SPACE, path, seed=3, features=rows or features(n), **options) as tuner:
        list(tuner.rounds([str(i) for i in range(n)]))
        return tuner.context, tuner.learner


def test_round_has_the_context_of_its_instance(tmp_path):
    tuned(tmp_path / "a.db", 30, jobs=2)
    with sb.Study(f"sqlite:///{tmp_path / 'a.db'}", "tune") as study:
        events = [decode(line) for _, line in study.events(1)]
    asked = {event.info["instance"]: event.context for event in events if isinstance(event, Asked)}
    assert asked == features(30)


def test_tuner_learns_a_value_for_each_kind(tmp_path):
    _, learner = tuned(tmp_path / "a.db", 200)
    assert learner.recommend(context={"kind": "a"}).rho >= 0.5 > learner.recommend(context={"kind": "b"}).rho


def test_resumed_tuning_keeps_kinds_and_learns_the_same(tmp_path):
    first, _ = tuned(tmp_path / "a.db", 40)
    assert first.features["size"] == Real(10, 49)
    # The order of features and the range of new values do not matter.
    more = {name: dict(reversed(row.items())) for name, row in features(80).items()}
    context, learner = tuned(tmp_path / "a.db", 80, more)
    assert context == first
    with sb.Study(f"sqlite:///{tmp_path / 'a.db'}", "tune") as study:
        assert [row.info["instance"] for row in study.history()] == [str(i) for i in range(80)]
    one_more, _ = tuned(tmp_path / "a.db", 1, {"0": {"kind": "a", "size": 5}})
    assert one_more == first
    assert learner.n_told == 80


def test_state_with_other_features_is_refused(tmp_path):
    tuned(tmp_path / "a.db", 10)
    with pytest.raises(ValueError, match="begun with other settings: context = not given"):
        Tuner(Fake(differing), SPACE, tmp_path / "a.db", seed=3)
    with pytest.raises(ValueError, match="begun with other settings: context ="):
        tuned(tmp_path / "a.db", 2, {"0": {"kind": "a"}, "1": {"kind": "b"}})


def test_bad_features_are_refused_before_any_run(tmp_path):
    with pytest.raises(ValueError, match="a race goes without features"):
        Tuner(Fake(differing), SPACE, tmp_path / "a.db", race=True, features=features(3))
    command = Fake(differing)
    missing = pytest.raises(ValueError, match="features must hold each instance, got none of '3'")
    with Tuner(command, SPACE, tmp_path / "a.db", features=features(3)) as tuner, missing:
        list(tuner.rounds(["0", "1", "2", "3"]))
    assert not command.calls
