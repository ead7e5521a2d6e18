"""The table of families agrees with the commands, the contract of a problem, and the docs."""

import csv
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
    for seed in range(1 if family.needs == "pyscipopt" else 3):  # SCIP takes seconds
        check(family.instance(seed), n_points=20, seed=seed)


@families
def test_play_dispersion_and_fit_have_a_command_for_it(family, tmp_path):
    table = tmp_path / "game.csv"
    options = [word for name, x in family.small.items() for word in (f"--{name.replace('_', '-')}", str(x))]
    case = family.make(rounds=8, **family.small)
    other = "ρ = 1, best α" if case.default is None else f"fixed ρ = {case.default:g} "
    for command, words, *files in (
        ("play", other, "--csv", str(table)),
        ("dispersion", "functions"),
        ("fit", "over 8 instances"),
    ):
        result = CliRunner().invoke(app, [command, family.name, "-T", "8", *options, *files])
        assert result.exit_code == 0, result.output
        assert words in result.output
        assert case.title in result.output
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["feedback"] for row in rows] == ["full"] * 8 + ["semi-bandit"] * 8 + ["bandit"] * 8
    assert ("alpha" in rows[0]) == (family.name == "metric-linkage")


@families
def test_the_docs_list_it(family):
    assert f"| `{family.name}` | {family.make.__doc__} |\n" in DOCS.read_text()
