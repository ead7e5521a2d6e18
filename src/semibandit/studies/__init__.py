"""Studies: learners that many workers share, kept in a store, served over HTTP and shown on a page.

`log` holds the events, the stores that keep them and the replica that replays them. `Study` reads and writes
a log; `Client` is a `Study` over HTTP. `service` serves studies and their page.
"""

from semibandit.studies.client import Client
from semibandit.studies.log.operations import ForgottenError
from semibandit.studies.log.stores import DamagedStudyError, UnknownStudyError
from semibandit.studies.study import Study

__all__ = ["Client", "DamagedStudyError", "ForgottenError", "Study", "UnknownStudyError"]
