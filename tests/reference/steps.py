"""An algorithm whose output is known everywhere and that counts its runs: to test black boxes on."""

import bisect
import threading


class Steps:
    """Output outputs[i] on [edges[i], edges[i + 1]), found by counting; remembers every run."""

    def __init__(self, edges, outputs=None):
        self.edges = list(edges)
        self.outputs = list(range(len(self.edges) - 1)) if outputs is None else list(outputs)
        self.runs = []
        self._lock = threading.Lock()

    def index(self, rho):
        return min(sum(edge <= rho for edge in self.edges), len(self.outputs)) - 1

    def __call__(self, instance, rho):
        with self._lock:
            self.runs.append(rho)
        return self.outputs[self.index(rho)]

    def piece(self, rho):
        """The maximal [lo, hi) around rho with one output."""
        i = self.index(rho)
        return self.edges[i], self.edges[i + 1]


def maximal_piece_on_grid(output, points, hi, rho):
    """The run of consecutive points with rho's output, by walking: what bisection should find."""
    at = bisect.bisect_right(points, rho) - 1
    first = last = at
    while first > 0 and output(points[first - 1]) == output(points[at]):
        first -= 1
    while last + 1 < len(points) and output(points[last + 1]) == output(points[at]):
        last += 1
    return points[first], points[last + 1] if last + 1 < len(points) else hi
