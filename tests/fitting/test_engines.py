"""Work on chunks, by processes and by a cluster whose workers die."""

import json
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

import pytest

import fit_workers
import semibandit as sb
from semibandit.fitting import engines
from semibandit.fitting.engines import merged_in_tree
from semibandit.streams import Stream

OPTIONS = {"default": 0.5, "holdout": 0.2, "chunk": 5}


def everything(result):
    return json.dumps(result.to_dict())


def test_a_tree_merges_all_and_each_a_few_times():
    depths = []

    def merge(parts):
        depths.append(max(depth for depth, _ in parts) + 1)
        return depths[-1], sorted(item for _, items in parts for item in items)

    assert merged_in_tree(((0, [k]) for k in range(100)), merge)[1] == list(range(100))
    assert max(depths) == 3  # log8 100, rounded up
    assert merged_in_tree([], merge) is None


def test_processes_give_the_same_to_the_bit():
    alone = sb.fit(fit_workers.safe(), **OPTIONS)
    assert everything(sb.fit(fit_workers.safe(), n_jobs=2, **OPTIONS)) == everything(alone)
    problems = list(fit_workers.safe())
    assert everything(sb.fit(problems, n_jobs=2, **OPTIONS)) == everything(alone)
    assert sb.fit(iter(problems), n_jobs=2).interval == sb.best_in_hindsight(problems).interval


@pytest.mark.slow
def test_a_process_that_dies_is_replaced(tmp_path):
    result = sb.fit(fit_workers.deadly(tmp_path / "died"), n_jobs=2, **OPTIONS)
    assert (tmp_path / "died").exists()
    assert everything(result) == everything(sb.fit(fit_workers.safe(), **OPTIONS))


@pytest.mark.slow
def test_processes_that_keep_dying_are_given_up(monkeypatch):
    monkeypatch.setattr(engines, "MOST_DEATHS", 1)
    with pytest.raises(BrokenProcessPool, match=f"problem {fit_workers.DEADLY}: a worker is killed"):
        sb.fit(Stream(fit_workers.AlwaysDeadly(), fit_workers.ROUNDS, seed=0), n_jobs=2)


@contextmanager
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of a cluster, about its dead worker
def test_a_cluster_with_a_worker_that_dies(tmp_path):
    alone = sb.fit(fit_workers.safe(), **OPTIONS)
    with cluster() as client:
        result = sb.fit(fit_workers.deadly(tmp_path / "died"), client=client, **OPTIONS)
        assert (tmp_path / "died").exists()
        assert everything(result) == everything(alone)
        assert everything(sb.fit(iter(fit_workers.safe()), client=client)) == everything(
            sb.fit(fit_workers.safe())
        )
        with pytest.raises(TypeError, match="or have a method `losses`, got 3"):
            sb.fit([3], client=client)
        with pytest.raises(ValueError, match="give n_jobs or client, not both"):
            sb.fit(fit_workers.safe(), n_jobs=2, client=client)
