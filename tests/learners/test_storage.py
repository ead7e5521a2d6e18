"""Saved learners: the same future to the bit, and no file that is not one is taken for one."""

import json
import math
import os
import pickle
import re
import stat
import subprocess
import zlib

import msgspec
import numpy as np
import pytest

import semibandit as sb
from reference.feedback import part, random_loss
from semibandit import Exp3Grid, Exp3Set, FixedRate, Interval, TheoremRate, load
from semibandit.learners import storage

UNIT = Interval(0, 1)


def rounds(learner, n, seed, n_pending=6):
    """Play on with late tells; returns all that can be seen of it."""
    rng = np.random.default_rng(seed)
    seen = []
    for _ in range(n):
        learner.ask()
        while len(learner.pending) > n_pending:
            trial = learner.pending[int(rng.integers(n_pending))]
            loss = random_loss(rng)
            told = loss(trial.rho) if isinstance(learner, Exp3Grid) else part(loss, trial.rho, "pieces")
            learner.tell(trial, told if rng.random() < 0.9 else None)
            seen.append(
                (trial.id, trial.rho, learner.last_probability, learner.gap_sum, learner.current_rate)
            )
    return seen


LEARNERS = {
    "set": lambda: Exp3Set(UNIT, seed=1),
    "fixed rate": lambda: Exp3Set(Interval(-3, 4, margin=0.5), rate=0.3, baseline=None, seed=1),
    "theorem": lambda: Exp3Set(UNIT, rate=TheoremRate(T=100, M=4, R=0.5), high=2.0, seed=1),
    "options": lambda: Exp3Set(UNIT, horizon=100, maximize=True, exploration=0.1, max_pieces=20, seed=1),
    "grid": lambda: Exp3Grid(UNIT, 9, seed=1),
    "grid by horizon": lambda: Exp3Grid(UNIT, horizon=100, high=3.0, rate=FixedRate(0.1), seed=1),
    "unseeded": lambda: Exp3Set(UNIT),
}


@pytest.fixture(params=LEARNERS)
def played(request):
    learner = LEARNERS[request.param]()
    if request.param == "fixed rate":
        return learner  # nothing told yet
    rounds(learner, 80, 2)
    return learner


def test_loading_gives_the_same_future(played, tmp_path):
    path = tmp_path / "learner.sb"
    played.save(path)
    loaded = load(path)
    assert type(loaded) is type(played)
    assert repr(loaded) == repr(played)
    assert loaded.pending == played.pending
    assert loaded.density() == played.density()
    assert loaded._config() == played._config()
    loaded.save(tmp_path / "again.sb")
    assert (tmp_path / "again.sb").read_bytes() == path.read_bytes()
    if played.space == UNIT:
        assert rounds(loaded, 120, 3) == rounds(played, 120, 3)
    else:
        assert [loaded.ask() for _ in range(50)] == [played.ask() for _ in range(50)]
    played.save(path)
    loaded.save(tmp_path / "again.sb")
    assert (tmp_path / "again.sb").read_bytes() == path.read_bytes()


def test_a_trial_from_before_saving_is_told_to_the_loaded_learner(tmp_path):
    learner = Exp3Set(UNIT, seed=0)
    trial = learner.ask()
    learner.save(tmp_path / "a")
    loaded = load(tmp_path / "a")
    loaded.tell(
        pickle.loads(pickle.dumps(trial)), part(random_loss(np.random.default_rng(0)), trial.rho, "all")
    )
    assert loaded.n_told == 1


@pytest.fixture
def saved(tmp_path):
    learner = Exp3Set(UNIT, seed=1)
    rounds(learner, 5, 0, n_pending=2)
    learner.save(tmp_path / "learner.sb")
    return tmp_path / "learner.sb"


DAMAGED = re.compile(r"learner\.sb: (not a saved learner|damaged or cut short)")


def refused(data):
    """Whether what a file might hold is refused; there are thousands of these, which are not written."""
    try:
        storage.loads(bytes(data), "learner.sb")
    except ValueError as error:
        return DAMAGED.match(str(error)) is not None
    return False


