"""The page of studies: HTML, a script, and the script of plotly, which its Python package contains."""

from __future__ import annotations

import re
from html import escape
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import parse_qs, quote

from semibandit._extras import needed
from semibandit.studies.service import auth

with needed("the service", "serve"):
    from starlette.requests import Request
    from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
    from starlette.routing import Route

__all__ = ["routes"]

_STATIC = Path(__file__).with_name("static")
_DAY = 86_400


def routes() -> list[Route]:
    """Return the routes of the pages and their files. Scripts insert data as text, never as HTML."""
    return [
        Route("/", _page("index.html")),
        Route("/studies/{id:int}", _page("study.html")),
        Route("/login", show_login, methods=["GET"]),
        Route("/login", login, methods=["POST"]),
        Route("/static/page.css", _page("page.css")),
        Route("/static/page.js", _page("page.js")),
        Route("/static/plotly.min.js", plotly),
    ]


def _page(name: str):  # type: ignore[no-untyped-def]
    path = _STATIC / name

    async def page(request: Request) -> Response:
        return FileResponse(path, headers={"Cache-Control": "no-cache"})

    return page


async def plotly(request: Request) -> Response:
    """Return the script of plotly."""
    package = find_spec("plotly")
    if package is None or package.origin is None:
        return Response(
            "the page needs plotly: pip install 'semibandit[serve]'", 404, media_type="text/plain"
        )
    script = Path(package.origin).parent / "package_data" / "plotly.min.js"
    headers = {"Cache-Control": f"max-age={_DAY}"}
    return FileResponse(script, media_type="text/javascript", headers=headers)


async def show_login(request: Request) -> Response:
    """Return the form for the token."""
    return _form(_local(request.query_params.get("next", "/")))


def _form(wanted: str, problem: str = "", status: int = 200) -> Response:
    """Return the form for the token, with the page to return to."""
    text = (_STATIC / "login.html").read_text(encoding="utf-8")
    text = text.replace("{next}", escape(wanted)).replace("{problem}", problem)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-cache"})


async def login(request: Request) -> Response:
    """Store the token in a cookie that scripts cannot read and other sites cannot send."""
    body = await auth.read_body(request, "application/x-www-form-urlencoded")
    sent = parse_qs(body.decode("latin-1"), encoding="utf-8")
    token, wanted = sent.get("token", [""])[0], _local(sent.get("next", ["/"])[0])
    prefix = request.scope["prefix"]
    if not request.scope["auth"].knows(token.encode(), request.client.host if request.client else ""):
        return _form(wanted, "This token is not known.", 401)
    answer = RedirectResponse(prefix + wanted, 303)
    secure = request.headers.get("x-forwarded-proto") == "https" or request.url.scheme == "https"
    answer.set_cookie(
        auth.COOKIE,
        quote(token, safe=""),
        path=prefix or "/",
        httponly=True,
        samesite="strict",
        secure=secure,
    )
    return answer


def _local(path: str) -> str:
    """Return the path of a page of this service; "/" for everything else."""
    return path if path == "/" or re.fullmatch(r"/studies/\d+", path) else "/"
