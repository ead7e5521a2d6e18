"""Arrays and parameters of the default learning rule.

Pieces of the weights lie in an array (see `_pieces`). Statistics of losses are kept on a binary tree of
cells in heap order (1 is the root, 2i and 2i + 1 are the halves of i); `leaf[c]` is the node of the c-th cell
of the line. Every end of a cell is an end of a piece.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

# Sums of the rule: count, mean and squared deviations of the losses paid (Welford's recurrence); the sums of
# the regression in `look_factors`; rates and gaps of both learners; the speed of the drift; the terms of the
# certificate; the stage of the range of the losses.
(
    TOLD, MEAN, SQUARES, PRODUCTS, OTHERS, SURPRISE, PAIRED, FAST_RATE, SAFE_RATE, FAST_GAPS, SAFE_GAPS,
    SPEED, SOFT_MINIMUM, BOUND, SECOND, CLIPPED, STAGE,
) = range(17)  # fmt: skip
SUMS = 17
KNOWN = 3.0  # stage in which the range of the losses is known
FORGOTTEN = (TOLD, SQUARES, PRODUCTS, OTHERS, SURPRISE, PAIRED)

# Rows of the tree: sums of the weights of looks, of weight · loss, weight · loss² and weight²; the round of
# the last look that did not speak for an improvement. Only of leaves: the statistic of the test for a change,
# and the four sums over the looks since it was last 0.
WEIGHT, TOTAL, TOTAL_SQUARES, WEIGHT_SQUARES, LAST, CHANGE, SINCE = range(7)
TREE_ROWS = SINCE + 4

PLAYED, BY_FAST, BY_SAFE = range(3)  # rows of `asked`


class State(NamedTuple):
    """Arrays that a round changes (pieces, statistics of cells, sums), and the cells of the line."""

    pieces: npt.NDArray[np.float64]
    tree: npt.NDArray[np.float64]
    sums: npt.NDArray[np.float64]
    cell_edges: npt.NDArray[np.float64]
    leaf: npt.NDArray[np.int64]


class Told(NamedTuple):
    """What a round reveals (see `Feedback`)."""

    edges: npt.NDArray[np.float64]
    losses: npt.NDArray[np.float64]
    sets: npt.NDArray[np.int64]
    looks: npt.NDArray[np.int64]
    p: npt.NDArray[np.float64]  # probabilities of the sets


class Constants(NamedTuple):
    """Constants of the rule. docs/learner.md has the regret with half and with twice each value."""

    look: float = 16.0  # looks: one with probability p counts min(1/p, look) times in the means
    shrink: float = 4.0  # looks: weight of the parent's mean
    optimism: float = 0.3  # standard deviations by which the baseline of an unobserved piece is lowered
    coarse: float = 1.0  # cells with a share above coarse · t^(-1/3) are refined before averaging
    share: float = 0.1  # the safe learner plays a share of share/√t
    floor: float = 1.0  # the fast learner's density is at least exp(-floor - evidence) times the prior
    patience: float = 3.0  # evidence fades where a regret of patience·range·√t may have gone unnoticed


class Config(NamedTuple):
    """Parameters of the rule in one round."""

    rate: float  # of the fast learner, if it is fixed; else 0
    log_term: float  # else its rate is log_term / (range + gaps)
    low: float  # inner range of the losses told before
    high: float
    explore: float  # implicit exploration of the fast learner: estimates divide by p + explore
    coarse: float  # cells with a share above coarse · t^(-1/3) are refined before averaging; 0: no averaging
    by_piece: bool  # the baseline uses statistics of pieces, not only of cells
    shrink: float  # weight of the parent's estimate, in rounds
    optimism: float  # standard deviations by which an unobserved place is lowered
    doubt: float  # standard errors by which an observed place is lowered
    whole: bool  # full information
    budget: int  # maximal number of pieces
    constants: Constants
