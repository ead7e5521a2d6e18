"""Access to the service: tokens, hosts, and the size of requests."""

from __future__ import annotations

import asyncio
import hmac
import sys
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

import msgspec

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = [
    "COOKIE", "Auth", "Prefix", "RefusedError", "Tokens", "checked_prefix", "is_loopback", "read_body"
]  # fmt: skip

_MAX_BYTES = 1_000_000
_PATIENCE = 20.0  # seconds for a request to arrive
COOKIE = "semibandit-token"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

# Pages load nothing from other hosts and cannot be framed; plotly writes inline styles.
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        b"frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
]


class RefusedError(Exception):
    """A refused request, with its HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def is_loopback(host: str) -> bool:
    """Return whether a host name or address is that of the loopback interface."""
    return host in ("localhost", "::1", "[::1]") or (
        host.startswith("127.") and host.replace(".", "").isdigit()
    )


async def read_body(request: Request, kind: str = "application/json") -> bytes:
    """Return the body of a request of at most 1 MB."""
    sent = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if sent != kind:  # pages of other sites cannot send JSON without a preflight
        raise RefusedError(415, f"the content type must be {kind}, got {sent[:80]!r}")
    try:
        async with asyncio.timeout(_PATIENCE):
            return await _whole_body(request)
    except TimeoutError:
        raise RefusedError(408, f"the request was not complete after {_PATIENCE:g} seconds") from None


async def _whole_body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BYTES:
            raise RefusedError(413, f"a request must be at most {_MAX_BYTES} bytes")
    return bytes(body)


class Tokens:
    """Tokens and their roles: "read" may look, "work" may ask and tell as well, "admin" may do everything.

    Parameters
    ----------
    source
        One token, which may do everything, or a file with a line `role token` for each. The file is read
        again when it changes, so tokens can be replaced while the service runs.
    """

    def __init__(self, source: str | Path) -> None:
        self._path = source if isinstance(source, Path) else None
        self._roles = _read_tokens(source) if isinstance(source, Path) else {source.encode(): "admin"}
        self._changed = self._path.stat().st_ctime_ns if self._path is not None else 0

    def role(self, token: bytes) -> str | None:
        """Return the role of a token, None if it is unknown; compares in constant time."""
        found = None
        for known, role in self._current().items():
            if hmac.compare_digest(token, known):
                found = role
        return found

    def _current(self) -> dict[bytes, str]:
        if self._path is not None:
            with suppress(OSError):
                changed = self._path.stat().st_ctime_ns
                if changed != self._changed:
                    self._changed = changed
                    try:
                        self._roles = _read_tokens(self._path)
                    except (OSError, ValueError) as error:
                        print(f"the old tokens hold: {error}", file=sys.stderr, flush=True)
        return self._roles


def _read_tokens(path: Path) -> dict[bytes, str]:
    """Return the roles of the tokens in a file; a line with a single word is an admin's token."""
    if path.stat().st_mode & 0o007:
        raise ValueError(f"{path}: other users can read or change the tokens; run chmod 600 {path}")
    roles: dict[bytes, str] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        role, _, token = line.strip().rpartition(" ")
        role = role.strip() or "admin"
        if role not in _ROLES:
            raise ValueError(f"{path}, line {number}: a role is one of {', '.join(_ROLES)}, got {role!r}")
        if len(token) < _SHORTEST or not token.isprintable() or not token.isascii():
            raise ValueError(
                f"{path}, line {number}: a token is one word of at least {_SHORTEST} ASCII characters"
            )
        roles[token.encode()] = role
    if not roles:
        raise ValueError(f"{path}: there is no token")
    return roles


class _Attempts:
    """Counts wrong tokens by address, to slow down those who guess."""

    def __init__(self) -> None:
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def count(self, address: str) -> None:
        n, since = self._wrong.pop(address, (0, time.monotonic()))
        self._wrong[address] = (1, time.monotonic()) if self._past(since) else (n + 1, since)
        if len(self._wrong) > 10_000:
            self._wrong.popitem(last=False)

    def too_many(self, address: str) -> bool:
        n, since = self._wrong.get(address, (0, 0.0))
        return n >= _MAX_WRONG and not self._past(since)

    def _past(self, since: float) -> bool:
        return time.monotonic() > since + 60.0


