"""Clusterings from files: contents, options, and the errors of bad files."""

import pickle

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import semibandit as sb
from semibandit.streams.files import InstanceFileError

POINTS = np.array([[0.0, 1.0], [0.5, 10.0], [4.0, 2.0], [5.0, 30.0], [4.5, 3.0]])
LABELS = ["red", "red", "blue", "blue", "blue"]


def table(label="label", separator=","):
    lines = [separator.join(("x", label, "y"))]
    lines += [separator.join((str(x), name, str(y))) for (x, y), name in zip(POINTS, LABELS, strict=True)]
    return "\n".join(lines) + "\n\n"


def target():
    return sb.clustering.TargetDistance([1, 1, 0, 0, 0])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "b.csv").write_text(table())
    (tmp_path / "a.tsv").write_text(table(separator="\t"))
    (tmp_path / "notes.txt").write_text("not looked at")
    return tmp_path


def test_files_give_the_linkage_of_their_points_and_labels(folder):
    files = sb.streams.read_clusterings(folder)
    assert [path.name for path in files.paths] == ["a.tsv", "b.csv"]
    for problem in files:
        assert (problem.distances == sb.Linkage(pdist(POINTS), target()).distances).all()
        assert problem.losses() == sb.Linkage(pdist(POINTS), target()).losses()
    again = pickle.loads(pickle.dumps(files)).part(1, 2)
    assert again[0].losses() == files[1].losses()


def test_options_are_passed_on(folder):
    scaled = POINTS / POINTS.std(axis=0)
    problem = sb.streams.read_clusterings(
        folder, metric="cityblock", standardise=True, linkage="average-complete", partition="loss"
    )[0]
    expected = sb.Linkage(pdist(scaled, "cityblock"), target(), "average-complete", partition="loss")
    assert problem.losses() == expected.losses()
    (folder / "other.csv").write_text(table(label="class"))
    assert len(sb.streams.read_clusterings(folder / "other.csv", label="class")) == 1
    means = sb.streams.read_clusterings(folder / "b.csv", cost=lambda _: sb.clustering.KMeansCost(2))
    assert "KMeansCost" in repr(means[0])


BAD = {
    "empty.csv": ("", 1, "has no column 'label', only nothing"),
    "other.csv": ("x,y\n1,2\n", 1, "has no column 'label', only x, y"),
    "words.csv": ("x,label\n1,a\nmany,b\n", 3, "x must be a finite number, got 'many'"),
    "nan.csv": ("x,label\nnan,a\n2,b\n", 2, "x must be a finite number, got 'nan'"),
    "torn.csv": ("x,y,label\n1,2,a\n3,4\n", 3, "3 columns expected, got 2"),
    "none.csv": ("x,label\n", None, "needs a point and a coordinate, has 0 points with 1 coordinates"),
    "labels.csv": ("label\na\nb\n", None, "needs a point and a coordinate, has 2 points with 0 coordinates"),
    "many.csv": ("x,label\n" + "".join(f"{k},{k}\n" for k in range(20)), None, 'matching="hamming" takes at'),
    "other.txt": ("x", None, "suffix must be .csv or .tsv, got '.txt'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_named_with_the_line(tmp_path, name):
    text, line, reason = BAD[name]
    path = tmp_path / name
    path.write_text(text)
    files = sb.streams.read_clusterings([path])
    with pytest.raises(InstanceFileError) as raised:
        files[0]
    place = f"{path}, line {line}: " if line else f"{path}: "
    assert str(raised.value).startswith(place + reason)


def test_bad_files_are_skipped_in_advance_or_by_fit(folder):
    for name, (text, _, _) in BAD.items():
        (folder / name).write_text(text)
    files = sb.streams.read_clusterings(folder, skip_bad=True)
    assert (len(files), len(files.skipped)) == (2, len(BAD) - 1)
    result = sb.fit(sb.streams.read_clusterings(folder), unreadable="skip")
    assert (result.count, len(result.unreadable)) == (2, len(BAD) - 1)
    assert result.interval == sb.best_in_hindsight(files).interval
