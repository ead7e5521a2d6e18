"""`semibandit serve`: studies over HTTP, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semibandit._extras import needed
from semibandit.cli.study import Storage

_SHORTEST_TOKEN = 16


def serve(
    storage: Storage,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the token of all requests. Default: serve this machine.")
    ] = None,
) -> None:
    """Serve the studies of a store over HTTP, with a live page."""
    from semibandit.studies.service.auth import is_loopback

    token = None if token_file is None else read_token(token_file)
    if token is None and not is_loopback(host):
        raise ValueError(f"listening on {host}, which other machines can reach, needs a --token-file")
    with needed("the service", "serve"):
        import uvicorn
    from semibandit.studies.log.stores import open_store, public
    from semibandit.studies.service import make_app

    open_store(storage).close()  # errors of the store appear before the service starts
    config = uvicorn.Config(
        make_app(storage, token), host=host, port=port, log_level="warning", access_log=False,
        timeout_graceful_shutdown=3, lifespan="on", server_header=False, ws="none",
    )  # fmt: skip
    sock = config.bind_socket()
    sock.listen(config.backlog)  # whoever reads the address below can connect
    name = f"[{host}]" if ":" in host else host
    print(f"semibandit serves {public(storage)} at http://{name}:{sock.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[sock])


def read_token(path: Path) -> str:
    """Return the token in a file: one word of at least 16 characters."""
    token = path.read_text(encoding="utf-8").strip()
    if len(token) < _SHORTEST_TOKEN or not token.isprintable() or " " in token or not token.isascii():
        raise ValueError(f"{path}: a token is one word of at least {_SHORTEST_TOKEN} ASCII characters")
    return token
