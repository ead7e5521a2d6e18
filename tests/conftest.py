"""Set-up that all tests share."""

from pathlib import Path

from hypothesis import settings

import semibandit

# The same examples in every run, and time for kernels to compile.
settings.register_profile("semibandit", derandomize=True, deadline=None)
settings.load_profile("semibandit")

# numba compares a cached kernel with its own file, not with the files of the kernels that it calls. After an
# edit to any module with kernels, delete all cached machine code.
_PACKAGE = Path(semibandit.__file__).parent
_kernels = [path for path in _PACKAGE.rglob("*.py") if "semibandit._jit" in path.read_text()]
_indices = list(_PACKAGE.rglob("*.nbi"))
if _indices and max(path.stat().st_mtime for path in _kernels) > min(
    path.stat().st_mtime for path in _indices
):
    for path in [*_indices, *_PACKAGE.rglob("*.nbc")]:
        path.unlink(missing_ok=True)
