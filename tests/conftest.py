"""Set-up that all tests share."""

from pathlib import Path

from hypothesis import settings

import semibandit

# The same examples in every run, and time for kernels to compile.
settings.register_profile("semibandit", derandomize=True, deadline=None)
settings.load_profile("semibandit")

# numba looks at the file of a cached kernel, not at those of the kernels that it calls: after an edit to
# one kernel module, machine code of another may be stale. Drop all of it then.
_PACKAGE = Path(semibandit.__file__).parent
_sources = [path.stat().st_mtime for path in _PACKAGE.rglob("*.py")]
_indices = list(_PACKAGE.rglob("*.nbi"))
if _indices and max(_sources) > min(path.stat().st_mtime for path in _indices):
    for path in [*_indices, *_PACKAGE.rglob("*.nbc")]:
        path.unlink(missing_ok=True)
