"""Algorithm families: each turns an instance into feedback of three kinds.

Every family follows the `Problem` protocol: `loss(rho)` is one plain run (bandit), `reveal(rho)` one run
with bookkeeping (semi-bandit), `losses()` the whole loss function (full information).
"""
