import sys

import pytest


def close_all():
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


@pytest.fixture(autouse=True)
def _close():
    """Close the figures of earlier tests and of this one."""
    close_all()
    yield
    close_all()
