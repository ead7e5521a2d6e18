import sys

import pytest


@pytest.fixture(autouse=True)
def _close():
    """Close what was drawn, should another test have imported pyplot."""
    yield
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")
