"""`semibandit serve`: studies over HTTP, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semibandit._extras import needed
from semibandit.cli.study import Storage


def serve(
    storage: Storage,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 8080,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="File with a line 'role token' for each token; roles: read, work, admin. "
            "It is read again when it changes. Default: serve this machine, without tokens."
        ),
    ] = None,
    log: Annotated[str, typer.Option(help="Write a line for each request: text, json or none.")] = "none",
) -> None:
    """Serve the studies of a store over HTTP, with a live page."""
    from semibandit.studies.service.auth import is_loopback

    if token_file is None and not is_loopback(host):
        raise ValueError(f"listening on {host}, which other machines can reach, needs a --token-file")
    with needed("the service", "serve"):
        import uvicorn
    from semibandit.studies.log.stores import open_store, public
    from semibandit.studies.service import make_app

    open_store(storage).close()  # errors of the store appear before the service starts
    config = uvicorn.Config(
        make_app(storage, token_file, log), host=host, port=port, log_level="warning", access_log=False,
        timeout_graceful_shutdown=3, lifespan="on", server_header=False, ws="none",
    )  # fmt: skip
    sock = config.bind_socket()
    sock.listen(config.backlog)  # whoever reads the address below can connect
    name = f"[{host}]" if ":" in host else host
    print(f"semibandit serves {public(storage)} at http://{name}:{sock.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[sock])
