"""The server process: sockets, half-sent requests, and an end that drops no request."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from semibandit._extras import needed

with needed("the service", "serve"):
    import uvicorn
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

__all__ = ["make_server"]

_PATIENCE = 20.0  # seconds for the headers of a request to arrive
_DRAIN = 10  # seconds for running requests to end after SIGTERM


class PatientProtocol(HttpToolsProtocol):
    """Closes connections on which a request has begun and its headers do not end."""

    _overdue: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        if self._overdue is None and (self.cycle is None or self.cycle.response_complete):
            self._wait()
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._settle()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._overdue = self.loop.call_later(_PATIENCE, self.transport.close)

    def _settle(self) -> None:
        if self._overdue is not None:
            self._overdue.cancel()
            self._overdue = None


def make_server(app: Any, host: str, port: int) -> tuple[uvicorn.Server, socket.socket]:
    """Return a server and its socket, which listens already."""
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, lifespan="on", ws="none",
        timeout_graceful_shutdown=_DRAIN, server_header=False, http=PatientProtocol,
    )  # fmt: skip
    sock = config.bind_socket()
    sock.listen(config.backlog)  # whoever reads the address can connect
    return uvicorn.Server(config), sock
