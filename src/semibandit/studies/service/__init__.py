"""Studies over HTTP: JSON for workers in any language, and a page."""

from semibandit.studies.service.app import ENDPOINTS, make_app

__all__ = ["ENDPOINTS", "make_app"]
