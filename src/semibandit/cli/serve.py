"""`semibandit serve`: studies over HTTP, with a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    root_path: Annotated[
        str, typer.Option(help="Path under which a proxy shows the service, such as /tuning.")
    ] = "",
) -> None:
    """Serve the studies of a store over HTTP, with a live page."""
    from semibandit.studies.service.auth import is_loopback

    if token_file is None and not is_loopback(host):
        raise ValueError(f"listening on {host}, which other machines can reach, needs a --token-file")
    from semibandit.studies.log.stores import open_store, public
    from semibandit.studies.service import make_app
    from semibandit.studies.service.server import make_server

    open_store(storage).close()  # errors of the store appear before the service starts
    server, sock = make_server(make_app(storage, token_file, log, root_path), host, port)
    name = f"[{host}]" if ":" in host else host
    print(f"semibandit serves {public(storage)} at http://{name}:{sock.getsockname()[1]}", flush=True)
    server.run(sockets=[sock])
