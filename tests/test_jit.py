"""A cache that cannot be written or read costs time, and nothing else."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
from numba.core.errors import TypingError

from semibandit._jit import inner, kernel, uncounted

PROGRAM = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import semibandit._double_double as dd
    {spoil}
    assert dd.two_sum(1.0, 1e-20) == (1.0, 1e-20)
    assert dd.two_product(3.0, 0.5) == (1.5, 0.0)
print(sum("compiled code cannot be kept" in str(w.message) for w in caught))
"""
FULL = """
from numba.core.caching import IndexDataCacheFile
def full(*arguments):
    raise OSError(28, "No space left on device")
    IndexDataCacheFile.save = full
""".replace("    IndexDataCacheFile", "IndexDataCacheFile").replace("\n", "\n    ")


def run(folder, spoil="pass"):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    words = [sys.executable, "-c", PROGRAM.format(spoil=spoil)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_a_full_disk_is_one_warning(tmp_path):
    assert run(tmp_path, FULL) == 1


def test_damaged_files_are_one_warning_and_written_anew(tmp_path):
    assert run(tmp_path) == 0
    indices = list(tmp_path.rglob("*.nbi"))
    assert indices
    for index in indices:
        index.write_bytes(b"")
    assert run(tmp_path) == 1
    assert run(tmp_path) == 0


def test_who_waits_for_the_compiler_is_told_once(tmp_path):
    program = """
import sys
sys.stderr.isatty = lambda: True
import semibandit._double_double as dd
dd.two_sum(1.0, 2.0)
dd.two_product(1.0, 2.0)
"""
    said = []
    for _ in range(2):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, env=environment
        )
        said.append(done.stderr.count("compiling"))
    assert said == [1, 0]


def test_parts_without_counts_are_called_by_kernels_alone():
    """They may look at arrays, and need no more: what takes memory is compiled with counts, whoever calls."""

    @uncounted
    def largest(array):
        return max(first(array[1:]), array[0])

    @inner
    def first(array):
        return array.copy()[0]

    @kernel
    def twice(array):
        return 2.0 * largest(array)

    assert twice(np.array([1.0, 3.0])) == 6.0
    with pytest.raises(TypeError, match="cannot be called from Python"):
        largest(np.ones(2))


def test_a_kernel_may_have_closures():
    @kernel
    def thrice(x):
        def plus(y):
            return x + y

        return plus(plus(x))

    assert thrice(2.0) == 6.0


def test_an_operation_is_typed_by_its_arguments():
    """What is remembered of one kind of number, or of one array, is not taken for another."""

    @kernel
    def halves(x, y):
        return x // 2, x / 2, y[0] + x

    for x, y in ((3, 4.0), (3.0, 4), (3, 4)):
        got = halves(x, np.array([y]))
        assert got == (x // 2, x / 2, y + x)
        assert list(map(type, got)) == [type(x), float, type(x + y)]


def test_compiling_leaves_the_collector_and_the_timers_of_llvm_as_they_were():
    from llvmlite.binding import ffi

    timers = list(ffi.lib._lock._cblist)

    @kernel
    def wrong(x):
        return x.no_such_thing

    for argument in (1, 2.0):
        with pytest.raises(TypingError):
            wrong(argument)
        assert ffi.lib._lock._cblist == timers
        assert gc.isenabled()


@pytest.mark.parametrize("inside", ["known", "unknown"])
def test_a_kernel_can_be_a_part_of_another(tmp_path, inside):
    """Whether or not numba is inside as the compiler of parts knows it."""
    (tmp_path / "kernels.py").write_text("""
import numpy as np
from semibandit._jit import inner, kernel

@inner
def positive(x):
    if x < 0:
        raise ValueError("not positive", x)
    print("got", x)
    return x

@kernel
def twice(x):
    return np.array([positive(x), x])

@kernel
def largest(x):
    return twice(x).max()
""")
    program = """
import sys
sys.path.append(sys.argv[1])
if sys.argv[2] == "unknown":
    sys.modules["semibandit._compiler"] = None
from kernels import largest, twice
assert largest(2) == 2  # its file is written, and read, before that of its part
assert twice(3).tolist() == [3, 3]
try:
    largest(-1)
except ValueError as error:
    assert error.args == ("not positive", -1)
"""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for _ in range(2):
        words = [sys.executable, "-c", program, str(tmp_path), inside]
        done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=60)
        assert (done.returncode, done.stdout) == (0, "got 2\ngot 3\n"), done.stderr
