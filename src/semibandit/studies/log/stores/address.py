"""Addresses of stores, and how messages show them: never with a password."""

from __future__ import annotations

import re

__all__ = ["check_server", "public"]

_ONE_HOST = r"(\[[0-9A-Fa-f:.%]*\]|[A-Za-z0-9._\-%]*)(:[0-9]*)?"
_HOST = rf"{_ONE_HOST}(,{_ONE_HOST})*"
_SERVER = re.compile(
    rf"postgres(ql)?://([^@/?#\s:]*(:[^@/?#\s:]*)?@)?(?P<host>{_HOST})(/(?P<name>[^@/?#\s]*))?(\?[^@#\s]*)?"
)
_HTTP = re.compile(rf"(?P<scheme>https?)://([^@/?#\s]*@)?(?P<host>{_HOST})(?P<path>(/[^@?#\s]*)?)([?#].*)?")


def check_server(address: str) -> str:
    """Check the form of an address before libpq reads it, whose messages quote what they cannot read."""
    if _SERVER.fullmatch(address) is None:
        raise ValueError(
            "storage must be postgresql://user:password@host:port/database; the characters @ : / ? # and "
            "spaces in a user name or password must be percent-encoded (@ is %40)"
        )
    return address


def public(url: str) -> str:
    """Return an address without credentials and options; of one with an unknown form only the scheme."""
    if url.startswith("sqlite:///"):
        return url.partition("?")[0]
    if server := _SERVER.fullmatch(url):
        return f"postgresql://{server['host']}/{server['name'] or ''}"
    if page := _HTTP.fullmatch(url):
        return f"{page['scheme']}://{page['host']}{page['path']}"
    scheme, separator, _ = url.partition("://")
    return f"{scheme}://..." if separator and scheme.isalpha() else "..."
