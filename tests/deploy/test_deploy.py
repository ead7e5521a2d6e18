"""Files for deployment: their commands are those of the program, and their tools accept them."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

from semibandit.cli import app

DEPLOY = Path(__file__).parents[2] / "deploy"


def options():
    """Return the options of `semibandit serve`."""
    return set(
        re.findall(r"--[a-z-]+", CliRunner().invoke(app, ["serve", "--help"], terminal_width=200).output)
    )


@pytest.mark.parametrize("name", ["Dockerfile", "semibandit.service"])
def test_the_command_has_known_options(name):
    (line,) = [line for line in (DEPLOY / name).read_text().splitlines() if "semibandit serve" in line]
    used = set(re.findall(r"--[a-z-]+", line))
    assert {"--storage", "--token-file"} <= used <= options()


def test_systemd_accepts_the_unit(tmp_path):
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    program = tmp_path / "semibandit"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    unit = tmp_path / "semibandit.service"
    text = (DEPLOY / "semibandit.service").read_text()
    unit.write_text(text.replace("/opt/semibandit/bin/semibandit", str(program)))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "semibandit.service" not in done.stderr, done.stderr


def test_compose_names_what_the_image_needs():
    yaml = pytest.importorskip("yaml")
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    service, database = compose["services"]["service"], compose["services"]["database"]
    build = service["build"]
    assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
    dockerfile = (DEPLOY / "Dockerfile").read_text()
    assert all(f"{name}=" in dockerfile for name in service["environment"])
    assert service["environment"]["STORAGE"].startswith("postgresql://semibandit:")
    assert set(service["secrets"]) <= set(compose["secrets"])
    assert f"/run/secrets/{service['secrets'][0]}" in dockerfile
    assert service["ports"] == ["127.0.0.1:8080:8080"]
    assert {volume.split(":")[0] for volume in database["volumes"]} <= set(compose["volumes"])


def test_the_image_is_built_of_known_instructions():
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    known = {"FROM", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD"}
    assert {line.split()[0] for line in lines} <= known
    (run,) = [line for line in lines if line.startswith("RUN")]
    assert subprocess.run(["sh", "-n", "-c", run[4:]]).returncode == 0
    (install,) = [part for part in shlex.split(run) if part.startswith("/src[")]
    extras = set(install[5:-1].split(","))
    declared = (DEPLOY.parent / "pyproject.toml").read_text()
    assert all(f"\n{extra} = [" in declared for extra in extras)


def test_the_command_of_the_image_serves(tmp_path):
    (line,) = [line for line in (DEPLOY / "Dockerfile").read_text().splitlines() if line.startswith("CMD")]
    shell = json.loads(line[4:])
    assert shell[:2] == ["sh", "-c"]
    tokens = tmp_path / "tokens"
    tokens.write_text(f"admin {'t' * 20}\n")
    tokens.chmod(0o600)
    program = (
        shell[2].replace("semibandit serve", f"{sys.executable} -m semibandit serve").replace("8080", "0")
    )
    environment = os.environ | {"STORAGE": f"sqlite:///{tmp_path}/x.db", "TOKEN_FILE": str(tokens)}
    with subprocess.Popen(
        ["sh", "-c", program], env=environment, stdout=subprocess.PIPE, text=True
    ) as service:
        try:
            port = re.search(r":(\d+)$", service.stdout.readline().strip())[1]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=30) as answer:
                assert answer.status == 200
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(f"http://127.0.0.1:{port}/api/studies", timeout=30)
        finally:
            service.terminate()
        assert service.wait(timeout=30) in (0, -15)  # `exec`: the signal reaches the service
