import errno
import os
import subprocess
import sys
import time

import pytest

from semibandit.tuning import Command, StoppedError


def sh(script, **options):
    """A command that runs a script of the shell with rho as $1 and the instance as $2."""
    return Command(f"/bin/sh -c '{script}' sh {{rho}} {{instance}}", **options)


# -- reading the loss -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "loss"),
    [
        ("echo 0.25", 0.25),
        ('echo chatter; echo; echo "  1e-3 "; echo; echo "  "', 1e-3),
        ("printf 1", 1.0),
        ("echo 0.5; echo 0.75 >&2", 0.5),
        ("echo $1", 1 / 3),
        ("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2; echo; echo 0.5", 0.5),
        ("printf %0100000d 1; echo; echo 0.5", 0.5),
    ],
)
def test_the_loss_is_the_last_line_of_the_output(script, loss):
    outcome = sh(script).run("x", 1 / 3)
    assert (outcome.loss, outcome.failure) == (loss, None)


def test_exit_status_is_the_loss():
    command = sh("exit $2", loss_from="exit")
    assert [command.run(name, 0.5).loss for name in ("0", "7", "11")] == [0.0, 7.0, 11.0]


@pytest.mark.parametrize(("script", "late"), [("sleep 0.2", None), ("sleep 60", "no end after 0.5 seconds")])
def test_time_is_the_loss(script, late):
    outcome = sh(script, timeout=0.5, loss_from="time").run("x", 0.5)
    assert 0.2 <= outcome.loss == outcome.seconds < 30
    assert outcome.late == late


def test_the_loss_is_read_from_a_file_that_the_run_writes(tmp_path):
    command = sh(
        "test $2 = lazy || echo \"log\n$1\" > $0.$2".replace("$0", str(tmp_path / "loss")),
        loss_from="file", loss_file=str(tmp_path / "loss.{instance}"),
    )  # fmt: skip
    assert command.run("a", 0.25).loss == 0.25
    for rho in (0.5, 0.6, 0.7):  # quicker than the clock of the file system may tick
        assert command.run("a", rho).loss == rho
    assert "did not write" in command.run("lazy", 0.5).failure
    (tmp_path / "loss.lazy").write_text("0.1\n")
    assert "did not write" in command.run("lazy", 0.5).failure, "what an earlier run left is not read"


# -- failures -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "exit status 3"),
        ("echo 0.5; echo sorry >&2; exit 3", "exit status 3: sorry"),
        ("echo hello", "the last line of the output is no number: 'hello'"),
        ("true", "the last line of the output is no number: ''"),
        ("echo nan", "the loss must be finite, got nan"),
        ("echo inf", "the loss must be finite, got inf"),
        ("kill -9 $$", "killed by SIGKILL"),
        ('printf "\\\\377\\\\376"', "is no number"),
        ("printf %0100000d 1", "is no number"),  # only whole lines are read
        ("printf %0100000d 1 | tr 0 x >&2; exit 3", "exit status 3"),
        ("printf %060000d 1 | tr 0 x; echo", "is no number: 'xxx"),
    ],
)
def test_a_failed_run_has_a_short_reason(script, message):
    outcome = sh(script).run("x", 0.5)
    assert outcome.loss is None
    assert message in outcome.failure
    assert len(outcome.failure) <= 200


def test_timeout_kills_the_command_and_its_children(tmp_path):
    command = sh(f"(sleep 2; echo late > {tmp_path}/late) & sleep 60", timeout=0.2)
    start = time.perf_counter()
    outcome = command.run("x", 0.5)
    assert (outcome.late, outcome.loss, outcome.failure) == ("no end after 0.2 seconds", None, None)
    assert time.perf_counter() - start < 30
    time.sleep(2.2)
    assert not (tmp_path / "late").exists()


def test_ok_status_lists_the_statuses_of_success():
    command = sh("echo 0.5; exit $2", ok_status=(10, 20))
    assert [command.run(status, 0.5).loss for status in ("10", "20", "0", "1")] == [0.5, 0.5, None, None]


@pytest.mark.parametrize("status", [10, 20])
def test_statuses_of_sat_solvers_hint_at_ok_status(status):
    failure = sh(f"exit {status}").run("x", 0.5).failure
    assert failure == f"exit status {status} (a result of SAT solvers: --ok-status 10,20)"


