import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from typer.testing import CliRunner

from command_line import main
from semibandit import Study
from semibandit.cli import app
from semibandit.cli.tune import expand, parse_space
from semibandit.tuning.tuner import STUDY, storage_of

SOLVER = """case $2 in *bad*) echo broken >&2; exit 3;; esac
case $1 in 0.[0-4]*) echo left; echo 0.9;; *) echo right; echo 0.2;; esac
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "solver.sh").write_text(SOLVER)
    (tmp_path / "inst").mkdir()
    for i in range(30):
        (tmp_path / "inst" / f"{i:02}.txt").touch()
    return tmp_path


def tune(*arguments, command="/bin/sh solver.sh {rho} {instance}", instances=("inst",), space="0:1"):
    mode = [] if "--race" in arguments else ["--online"]
    words = ["tune", "--space", space, "--state", "knob.db", *mode, *arguments, command, *instances]
    return CliRunner().invoke(app, words)


def rounds(path="knob.db"):
    """The rounds of a state file, which `semibandit study` can read as well."""
    with Study(storage_of(path), STUDY) as study:
        return [row for row in study.history() if not row.forgotten]


def instances_of(rows):
    return [row.info["instance"] for row in rows]


def learner():
    with Study(storage_of("knob.db"), STUDY) as study:
        return study.settings.learner


def test_the_report_compares_with_the_default(folder):
    result = tune("--default", "0.25", "--default-share", "0.5", "--seed", "1")
    assert result.exit_code == 0, result.output
    for words in (
        "30 rounds",
        "answer",
        "the default",
        "valid at any time; this counts",
    ):
        assert words in result.output
    assert "95 % interval" in result.output
    assert "paired t, skewness corrected" in result.output
    assert "failed" not in result.output
    assert instances_of(rounds()) == [f"inst/{i:02}.txt" for i in range(30)]


def test_the_default_may_be_the_middle_and_a_picture_is_drawn(folder):
    middle = tune("--default", "middle", "--default-share", "1", "--png", "knob.png")
    assert middle.exit_code == 0, middle.output
    assert re.search(r"at\s+ρ = 0.5|default ρ = 0.5", middle.output)
    assert (folder / "knob.png").stat().st_size > 10_000
    assert "no --default to compare with" in tune().output
    assert "--default must be a number or `middle`, got 'x'" in str(tune("--default", "x").exception)


def test_the_same_command_continues(folder):
    tune(instances=["inst/00.txt", "inst/01.txt"])
    first = rounds()
    assert "30 rounds" in tune(instances=["inst/*.txt"]).output
    assert rounds()[:2] == first
    assert len(rounds()) == 30
    assert "30 rounds, 30 runs" in tune().output
    assert "60 rounds" in tune("--again").output


@pytest.mark.parametrize("compare", ["--compare-output", "--compare-loss"])
def test_black_box_feedback_finds_the_interval(folder, compare):
    result = tune("--feedback", "black-box", compare, "--tolerance", "0.01")
    assert result.exit_code == 0, result.output
    assert {row.width for row in rounds()} == {0.5}
    assert "deploy ρ = " in result.output


def test_failed_rounds_are_counted_with_their_reasons(folder):
    for i in range(5):
        (folder / "inst" / f"bad{i}").touch()
    result = tune("--timeout", "20")
    assert result.exit_code == 0, result.output
    assert "35 rounds, 35 runs, 5 rounds failed" in result.output
    assert "failed 5 times: exit status 3: broken" in result.output
    assert "5 failed rounds did not count as a loss; if ρ is the reason, --failed high" in result.output
    assert tune("--state", "other.db", instances=["bad"]).exit_code == 1, "all rounds failed"


def test_failures_are_counted_by_value_and_become_losses_on_request(folder):
    fails_on_the_right = "case $1 in 0.[89]*) exit 3;; esac; echo 0.5"
    command = f"/bin/sh -c '{fails_on_the_right}' sh {{rho}} {{instance}}"
    result = tune(command=command)
    assert "± error  runs  failed" in " ".join(result.output.split("\n")).replace("   ", "  ")
    skipped = sum(row.loss is None for row in rounds())
    assert skipped == sum(row.rho >= 0.8 for row in rounds())
    result = tune("--failed", "high", "--again", command=command)  # counts for new rounds only
    learned = sum((row.info or {}).get("failure") is not None for row in rounds())
    assert f"{skipped} failed rounds did not count as a loss" in result.output
    assert f"{learned} failed round" in result.output


def test_limits_count_as_the_worst_loss(folder):
    command = "/bin/sh -c 'case $2 in *[02468].txt) sleep 60;; *) echo 30;; esac' sh {rho} {instance}"
    result = tune("--high", "20", "--timeout", "1", instances=["inst/0[0-3].txt"], command=command)
    assert result.exit_code == 0, result.output
    assert "2 rounds over 20: counted as the worst loss." in result.output
    assert "2 rounds killed at the timeout: counted as the worst loss." in result.output
    assert {row.loss for row in rounds()} == {20.0}
    os.remove("knob.db")
    options = ("--loss-from", "time", "--timeout", "0.1")
    assert tune(*options, instances=["a"], command="/bin/sh -c 'sleep 60' {rho} {instance}").exit_code == 0
    assert [row.loss for row in rounds()] == [0.1]


def test_losses_of_any_size_need_no_option(folder):
    command = "/bin/sh -c 'echo 4000' sh {rho} {instance}"
    result = tune("--default", "0.5", "--default-share", "1", command=command)
    assert result.exit_code == 0, result.output
    assert {row.loss for row in rounds()} == {4000.0}
    assert "assumes differences of at most 1, the range of the" in " ".join(result.output.split())
    os.remove("knob.db")
    result = tune("--high", "1", command=command)
    assert result.exit_code == 1
    assert "the first 10 losses were all over 1: 4000.0. Give a larger --high, or none" in result.output


def test_ok_status_and_integer_are_passed_on(folder):
    (folder / "sat.sh").write_text("case $1 in *.*) exit 1;; esac; echo 0.5; exit 10")
    options = ("--ok-status", "10,20", "--integer")
    result = tune(*options, space="2:32", command="/bin/sh sat.sh {rho} {instance}")
    assert result.exit_code == 0, result.output
    assert "failed" not in result.output
    assert all(1.5 < row.rho < 32.5 for row in rounds())
    assert (parse_space("2:3", True).lo, parse_space("2:3", True).hi) == pytest.approx((1.5, 3.5))


@pytest.mark.parametrize("how", [("--race", "--runs", "60"), ("--online",)])
def test_integers_are_shown_as_integers(folder, how):
    (folder / "near.sh").write_text("case $1 in *.*) exit 1;; esac; echo $(( ($1 - 9) * ($1 - 9) ))")
    options = (*how, "--integer", "--high", "400", "--default", "middle")
    result = tune(*options, space="1:26", command="/bin/sh near.sh {rho} {instance}")
    assert result.exit_code == 0, result.output
    assert not re.search(r"ρ = \d+\.", result.output)
    assert "13.5" not in result.output
    assert re.search(r"ρ = 13\b", result.output)


def test_losses_are_read_from_status_file_or_time(folder):
    assert (
        tune("--loss-from", "exit", "--high", "7", command="/bin/sh -c 'exit 5' {rho} {instance}").exit_code
        == 0
    )
    assert {row.loss for row in rounds()} == {5.0}
    os.remove("knob.db")
    options = ("--loss-from", "file", "--loss-file", "out/{instance}", "--shell", "--maximize")
    os.makedirs("out/inst")
    assert tune(*options, command="echo {rho} > out/{instance}").exit_code == 0
    assert all(row.loss == row.rho for row in rounds())
    os.remove("knob.db")
    assert tune("--loss-from", "time", "--timeout", "30", command="true {rho} {instance}").exit_code == 0
    with Study(storage_of("knob.db"), STUDY) as study:
        assert study.settings.options["high"] == 30
    assert all(0 < row.loss < 30 for row in rounds())


def test_folders_and_patterns_are_expanded(folder):
    assert (parse_space("-1:2.5").lo, parse_space("-1:2.5").hi) == (-1.0, 2.5)
    assert expand(["inst/0*.txt", "seed-7"]) == [*(f"inst/0{i}.txt" for i in range(10)), "seed-7"]
    (folder / "inst" / ".hidden").touch()
    (folder / "inst" / "sub").mkdir()
    assert len(expand(["inst"])) == 30
    for name, message in (("", "an instance must have a name"), ("*.lp", "no instances"), ("inst/sub", "no")):
        with pytest.raises(ValueError, match=message):
            expand([name])
    os.close(os.open(b"inst/bad\xff", os.O_CREAT))
    assert "an instance's name must be UTF-8, got 'inst/bad" in str(tune().exception)


def test_a_race_is_continued_as_it_was_begun(folder):
    result = tune("--race", "--runs", "120", "--default", "0.25", "--jobs", "2")
    assert result.exit_code == 0, result.output
    for words in ("a race, 1", "answer", "deploy ρ = ", "best", "default", "at ρ = 0.25", "this counts"):
        assert words in result.output
    first = rounds()
    assert 110 < len(first) <= 120
    # A state is continued as it was begun.
    words = ["--space", "0:1", "--state", "knob.db", "--default", "0.25"]
    solver = ["/bin/sh solver.sh {rho} {instance}", "inst", "more"]
    result = CliRunner().invoke(app, ["tune", *words, "--runs", "150", *solver])
    assert result.exit_code == 0, result.output
    assert rounds()[: len(first)] == first
    assert 120 < len(rounds()) <= 150
    assert CliRunner().invoke(app, ["tune", "race", *words, "--runs", "150", *solver]).exit_code == 0
    for refused in (["tune", "--online", *words, *solver], ["tune", "online", *words, *solver]):
        assert "learner = Exp3Set (it was Race)" in str(CliRunner().invoke(app, refused).exception)


KNOBS = ("--knob", "x=0:1", "--knob", "mode=a,b", "--default", "x=0.9,mode=b")


def tune_knobs(*options):
    runs = [] if "--online" in options else ["--runs", "60"]
    words = ["--state", "knobs.db", *runs, *options, "/bin/sh knobs.sh {x} {mode} {instance}", "inst"]
    return CliRunner().invoke(app, ["tune", *KNOBS, *words])


def test_several_knobs_are_raced(folder):
    (folder / "knobs.sh").write_text("case $2 in a) echo $1;; *) echo 3;; esac")
    result = tune_knobs("--png", "knobs.png", "--jobs", "2")
    assert result.exit_code == 0, result.output
    assert "deploy x = 0, mode = a" in result.output
    assert "3 at x = 0.9, mode = b" in " ".join(result.output.split())
    assert (folder / "knobs.png").stat().st_size > 10_000
    data = json.loads(tune_knobs("--json").stdout)
    assert (data["answer"], data["values"]) == ("deploy", {"x": 0.0, "mode": "a"})
    assert data["rests_on"] == "paired_t_interval"
    assert [row["mean"] for row in data["table"]] == sorted(row["mean"] for row in data["table"])
    assert sum("default" in row["note"] for row in data["table"]) == 1
    rows = list(csv.DictReader(io.StringIO(tune_knobs("--csv").stdout)))
    assert [float(row["x"]) for row in rows] == [row["x"] for row in data["table"]]
    assert "give --json or --csv, not both" in str(tune_knobs("--csv", "--json").exception)


def test_several_knobs_online_have_a_table_and_a_picture(folder):
    (folder / "knobs.sh").write_text("case $2 in a) echo $1;; *) echo 3;; esac")
    result = tune_knobs("--online", "--png", "knobs.png")
    assert result.exit_code == 0, result.output
    assert re.search(r"x +mode +mean loss +± error +runs", result.output)
    assert re.search(r" 0\.9 +b +3 +0 +\d+ +default", result.output)
    assert (folder / "knobs.png").stat().st_size > 10_000
    table = json.loads(tune_knobs("--online", "--json").stdout)["table"]
    assert [row["note"] for row in table].count("default") == 1
    assert ("best" in table[0]["note"], table[0]["mode"]) == (True, "a")
    rows = list(csv.DictReader(io.StringIO(tune_knobs("--online", "--csv").stdout)))
    assert [row["x"] for row in rows] == [str(row["x"]) for row in table]


def test_choices_alone_online_have_no_interval_of_values(folder):
    words = ["tune", "--online", "--state", "knob.db", "--knob", "mode=a,b", "--default", "mode=b"]
    (folder / "mode.sh").write_text("case $1 in a) echo 1;; *) echo 3;; esac")
    result = CliRunner().invoke(
        app, [*words, "--png", "mode.png", "/bin/sh mode.sh {mode} {instance}", "inst"]
    )
    assert result.exit_code == 0, result.output
    assert "1 at mode = a, 3 at mode = b" in " ".join(result.output.split())
    assert (folder / "mode.png").stat().st_size > 5_000


def test_options_choose_between_race_and_online(folder):
    def begun(*options):
        if os.path.exists("knob.db"):
            os.remove("knob.db")
        words = ["tune", *options, "--space", "0:1", "--state", "knob.db"]
        result = CliRunner().invoke(app, [*words, "/bin/sh solver.sh {rho} {instance}", "inst/00.txt"])
        assert result.exit_code == 0, result.output
        return learner()

    for options in (["--runs", "12"], ["race", "--runs", "12"]):
        assert begun(*options) == "Race"
    for options in (["--online"], ["online"], ["--probes", "2"], ["--again"], ["--feedback", "black-box"]):
        assert begun(*options) == "Exp3Set"


def test_exactly_one_of_state_and_study_is_required(folder):
    def run(*options):
        words = ["tune", "--space", "0:1", *options, "/bin/sh solver.sh {rho} {instance}", "a", "b"]
        return CliRunner().invoke(app, words)

    shared = ("--storage", "sqlite:///studies.db", "--study", "x")
    for options in ((), shared[:2], shared[2:], ("--state", "knob.db", *shared)):
        assert "give either --state, or --storage and --study" in str(run(*options).exception)
    assert "2 rounds, 2 runs" in run(*shared, "--jobs", "2").output
    with Study("sqlite:///studies.db", "x") as study:
        assert study.settings.learner == "Exp3Set"
    assert "a race, 20 runs" in run("--race", "--runs", "20", *shared[:3], "race").output


MISTAKES = [
    (["--race", "--probes", "3"], "a race goes without --feedback, --probes, --tolerance and --again"),
    (["--online", "--runs", "30"], "--runs goes with a race: online each instance is run once"),
    (["--space", "0-1"], "--space must be LO:HI, such as 0:1, got '0-1'"),
    (["--space", "1:0"], "lo must be below hi"),
    (["--default", "3"], "default must be in [0, 1], got 3.0"),
    (["--loss-from", "file"], "loss_file must be a path"),
    (["--seed", "1" + "0" * 400], "seed must be at most 9223372036854775807, got 1000"),
    (["--timeout", "1e999"], "timeout must be finite and > 0, got inf"),
    (["--state", "/dev/full"], "/dev/full: not a file"),
    (["--probes", "2", "--feedback", "black-box"], "probes go with bandit feedback, got 'black-box'"),
    (["--high", "0"], "high must be finite and > 0, got 0.0"),
    (["--failed", "no"], "--failed must be a number or skip or high, got 'no'"),
    (["--ok-status", "ten"], "--ok-status must be integers, such as 10,20, got 'ten'"),
    (["--integer", "--default", "0.5"], "--default must be an integer or `middle`"),
    (["--integer", "--space", "0:2.5"], "--space must be two integers, the lower one first, got '0:2.5'"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_bad_input_is_one_line_and_leaves_no_file(folder, options, message):
    result = main("tune", "--space", "0:1", "--state", "knob.db", *options, "echo {rho} {instance}", "inst")
    assert (result.returncode, result.stderr) == (
        2,
        f"semibandit: {message}" + result.stderr[len(message) + 12 :],
    )
    assert len(result.stderr.splitlines()) == 1
    assert not os.path.exists("knob.db")


MAIN = [sys.executable, "-c", "from semibandit.cli import main; main()"]


def process(*arguments, encoding="utf-8"):
    return subprocess.run([*MAIN, *arguments], capture_output=True, encoding=encoding)


def start(command):
    """Tune online in a separate process."""
    words = ["tune", "--online", "--space", "0:1", "--state", "knob.db", command, "inst"]
    return subprocess.Popen(
        [*MAIN, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.default_int_handler
        ),  # ignored in the background
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_reports_and_continues_later(folder, number):
    (folder / "slow.sh").write_text("echo $$ > pid; case $2 in *03.txt) sleep 60;; esac; echo 0.5")
    process = start("/bin/sh slow.sh {rho} {instance}")
    while process.poll() is None and not (
        os.path.exists("pid") and os.path.exists("knob.db") and len(rounds()) == 3
    ):
        time.sleep(0.01)
    time.sleep(0.2)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "3 rounds are in knob.db; the same command continues" in out
    assert "Traceback" not in err
    assert len(rounds()) == 3
    with pytest.raises(ProcessLookupError):  # the command that ran is gone, too
        os.kill(int((folder / "pid").read_text()), 0)
    (folder / "slow.sh").write_text("echo 0.5")
    assert "30 rounds" in tune(command="/bin/sh slow.sh {rho} {instance}").output


def test_equal_failures_stop_tuning_and_are_retried_on_request(folder):
    result = tune(command="/bin/sh -c 'echo no licence >&2; exit 3' {rho} {instance}")
    assert result.exit_code == 1
    assert "the first 10 rounds have failed in the same way: exit status 3: no licence" in result.output
    assert len(rounds()) == 10
    assert "40 rounds" in tune("--retry-failed").output
    assert "40 rounds" in tune("--retry-failed").output


def test_control_characters_are_escaped(folder):
    command = "printf '\\033[31mred\\033]0;title\\007\\033c\\n' >&2; exit 3 # {rho} {instance}"
    result = tune("--shell", instances=["a"], command=command)
    assert r"exit status 3: \x1b[31mred" in result.output
    assert "\033" not in result.output
    assert "\007" not in result.output


@pytest.mark.parametrize(("columns", "encoding"), [("40", "utf-8"), ("200", "ascii"), ("80", "latin-1")])
def test_tables_fit_narrow_terminals_and_other_encodings(folder, columns, encoding, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    arguments = ["tune", "--online", "--space", "0:1", "--state", "knob.db", "--default", "0.25"]
    result = process(*arguments, "/bin/sh solver.sh {rho} {instance}", "inst", encoding=encoding)
    assert result.returncode == 0, result.stderr
    assert "…" not in result.stdout
    assert ("ρ" if encoding == "utf-8" else "rho") + " = " in result.stdout
    assert "valid at any time" in result.stdout


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP, signal.SIGQUIT])
def test_no_command_outlives_us(folder, number):
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("the tests run under nohup")
    (folder / "slow.sh").write_text("echo $$ > pid; sleep 60 & echo $! > child; wait; echo 0.5")
    process = start("/bin/sh slow.sh {rho} {instance}")
    while not ((folder / "child").exists() and (folder / "child").read_text().endswith("\n")):
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(1.0)  # the command may be quicker than we are in telling the guard of it
    process.send_signal(number)
    process.communicate(timeout=120)
    pids = [int((folder / name).read_text()) for name in ("pid", "child")]
    for _ in range(6000):
        if not any(map(alive, pids)):
            break
        time.sleep(0.01)
    assert not any(map(alive, pids))


def alive(pid):
    """Return whether a process is running, and not a zombie."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_errors_are_the_same_in_a_process_of_its_own(folder):
    words = ("tune", "--space", "0-1", "--state", "knob.db", "echo {rho} {instance}", "inst")
    here, there = main(*words), process(*words)
    assert (here.returncode, here.stdout, here.stderr) == (there.returncode, there.stdout, there.stderr)
    assert not os.path.exists("knob.db")


