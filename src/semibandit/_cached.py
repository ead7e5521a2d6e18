"""A property that is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["cached_property"]

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - used like a function
    """Compute an attribute on its first use, without a lock.

    `functools.cached_property` has a lock before Python 3.12. A process that forks while a thread holds it
    leaves it held for ever in the child.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> cached_property[T] | T:
        """Return the value; Python calls this only while it is not in the instance's `__dict__`."""
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._compute(instance)
        return value
