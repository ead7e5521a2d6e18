"""How kernels are compiled: LLVM works once on what Python calls, not on each function that this is made of.

numba optimises every function and turns it into machine code, and does both again for all that call it: a
call tree five deep is worked through five times. Here functions are parts at first, code that waits to be
linked, and a kernel is a part with a door to Python. The machine code is as quick, in half the time.
"""

# mypy: allow-untyped-calls, allow-subclassing-any

from __future__ import annotations

import copy
import gc
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import numba
from llvmlite.binding import ffi
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags
from numba.core.environment import Environment
from numba.core.types import Function
from numba.core.typing.context import BaseContext
from numba.core.untyped_passes import InlineClosureLikes

if numba.version_info.short not in {(0, 68)}:
    raise ImportError(f"the inside of numba {numba.__version__} is not known")

_TIMERS = ffi.lib._lock._cblist  # called before and after each call into LLVM
_lookup_global = BaseContext._lookup_global


class Part(CompilerBase):
    """The compiler of a function that becomes a part of others."""

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, result: Any, flags: Any, *more: Any
    ):
        super().__init__(_Typing(typing), target, library, args, result, _Flags(flags), *more)
        self.state.targetctx.get_abi_sizeof = _Sizes(self.state.targetctx)  # a copy for this function

    def define_pipelines(self) -> list[Any]:
        state = self.state
        state.library = _PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        pipeline = DefaultPassBuilder.define_nopython_pipeline(state)
        if not any(map(inspect.iscode, state.func_id.code.co_consts)):  # no closures to look for
            pipeline.passes = [each for each in pipeline.passes if each[0] is not InlineClosureLikes]
            pipeline.finalize()
        return [pipeline]


class Door(CompilerBase):
    """The compiler of what Python calls: its part, all that this calls, and a wrapper."""

    part: Any  # the function as a part, a dispatcher

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        args = tuple(self.state.args)
        with _undisturbed():
            self.part.compile(args)
            return self._with_door(self.part.overloads[args])

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


class _Typing:
    """numba's context of types, which remembers: dozens of ways to type an operation are tried only once."""

    _known: ClassVar[dict[tuple[int, Any], tuple[Any, Any]]] = {}

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        kind = _lookup_global(self._context, function) or function
        if kws or not isinstance(kind, Function):
            return self._context.resolve_function_type(function, args, kws)
        key = id(kind), args
        if key not in self._known:
            signature = self._context.resolve_function_type(function, args, kws)
            # What is itself compiled from Python is compiled for the flags of its caller.
            known: dict[Any, Any] = getattr(kind, "_impl_keys", {})
            if signature is None or known.get(signature.args) is not kind.typing_key:
                return signature
            self._known[key] = kind, signature  # the type stays, so that its id is not used again
        return self._known[key][1]


class _Sizes:
    """Bytes that a type takes; numba writes, and LLVM reads, a program for each question."""

    _known: ClassVar[dict[str, int]] = {}

    def __init__(self, target: Any) -> None:
        self._ask = target.get_abi_sizeof

    def __call__(self, kind: Any) -> int:
        name = str(kind)
        if name not in self._known:
            self._known[name] = self._ask(kind)
        return self._known[name]


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without what is done thousands of times for nothing: garbage is looked for, calls to LLVM are timed."""
    timers, collects = _TIMERS.copy(), gc.isenabled()
    _TIMERS.clear()
    gc.disable()
    try:
        yield
    finally:
        _TIMERS[:] = timers
        if collects:
            gc.enable()


class _Flags(Flags):
    """The flags of a function, quickly compared: numba does it for each way to type each operation."""

    _hash = hash(Flags())  # of the names

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return (isinstance(other, _Flags) and self._values == other._values) or super().__eq__(other)
