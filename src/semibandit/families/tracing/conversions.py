"""Python's conversions of traced values: to bool, int and float, or an error."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit.families.tracing.errors import TracingError
from semibandit.families.tracing.protocols import FUNCTIONS, UFUNCS

__all__ = ["Conversions"]


class Conversions:
    """Conversions of a traced value; those that would lose ρ raise an error."""

    __slots__ = ()

    def __bool__(self: Any) -> bool:
        if self.size != 1:
            raise ValueError("the truth value of an array with several elements is ambiguous")
        return bool(np.any(UFUNCS[np.not_equal](self, 0.0)))

    def __int__(self) -> int:
        return int(UFUNCS[np.trunc](self))

    __trunc__ = __int__

    def __floor__(self) -> int:
        return int(UFUNCS[np.floor](self))

    def __ceil__(self) -> int:
        return int(UFUNCS[np.ceil](self))

    def __round__(self, digits: int | None = None) -> Any:
        rounded = float(FUNCTIONS[np.round](self, digits or 0))
        return int(rounded) if digits is None else rounded

    def __float__(self) -> float:
        return float(self._required_plain())

    def __array__(self, *args: Any, **options: Any) -> Any:
        return np.array(self._required_plain(), *args, **options)

    def _required_plain(self: Any) -> Any:
        found = self.plain()
        if found is self:
            raise TracingError(
                "a value that depends on rho cannot become a plain float or array: use numpy's functions "
                "instead of math's, np.stack([...]) for a list, and array + 0 * rho for an array to fill"
            )
        return found

    def __hash__(self) -> int:
        raise TracingError("a value that depends on rho cannot be in a set or the key of a dict or a cache")

    def __format__(self, spec: str) -> str:
        raise TracingError(
            "the text of a value that depends on rho is not traced: use repr(x), or round(x, 3)"
        )

    def __str__(self) -> str:
        return self.__format__("")

    def __reduce__(self) -> Any:
        raise TracingError("a value that depends on rho lives during its run only: it cannot be pickled")
