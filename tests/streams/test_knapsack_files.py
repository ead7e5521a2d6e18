"""Knapsack files: contents, order, and the errors of bad files."""

import os
import pickle
from pathlib import Path

import pytest

import semibandit as sb
from semibandit.streams.files import InstanceFileError

SAMPLE = Path(
    os.environ.get("SEMIBANDIT_PABULIB", Path(__file__).parents[3] / "shared" / "data" / "pabulib-sample")
)

KP = "3 7\n6 5\n5 4\n4 3\n"
PB = """META
key;value
description;A budget
num_projects;3
budget;{budget}
date_begin;01.03.2021
date_end;{date}
PROJECTS
project_id;cost;votes;name
1;500;60;Park
2;{cost};50;"Benches; green"
3;300;40;Trees
VOTES
voter_id;vote
1;2,3
"""


def pb(budget="700", date="20.03.2021", cost="400"):
    return PB.format(budget=budget, date=date, cost=cost)


def write(folder, **files):
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "text",
    [
        KP,
        "3\n7\n6 5\n5 4\n4 3",
        "# a comment\n3 7\n\n6 5\n5\t4\n4 3\n\n",
        "3 7\n6 5\n5 4\n4 3\n1 0 1\n",
        "\ufeff" + KP,
    ],
    ids=["plain", "two lines", "comment and blanks", "solution", "byte order mark"],
)
def test_kp_files_are_read(tmp_path, text):
    write(tmp_path, a_kp=text)
    problem = sb.streams.read_knapsacks(tmp_path / "a.kp")[0]
    assert (problem.values.tolist(), problem.sizes.tolist(), problem.capacity) == ([6, 5, 4], [5, 4, 3], 7)


def test_pabulib_files_are_read(tmp_path):
    write(tmp_path, a_pb=pb())
    problem = sb.streams.read_knapsacks(tmp_path, space=sb.Interval(0, 3), loss="utility")[0]
    assert problem.values.tolist() == [60, 50, 40]
    assert problem.sizes.tolist() == [500, 400, 300]
    assert problem.capacity == 700
    assert problem.space == sb.Interval(0, 3)
    assert problem.loss(0.0) == 60


def test_files_are_ordered_by_name_date_or_key(tmp_path):
    write(
        tmp_path,
        c_pb=pb(date="01.02.2020"),
        a_pb=pb(date="2022"),
        b_pb=pb(date="2021-12-31"),
        d_pb=pb(date="31.01.2020"),
    )

    def names(**options):
        return "".join(path.stem for path in sb.streams.read_knapsacks(tmp_path, **options).paths)

    assert names() == "abcd"
    assert names(order="date") == "dcba"
    assert names(order=lambda path: -ord(path.stem)) == "dcba"
    some = sb.streams.read_knapsacks([tmp_path / "d.pb", tmp_path / "[ab].pb"])
    assert [path.stem for path in some.paths] == ["a", "b", "d"]
    assert len(sb.streams.read_knapsacks(str(tmp_path / "[ab].pb"))) == 2


