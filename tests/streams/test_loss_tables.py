"""Loss functions from logs in several formats."""

import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import semibandit as sb
from semibandit.cli import app
from semibandit.streams.files import InstanceFileError


def functions(n=25, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        edges = [0.0, *np.sort(rng.random(3)), 1.0]
        made.append(sb.PiecewiseConstant(edges, rng.random(4)))
    return made


def columns(made):
    return {
        "instance": [i for i, f in enumerate(made) for _ in f.values],
        "lo": [lo for f in made for lo in f.edges[:-1].tolist()],
        "hi": [hi for f in made for hi in f.edges[1:].tolist()],
        "loss": [loss for f in made for loss in f.values.tolist()],
    }


def write(path, made):
    name = path.name.removesuffix(".gz")
    if name.endswith((".parquet", ".feather", ".arrow")):
        pa = pytest.importorskip("pyarrow")
        from pyarrow import feather, parquet

        if name.endswith(".parquet"):
            parquet.write_table(pa.table(columns(made)), path)
        else:
            data = {"edges": [f.edges.tolist() for f in made], "values": [f.values.tolist() for f in made]}
            feather.write_feather(pa.table(data), str(path))
        return
    if name.endswith(".jsonl"):
        text = "\n".join(json.dumps(f.to_dict()) for f in made) + "\n\n"
    else:
        table = columns(made)
        rows = zip(*([*map(repr, map(float, column))] for column in table.values()), strict=False)
        text = "\n".join(",".join(row) for row in [tuple(table), *rows])
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.jsonl.gz", "a.CSV.gz", "a.parquet", "a.feather"])
def test_a_fit_of_a_file_is_that_of_its_functions(tmp_path, name):
    made = functions()
    write(tmp_path / name.lower(), made)
    expected = sb.fit(made, default=0.5, holdout=0.2).to_dict()
    log = sb.streams.read_losses(tmp_path / name.lower())
    assert sb.fit(log, default=0.5, holdout=0.2).to_dict() == expected
    assert list(log) == made


def test_several_files_and_addresses_are_read_in_order(tmp_path):
    fsspec = pytest.importorskip("fsspec")
    made = functions(10)
    write(tmp_path / "a.jsonl", made[:4])
    write(tmp_path / "b.csv", made[4:7])
    write(tmp_path / "c.jsonl.gz", made[7:])
    with fsspec.open("memory://log/c.jsonl.gz", "wb") as file:
        file.write((tmp_path / "c.jsonl.gz").read_bytes())
    log = sb.streams.read_losses([f"{tmp_path}/a.*", tmp_path / "b.csv", "memory://log/c.jsonl.gz"])
    assert list(log) == made
    assert list(sb.streams.read_losses(tmp_path)) == made
    assert sb.fit(iter(log)).to_dict() == sb.fit(made).to_dict()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.csv",
            "instance,lo,hi,loss\na,0,0.4,1\na,0.5,1,0",
            "line 2: the pieces of an instance must follow",
        ),
        ("a.csv", "instance,lo,hi\na,0,0.4", "line 1: there is no 'loss'"),
        ("a.csv", "instance,lo,hi,loss\na,0,x,0", "line 1: could not convert"),
        ("a.jsonl", '{"edges": [0, 1]}', "there is no 'values'"),
        ("a.jsonl", '{"edges": [1, 0], "values": [1]}', "line 1: "),
        ("a.txt", "", "must end with"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        list(sb.streams.read_losses(tmp_path / name))
    assert name in str(caught.value)
    if name != "a.txt":
        assert isinstance(caught.value, InstanceFileError)


def test_the_command_prints_json(tmp_path):
    made = functions()
    write(tmp_path / "log.csv", made)
    done = CliRunner().invoke(
        app, ["fit", "log", "--files", f"{tmp_path}/log.csv", "--json", "--default", "0.5"]
    )
    assert done.exit_code == 0, done.output
    result = json.loads(done.stdout.splitlines()[-1])
    assert result == json.loads(json.dumps(sb.fit(made, default=0.5).to_dict()))