def test_integers_are_written_as_such():
    command = sh("echo $1 >&2; test $1 = 14 && echo 0.5", integer=True)
    assert command.run("x", 14.49).loss == 0.5
    assert command.run("x", 13.51).loss == 0.5
    assert command.run("x", 14.51).failure == "exit status 1: 15"
    assert [command.value(rho) for rho in (1.7, 14.49)] == [2.0, 14.0]


def test_the_failure_of_a_pipe_is_seen():
    failed = Command("(echo 0.5; exit 3) | cat # {rho} {instance}", shell=True).run("x", 0.5)
    assert failed.failure == "exit status 3"
    fine = Command("yes 0.5 | head -n 1 # {rho} {instance}", shell=True).run("x", 0.5)
    assert fine.loss == 0.5, "SIGPIPE of an earlier part of the pipe is no failure"


def test_children_left_running_are_not_waited_for():
    start = time.perf_counter()
    assert sh("sleep 20 & echo 0.5").run("x", 0.5).loss == 0.5
    assert time.perf_counter() - start < 15


@pytest.mark.parametrize(
    "spoil",
    [lambda tool: tool.unlink(), lambda tool: tool.chmod(0o644), lambda tool: tool.write_text("#!/no\n")],
)
@pytest.mark.parametrize("shell", [False, True])
def test_a_command_that_cannot_be_started_stops_tuning(tmp_path, monkeypatch, spoil, shell):
    pauses = []
    monkeypatch.setattr("semibandit.tuning.command.time.sleep", pauses.append)
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho 0.5\n")
    tool.chmod(0o755)
    command = Command(f"{tool} {{rho}} {{instance}}", shell=shell)
    assert command.run("x", 0.5).loss == 0.5
    spoil(tool)
    with pytest.raises(StoppedError, match=r"the command cannot be started: .*tool"):
        command.run("x", 0.5)
    assert len(pauses) == 4


@pytest.mark.parametrize("code", [errno.EAGAIN, errno.ETXTBSY, errno.ENOENT])
def test_starting_is_retried(monkeypatch, code):
    monkeypatch.setattr("semibandit.tuning.command.time.sleep", lambda seconds: None)
    start, attempts = subprocess.Popen.__init__, []

    def busy(self, words, **options):
        if words[0] == "echo":
            attempts.append(words)
            if len(attempts) < 3:
                raise OSError(code, os.strerror(code))
        start(self, words, **options)

    monkeypatch.setattr(subprocess.Popen, "__init__", busy)
    assert "no number" in Command("echo {rho} {instance}").run("x", 0.5).failure
    assert len(attempts) == 3


def test_a_start_that_fails_because_of_the_instance_is_a_failed_run():
    assert "cannot be run" in Command("./{instance} {rho}").run("no-such-tool", 0.5).failure
    assert "too long" in Command("echo {instance} {rho}").run("x" * 10_000_000, 0.5).failure