def test_extreme_options(folder):
    options = ("--feedback", "black-box", "--tolerance", "1e-320", "--timeout", "1e11")
    assert tune(*options, instances=["a", "b"]).exit_code == 0


# -- features --------------------------------------------------------------------------------------

BY_KIND = """case $1 in 0.[0-4]*) left=1;; *) left=0;; esac
case $2 in a*) left=$((1 - left));; esac
echo 0.$((8 - 6 * left))
"""


def tune_by_kind(folder, n, *arguments):
    (folder / "by_kind.sh").write_text(BY_KIND)
    names = [f"{'ab'[i % 2]}{i}" for i in range(n)]
    rows = "".join(f"{name},{name[0]}\n" for name in names)
    (folder / "features.csv").write_text(f"instance,kind\n{rows}")
    command = "/bin/sh by_kind.sh {rho} {instance}"
    return tune("--features", "features.csv", *arguments, command=command, instances=names)


def test_report_has_a_value_for_each_kind(folder):
    result = tune_by_kind(folder, 60, "--seed", "3")
    assert result.exit_code == 0, result.output
    assert re.search(r"kind a +ρ = 0\.[5-9]\d* +30", result.output)
    assert re.search(r"kind b +ρ = 0\.[0-4]\d* +30", result.output)
    found = json.loads(tune_by_kind(folder, 60, "--seed", "3", "--json").stdout)["contexts"]
    assert sorted(cell["where"]["kind"][0] for cell in found) == ["a", "b"]


