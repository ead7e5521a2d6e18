"""Kernels run whether or not numba's cache can be written or read."""

import os
import subprocess
import sys

import numpy as np
import pytest

from semibandit._jit import inner, kernel

PROGRAM = """
import sys, warnings
{before}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import semibandit._numerics as dd
    assert dd.two_sum(1.0, 1e-20) == (1.0, 1e-20)
    assert dd.two_product(3.0, 0.5) == (1.5, 0.0)
print(sum("cannot be used" in str(w.message) for w in caught))
"""
FULL_DISK = """
from numba.core.caching import IndexDataCacheFile
def full(*arguments):
    raise OSError(28, "No space left on device")
IndexDataCacheFile.save = full
"""


def run(folder, before="", **environment):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)} | environment
    words = [sys.executable, "-c", PROGRAM.format(before=before)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return int(done.stdout), done.stderr


def test_full_disk_gives_one_warning(tmp_path):
    assert run(tmp_path, FULL_DISK)[0] == 1


def test_damaged_cache_gives_a_warning_and_is_written_again(tmp_path):
    assert run(tmp_path)[0] == 0
    indices = list(tmp_path.rglob("*.nbi"))
    assert indices
    for index in indices:
        index.write_bytes(b"")
    assert run(tmp_path)[0] == 1
    assert run(tmp_path)[0] == 0


def test_kernels_run_without_any_cache_directory():
    """A null device is no directory, and neither is the home directory of this process."""
    before = "import numba.core.caching as c; c.CacheImpl._locator_classes = [c.UserProvidedCacheLocator]"
    assert run(os.devnull, before)[0] == 0


def test_compilation_is_announced_once_at_a_terminal(tmp_path):
    before = "sys.stderr.isatty = lambda: True"
    assert [run(tmp_path, before)[1].count("compiling") for _ in range(2)] == [1, 0]


def test_kernel_calls_other_kernels():
    @inner
    def first(array):
        return array.copy()[0]

    @kernel
    def largest(array):
        return max(first(array[1:]), array[0])

    @kernel
    def twice(array):
        return 2.0 * largest(array)

    assert twice(np.array([1.0, 3.0])) == 6.0


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled")
def test_errors_of_the_compiler_are_raised():
    from numba.core.errors import TypingError

    @kernel
    def wrong(x):
        return x.no_such_thing

    with pytest.raises(TypingError):
        wrong(1)