def test_output_of_any_size_takes_little_memory():
    script = (
        "from semibandit.tuning import Command\n"
        "import resource\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "run = Command('/bin/sh -c \"yes | head -c 100000000; echo; echo 0.5\" {rho} {instance}')\n"
        "assert run.run('x', 0.5).loss == 0.5\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 20_000  # kB


@pytest.mark.parametrize("make", ["mkdir", "mkfifo"])
@pytest.mark.parametrize("what", ["loss", "compare"])
def test_folders_and_pipes_are_refused_as_files(tmp_path, make, what):
    path = str(tmp_path / "made")
    options = {"loss_from": "file", "loss_file": path} if what == "loss" else {}
    options |= {"compare": "file", "compare_file": path} if what == "compare" else {}
    outcome = sh(f"{make} {path}; echo 0.5", **options).run("x", 0.5)
    assert "not a file" in outcome.failure or "Is a directory" in outcome.failure


def test_an_interrupt_during_the_start_leaves_nothing_running(tmp_path):
    """The signal comes while the process is being started, before anybody knows its number."""
    script = f"""
import os, signal, subprocess
from semibandit.tuning import Command
fork = subprocess._fork_exec
def interrupted(*arguments):
    pid = fork(*arguments)
    if "sleep" in str(arguments[0]):
        os.kill(os.getpid(), signal.SIGINT)
    return pid
subprocess._fork_exec = interrupted
Command("/bin/sh -c 'echo $$ > {tmp_path}/pid; sleep 60' {{rho}} {{instance}}").run("x", 0.5)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert "KeyboardInterrupt" in done.stderr
    if (tmp_path / "pid").exists() and (pid := (tmp_path / "pid").read_text()):
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


# -- names of instances ---------------------------------------------------------------------------------

NASTY = ["a b", "$(touch owned)", "; touch owned", "`touch owned`", "'", '"', "{rho}", "-n", "*", "ü", ""]


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("shell", [False, True])
def test_names_are_passed_exactly(name, shell, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "show.py"
    script.write_text("import sys, os\nopen('got', 'wb').write(os.fsencode(sys.argv[1]))\nprint(sys.argv[2])")
    command = Command(f"{sys.executable} -S {script} {{instance}} {{rho}}", shell=shell)
    assert command.run(name, 0.5).loss == 0.5
    assert (tmp_path / "got").read_bytes() == os.fsencode(name)
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize(
    "template",
    ["cat <<end > got\n{instance}\nend\necho {rho}", "echo `echo {instance}` > got; echo {rho}",
     "echo $(echo {instance}) \\'{instance} 'x' > got; echo '{rho}'", "echo {rho} # it's {instance}"],
)  # fmt: skip
@pytest.mark.parametrize("name", NASTY)
def test_no_name_becomes_a_command(template, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = Command(template, shell=True)
    assert command.run(name, 0.5).loss == 0.5
    assert not (tmp_path / "owned").exists()


def test_without_a_shell_only_placeholders_are_special():
    template = "echo {instance} | wc -c ; echo {rho}"
    assert Command(template, shell=True).run("a b", 0.5).loss == 0.5
    assert "no number" in Command(template).run("a b", 0.5).failure
    assert Command("awk -v r={rho} -v i={instance} 'BEGIN {print r}'").run("x", 0.5).loss == 0.5


# -- equal runs ------------------------------------------------------------------------


def test_outputs_are_compared(tmp_path):
    def same(first, second, script, **options):
        command = sh(script, **options)
        return command.run(*first).same(command.run(*second))

    loud = "echo plan for $2; echo 0.5"
    assert same(("a", 0.1), ("a", 0.2), loud)
    assert not same(("a", 0.1), ("b", 0.1), loud)
    assert same(("a", 0.1), ("b", 0.1), loud, compare="loss")
    assert not same(("a", 0.1), ("a", 0.2), "echo $1", compare="loss")
    to_file = f"echo $2 > {tmp_path}/plan; echo $1"
    by_file = {"compare": "file", "compare_file": str(tmp_path / "plan")}
    assert same(("a", 0.1), ("a", 0.2), to_file, **by_file)
    assert not same(("a", 0.1), ("b", 0.1), to_file, **by_file)
    fails = "test $2 = a && echo 0.5"
    assert not same(("a", 0.1), ("b", 0.1), fails)
    assert same(("b", 0.1), ("c", 0.1), fails)


@pytest.mark.parametrize(
    ("template", "options", "message"),
    [
        ("echo {instance}", {}, "must contain {rho}"),
        ("echo {rho}", {}, "must contain {instance}"),
        ("no-such-tool {rho} {instance}", {}, "'no-such-tool' cannot be found"),
        ("echo '{rho} {instance}", {}, "cannot be split into arguments"),
        ("echo {rho} {instance}", {"loss_from": "stars"}, "loss_from must be one of"),
        ("echo {rho} {instance}", {"loss_from": "file"}, "loss_file must be a path"),
        ("echo {rho} {instance}", {"compare": "file"}, "compare_file must be a path"),
        ("echo {rho} {instance}", {"timeout": 0}, "timeout must be finite and > 0"),
        ("echo {rho} {instance}", {"ok_status": [-1]}, "ok_status must be at least 0"),
        ('wc -c "{instance}"; echo {rho}', {"shell": True}, "must not be inside quotes"),
        ("wc -c '{instance}'; echo {rho}", {"shell": True}, "must not be inside quotes"),
        (
            "echo '-m{mode}' {instance}",
            {"shell": True, "names": ["mode"]},
            "{mode} must not be inside quotes",
        ),
    ],
)
def test_bad_arguments_are_named(template, options, message):
    with pytest.raises(ValueError, match=message):
        Command(template, **options)
