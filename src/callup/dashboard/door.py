"""Who may look: whoever has the token, by an address of this machine."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from starlette.requests import Request

COOKIE = "callup-token"
_HERE = ("127.0.0.1", "localhost", "::1")


def admits(request: Request, token: str, host: str) -> bool:
    """By cookie, by address or as a bearer; a page elsewhere that a browser was lured to has none of them."""
    given = (
        request.cookies.get(COOKIE),
        request.query_params.get("token"),
        request.headers.get("authorization", "").removeprefix("Bearer "),
    )
    return _named_here(request, host) and any(
        hmac.compare_digest((one or "").encode(), token.encode()) for one in given
    )


def _named_here(request: Request, host: str) -> bool:
    """The name in the request is ours: a foreign name that points to this machine is turned away."""
    name = urlsplit(f"//{request.headers.get('host', '')}").hostname
    return name in _HERE or name == host
