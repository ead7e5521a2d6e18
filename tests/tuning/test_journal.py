import errno
import os

import numpy as np
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
        (b'{"semibandit":"tune","version":9,"lo":0}\n', "line 1 is of format 9"),
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


OLD = (
    b'{"semibandit":"tune","version":1,"lo":0.0,"hi":1.0,"feedback":"bandit","high":1.0,"maximize":false,'
    b'"seed":1,"n_arms":null,"tolerance":null,"horizon":30}\n'
    b'{"instance":"a","rho":0.125,"position":0.6,"seconds":0.1,"loss":0.5}\n'
    b'{"instance":"b","rho":0.375,"position":1.25,"seconds":0.1,"failure":"exit status 3"}\n'
)


def test_files_of_the_first_format_go_on(tmp_path):
    """Without checksums, and without margins in the settings."""
    path = tmp_path / "old"
    path.write_bytes(OLD)
    with Journal(path) as journal:
        assert (journal.settings.version, journal.settings.margin) == (1, 0.0)
        assert [record.loss for record in journal.rounds] == [0.5, None]
        journal.append(ROUNDS[0])
    assert path.read_bytes().startswith(OLD)
    assert read(path)[1][2] == ROUNDS[0]
    path.write_bytes(path.read_bytes().replace(b'"rho":0.1,', b'"rho":0.3,') + path.read_bytes()[-200:])
    with pytest.raises(ValueError, match="old: line 4 is damaged"):
        Journal(path)


def test_no_flipped_bit_goes_unnoticed(path):
    """What is not refused is the file without its last line, which may have been torn."""
    data = path.read_bytes()
    random = np.random.default_rng(0)
    refused = 0
    for place, bit in zip(random.integers(len(data), size=2000), random.integers(8, size=2000), strict=True):
        flipped = bytearray(data)
        flipped[place] ^= 1 << bit
        path.write_bytes(flipped)
        try:
            settings, rounds = read(path)
        except ValueError as error:
            message = str(error)
            assert f"{path}: line " in message or "not a state file" in message
            assert path.read_bytes() == flipped
            refused += 1
        else:
            assert settings == SETTINGS
            assert rounds == ROUNDS[:-1]
    assert refused > 1300


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[:2] + lines[3:],
        lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
        lambda lines: [*lines[:2], lines[1], *lines[2:]],
    ],
)
def test_lines_that_are_missing_moved_or_doubled(path, spoil):
    path.write_bytes(b"".join(spoil(path.read_bytes().splitlines(keepends=True))))
    with pytest.raises(ValueError, match=r"knob.json: line [23] is damaged"):
        Journal(path)


def test_unknown_keys_are_refused(tmp_path):
    path = tmp_path / "old"
    path.write_bytes(OLD.replace(b'"loss":0.5', b'"losss":0.5') + OLD[-40:])
    with pytest.raises(ValueError, match=r"old: line 2 is damaged \(.*losss"):
        Journal(path)


def test_deleted_in_mid_run_it_is_written_anew(path):
    data = path.read_bytes()
    with Journal(path) as journal:
        path.unlink()
        journal.keep()
        assert path.read_bytes() == data
        path.unlink()
        journal.append(ROUNDS[0])
        with pytest.raises(ValueError, match="in use by another process"):
            Journal(path)
    assert read(path) == (SETTINGS, [*ROUNDS, ROUNDS[0]])


def test_another_file_in_its_place_is_left_alone(path):
    with Journal(path) as journal:
        path.unlink()
        path.write_text("precious")
        with pytest.raises(OSError, match="another file has taken its place"):
            journal.append(ROUNDS[0])
    assert path.read_text() == "precious"


@pytest.mark.parametrize("name", ["/dev/full", "/dev/null", "fifo"])
def test_what_is_no_file_is_refused(tmp_path, name):
    if name == "fifo":
        os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match="not a file"):
        Journal(tmp_path / name)