BAD = {
    "empty.kp": ("", None, "is empty"),
    "header.kp": ("3 x\n1 1\n", 1, "capacity must be a finite number, got 'x'"),
    "no-capacity.kp": ("3\n1 1\n", 1, "expected the number of items and the capacity, got '3'"),
    "zero.kp": ("1 0\n1 1\n", 1, "capacity must be > 0, got 0"),
    "half.kp": ("1.5 3\n1 1\n", 1, "number of items must be an integer"),
    "short.kp": ("3 7\n6 5\n5 4\n", 3, "cut short: 3 items announced, 2 found"),
    "torn.kp": ("3 7\n6 5\n5 4\n4", 4, "expected a value and a size, got '4'"),
    "size.kp": ("2 7\n6 5\n5 -4\n", 3, "size must be > 0, got -4"),
    "value.kp": ("2 7\n-6 5\n5 4\n", 2, "value must be >= 0, got -6"),
    "nan.kp": ("2 7\nnan 5\n5 4\n", 2, "value must be a finite number"),
    "long.kp": ("1 7\n6 5\n5 4\n", 3, "1 items announced, more found"),
    "budget.pb": (pb(budget="0"), 5, "budget must be > 0, got 0"),
    "words.pb": (pb(budget="a lot"), 5, "budget must be a finite number, got 'a lot'"),
    "cost.pb": (pb(cost="-400"), 11, "cost must be > 0, got -400"),
    "comma.pb": (pb(cost="1,000"), 11, "cost must be a finite number, got '1,000'"),
    "no-budget.pb": (pb().replace("budget;700\n", ""), None, "META has no budget"),
    "column.pb": (pb().replace("cost;votes;name", "votes;name"), 9, "PROJECTS has no column 'cost'"),
    "row.pb": (pb().replace("3;300;40;Trees", "3;300"), 12, "4 columns expected"),
    "missing.pb": (pb().replace("3;300;40;Trees\n", ""), 12, "num_projects is 3, but 2 were found"),
    "cut.pb": (pb().split("VOTES")[0], 12, "cut short: it ends in section PROJECTS"),
    "torn.pb": (pb().split("00;40;Trees")[0], 12, "4 columns expected"),
    "nothing.pb": ("", None, "cut short: it ends in section none"),
    "other.txt": ("x", None, "suffix must be .kp or .pb"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_with_the_line(tmp_path, name):
    text, line, reason = BAD[name]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InstanceFileError) as raised:
        sb.streams.read_knapsacks([path])
    assert raised.value.line == line
    place = f"{path}, line {line}: " if line else f"{path}: "
    assert str(raised.value).startswith(place + reason)


def test_skip_bad_leaves_out_bad_files(tmp_path):
    for name, (text, _, _) in BAD.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "good.kp").write_text(KP)
    files = sb.streams.read_knapsacks(tmp_path, skip_bad=True)
    assert len(files) == 1
    assert len(files.skipped) == len(BAD) - 1  # a folder's other files are not looked at
    with pytest.raises(InstanceFileError):
        sb.streams.read_knapsacks(tmp_path)
    (tmp_path / "good.kp").unlink()
    with pytest.raises(ValueError, match=r"no usable instance file .* \(22 skipped\)"):
        sb.streams.read_knapsacks(tmp_path, skip_bad=True)


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="set SEMIBANDIT_PABULIB to a folder of Pabulib files")
def test_reveal_and_losses_agree_on_real_budgets():
    files = sb.streams.read_knapsacks(SAMPLE, order="date")
    assert len(files) == len(list(SAMPLE.glob("*.pb")))
    for problem in files:
        losses = problem.losses()
        for rho in (losses.edges[1:] + losses.edges[:-1]) / 2:
            assert problem.reveal(rho) == losses.piece(rho)


def test_on_demand_files_are_read_when_needed(tmp_path):
    write(tmp_path, a_kp=KP, b_kp="1 x\n", c_kp="2 3\n1 2\n5 3\n")
    files = sb.streams.read_knapsacks(tmp_path, on_demand=True)
    assert len(files) == 3
    assert files[0].losses() == sb.streams.read_knapsacks(tmp_path / "a.kp")[0].losses()
    with pytest.raises(InstanceFileError, match=r"b\.kp, line 1: capacity must be a finite number"):
        files[1]
    (tmp_path / "c.kp").unlink()
    with pytest.raises(InstanceFileError, match=r"c\.kp: cannot be read"):
        files[2]
    result = sb.fit(files, unreadable="skip", chunk=1)
    assert (result.count, [each.index for each in result.unreadable]) == (1, [1, 2])
    assert str(tmp_path / "b.kp") in result.unreadable[0].reason
    with pytest.raises(ValueError, match="reads no file in advance"):
        sb.streams.read_knapsacks(tmp_path, on_demand=True, order="date")
    with pytest.raises(ValueError, match="no usable instance file"):
        sb.streams.read_knapsacks([], on_demand=True)


@pytest.mark.parametrize("on_demand", [False, True])
def test_parts_and_pickles_keep_the_files(tmp_path, on_demand):
    write(tmp_path, **{f"{name}_kp": KP.replace("3 7", f"3 {k}") for k, name in enumerate("abcd", 5)})
    files = sb.streams.read_knapsacks(tmp_path, on_demand=on_demand)
    for part in (files.part(1, 3), pickle.loads(pickle.dumps(files)).part(1, 3)):
        assert [problem.capacity for problem in part] == [6, 7]
        assert [path.stem for path in part.paths] == ["b", "c"]
    error = InstanceFileError(tmp_path, 3, "torn")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