def test_report_says_that_features_make_no_difference(folder):
    result = tune("--feature", "length=expr length {instance}", instances=("a", "bbb", "cc"))
    assert result.exit_code == 0, result.output
    assert "the features (length) make no difference" in result.output
    with Study(storage_of("knob.db"), STUDY) as study:
        kind = study.settings.options["context"]["length"]
    assert (kind["kind"], kind["lo"], kind["hi"]) == ("real", 1.0, 3.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--race", "--feature", "size=stat -c %s {instance}"), "a race goes without --feature"),
        (("--feature", "size=stat -c %s missing {instance}"), "--feature size, on 'inst/00.txt'"),
        (("--feature", "size=stat -c %s {instance}"), "'size' must differ between instances, got '0'"),
        (
            ("--shell", "--feature", "x=: {instance}; echo nan"),
            "'x' of 'inst/00.txt' must be a finite number",
        ),
        (("--features", "few.csv"), "must have a row for each instance, got none of 'inst/01.txt'"),
        (("--features", "few.csv", "--feature", "size=expr length {instance}"), "two features are called"),
    ],
)
def test_bad_features_are_refused_before_any_run(folder, arguments, message):
    (folder / "few.csv").write_text("instance,size\ninst/00.txt,1\n")
    instances = ("inst/00.txt",) if len(arguments) == 4 and arguments[0] == "--features" else ("inst",)
    result = tune(*arguments, instances=instances)
    assert result.exit_code != 0
    assert message in str(result.exception)
    assert not (folder / "knob.db").exists()
