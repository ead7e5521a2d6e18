"""Clustering digits with a learned linkage
========================================

Hierarchical clustering has a choice that nobody likes to make: which *linkage*? Single linkage joins the
two clusters whose nearest points are closest, complete linkage goes by the farthest points. This page
mixes the two, with the share ρ of complete linkage as its knob, and learns the mix on small batches of
handwritten digits for which the right answer is known. Needs ``pip install 'semibandit[sklearn,plot]'``.
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
# The data: images of 8 x 8 pixels. A batch has twenty images each of five digits that are drawn at
# random. In each batch the digits are other ones, but we hope that what makes a good linkage is the same.

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
# ``sb.Linkage`` makes a problem from distances and a cost. ``TargetDistance`` takes the best five
# clusters that the tree has, and is the share of images that are not where they belong.


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
# As a function of ρ the loss is a staircase: the tree changes only where two merges change places.
# ``losses`` has computed all of it, exactly, in one sweep; a single run at ρ shows the step around it.

fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
sb.plots.loss_function(problem, 0.5, ax)

# %%
# Learning from batch to batch
# ----------------------------
#
# The staircase of one batch has many valleys, and another batch has others. What we want is the ρ that is
# good on average. For each batch the learner picks ρ, the batch is clustered, and only then the labels
# tell how good that was.

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
# We take 100 new ones and try many values of ρ on them, the learned one among them. (It is not where the
# learner has played most, which is by chance one of several places that are about as good. It is the
# middle, by weight, of the whole stretch that is not known to be worse.)

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
right.set(xlabel="batch", title="What the learner plays (darker is likelier)")

# %%
# What the trees look like
# ------------------------
#
# The first of the new batches, at both ends and at the learned ρ. Leaves are coloured by the digit that
# they show. Single linkage *chains*: one cluster swallows the others point by point. Complete linkage
# makes clusters of equal width, and cuts digits apart that vary a lot. The mix is in between.

fig, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
first = problem_of(*fresh[0])
for rho, ax in zip((0.0, learned, 1.0), axes, strict=True):
    sb.plots.dendrogram(first, rho, ax)

# sphinx_gallery_thumbnail_number = 1

# %%
# As a scikit-learn clusterer
# ---------------------------
#
# The same with the methods of scikit-learn: ``partial_fit`` plays a round on a labelled batch,
# ``predict`` clusters a new one with the ρ that is recommended. Without labels there is no best choice of
# clusters in the tree; it is cut where five are left. So we compare by the adjusted Rand index, which is
# 1 for a perfect clustering and about 0 for a random one.

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
# - ``sb.Linkage(..., linkage="average-complete")`` mixes average and complete linkage. Is that better
#   still?
# - Other metrics: ``pdist(points, "cityblock")``. To *learn* a mix of two metrics beside the linkage is
#   what ``sb.MetricLinkage`` is for; see :doc:`/metric-linkage`.
# - No labels at all: ``sb.clustering.KMeansCost(5)`` judges a tree by the points alone.
# - ``semibandit play linkage --kind digits --png game.png`` plays three kinds of feedback on such
#   batches.

plt.show()