def checked_prefix(path: str) -> str:
    """Return the path of a proxy without a slash at its end; ValueError unless it begins with one."""
    path = path.rstrip("/")
    if path and (not path.startswith("/") or path != quote(path, safe="/") or "//" in path):
        raise ValueError(f"root_path must be a path such as /tuning, got {path!r}")
    return path


class Prefix:
    """Remove the prefix of a proxy from paths; `scope["prefix"]` keeps it for redirections."""

    def __init__(self, app: Any, prefix: str) -> None:
        self.app, self.prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope = {**scope, "prefix": self.prefix}
        path = scope.get("path", "")
        if self.prefix and path.startswith(self.prefix + "/"):
            scope["path"] = path[len(self.prefix) :]
        await self.app(scope, receive, send)


class Auth:
    """Pass requests that carry a token; without tokens, those addressed to this machine.

    The Host header is checked because other sites can let their own names resolve to this machine.
    """

    def __init__(self, app: Any, tokens: Tokens | None) -> None:
        self.app, self._tokens = app, tokens
        self._attempts = _Attempts()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value for name, value in scope["headers"] if name in _READ}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, headers, send, *refusal)
            return

        scope["auth"] = self

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self.app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        if scope["path"] in _PROBES:
            return None
        if self._tokens is None:
            name = headers.get(b"host", b"").decode("latin-1")
            host = name if name.endswith("]") else name.rpartition(":")[0] or name
            if not is_loopback(host):
                return 403, "without a token only this machine is served, under a loopback name"
            return None
        path, token = scope["path"], _token(headers)
        address = (scope.get("client") or ("",))[0]
        if self._attempts.too_many(address):
            return 429, "too many wrong tokens from this address: wait a minute"
        role = self._tokens.role(token)
        if role is None and path not in _OPEN:
            if token:
                self._attempts.count(address)
            return 401, "a token is needed: send it as 'Authorization: Bearer ...'"
        if role is not None and not _allowed(role, scope["method"], path):
            return 403, f"this token may only {role}"
        return None

    def knows(self, token: bytes, address: str = "") -> bool:
        """Return whether a token is known; wrong ones are counted."""
        known = self._tokens is None or self._tokens.role(token) is not None
        if not known:
            self._attempts.count(address)
        return known


def _allowed(role: str, method: str, path: str) -> bool:
    if role == "admin" or method in ("GET", "HEAD") or path == "/login":
        return True
    return role == "work" and path.rpartition("/")[2] not in ("rename", "archive", "fold", "delete")


_ROLES = ("read", "work", "admin")
_SHORTEST = 16  # characters of a token
_MAX_WRONG = 20  # tokens a minute
_READ = (b"authorization", b"cookie", b"host", b"accept")
_PROBES = ("/healthz", "/readyz")
_OPEN = ("/login", "/static/page.css")


def _token(headers: dict[bytes, bytes]) -> bytes:
    scheme, _, token = headers.get(b"authorization", b"").partition(b" ")
    if scheme.lower() == b"bearer":
        return token.strip()
    try:
        cookies = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1"))
    except CookieError:
        return b""
    return unquote(cookies[COOKIE].value).encode() if COOKIE in cookies else b""


async def _refuse(scope: Scope, headers: dict[bytes, bytes], send: Send, status: int, sentence: str) -> None:
    """Send an error; a browser without the token is redirected to the login page."""
    body = msgspec.json.encode({"error": sentence})
    answer = [(b"content-type", b"application/json")]
    if status == 401:
        answer.append((b"www-authenticate", b"Bearer"))
        if b"text/html" in headers.get(b"accept", b"") and not scope["path"].startswith("/api"):
            wanted = quote(scope["path"])
            place = f"{scope['prefix']}/login" + (f"?next={wanted}" if wanted != "/" else "")
            status, body, answer = 303, b"", [(b"location", place.encode())]
    answer.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": answer + _HEADERS})
    await send({"type": "http.response.body", "body": body})
