"""How kernels are compiled: LLVM works once on what Python calls, not on each function that this is made of.

numba optimises every function and turns it into machine code, and does both again for all that call it: a
call tree five deep is worked through five times. Here functions are parts at first, code that waits to be
linked, and a kernel is a part with a door to Python. The machine code is as quick, in half the time.
"""

# mypy: allow-untyped-calls, allow-subclassing-any

from __future__ import annotations

import copy
import gc
from collections.abc import Callable
from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.environment import Environment


class Part(CompilerBase):
    """The compiler of a function that becomes a part of others."""

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, *more: Any
    ):
        super().__init__(typing, target, library, args, result, _Flags(flags), *more)

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return [DefaultPassBuilder.define_nopython_pipeline(state)]


class Door(CompilerBase):
    """The compiler of what Python calls: its part, all that this calls, and a wrapper."""

    part: Any  # the function as a part, a dispatcher

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        args = tuple(self.state.args)
        collects = gc.isenabled()
        gc.disable()  # it would look a thousand times at what the compiler still needs
        try:
            self.part.compile(args)
            return self._with_door(self.part.overloads[args])
        finally:
            if collects:
                gc.enable()

    def _with_door(self, part: Any) -> Any:
        target, described = self.state.targetctx, copy.copy(part.fndesc)
        # What the wrapper keeps for itself must not be mistaken for what is kept of the part in other files.
        described.env_name += "Door"
        environment = Environment.from_fndesc(described)
        library = target.codegen().create_library(described.qualname)
        library.enable_object_caching()
        library.add_linking_library(part.library)
        target.create_cpython_wrapper(library, described, environment, part.call_helper, release_gil=True)
        entry = target.get_executable(library, described, environment)
        result = part._replace(
            library=library, entry_point=entry, fndesc=described, environment=environment, metadata={}
        )
        for each in result._find_referenced_environments():  # of its parts, as numba does for what it loads
            target.codegen().set_env(each.env_name, each)
        return result


class _PartLibrary(JITCodeLibrary):
    """Code that is linked into other libraries, which optimise it and have it turned into machine code."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """There is no machine code yet that could need it."""


class _Flags(Flags):
    """The flags of a function, quickly compared: numba does it for each way to type each operation."""

    _hash = hash(Flags())  # of the names

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, _Flags) and self._values == other._values) or super().__eq__(other)
