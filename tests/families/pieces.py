"""A check that families share: all feedback comes from one partition, also one double beside its edges."""

import math


def assert_feedback_agrees(problem):
    losses = problem.losses()
    assert losses.domain == ((problem.space.lo, problem.space.hi),)
    for lo, hi in zip(losses.edges[:-1].tolist(), losses.edges[1:].tolist(), strict=True):
        piece = losses.piece(lo)
        for rho in {lo, math.nextafter(lo, hi), 0.5 * (lo + hi), math.nextafter(hi, lo)}:
            if lo <= rho < hi:
                assert problem.reveal(rho) == piece
                assert problem.loss(rho) == piece.values[0]
    assert problem.reveal(problem.space.hi) == losses.piece(problem.space.hi)
    return losses
