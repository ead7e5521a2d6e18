"""Access to the service: tokens, hosts, and the size of requests."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["COOKIE", "Auth", "RefusedError", "is_loopback", "read_body"]

_MAX_BYTES = 1_000_000
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
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MAX_BYTES:
            raise RefusedError(413, f"a request must be at most {_MAX_BYTES} bytes")
    return bytes(body)


class Auth:
    """Pass requests that carry the token; without a token, those addressed to this machine.

    The Host header is checked because other sites can let their own names resolve to this machine.
    """

    def __init__(self, app: Any, token: str | None) -> None:
        self.app = app
        self._token = None if token is None else token.encode()

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
        if self._token is None:
            name = headers.get(b"host", b"").decode("latin-1")
            host = name if name.endswith("]") else name.rpartition(":")[0] or name
            if not is_loopback(host):
                return 403, "without a token only this machine is served, under a loopback name"
        elif not self.knows(_token(headers)) and scope["path"] not in _OPEN:
            return 401, "a token is needed: send it as 'Authorization: Bearer ...'"
        return None

    def knows(self, token: bytes) -> bool:
        """Compare with the token, in constant time."""
        return self._token is None or hmac.compare_digest(token, self._token)


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
            status, body, answer = 303, b"", [(b"location", b"/login")]
    answer.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": answer + _HEADERS})
    await send({"type": "http.response.body", "body": body})
