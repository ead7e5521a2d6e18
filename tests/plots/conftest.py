import sys

import pytest


@pytest.fixture(autouse=True)
def _close():
    """Close all figures if a test has imported pyplot."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")
