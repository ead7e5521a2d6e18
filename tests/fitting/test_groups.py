"""The best parameter of each group: exact in each, and a group of its own only where the log supports it."""

import math

import numpy as np
import pytest

import semibandit as sb
from semibandit.fitting import fit_groups


def problems(best, seed=0, noise=0.3):
    """Losses with a well around the best parameter of each problem, up to noise."""
    random = np.random.default_rng(seed)
    out = []
    for x in best:
        lo = min(max(x + noise * random.uniform(-1, 1), 0.06), 0.84)
        base = 0.4 * random.random()
        out.append(sb.PiecewiseConstant([0, lo - 0.05, lo + 0.15, 1], [base + 0.5, base, base + 0.5]))
    return out


def kinds(n, seed=0, words="abc"):
    return [{"kind": word} for word in np.random.default_rng(seed).choice(list(words), n).tolist()]


def test_each_group_has_the_exact_fit_of_its_problems():
    contexts = kinds(240)
    log = problems([0.8 if context["kind"] == "b" else 0.2 for context in contexts], noise=0.1)
    groups = fit_groups(log, contexts, "kind", default=0.5)
    assert [group.where for group in groups] == [("a", "c"), ("b",)]
    for group in groups:
        own = [x for x, context in zip(log, contexts, strict=True) if context["kind"] in group.where]
        assert group.fit.to_dict() == sb.fit(own, default=0.5).to_dict()


def test_numbers_are_cut_where_the_best_parameter_changes():
    sizes = np.random.default_rng(1).random(400)
    log = problems(np.where(sizes < 0.5, 0.2, 0.8), noise=0.1)
    groups = fit_groups(log, [{"size": x} for x in sizes.tolist()], "size")
    assert len(groups) == 2
    (first, cut), (also_cut, last) = (group.where for group in groups)
    assert (first, last) == (-math.inf, math.inf)
    assert cut == also_cut == pytest.approx(0.5, abs=0.08)
    assert [group.fit.count for group in groups] == [np.sum(sizes < cut), np.sum(sizes >= cut)]


@pytest.mark.parametrize("by", ["kind", "size"])
def test_useless_feature_is_seldom_split(by):
    several = 0
    for seed in range(20):
        sizes = np.random.default_rng(seed).random(80).tolist()
        contexts = [{**x, "size": size} for x, size in zip(kinds(80, seed), sizes, strict=True)]
        several += len(fit_groups(problems([0.5] * 80, seed), contexts, by)) > 1
    assert several <= 4  # 1 is expected at a level of 0.95; 5 have a probability of 0.3 %


def test_word_that_is_rare_joins_its_like():
    contexts = [{"kind": "ab"[i % 2]} for i in range(80)] + [{"kind": "c"}, {}]
    log = problems([0.2, 0.8] * 40 + [0.8, 0.2], noise=0.05)
    assert [set(group.where) for group in fit_groups(log, contexts, "kind")] == [{"a", None}, {"b", "c"}]


@pytest.mark.parametrize(
    ("contexts", "by", "message"),
    [
        ([{"x": 1}], "x", "contexts must have one dict per problem, got 1 for 2"),
        ([{"x": 1}] * 2, "y", "by must be the name of a feature, got 'y'"),
        ([{"x": 1}, {"x": math.nan}], "x", r"contexts\[1\]\['x'\] must be"),
        ([{"x": 1}, {"x": "a"}], "x", "a number for all problems or for none"),
        ([{"x": 1}, {}], "x", "a number for all problems or for none"),
        ([{"x": 1}, {"x": [2]}], "x", r"contexts\[1\]\['x'\] must be"),
    ],
)
def test_bad_contexts_are_refused(contexts, by, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit_groups(problems([0.5, 0.5]), contexts, by)


def test_too_many_words_are_refused():
    with pytest.raises(ValueError, match="at most 32 words, got 33"):
        fit_groups(problems([0.5] * 33), [{"user": str(i)} for i in range(33)], "user")


def by_age_and_kind(n, seed=0):
    low, high = sb.PiecewiseConstant([0, 0.5, 1], [0, 1]), sb.PiecewiseConstant([0, 0.5, 1], [1, 0])
    rng = np.random.default_rng(seed)
    contexts = [
        {"age": float(rng.random()), "kind": "ab"[i % 2], "noise": float(rng.random())} for i in range(n)
    ]
    return [high if c["age"] > 0.4 and c["kind"] == "a" else low for c in contexts], contexts


def test_fit_divides_by_the_features_that_matter():
    log, contexts = by_age_and_kind(400)
    fitted = sb.fit(log, contexts=contexts)
    assert fitted.count == sum(cell.fit.count for cell in fitted.cells) == 400
    assert all("noise" not in cell.where for cell in fitted.cells)
    old = [cell for cell in fitted.cells if cell.fit.rho == 0.75]
    assert old
    assert all(cell.where["kind"] == ("a",) and cell.where["age"][0] > 0.25 for cell in old)
    assert all(cell.fit.rho == 0.25 for cell in fitted.cells if cell not in old)


@pytest.mark.parametrize("seed", range(5))
def test_fit_keeps_one_cell_if_no_feature_matters(seed):
    log, contexts = by_age_and_kind(200, seed)
    order = np.random.default_rng(seed + 9).permutation(200)
    fitted = sb.fit(log, contexts=[contexts[i] for i in order])
    assert [cell.where for cell in fitted.cells] == [{}]
    assert fitted.cells[0].fit.rho == fitted.rho


def test_fit_needs_a_context_for_each_problem():
    log, contexts = by_age_and_kind(20)
    with pytest.raises(ValueError, match="one dict per problem, got 19 for 20"):
        sb.fit(log, contexts=contexts[:-1])
    assert sb.fit(log).cells == ()
