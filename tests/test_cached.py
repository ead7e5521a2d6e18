"""The cached property."""

import pickle

from semibandit._cached import cached_property


class Square:
    """Counts how often the square is computed."""

    def __init__(self, x):
        self.x, self.computed = x, 0

    @cached_property
    def square(self):
        """The square of x."""
        self.computed += 1
        return self.x**2


def test_a_cached_property_is_computed_once_for_each_instance():
    first, second = Square(2), Square(3)
    assert [first.square, first.square, second.square] == [4, 4, 9]
    assert first.computed == second.computed == 1
    assert pickle.loads(pickle.dumps(first)).__dict__ == {"x": 2, "computed": 1, "square": 4}
    assert Square.square.__doc__ == "The square of x."