def test_cut_short_at_every_length(saved):
    data = saved.read_bytes()
    assert all(refused(data[:length]) for length in range(len(data)))
    saved.write_bytes(data[:-9])
    with pytest.raises(ValueError, match=DAMAGED):
        load(saved)


@pytest.mark.slow
def test_every_single_bit_counts(saved):
    data = bytearray(saved.read_bytes())
    for position in range(len(data)):
        for bit in range(8):
            data[position] ^= 1 << bit
            assert refused(data)
            data[position] ^= 1 << bit
    assert not refused(data)


@pytest.mark.parametrize("extra", [b"\0", b"x" * 100])
def test_something_behind_the_end(saved, extra):
    saved.write_bytes(saved.read_bytes() + extra)
    with pytest.raises(ValueError, match="damaged or cut short"):
        load(saved)


def sealed(body):
    payload = storage.MAGIC + body
    return payload + zlib.crc32(payload).to_bytes(4, "little")


def rewritten(path, change):
    """The file with its record changed, and a checksum that fits."""
    record = msgspec.msgpack.decode(path.read_bytes()[len(storage.MAGIC) : -4])
    record = change(record) or record
    return sealed(msgspec.msgpack.encode(record))


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5])
def test_other_versions_are_named(saved, version):
    saved.write_bytes(rewritten(saved, lambda record: record.update(version=version)))
    with pytest.raises(ValueError, match=f"written in format {version}, this program reads format 1"):
        load(saved)


def dropped(record, name):
    return {key: value for key, value in record.items() if key != name}


def changes():
    for name in ("kind", "space", "rate", "config", "counters", "name", "random", "pending", "epochs"):
        yield pytest.param(lambda record, name=name: dropped(record, name), id=f"no {name}")
        yield pytest.param(lambda record, name=name: {**record, name: None}, id=f"{name} is None")
        yield pytest.param(lambda record, name=name: {**record, name: 7}, id=f"{name} is 7")
    yield pytest.param(lambda record: {**record, "kind": "Exp3"}, id="unknown kind")
    yield pytest.param(lambda record: {**record, "kind": "Exp3Grid"}, id="another kind")
    yield pytest.param(lambda record: {**record, "space": {"lo": 1.0, "hi": 0.0}}, id="bad space")
    yield pytest.param(lambda record: {**record, "space": {"low": 1.0}}, id="strange space")
    yield pytest.param(lambda record: {**record, "config": {"colour": 1}}, id="strange option")
    yield pytest.param(lambda record: {**record, "config": {"high": -1.0}}, id="bad option")
    yield pytest.param(lambda record: {**record, "counters": {}}, id="no counters")
    yield pytest.param(lambda record: {**record, "random": "{}"}, id="no generator")
    yield pytest.param(lambda record: {**record, "random": "rm -rf"}, id="no json")
    yield pytest.param(lambda record: {**record, "rate": {"type": "Nothing"}}, id="unknown rate")
    yield pytest.param(lambda record: {**record, "epochs": []}, id="no epochs")
    yield pytest.param(
        lambda record: {**record, "pending": [[0, 0.5, 0.5, 99]]}, id="pending trial of no epoch"
    )

    def tree(**changes):
        def change(record):
            record["epochs"][-1]["weights"]["pieces"].update(changes)

        return change

    def kind(record):
        record["epochs"][-1]["kind"] = "interval tree"

    yield pytest.param(kind, id="another kind of weights")

    yield pytest.param(tree(data=b""), id="empty tree")
    yield pytest.param(tree(data=b"\0" * 80), id="short tree")
    yield pytest.param(tree(shape=[1, 2]), id="tree of another shape")
    yield pytest.param(tree(shape=[-1, 7]), id="tree of no shape")
    yield pytest.param(tree(dtype="|O"), id="tree of objects")
    yield pytest.param(tree(dtype="<i8"), id="tree of integers")
    yield pytest.param(tree(dtype="nonsense"), id="tree of nonsense")


@pytest.mark.parametrize("change", list(changes()))
def test_records_that_make_no_sense(saved, change):
    saved.write_bytes(rewritten(saved, change))
    with pytest.raises(ValueError, match=r"learner\.sb: not a saved learner"):
        load(saved)


