"""The table of families agrees with the commands, the contract of a problem, and the docs."""

from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

import semibandit as sb
from semibandit.cli import app
from semibandit.cli.problems import FAMILIES

DOCS = Path(__file__).parents[2] / "docs" / "families.md"
HERE = [family for family in FAMILIES if not family.needs or find_spec(family.needs)]
families = pytest.mark.parametrize("family", HERE, ids=lambda family: family.name)


@families
@pytest.mark.parametrize("check", sb.testing.CHECKS, ids=lambda check: check.__name__)
def test_small_instances_keep_the_contract_of_a_problem(family, check):
    for seed in range(3):
        check(family.instance(seed), n_points=20, seed=seed)


@families
def test_play_and_dispersion_have_a_command_for_it(family):
    options = [word for name, value in family.small.items() for word in (option(name), str(value))]
    for command, words in (("play", "best fixed ρ"), ("dispersion", "functions")):
        result = CliRunner().invoke(app, [command, family.name, "-T", "8", *options])
        assert result.exit_code == 0, result.output
        assert words in result.output


def option(name):
    return f"--{name.replace('_', '-')}"


@families
def test_the_docs_list_it(family):
    assert f"| `{family.name}` | {family.make.__doc__} |\n" in DOCS.read_text()
