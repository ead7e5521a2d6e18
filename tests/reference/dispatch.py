"""Priority rules of a shop, operation by operation, with exact comparisons of lines."""

import math

from reference import lines


def start_order(problem, rho):
    """The job of each operation as it starts, the crossings seen on the way, and the ends of the jobs."""
    times, route = problem.processing.tolist(), problem.route.tolist()
    operations = zip(times, route, *problem._lines.tolist(), strict=True)
    left = [list(zip(*job, strict=True)) for job in operations]  # p, station, a, b of each operation
    ends = [0.0] * len(times)
    free = {at: [0.0] * problem.machines for row in route for at in row}
    started, crossings = [], []
    while any(left):
        starts = {j: (max(ends[j], min(free[ops[0][1]])), ops[0][1]) for j, ops in enumerate(left) if ops}
        now = min(starts.values())
        waiting = [j for j in starts if starts[j] == now]
        scores = [line(problem, left[j][0], now[0]) for j in waiting]
        crossings += lines.all_crossings(scores)
        best = waiting[lines.order(scores, rho)[0]]
        p, at, *_ = left[best].pop(0)
        ends[best] = now[0] + p
        free[at].remove(min(free[at]))
        free[at].append(ends[best])
        started.append(best)
    return tuple(started), crossings, ends


def line(problem, operation, t):
    _, _, a, b = operation
    return (-max(0.0, a - t), b) if problem.rule == "atc" else (a, b)


def priority(problem, j, i, t, rho):
    """The rule as the docs state it, in plain floats."""
    p, w = problem.processing[j][i], problem.weights[j]
    d = problem.due[j] - problem.processing[j][i + 1 :].sum()
    if problem.rule == "atc":
        return w / p * math.exp(-max(0.0, d - p - t) / (rho * problem.processing.mean()))
    if problem.rule == "wspt":
        return w / p**rho
    later = problem.due[:, None] - problem.processing[:, ::-1].cumsum(axis=1)[:, ::-1] + problem.processing
    ratio = (problem.processing / problem.weights[:, None]).mean()
    return -((1 - rho) * p / w / ratio + rho * d / abs(later).mean())


def plain_order(problem, rho):
    """The same schedule by plain floats: true at a rho that is far from all ties."""
    n, operations = problem.processing.shape
    done, ends, started = [0] * n, [0.0] * n, []
    free = {at: [0.0] * problem.machines for at in problem.route.ravel().tolist()}
    while min(done) < operations:
        starts = {}
        for j in range(n):
            if done[j] < operations:
                at = int(problem.route[j][done[j]])
                starts[j] = max(ends[j], min(free[at])), at
        t, at = min(starts.values())
        waiting = [j for j in starts if starts[j] == (t, at)]
        best = max(waiting, key=lambda j: (priority(problem, j, done[j], t, rho), -j))
        ends[best] = t + float(problem.processing[best][done[best]])
        free[at].remove(min(free[at]))
        free[at].append(ends[best])
        done[best] += 1
        started.append(best)
    return started
