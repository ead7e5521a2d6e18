"""`semibandit study` and `semibandit serve` on the command line."""

import csv
import io
import json

import msgspec
import pytest
from typer.testing import CliRunner

import semibandit as sb
from semibandit.cli import app

SPACE = sb.Interval(0, 1)


@pytest.fixture
def storage(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    with sb.Study(url, "[bold]knob", space=SPACE, seed=0, learner="Exp3Grid", n_arms=4) as study:
        for i in range(5):
            study.tell(study.ask(info={"instance": f"{i}.txt"}), 0.25 * (i % 2), info={"default_loss": 0.5})
        study.tell(study.ask(), None, failure="timeout, or worse")
        study.ask(worker="node 7")
        study.change(note="nightly")
    return url


def run(*arguments, code=0, **options):
    done = CliRunner().invoke(app, ["study", *arguments], **options)
    assert done.exit_code == code, (done.output, done.exception)
    return done.output


def test_list_shows_counts(storage):
    (_, line) = run("list", "--storage", storage).splitlines()
    assert line.split()[:4] == ["[bold]knob", "5", "1", "0.1"]
    assert len(run("list", "--storage", storage, "--search", "NOB").splitlines()) == 2
    assert len(run("list", "--storage", storage, "--search", "other").splitlines()) == 1


def test_show_has_counts_failures_and_leases(storage):
    shown = run("show", "[bold]knob", "--storage", storage)
    told = ("5 told, 1 failed, 1 pending", "Exp3Grid", "timeout, or worse", "node 7", "nightly")
    for words in (*told, "mean loss    0.1", "space        [0, 1]"):
        assert words in shown


def test_export_writes_csv_or_json_lines(storage):
    rows = list(csv.DictReader(io.StringIO(run("export", "[bold]knob", "--csv", "--storage", storage))))
    assert [row["loss"] for row in rows] == ["0.0", "0.25", "0.0", "0.25", "0.0", ""]
    assert rows[5]["failure"] == "timeout, or worse"
    assert rows[1]["instance"] == "1.txt"
    lines = run("export", "[bold]knob", "--json", "--storage", storage).splitlines()
    assert [json.loads(line).get("loss") for line in lines] == [0.0, 0.25, 0.0, 0.25, 0.0, None]
    for flags in ([], ["--csv", "--json"]):
        done = CliRunner().invoke(app, ["study", "export", "x", "--storage", storage, *flags])
        assert "choose one of --csv, --json and --log" in str(done.exception)


def test_knobs_are_named(tmp_path):
    url = f"sqlite:///{tmp_path}/studies.db"
    knobs = sb.Knobs(step=sb.Real(0.001, 1, log=True), mode=sb.Choice("quick", "good"))
    with sb.Study(url, "training", space=knobs, seed=0) as study:
        trial = study.ask()
        study.tell(trial, 0.25)
        best = study.recommend()
    shown = run("show", "training", "--storage", url)
    assert f"mode to deploy  {best.values['mode']}" in shown
    assert f"step to deploy  {best.rho:.6g} (interval" in shown
    assert f"{best.rho:.6g}, {best.values['mode']}" in run("list", "--storage", url)
    (row,) = csv.DictReader(io.StringIO(run("export", "training", "--csv", "--storage", url)))
    assert (float(row["step"]), row["mode"]) == (trial.values["step"], trial.values["mode"])


def test_an_unknown_study_is_named(storage):
    done = CliRunner().invoke(app, ["study", "show", "nob", "--storage", storage])
    assert "there is no study 'nob' in" in str(done.exception)
    assert "`semibandit study list` shows" in str(done.exception)


@pytest.mark.parametrize("command", ["list", "show x", "export x --csv", "prune x", "delete x --yes"])
def test_a_missing_file_is_not_created(tmp_path, command):
    storage = f"sqlite:///{tmp_path}/nowhere.db"
    done = CliRunner().invoke(app, ["study", *command.split(), "--storage", storage])
    assert isinstance(done.exception, FileNotFoundError)
    assert "there is no file" in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_prune_and_delete_change_the_store(storage):
    assert run("prune", "[bold]knob", "--storage", storage) == "0 trials were overdue\n"
    run("delete", "[bold]knob", "--storage", storage, input="n\n", code=1)
    assert "[bold]knob" in run("list", "--storage", storage)
    run("delete", "[bold]knob", "--storage", storage, "--yes")
    assert "knob" not in run("list", "--storage", storage)
    done = CliRunner().invoke(app, ["study", "delete", "[bold]knob", "--storage", storage])
    assert "there is no study '[bold]knob'" in str(done.exception)


def test_serving_other_machines_needs_a_token(tmp_path):
    done = CliRunner().invoke(app, ["serve", "--storage", f"sqlite:///{tmp_path}/x.db", "--host", "0.0.0.0"])
    assert "needs a --token-file" in str(done.exception)
    assert not list(tmp_path.iterdir())


def test_serve_refuses_a_bad_store_before_it_starts(tmp_path):
    (tmp_path / "x.db").write_text("nothing of ours " * 100)
    done = CliRunner().invoke(app, ["serve", "--storage", f"sqlite:///{tmp_path}/x.db"])
    assert "cannot be used as a database of studies" in str(done.exception)


def test_a_study_is_exported_imported_copied_and_checked(storage, tmp_path):
    log = tmp_path / "log"
    log.write_text(run("export", "[bold]knob", "--log", "--storage", storage))
    run("import", "again", str(log), "--storage", storage)
    other = f"sqlite:///{tmp_path}/other.db"
    run("copy", "again", "--storage", storage, "--to", other, "--new-name", "third")
    with sb.Study(storage, "[bold]knob") as study, sb.Study(other, "third") as copied:
        assert copied.events() == study.events()
    assert run("doctor", "--storage", storage).count("whole") == 2
    log.write_text(log.read_text().replace('"trial":1', '"trial":9', 1))
    failed = CliRunner().invoke(app, ["study", "import", "bad", str(log), "--storage", storage])
    assert "is damaged" in str(failed.exception)
    assert "bad" not in run("list", "--storage", storage)


def test_a_damaged_study_is_found_by_the_doctor(storage):
    from semibandit.studies.log.stores import open_store

    store = open_store(storage)
    other = sb.Study(storage, "other", space=SPACE, seed=1, learner="Exp3Grid", n_arms=4)
    with sb.Study(storage, "[bold]knob") as study:
        wrong = msgspec.msgpack.decode(study.snapshot())
        wrong["learner"] = msgspec.msgpack.decode(other.snapshot())["learner"]
        store.save_snapshot(study.id, "replica", study.n_events, msgspec.msgpack.encode(wrong))
        done = CliRunner().invoke(app, ["study", "doctor", "--storage", storage])
        assert "a replay of the log differs from the snapshot" in done.output
        store.drop_snapshots(study.id, "replica", [study.n_events])
    store._run("UPDATE events SET line = replace(line, '0.25', '0.75')")
    done = CliRunner().invoke(app, ["study", "doctor", "--storage", storage])
    assert "damaged (its checksum differs)" in done.output
    assert "1 of the studies are damaged" in str(done.exception)


def test_a_study_is_renamed_and_archived(storage):
    run("rename", "[bold]knob", "plain", "--storage", storage)
    run("archive", "plain", "--storage", storage)
    assert len(run("list", "--storage", storage).splitlines()) == 1
    assert "plain" in run("list", "--archived", "--storage", storage)
    run("archive", "plain", "--undo", "--storage", storage)
    assert "plain" in run("list", "--storage", storage)


def test_a_folded_study_is_exported_and_imported(storage, tmp_path):
    name = "[bold]knob"
    with sb.Study(storage, name) as study:
        n, best = study.n_events, study.recommend()
    assert run("fold", name, "--keep", "5", "--storage", storage) == "6 events are left\n"
    lines = run("export", name, "--log", "--storage", storage)
    (tmp_path / "log.jsonl").write_text(lines)
    assert run("import", "again", str(tmp_path / "log.jsonl"), "--storage", storage) == "6 events\n"
    with sb.Study(storage, "again") as again:
        assert (again.n_events, again.recommend(), len(again.pending)) == (n, best, 1)
    assert "6 events, whole" in run("doctor", "--storage", storage)
