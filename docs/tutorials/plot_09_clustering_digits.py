"""Clustering digits with a learned linkage
========================================

This page learns the linkage of a hierarchical clustering on small labelled batches of handwritten digits.
Single linkage merges the two clusters whose nearest points are closest, complete linkage compares the
farthest points; ρ is the weight of complete linkage. Needs
``pip install 'semibandit[sklearn,plot]'``.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import semibandit as sb
from semibandit.sklearn import OnlineRhoLinkage, RhoLinkage

# %%
# Batches
# -------
#
# The data are images of 8 x 8 pixels. A batch has twenty images of each of five random digits.

images, digits = load_digits(return_X_y=True)


def batch(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Twenty images each of five digits, and which digits they show."""
    classes = rng.choice(10, 5, replace=False)
    chosen = np.concatenate([rng.choice(np.flatnonzero(digits == c), 20, replace=False) for c in classes])
    return images[chosen], digits[chosen]


fig, axes = plt.subplots(4, 5, figsize=(5, 4), layout="constrained")
shown, _ = batch(np.random.default_rng(0))
for image, ax in zip(shown[::5], axes.flat, strict=True):
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
    ax.set_axis_off()

# %%
# One batch
# ---------
#
# ``sb.Linkage`` makes a problem from distances and a cost. ``TargetDistance`` is the share of misplaced
# images in the best five clusters of the tree.


def problem_of(points: np.ndarray, labels: np.ndarray) -> sb.Linkage:
    """The clustering of a batch, judged by its labels."""
    return sb.Linkage(pdist(points), sb.clustering.TargetDistance(labels))


problem = problem_of(*batch(np.random.default_rng(0)))
losses = problem.losses()
print(
    f"misplaced: {problem.loss(0.0):.0%} with single linkage, {problem.loss(1.0):.0%} with complete linkage"
)
print(f"at best {losses.min():.0%}, on", "[{:.4f}, {:.4f})".format(*losses.argmin()))

# %%
# The loss is piecewise constant in ρ: the tree changes only where two merges swap. ``losses`` computes the
# whole function exactly; a single run at ρ shows the piece around it.

fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
sb.plots.loss_function(problem, 0.5, ax)

# %%
# Learning from batch to batch
# ----------------------------
#
# The loss of each batch has other minima. The learner looks for the ρ with the least average loss: it picks
# ρ, the batch is clustered, and then the labels give the loss.

ROUNDS = 400
rng = np.random.default_rng(1)
learner = sb.Exp3Set(sb.Interval(0, 1), seed=0)
problems = [problem_of(*batch(rng)) for _ in range(ROUNDS)]
history = sb.play(learner, problems)
learned, _ = learner.recommend()
print(f"to deploy: ρ = {learned:.3f}")
for name, misplaced in {
    "while learning": history.loss,
    "always single linkage": [problem.loss(0.0) for problem in problems],
    "always complete linkage": [problem.loss(1.0) for problem in problems],
}.items():
    print(f"{name:<24} {np.mean(misplaced):.1%} misplaced")

# %%
# Does it hold on other batches?
# ------------------------------
#
# We try many values of ρ on 100 new batches. (The recommended ρ is not the one played most often. It is the
# weighted median of the parameters that are not known to be worse.)

rng = np.random.default_rng(2)
fresh = [batch(rng) for _ in range(100)]
grid = np.linspace(0, 1, 21)
curve = np.array([[problem_of(*each).loss(rho) for rho in (*grid, learned)] for each in fresh])
mean, error = curve.mean(axis=0), curve.std(axis=0, ddof=1) / np.sqrt(len(fresh))
for name, i in {"single linkage": 0, "complete linkage": 20, f"learned, ρ = {learned:.3f}": 21}.items():
    print(f"{name:<20} {mean[i]:.1%} ± {error[i]:.1%} misplaced")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.fill_between(grid, (mean - 2 * error)[:-1], (mean + 2 * error)[:-1], alpha=0.2, lw=0)
left.plot(grid, mean[:-1], label="mean of 100 new batches")
left.plot([learned], [mean[-1]], "o", color="tab:orange", label=f"learned, ρ = {learned:.3f}")
left.set(xlabel="ρ (0: single, 1: complete)", ylabel="share misplaced", ylim=(0, None), title="New batches")
left.legend(frameon=False)
sb.plots.density(history, right, best=False)
right.axhline(learned, color="tab:orange", ls="--")
right.set(xlabel="batch", title="Density of the learner (darker is larger)")

# %%
# What the trees look like
# ------------------------
#
# The first of the new batches, at both ends and at the learned ρ. Leaves are coloured by the digit that
# they show. Single linkage *chains*: one cluster absorbs the others point by point. Complete linkage makes
# clusters of equal diameter, and splits digits that vary a lot.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
first = problem_of(*fresh[0])
for rho, ax in zip((0.0, learned, 1.0), axes, strict=True):
    sb.plots.dendrogram(first, rho, ax)

# sphinx_gallery_thumbnail_number = 1

# %%
# As a scikit-learn clusterer
# ---------------------------
#
# ``partial_fit`` plays a round on a labelled batch, ``predict`` clusters a new batch with the recommended
# ρ. It cuts the tree where five clusters are left, without labels, so we compare by the adjusted Rand
# index: 1 for a perfect clustering, about 0 for a random one.

rng = np.random.default_rng(1)
model = OnlineRhoLinkage(n_clusters=5, random_state=0)
for _ in range(ROUNDS):
    model.partial_fit(*batch(rng))
for name, clusterer in {
    "single linkage": RhoLinkage(0.0, 5),
    "complete linkage": RhoLinkage(1.0, 5),
    f"learned, ρ = {model.rho_:.3f}": RhoLinkage(model.rho_, 5),
}.items():
    scores = [adjusted_rand_score(labels, clusterer.fit_predict(points)) for points, labels in fresh]
    print(f"{name:<20} {np.mean(scores):.3f}")

# %%
# Try next
# --------
#
# - ``sb.Linkage(..., linkage="average-complete")`` mixes average and complete linkage. Is it
#   better?
# - Other metrics: ``pdist(points, "cityblock")``. ``sb.MetricLinkage`` also learns a mix of two
#   metrics; see :doc:`/metric-linkage`.
# - No labels at all: ``sb.clustering.KMeansCost(5)`` judges a tree by the distances alone.
# - ``semibandit play linkage --kind digits --png game.png`` plays three kinds of feedback on such
#   batches.

plt.show()
