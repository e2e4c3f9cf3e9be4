"""The dashboard as a small server of this machine: reads a folder, shows it, changes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from callup.core.errors import CallupError
from callup.dashboard.door import COOKIE, admits
from callup.dashboard.live_run import LiveRun, runs_below
from callup.dashboard.metrics import as_json, as_metrics
from callup.dashboard.now import now
from callup.dashboard.pages import client_page, middle, page

_LOOK = 0.5  # seconds between two looks at the folder
_SCRIPT = Path(__file__).parent / "templates" / "dashboard.js"
_RULES = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
Answer = Callable[[Request], Awaitable[Response]]


def dashboard(folder: Path, token: str, host: str = "127.0.0.1") -> Starlette:
    """An application for any server; all of it behind the token."""
    live: dict[str, LiveRun] = {}

    def chosen(request: Request) -> tuple[str, LiveRun]:
        known = runs_below(folder)
        name = request.query_params.get("run") or next(iter(known))
        if name not in known:
            raise CallupError(f"there is no run '{name}' here")
        one = live.setdefault(name, LiveRun(known[name]))
        one.refresh()
        return name, one

    def guarded(answer: Answer) -> Answer:
        async def checked(request: Request) -> Response:
            if not admits(request, token, host):
                said = "not allowed: open the address that callup dashboard printed, with its token"
                return PlainTextResponse(said, 403, headers=_RULES)
            try:
                response = await answer(request)
            except CallupError as error:
                return PlainTextResponse(str(error), 404, headers=_RULES)
            response.headers.update(_RULES)
            return response

        return checked

    async def front(request: Request) -> Response:
        if "token" in request.query_params:  # into a cookie, out of the address and its history
            response: Response = RedirectResponse("/")
            response.set_cookie(COOKIE, token, httponly=True, samesite="strict")
            return response
        name, one = chosen(request)
        return HTMLResponse(page(one, folder.resolve().name, list(runs_below(folder)), name))

    async def live_part(request: Request) -> Response:
        name, one = chosen(request)
        return HTMLResponse(middle(one, name))

    async def one_client(request: Request) -> Response:
        name, one = chosen(request)
        # In a thread: a long run takes a while to play again, and the page of the run must not wait for it.
        made = await run_in_threadpool(client_page, one, name, request.query_params.get("id", ""))
        return HTMLResponse(made)

    async def state(request: Request) -> Response:
        return JSONResponse(as_json(now(chosen(request)[1])))

    async def metrics(request: Request) -> Response:
        return PlainTextResponse(as_metrics(now(chosen(request)[1])))

    async def script(request: Request) -> Response:  # noqa: ARG001
        return Response(_SCRIPT.read_text(encoding="utf-8"), media_type="text/javascript")

    async def news(request: Request) -> Response:
        _, one = chosen(request)

        async def versions() -> AsyncIterator[str]:
            said = -1
            while not await request.is_disconnected():
                one.refresh()
                yield f"data: {one.version}\n\n" if one.version != said else ": still here\n\n"
                said = one.version
                await asyncio.sleep(_LOOK)

        return StreamingResponse(versions(), media_type="text/event-stream")

    answers = {
        "/": front,
        "/live": live_part,
        "/client": one_client,
        "/state": state,
        "/metrics": metrics,
        "/news": news,
        "/dashboard.js": script,
    }
    return Starlette(routes=[Route(path, guarded(answer), methods=["GET"]) for path, answer in answers.items()])
