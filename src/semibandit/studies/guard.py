"""Who may use the service, and how much it takes in."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec

if TYPE_CHECKING:
    from starlette.requests import Request

__all__ = ["COOKIE", "MOST_BYTES", "Guard", "RefusedError", "is_loopback", "read_body"]

MOST_BYTES = 1_000_000
COOKIE = "semibandit-token"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]

# A page loads nothing from elsewhere and is shown in no other page; plotly writes styles into the page.
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
    """A request that is not served, with its HTTP status."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def is_loopback(host: str) -> bool:
    """Whether a name or an address is that of this machine itself."""
    return host in ("localhost", "::1", "[::1]") or (
        host.startswith("127.") and host.replace(".", "").isdigit()
    )


async def read_body(request: Request) -> bytes:
    """The body of a request of JSON, if it is not too large."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # which no page of another site can send without being asked first
        raise RefusedError(415, f"the content type must be application/json, got {kind[:80]!r}")
    size = 0
    chunks = []
    async for chunk in request.stream():
        size += len(chunk)
        if size > MOST_BYTES:
            raise RefusedError(413, f"a request must be at most {MOST_BYTES} bytes")
        chunks.append(chunk)
    return b"".join(chunks)


class Guard:
    """Lets requests through that carry the token; without a token those that are addressed to this machine.

    The name in a request is looked at because a page of another site can have its own name lead here.
    """

    def __init__(self, app: Any, token: str | None) -> None:
        self.app = app
        self._token = None if token is None else token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value for name, value in scope["headers"] if name in _LOOKED_AT}
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(scope, headers, send, *refusal)
            return

        scope["guard"] = self

        async def send_guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self.app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope, headers: dict[bytes, bytes]) -> tuple[int, str] | None:
        if self._token is None:
            name = headers.get(b"host", b"").decode("latin-1")
            host = name if name.endswith("]") else name.rpartition(":")[0] or name
            if not is_loopback(host):
                return 403, "without a token only this machine is served, under a name of its own"
        elif not self.knows(_token(headers)) and scope["path"] not in _OPEN:
            return 401, "a token is needed: send it as 'Authorization: Bearer ...'"
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return 413, f"a request must be at most {MOST_BYTES} bytes"
        return None

    def knows(self, token: bytes) -> bool:
        """Whether this is the token, in a time that does not tell how much of it is right."""
        return self._token is None or hmac.compare_digest(token, self._token)


_LOOKED_AT = (b"authorization", b"cookie", b"host", b"content-length", b"accept")
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
    """A sentence; a browser that lacks the token is asked for it."""
    body = msgspec.json.encode({"error": sentence})
    answer = [(b"content-type", b"application/json")]
    if status == 401:
        answer.append((b"www-authenticate", b"Bearer"))
        if b"text/html" in headers.get(b"accept", b"") and not scope["path"].startswith("/api"):
            status, body, answer = 303, b"", [(b"location", b"/login")]
    answer.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": answer + _HEADERS})
    await send({"type": "http.response.body", "body": body})
