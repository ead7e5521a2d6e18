"""Estimators of scikit-learn: ρ-linkage as clusterers, and an online threshold as a classifier.

Needs the `sklearn` extra.
"""

from semibandit.sklearn.linkage import OnlineRhoLinkage, RhoLinkage
from semibandit.sklearn.threshold import OnlineThreshold

__all__ = ["OnlineRhoLinkage", "OnlineThreshold", "RhoLinkage"]