@pytest.mark.parametrize("body", [b"", b"\xc1", b"\x00", b"\x90", b"\x80", msgspec.msgpack.encode("hello")])
def test_bodies_that_are_no_records(saved, body):
    saved.write_bytes(sealed(body))
    with pytest.raises(ValueError, match=r"learner\.sb: "):
        load(saved)


@pytest.mark.parametrize("stats", [[], [[0.0], [0.0], [0.0]], [[float("nan")] * 64] * 3])
def test_play_statistics_are_checked(saved, stats):
    saved.write_bytes(rewritten(saved, lambda record: {**record, "stats": stats}))
    with pytest.raises(ValueError, match="play statistics are broken"):
        load(saved)


def test_unknown_counters_are_not_set(saved):
    saved.write_bytes(
        rewritten(saved, lambda record: record["counters"].update({"_pending": 0, "save": 1}) and None)
    )
    loaded = load(saved)
    assert callable(loaded.save)
    assert isinstance(loaded._pending, dict)


@pytest.mark.parametrize("data", [b"", b"SBLEARN", pickle.dumps([1]), json.dumps({}).encode()])
def test_files_of_another_kind(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(ValueError, match="not a saved learner"):
        load(tmp_path / "x")


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError):
        Exp3Set(UNIT).save(tmp_path / "no" / "such" / "place")


def test_saving_leaves_one_file(tmp_path):
    learner = Exp3Set(UNIT, seed=0)
    for _ in range(5):
        learner.save(tmp_path / "learner")
        learner.save(str(tmp_path / "learner"))
    assert os.listdir(tmp_path) == ["learner"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_crash_while_saving_keeps_the_old_file(tmp_path, monkeypatch, step):
    learner = Exp3Set(UNIT, seed=0)
    learner.save(tmp_path / "learner")
    before = (tmp_path / "learner").read_bytes()
    learner.ask()

    def crash(*arguments):
        raise OSError("no space left on device")

    monkeypatch.setattr(os, step, crash)
    with pytest.raises(OSError, match="no space left"):
        learner.save(tmp_path / "learner")
    monkeypatch.undo()
    assert os.listdir(tmp_path) == ["learner"]
    assert (tmp_path / "learner").read_bytes() == before
    assert load(tmp_path / "learner").n_asked == 0


def test_a_directory_in_the_way(tmp_path):
    (tmp_path / "learner").mkdir()
    with pytest.raises(OSError, match="learner"):
        Exp3Set(UNIT).save(tmp_path / "learner")
    assert os.listdir(tmp_path) == ["learner"]


def test_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "plain").write_bytes(b"")
    Exp3Set(UNIT).save(tmp_path / "learner")
    modes = {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("plain", "learner")}
    assert len(modes) == 1


def test_saving_does_not_change_the_learner(tmp_path):
    saved, other = Exp3Set(UNIT, seed=0), Exp3Set(UNIT, seed=0)
    for t in range(50):
        saved.save(tmp_path / "learner")
        a, b = saved.ask(), other.ask()
        assert a.rho == b.rho
        seen = part(random_loss(np.random.default_rng(t)), a.rho, "interval")
        saved.tell(a, seen)
        other.tell(b, seen)
    assert math.isfinite(saved.gap_sum)
    assert saved.density() == other.density()


def test_links_and_modes_are_kept_and_leftovers_removed(tmp_path):
    learner = sb.Exp3Set(sb.Interval(0, 1), seed=0)
    real, link = tmp_path / "real", tmp_path / "link"
    learner.save(real)
    real.chmod(0o600)
    link.symlink_to(real)
    dead = subprocess.Popen(["true"])
    dead.wait()
    leftover, ours = (tmp_path / f".real.{pid}.{'0' * 32}" for pid in (dead.pid, os.getpid()))
    leftover.touch()
    ours.touch()
    learner.ask()
    learner.save(link)
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert sb.load(real).n_asked == 1
    assert not leftover.exists()
    assert ours.exists(), "a process that lives may be writing it"
