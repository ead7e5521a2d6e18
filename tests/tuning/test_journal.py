import errno
import os

import pytest

from semibandit.tuning import Journal, Round, Settings
from semibandit.tuning.journal import VERSION

SETTINGS = Settings(VERSION, 0.0, 1.0, "black-box", 2.5, True, 3, None, 1e-3, 100)
ROUNDS = [
    Round("a.txt", 0.1, 0.1, 1.5, 20, 1 / 3, lo=0.0, hi=5e-324),
    Round('b \n"ü" {}.txt', 1 / 3, 2 / 3, 0.0, failure='exit status 3: {"x"}\n'),
    Round("a.txt", 0.7, 0.7, 2.0, 2, 0.5, default_loss=0.25),
    Round("", 1.0, 1.0, 1e9, default_failure="no end"),
]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "knob.json"
    with Journal(path) as journal:
        assert journal.settings is None
        journal.begin(SETTINGS)
        for record in ROUNDS:
            journal.append(record)
    return path


def read(path):
    with Journal(path) as journal:
        return journal.settings, journal.rounds


def test_all_comes_back(path):
    assert read(path) == (SETTINGS, ROUNDS)
    assert path.read_bytes().count(b"\n") == 1 + len(ROUNDS)


def test_cut_anywhere_whole_lines_are_kept_and_the_next_round_is_not_swallowed(path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: None)  # slow, and of no use to this test
    data = path.read_bytes()
    for size in range(len(data) + 1):
        path.write_bytes(data[:size])
        whole = data[:size].count(b"\n")
        with Journal(path) as journal:
            assert journal.settings == (SETTINGS if whole else None)
            assert journal.rounds == ROUNDS[: max(whole - 1, 0)]
            if not whole:
                journal.begin(SETTINGS)
            journal.append(ROUNDS[0])
        assert read(path) == (SETTINGS, [*ROUNDS[: max(whole - 1, 0)], ROUNDS[0]])


@pytest.mark.parametrize(
    "rubbish", [b"\0\0\0\n", b'{"instance":"x"}\n', b'{"instance":"x","rho":0.1,\0\0}\n']
)
def test_a_last_line_of_rubbish_is_cut_off(path, rubbish):
    data = path.read_bytes()
    path.write_bytes(data + rubbish)
    assert read(path) == (SETTINGS, ROUNDS)
    assert path.read_bytes() == data


def test_rubbish_before_the_end_is_an_error_and_nothing_is_touched(path):
    data = path.read_bytes().replace(b'"rho":0.7', b'"rho":0,7')
    path.write_bytes(data)
    with pytest.raises(ValueError, match="line 4 is damaged"):
        Journal(path)
    assert path.read_bytes() == data


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"my thesis", "not a state file"),
        (b'{"semibandit":"else"}\n', "not a state file"),
        (b'{"semibandit":"tune","version":9,"lo":0}\n', "written in format 9"),
        (b'{"semibandit":"tune","version":1,"lo":"x"}\n', "line 1 is damaged"),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, content, message):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        Journal(path)
    assert path.read_bytes() == content


def test_an_empty_file_is_a_new_one(tmp_path):
    path = tmp_path / "new"
    path.touch()
    assert read(path) == (None, [])


def test_one_process_at_a_time(path, monkeypatch):
    monkeypatch.setattr("semibandit.tuning.journal._LOCK_PAUSE", 0.001)
    with Journal(path), pytest.raises(ValueError, match="in use by another process"):
        Journal(path)
    assert read(path) == (SETTINGS, ROUNDS)


@pytest.mark.parametrize("written", [0, 10])
def test_a_full_disk_leaves_the_file_whole(path, written, monkeypatch):
    data = path.read_bytes()
    write = os.write

    def full(handle, line):
        if written:
            return write(handle, line[:written])
        raise OSError(errno.ENOSPC, "No space left on device")

    with Journal(path) as journal:
        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match=r"No space left|disk is full"):
            journal.append(ROUNDS[0])
        monkeypatch.setattr(os, "write", write)
        assert path.read_bytes() == data
        journal.append(ROUNDS[0])
    assert read(path) == (SETTINGS, [*ROUNDS, ROUNDS[0]])


def test_settings_that_differ():
    other = Settings(VERSION, 0.0, 2.0, "black-box", 2.5, True, 3, None, 1e-3, 7)
    assert list(SETTINGS.differences(other)) == ["hi = 2.0 (it was 1.0)"]
    with pytest.raises(ValueError, match="has begun already"):
        _begin_twice()


def _begin_twice():
    import tempfile

    with tempfile.TemporaryDirectory() as folder, Journal(os.path.join(folder, "x")) as journal:
        journal.begin(SETTINGS)
        journal.begin(SETTINGS)


def test_files_begun_before_margins_were_written(path):
    old = path.read_bytes().replace(b',"margin":0.0', b"")
    assert old != path.read_bytes()
    path.write_bytes(old)
    assert read(path) == (SETTINGS, ROUNDS)
