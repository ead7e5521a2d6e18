"""`semibandit serve`: studies over HTTP, and a page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from semibandit._extras import needed

_SHORTEST_TOKEN = 16


def serve(
    storage: Annotated[str, typer.Option(help="Where the studies are: sqlite:///path or postgresql://...")],
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="The port to listen at; 0 takes a free one.")
    ] = 8080,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="A file with the token that all requests need. Without it only this machine is served."
        ),
    ] = None,
) -> None:
    """Serve the studies of a store over HTTP, with a page that shows them live."""
    from semibandit.studies.guard import is_loopback

    token = None if token_file is None else read_token(token_file)
    if token is None and not is_loopback(host):
        raise ValueError(f"to listen at {host}, where others can reach it, the service needs a --token-file")
    if storage.startswith("journal:"):
        raise ValueError("a journal is for one at a time: serve sqlite:///path or postgresql://...")
    with needed("the service", "serve"):
        import uvicorn
    from semibandit.studies.service import make_app
    from semibandit.studies.stores import open_store, public

    open_store(storage).close()  # what is wrong with the store shows before anybody is served
    config = uvicorn.Config(
        make_app(storage, token), host=host, port=port, log_level="warning", access_log=False,
        timeout_graceful_shutdown=3, lifespan="on", server_header=False, ws="none",
    )  # fmt: skip
    sock = config.bind_socket()
    name = f"[{host}]" if ":" in host else host
    print(f"semibandit serves {public(storage)} at http://{name}:{sock.getsockname()[1]}", flush=True)
    uvicorn.Server(config).run(sockets=[sock])


def read_token(path: Path) -> str:
    """The token in a file: one line, not too short to be guessed."""
    token = path.read_text(encoding="utf-8").strip()
    if len(token) < _SHORTEST_TOKEN or not token.isprintable() or " " in token or not token.isascii():
        raise ValueError(f"{path}: a token is one word of at least {_SHORTEST_TOKEN} ASCII characters")
    return token
