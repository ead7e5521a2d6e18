"""Studies: a knob in production, tuned by many workers at once, kept in a store, served and seen.

`events` says what can happen, `stores` keep the log, `replica` lives through it, `operations` move it on,
`study` puts them together, `service` and `client` bring it over HTTP, `page` shows it.
"""

from semibandit.studies.client import Client
from semibandit.studies.operations import ForgottenError
from semibandit.studies.stores import UnknownStudyError
from semibandit.studies.study import Study

__all__ = ["Client", "ForgottenError", "Study", "UnknownStudyError"]
